// JSON files that users write: configurations, machine parameters, manifests.
#pragma once

#include "isa/error.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace zyfa::generator {

// The file's JSON; comments are allowed. Throws Error that names the file where it cannot be read, is not JSON, nests
// deeper than depth_limit() allows or is larger than 256 KiB, at which the ordered object's search for each key still
// ends soon.
nlohmann::ordered_json read_json_file(const std::filesystem::path& file);

// The same of a text; `source` stands for it in messages.
nlohmann::ordered_json parse_json(std::string_view text, const std::string& source);

// A callback for the JSON library's parse, which throws Error where values nest deeper than any file of ours: the
// library copies and prints by recursion, so depth is the host's stack. `source` stands for the file.
inline auto depth_limit(std::string source) {
  return [source = std::move(source)](int depth, auto, auto&) {
    constexpr int deepest = 64;
    if (depth > deepest) throw Error("{} nests JSON values more than {} deep", source, deepest);
    return true;
  };
}

// Reads one key of a JSON object into `value` if it is there. Throws Error naming source and key where the type is
// another; the JSON library's own message would not.
template <class Value>
void read_key(const nlohmann::json& json, const char* key, Value& value, std::string_view source) {
  const auto found = json.find(key);
  if (found == json.end()) return;
  const bool fits = std::is_same_v<Value, bool>          ? found->is_boolean()
                    : std::is_same_v<Value, std::string> ? found->is_string()
                                                         : found->is_number_integer();
  if (!fits)
    throw Error("{}: '{}' is {}, not {}", source, key, found->dump(),
                std::is_same_v<Value, bool>          ? "true or false"
                : std::is_same_v<Value, std::string> ? "a string"
                                                     : "a whole number");
  value = found->get<Value>();
  if constexpr (std::is_same_v<Value, int>)
    if (found->get<std::int64_t>() != value || (found->is_number_unsigned() && value < 0))
      throw Error("{}: '{}' is {}, which is too large", source, key, found->dump());
}

// Throws Error unless `json` is an object with no other keys than those of `known`.
void check_keys(const nlohmann::json& json, const nlohmann::ordered_json& known, std::string_view source);

}  // namespace zyfa::generator
