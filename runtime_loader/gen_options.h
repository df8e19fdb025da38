// What zyfa-gen takes on its command line, and the configurations that it asks for.
#pragma once

#include "generator/config.h"
#include "generator/quantise.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace zyfa::runtime {

// What was said on the command line; what was not said comes from --config or the defaults.
struct GenArguments {
  std::optional<int> head_dim, v_head_dim, cov;
  std::optional<std::string> kernel, dtype, q_dtype, softmax, score_scale, schedule, config_file, machine_file;
  std::optional<std::string> rotation;
  std::optional<bool> causal, lse, skip_zero_blocks;
  std::optional<std::vector<std::string>> probes;
  std::string out = ".";
  double time_budget = 60;
  bool tune = false, list = false, json = false, print_machine = false, dump_schedule = false;
};

// Options with their help, which of them exclude or need each other, and examples. `args` must outlive the parsing.
// Returns --probe, which takes no names as all of them.
const CLI::Option* add_gen_options(CLI::App& app, GenArguments& args);

// --config's object without the kind of kernel, which is given back: --kernel's, the file's, or attention. Throws Error
// for an unknown kind, and where neither --head-dim nor --config says which kernel.
std::string take_kind(const GenArguments& args, nlohmann::json& file);

// Throw Error for an option that is for a kernel of another kind, and what config_from_json refuses.
generator::AttentionConfig configuration(const GenArguments& args);
generator::QuantiseConfig quantise_configuration(const GenArguments& args, const nlohmann::json& file);

// Throws Error for an option that was given and does not go with --probe.
void check_probe_alone(const CLI::App& app);

}  // namespace zyfa::runtime
