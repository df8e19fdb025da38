#include "generator/manifest_fields.h"

namespace zyfa::generator {

using nlohmann::ordered_json;

ordered_json manifest_head(std::string_view kind, const std::string& symbol, int code_object_version) {
  return {{"manifest_version", manifest_version},
          {"kind", kind},
          {"generator", fmt::format("zyfa {}", ZYFA_VERSION)},
          {"symbol", symbol},
          {"arch", "gfx950"},
          {"code_object_version", code_object_version},
          {"validation", "by emulation only; not run on a gfx950"}};
}

ordered_json kernarg_table(std::span<const KernargField> arguments) {
  ordered_json fields = ordered_json::array();
  for (const KernargField& field : arguments)
    fields.push_back({{"name", field.name},
                      {"offset", field.offset},
                      {"size", field.size},
                      {"kind", field.kind},
                      {"type", field.type},
                      {"unit", field.unit},
                      {"meaning", field.meaning}});
  return fields;
}

ordered_json register_map(const KernelBody& body) {
  ordered_json map = ordered_json::array();
  for (const NamedRegisters& range : body.registers)
    map.push_back(
        {{"file", std::string(1, range.file)}, {"first", range.first}, {"count", range.count}, {"name", range.name}});
  return map;
}

NamedRegisters named_registers(const nlohmann::json& json, const std::string& source) {
  const auto file = need<std::string>(json, {"file"}, source);
  if (file != "v" && file != "a" && file != "s") throw Error("{}: there is no register file '{}'", source, file);
  const NamedRegisters range{file[0], need<int>(json, {"first"}, source), need<int>(json, {"count"}, source),
                             need<std::string>(json, {"name"}, source)};
  if (range.first < 0 || range.count < 1 || range.first > isa::vector_registers ||
      range.count > isa::vector_registers - range.first)
    throw Error("{}: there are no {} registers from {}{}", source, range.count, range.file, range.first);
  return range;
}

std::string manifest_kind(const nlohmann::json& json, const std::string& source) {
  if (const int version = need<int>(json, {"manifest_version"}, source); version != manifest_version)
    throw Error("{} has manifest version {}; accepted: {}", source, version, manifest_version);
  return need<std::string>(json, {"kind"}, source);
}

void check_kind(const nlohmann::json& json, const std::string& kind, const std::string& source) {
  if (const std::string found = manifest_kind(json, source); found != kind)
    throw Error("{} is the manifest of a kernel of kind '{}'; one of kind '{}' is needed", source, found, kind);
}

std::uint32_t workgroup_size(const nlohmann::json& json, const std::string& source) {
  const auto size = need<std::vector<std::uint32_t>>(json, {"launch", "workgroup_size"}, source);
  if (size.size() != 3) throw Error("{}: manifest's 'launch.workgroup_size' is not three numbers", source);
  return size[0];
}

}  // namespace zyfa::generator
