#include "runtime_loader/gen_options.h"

#include "generator/command.h"
#include "generator/json_file.h"

#include <CLI/CLI.hpp>

#include <utility>

namespace zyfa::runtime {
namespace {

using namespace generator;

constexpr const char* examples = R"(Examples:
  zyfa-gen --head-dim 128 --dtype fp8                  causal kernel into the current directory
  zyfa-gen --head-dim 128 --dtype fp8 --no-causal --lse --out kernels
  zyfa-gen --config shape.json --json                  {"head_dim": 128, "dtype": "fp8", "causal": true}
  zyfa-gen --head-dim 128 --dump-schedule --out out    also how it runs on the pipe model: text, HTML, traces
  zyfa-gen --head-dim 128 --schedule ping-pong         a family of schedules by name, instead of the best recorded
  zyfa-gen --tune --head-dim 128 --time-budget 300 --out schedules/configs   search for a better schedule
  zyfa-gen --list                                      every shape that is supported
  zyfa-gen --kernel quantise --head-dim 128 --rotation hadamard   BF16 rows to e4m3: docs/quantise.md
  zyfa-gen --probe --list                              the microbenchmarks that ask for machine parameters
  zyfa-gen --probe rate-exp turn --out probes          two of them; without names, all
)";

// --NAME and --no-NAME, of which one may be given.
void add_choice(CLI::App& app, const std::string& name, std::optional<bool>& choice, const char* yes, const char* no) {
  CLI::Option* on = app.add_flag_callback(
      "--" + name, [&choice] { choice = true; }, yes);
  CLI::Option* off = app.add_flag_callback(
      "--no-" + name, [&choice] { choice = false; }, no);
  off->excludes(on);
}

void check_quantise_alone(const GenArguments& args) {
  const std::pair<const char*, bool> others[] = {{"--v-head-dim", args.v_head_dim.has_value()},
                                                 {"--dtype", args.dtype.has_value()},
                                                 {"--q-dtype", args.q_dtype.has_value()},
                                                 {"--softmax", args.softmax.has_value()},
                                                 {"--score-scale", args.score_scale.has_value()},
                                                 {"--schedule", args.schedule.has_value()},
                                                 {"--causal", args.causal.has_value()},
                                                 {"--lse", args.lse.has_value()},
                                                 {"--skip-zero-blocks", args.skip_zero_blocks.has_value()},
                                                 {"--dump-schedule", args.dump_schedule}};
  for (const auto& [option, given] : others)
    if (given) throw Error("{} does not go with a kernel that quantises", option);
}

}  // namespace

// --config's object without the kind of kernel, which is given back: --kernel's, the file's, or attention.
std::string take_kind(const GenArguments& args, nlohmann::json& file) {
  if (!args.config_file && !args.head_dim)
    throw Error("say which kernel: --head-dim N or --config FILE (--list shows the supported shapes)");
  std::string kind = "attention";
  if (args.config_file) {
    file = read_json_file(*args.config_file);
    if (file.is_object()) {
      read_key(file, "kernel", kind, *args.config_file);
      if (args.kernel && file.contains("kernel") && *args.kernel != kind)
        throw Error("{} is for the kernel '{}', not '{}'", *args.config_file, kind, *args.kernel);
      file.erase("kernel");
    }
  }
  if (args.kernel) kind = *args.kernel;
  if (kind != "attention" && kind != "quantise")
    throw Error("kernel '{}' is not known; accepted: attention, quantise", kind);
  return kind;
}

AttentionConfig configuration(const GenArguments& args) {
  nlohmann::json file;
  if (take_kind(args, file) != "attention") throw Error("a kernel that quantises has one order, which is not searched");
  if (args.rotation) throw Error("--rotation is for --kernel quantise");
  AttentionConfig config;
  if (args.config_file) config = config_from_json(file, *args.config_file);
  if (args.head_dim) {
    if (config.v_head_dim == config.head_dim) config.v_head_dim = *args.head_dim;  // it follows unless it was set apart
    config.head_dim = *args.head_dim;
  }
  if (args.v_head_dim) config.v_head_dim = *args.v_head_dim;
  if (args.dtype) config.dtype = parse_dtype(*args.dtype);
  if (args.q_dtype) config.q_dtype = parse_q_dtype(*args.q_dtype);
  if (args.softmax) config.softmax = parse_softmax(*args.softmax);
  if (args.score_scale) config.score_scale = parse_score_scale(*args.score_scale);
  if (args.schedule) config.schedule = *args.schedule;
  if (args.causal) config.causal = *args.causal;
  if (args.lse) config.lse = *args.lse;
  if (args.skip_zero_blocks) config.skip_zero_blocks = *args.skip_zero_blocks;
  if (args.cov) config.code_object_version = *args.cov;
  return config;
}

QuantiseConfig quantise_configuration(const GenArguments& args, const nlohmann::json& file) {
  check_quantise_alone(args);
  QuantiseConfig config;
  if (args.config_file) config = quantise_config_from_json(file, *args.config_file);
  if (args.head_dim) config.head_dim = *args.head_dim;
  if (args.rotation) config.rotation = parse_rotation(*args.rotation);
  if (args.cov) config.code_object_version = *args.cov;
  return config;
}

const CLI::Option* add_gen_options(CLI::App& app, GenArguments& args) {
  app.footer(examples);
  app.failure_message([](const CLI::App*, const CLI::Error& error) { return generator::usage_error(error.what()); });
  app.add_option("--kernel", args.kernel,
                 "attention (default), or quantise: BF16 rows to e4m3 codes (docs/quantise.md)");
  app.add_option("--head-dim", args.head_dim, "elements of a query and a key; with --kernel quantise of a row");
  app.add_option("--v-head-dim", args.v_head_dim, "elements of a value (default: as --head-dim)");
  app.add_option("--dtype", args.dtype, "format of Q, K and V: fp8 (default; OCP e4m3fn)");
  app.add_option("--q-dtype", args.q_dtype, "format of Q: fp8 (default), or bf16, which the kernel quantises");
  app.add_option("--softmax", args.softmax, "how probabilities are made: lean (default) or exact");
  app.add_option(
      "--score-scale", args.score_scale,
      "lean: how scores become codes: multiply-add (default) or folded into the matrix product, which needs a "
      "factor of the logits that is a power of two and hardware that keeps denormals (docs/kernel.md)");
  app.add_option("--schedule", args.schedule,
                 "auto (default): the best recorded for the shape; or a family by name: docs/tuning.md");
  app.add_option("--rotation", args.rotation,
                 "with --kernel quantise: none (default) or hadamard, of each row before it is rounded");
  add_choice(app, "causal", args.causal, "bottom-right causal mask (default)", "no mask");
  add_choice(app, "lse", args.lse, "also write the log-sum-exp of each row", "no log-sum-exp (default)");
  add_choice(app, "skip-zero-blocks", args.skip_zero_blocks,
             "leave out the output's products of 64 keys whose probabilities are all 0; the same result",
             "multiply them all (default)");
  app.add_option("--cov", args.cov, "code object version: 5 (default) or 6");
  app.add_option("--config", args.config_file, "JSON file with these options (underscores for dashes); options win");
  app.add_option("--out", args.out, "directory for the files, created if need be")->capture_default_str();
  CLI::Option* dump = app.add_flag(
      "--dump-schedule", args.dump_schedule,
      "also write how the kernel runs on the pipe model (zyfa-sim --dump all) with 4,096 queries and keys");
  CLI::Option* tune = app.add_flag("--tune", args.tune,
                                   "search the schedules of this configuration with the pipe model, under all three "
                                   "machines, and write the best to --out: docs/tuning.md");
  app.add_option("--time-budget", args.time_budget, "seconds for the search; run again, it goes on from there")
      ->needs(tune)
      ->capture_default_str();
  app.add_option("--machine", args.machine_file,
                 "nominal (default), optimistic, pessimistic, or a JSON file of parameters that replace nominal ones")
      ->excludes(tune);
  dump->excludes(tune);
  app.add_flag("--print-machine", args.print_machine, "print the machine parameters with their sources, then stop");
  CLI::Option* probe = app.add_option("--probe", args.probes,
                                      "write these microbenchmarks, or all: docs/probes.md; with --list, name them")
                           ->expected(0, -1);
  app.add_flag("--list", args.list, "print every supported shape, then stop");
  app.add_flag("--json", args.json, "print JSON instead of text");
  app.set_version_flag("--version", "zyfa " ZYFA_VERSION);
  return probe;
}

void check_probe_alone(const CLI::App& app) {
  for (const char* option : {"--kernel",
                             "--head-dim",
                             "--v-head-dim",
                             "--dtype",
                             "--q-dtype",
                             "--softmax",
                             "--score-scale",
                             "--rotation",
                             "--causal",
                             "--no-causal",
                             "--lse",
                             "--no-lse",
                             "--skip-zero-blocks",
                             "--no-skip-zero-blocks",
                             "--schedule",
                             "--tune",
                             "--cov",
                             "--config",
                             "--dump-schedule",
                             "--machine",
                             "--print-machine"})
    if (app.count(option) > 0)
      throw Error("{} does not go with --probe, whose kernels are one set for every machine", option);
}

}  // namespace zyfa::runtime
