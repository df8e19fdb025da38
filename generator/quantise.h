// The kernel that makes e4m3 codes of BF16 queries, keys or values: what is asked for, and the arithmetic between that
// and the kernel. docs/quantise.md.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zyfa::generator {

// Each row times an orthonormal Walsh-Hadamard matrix before it is rounded: of 128 elements, and of 192 as 128 and 64.
enum class Rotation { none, hadamard };
std::string_view name(Rotation rotation);
Rotation parse_rotation(std::string_view text);  // "none", "hadamard"; throws Error that lists these

struct QuantiseConfig {
  int head_dim = 128;  // elements of a row
  Rotation rotation = Rotation::none;
  int code_object_version = 5;  // 5 or 6

  bool operator==(const QuantiseConfig&) const = default;
};

// The keys of the JSON form are the command line's long options with underscores, as in config.h. Missing keys keep
// their defaults. Throws Error naming an unknown key, a wrong type or value.
QuantiseConfig quantise_config_from_json(const nlohmann::json& json, std::string_view source);
nlohmann::ordered_json to_json(const QuantiseConfig& config);

struct QuantisePlan {
  QuantiseConfig config;
  std::string symbol;  // unique per configuration

  // A wave holds tiles of 16 rows, one after the other; four lanes share a row.
  static constexpr int rows_per_tile = 16, tiles_per_wave = 2, waves = 4;
  static constexpr int rows_per_wave() { return rows_per_tile * tiles_per_wave; }
  static constexpr int rows_per_workgroup() { return rows_per_wave() * waves; }
  static constexpr int workgroup_size() { return waves * 64; }
  // A maximum of each wave.
  static constexpr int lds_bytes = 4 * waves;
};

// Throws Error that lists what is accepted.
QuantisePlan make_quantise_plan(const QuantiseConfig& config);

// Every configuration that make_quantise_plan accepts, in the default code object version.
std::vector<QuantiseConfig> supported_quantise_configs();
std::string describe(const QuantiseConfig& config);  // "--kernel quantise --head-dim 128 --rotation hadamard"

// The partial maxima of a (batch, head of the codes' scale) lie in one buffer of 32-bit addresses.
inline constexpr std::int64_t max_partial_maxima = std::int64_t{1} << 28;

}  // namespace zyfa::generator
