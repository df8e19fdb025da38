// What manifests of all kinds have in common: how their fields are written and read.
#pragma once

#include "generator/builder.h"
#include "generator/json_file.h"
#include "generator/kernargs.h"

#include <algorithm>
#include <utility>

namespace zyfa::generator {

inline constexpr int manifest_version = 1;

// The keys that every manifest begins with: versions, kind, symbol, architecture and what has validated the kernel.
nlohmann::ordered_json manifest_head(std::string_view kind, const std::string& symbol, int code_object_version);

nlohmann::ordered_json kernarg_table(std::span<const KernargField> fields);
nlohmann::ordered_json register_map(const KernelBody& body);

// The JSON library converts every number to the type it is asked for, whether it fits or not.
template <class Value>
bool fits(const nlohmann::json& json) {
  if constexpr (std::is_integral_v<Value>)
    return json.is_number_unsigned() ? std::in_range<Value>(json.get<std::uint64_t>())
                                     : json.is_number_integer() && std::in_range<Value>(json.get<std::int64_t>());
  else
    return true;
}
template <>
inline bool fits<std::vector<std::uint32_t>>(const nlohmann::json& json) {
  return json.is_array() && std::ranges::all_of(json, fits<std::uint32_t>);
}

template <class Value>
Value need(const nlohmann::json& json, std::initializer_list<const char*> path, const std::string& source) {
  const nlohmann::json* at = &json;
  std::string name;
  for (const char* key : path) {
    name += (name.empty() ? "" : ".") + std::string(key);
    const auto found = at->is_object() ? at->find(key) : at->end();
    if (!at->is_object() || found == at->end()) throw Error("{}: manifest has no '{}'", source, name);
    at = &*found;
  }
  try {
    if (fits<Value>(*at)) return at->get<Value>();
  } catch (const nlohmann::json::exception&) {
  }
  throw Error("{}: manifest's '{}' has the wrong type or is out of range: {}", source, name, at->dump());
}

// The elements of an optional array, each made from an object by `make`.
template <class Element, class Make>
std::vector<Element> read_map(const nlohmann::json& json, const char* key, const std::string& source, Make make) {
  std::vector<Element> elements;
  if (!json.contains(key)) return elements;
  if (!json.at(key).is_array()) throw Error("{}: manifest's '{}' is not an array", source, key);
  for (const nlohmann::json& one : json.at(key)) elements.push_back(make(one, fmt::format("{}: '{}'", source, key)));
  return elements;
}

NamedRegisters named_registers(const nlohmann::json& json, const std::string& source);

// What kind of kernel it is of. Throws Error unless the manifest is of this version.
std::string manifest_kind(const nlohmann::json& json, const std::string& source);
// Throws Error unless the manifest is of this version and kind.
void check_kind(const nlohmann::json& json, const std::string& kind, const std::string& source);

// x of launch.workgroup_size, in work-items.
std::uint32_t workgroup_size(const nlohmann::json& json, const std::string& source);

}  // namespace zyfa::generator
