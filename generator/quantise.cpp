#include "generator/quantise.h"

#include "generator/json_file.h"

#include <algorithm>

namespace zyfa::generator {
namespace {

constexpr int head_dims[] = {128, 192};
constexpr Rotation rotations[] = {Rotation::none, Rotation::hadamard};

}  // namespace

std::string_view name(Rotation rotation) { return rotation == Rotation::none ? "none" : "hadamard"; }

Rotation parse_rotation(std::string_view text) {
  for (const Rotation rotation : rotations)
    if (text == name(rotation)) return rotation;
  throw Error("rotation '{}' is not supported; accepted: none, hadamard", text);
}

QuantiseConfig quantise_config_from_json(const nlohmann::json& json, std::string_view source) {
  QuantiseConfig config;
  check_keys(json, to_json(config), source);
  std::string kernel = "quantise", rotation(name(config.rotation));
  read_key(json, "kernel", kernel, source);
  if (kernel != "quantise") throw Error("{}: 'kernel' is '{}', not 'quantise'", source, kernel);
  read_key(json, "head_dim", config.head_dim, source);
  read_key(json, "rotation", rotation, source);
  read_key(json, "cov", config.code_object_version, source);
  config.rotation = parse_rotation(rotation);
  return config;
}

nlohmann::ordered_json to_json(const QuantiseConfig& config) {
  return {{"kernel", "quantise"},
          {"head_dim", config.head_dim},
          {"rotation", name(config.rotation)},
          {"cov", config.code_object_version}};
}

QuantisePlan make_quantise_plan(const QuantiseConfig& config) {
  if (config.code_object_version != 5 && config.code_object_version != 6)
    throw Error("code object version {} is not supported; accepted: 5, 6", config.code_object_version);
  if (std::ranges::find(head_dims, config.head_dim) == std::end(head_dims))
    throw Error("no kernel quantises a head dim of {}; accepted: 128, 192", config.head_dim);
  const std::string container =
      config.code_object_version == 5 ? "" : fmt::format("_cov{}", config.code_object_version);
  return {config, fmt::format("zyfa_quantise_hd{}{}{}_gfx950", config.head_dim,
                              config.rotation == Rotation::hadamard ? "_hadamard" : "", container)};
}

std::vector<QuantiseConfig> supported_quantise_configs() {
  std::vector<QuantiseConfig> all;
  for (const int head_dim : head_dims)
    for (const Rotation rotation : rotations) all.push_back({head_dim, rotation});
  return all;
}

std::string describe(const QuantiseConfig& config) {
  return fmt::format("--kernel quantise --head-dim {} --rotation {}", config.head_dim, name(config.rotation));
}

}  // namespace zyfa::generator
