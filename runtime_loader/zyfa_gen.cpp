// zyfa-gen: from a shape on the command line to a kernel's .s, .co and .json.

#include "generator/command.h"
#include "generator/generate.h"
#include "generator/json_file.h"
#include "generator/machine_file.h"
#include "generator/probe_files.h"
#include "runtime_loader/dumps/dumps.h"
#include "runtime_loader/progress.h"
#include "runtime_loader/tune.h"

#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <cmath>
#include <csignal>
#include <iostream>
#include <optional>

namespace {

using namespace zyfa;
using namespace zyfa::generator;

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

// What was said on the command line; what was not said comes from --config or the defaults.
struct Arguments {
  std::optional<int> head_dim, v_head_dim, cov;
  std::optional<std::string> kernel, dtype, q_dtype, softmax, score_scale, schedule, config_file, machine_file;
  std::optional<std::string> rotation;
  std::optional<bool> causal, lse, skip_zero_blocks;
  std::optional<std::vector<std::string>> probes;
  std::string out = ".";
  double time_budget = 60;
  bool tune = false, list = false, json = false, print_machine = false, dump_schedule = false;
};

// --config's object without the kind of kernel, which is given back: --kernel's, the file's, or attention.
std::string take_kind(const Arguments& args, nlohmann::json& file) {
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

AttentionConfig configuration(const Arguments& args) {
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

QuantiseConfig quantise_configuration(const Arguments& args, const nlohmann::json& file) {
  QuantiseConfig config;
  if (args.config_file) config = quantise_config_from_json(file, *args.config_file);
  if (args.head_dim) config.head_dim = *args.head_dim;
  if (args.rotation) config.rotation = parse_rotation(*args.rotation);
  if (args.cov) config.code_object_version = *args.cov;
  return config;
}

// What --schedule takes for the shape.
std::vector<std::string_view> schedules(const SupportedShape& shape) {
  std::vector<std::string_view> names = {"auto"};
  for (const std::string_view family : families())
    if (offers(family, {.softmax = shape.softmax, .score_scale = shape.score_scale})) names.push_back(family);
  return names;
}

void print_shapes(bool json) {
  if (!json) {
    for (const SupportedShape& shape : supported_shapes())
      fmt::print("{}   [--q-dtype fp8|bf16] [--causal|--no-causal] {}[--schedule {}] [--cov 5|6]\n", describe(shape),
                 shape.has_exponents() ? "[--lse] [--skip-zero-blocks] " : "", fmt::join(schedules(shape), "|"));
    for (const QuantiseConfig& config : supported_quantise_configs())
      fmt::print("{}   [--cov 5|6]\n", describe(config));
    return;
  }
  const auto choices = [](bool both) {
    return both ? nlohmann::json::array({true, false}) : nlohmann::json::array({false});
  };
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const SupportedShape& shape : supported_shapes())
    list.push_back({{"dtype", name(shape.dtype)},
                    {"q_dtype", {"fp8", "bf16"}},
                    {"head_dim", shape.head_dim},
                    {"v_head_dim", shape.v_head_dim},
                    {"softmax", name(shape.softmax)},
                    {"score_scale", name(shape.score_scale)},
                    {"causal", {true, false}},
                    {"lse", choices(shape.has_exponents())},
                    {"skip_zero_blocks", choices(shape.has_exponents())},
                    {"schedule", schedules(shape)},
                    {"code_object_version", {5, 6}}});
  for (const QuantiseConfig& config : supported_quantise_configs()) {
    list.push_back(to_json(config));
    list.back().erase("cov");
    list.back()["code_object_version"] = {5, 6};
  }
  fmt::print("{}\n", list.dump(2));
}

// The lines below the kernel's name and schedule.
void print_resources(const KernelBody& body, int lds_bytes, int waves, const KernelFiles& files,
                     const std::vector<std::filesystem::path>& dumps, const isa::Machine& machine) {
  const int waves_per_simd = isa::waves_per_simd(machine, body.vgprs + body.agprs);
  fmt::print("  registers       {} VGPRs, {} AGPRs, {} SGPRs\n", body.vgprs, body.agprs, body.sgprs);
  fmt::print("  LDS             {} bytes of {}\n", lds_bytes, machine.lds_bytes);
  fmt::print("  waves per SIMD  {} (workgroup of {} waves)\n", waves_per_simd, waves);
  fmt::print("  instructions    {}\n", body.program.code.size());
  for (const auto& file : {files.assembly, files.code_object, files.manifest})
    fmt::print("  wrote           {}\n", file.string());
  for (const auto& dump : dumps) fmt::print("  wrote           {}\n", dump.string());
}

void print_summary(const GeneratedKernel& kernel, const KernelFiles& files,
                   const std::vector<std::filesystem::path>& dumps, const isa::Machine& machine) {
  fmt::print("{}\n", kernel.plan.symbol);
  const auto& record = kernel.plan.record;
  fmt::print("  schedule        {}, {}\n", family(kernel.plan.schedule),
             record ? fmt::format("score {:.4f} of {} (modelled)", record->score(), record->problem) : "by default");
  print_resources(kernel.body, kernel.plan.lds.total_bytes(), kernel.plan.waves(), files, dumps, machine);
}

void print_json(const nlohmann::ordered_json& manifest, const KernelFiles& files,
                const std::vector<std::filesystem::path>& dumps) {
  nlohmann::ordered_json json = {{"symbol", manifest["symbol"]},
                                 {"files",
                                  {{"assembly", files.assembly.string()},
                                   {"code_object", files.code_object.string()},
                                   {"manifest", files.manifest.string()}}}};
  for (const char* key : {"schedule", "resources", "sha256"})
    if (manifest.contains(key)) json[key] = manifest[key];
  for (const auto& dump : dumps) json["dumps"].push_back(dump.string());
  fmt::print("{}\n", json.dump(2));
}

void check_quantise_alone(const Arguments& args) {
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

int write_quantise(const Arguments& args, const nlohmann::json& file, const isa::Machine& machine) {
  check_quantise_alone(args);
  const GeneratedQuantise kernel = generate_quantise(quantise_configuration(args, file), machine);
  const KernelFiles files = write_kernel(kernel, args.out);
  if (args.json) {
    print_json(kernel.manifest, files, {});
  } else {
    fmt::print("{}\n", kernel.plan.symbol);
    print_resources(kernel.body, kernel.plan.lds_bytes, kernel.plan.waves, files, {}, machine);
  }
  return 0;
}

// How the kernel runs on the pipe model, with the problem that zyfa-sim takes unless it is told of another.
std::vector<std::filesystem::path> dump_schedule(const KernelFiles& files, const Arguments& args) {
  const runtime::SimulatedProblem problem;
  const std::string machine = args.machine_file.value_or("nominal");
  const runtime::Simulation simulation(files.code_object, problem);
  const runtime::SimulatedMachine run = [&] {
    runtime::ProgressBar bar("simulating", runtime::simulations);
    return runtime::simulate(simulation, machine, find_machine(machine), {}, bar.done());
  }();
  return runtime::write_dumps(simulation, run, {runtime::parse_dumps("all"), args.out, {}, simulation.problem()});
}

// Whether ctrl-C was pressed, which is held back during a search: what has been measured is kept.
bool is_interrupted() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1;
}

int run_tuning(const Arguments& args) {
  const AttentionConfig asked = configuration(args), config = tuned_config(asked);
  constexpr double longest = 1e6;
  if (!(args.time_budget >= 0 && args.time_budget <= longest))
    throw Error("a time budget of {} seconds; accepted: 0 to {}", args.time_budget, longest);
  if (asked.skip_zero_blocks) throw Error("--skip-zero-blocks has one order of its own; it goes without --tune");
  if (asked.q_dtype != QueryType::fp8)
    throw Error("how queries come makes no difference to a search; accepted with --tune: --q-dtype fp8");
  const std::string family = asked.schedule == "auto" ? std::string(families().front()) : asked.schedule;
  make_plan(asked);
  make_directory(args.out);
  const std::filesystem::path stem = std::filesystem::path(args.out) / record_name(config, family);
  runtime::TuneOptions options{family, stem.string() + ".tuning", args.time_budget, is_interrupted};
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigprocmask(SIG_BLOCK, &interrupt, nullptr);
  const runtime::Tuned tuned = [&] {
    runtime::ProgressBar bar("tuning", static_cast<std::uint64_t>(1000 * args.time_budget));
    return runtime::tune(config, options, bar.done());
  }();
  const nlohmann::ordered_json record = to_json(tuned.record);
  const std::string file = stem.string() + ".json", text = record.dump(2) + "\n";
  write_file(file, std::as_bytes(std::span(text)));
  if (args.json) {
    nlohmann::ordered_json json = {{"file", file},
                                   {"record", record},
                                   {"candidates", tuned.candidates},
                                   {"failed", tuned.failed},
                                   {"complete", tuned.complete}};
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{}\n  problem         {}\n", record_name(config, family), tuned.record.problem);
    fmt::print("  candidates      {}, of which {} cannot be built; {}\n", tuned.candidates, tuned.failed,
               tuned.complete ? "the search is complete" : "a longer search goes on from here");
    for (std::size_t m = 0; m < judging_machines.size(); ++m)
      fmt::print("  {:<15} {} clk, {} by default {}\n", judging_machines[m], tuned.record.clk[m], families().front(),
                 tuned.record.default_clk[m]);
    const double score = tuned.record.score();
    fmt::print("  score           {}\n",
               std::isfinite(score) ? fmt::format("{:.4f}", score) : "none: slower than the default on some machine");
    fmt::print("  wrote           {}\n", file);
  }
  constexpr int killed_by_interrupt = 130;
  return is_interrupted() ? killed_by_interrupt : 0;
}

int run_probes(const Arguments& args) {
  const nlohmann::ordered_json probes = args.list ? list_probes() : write_probes(*args.probes, args.out);
  if (args.json) {
    fmt::print("{}\n", probes.dump(2));
    return 0;
  }
  for (const auto& probe : probes)
    fmt::print("{:<18} {}\n", probe["name"].get<std::string>(), probe["question"].get<std::string>());
  if (!args.list) fmt::print("wrote {} probes and probes.json to {}\n", probes.size(), args.out);
  return 0;
}

int run(const Arguments& args) {
  if (args.probes) return run_probes(args);
  const isa::Machine machine = args.machine_file ? find_machine(*args.machine_file) : isa::Machine{};
  if (args.print_machine) {
    fmt::print("{}\n", to_json(machine).dump(2));
    return 0;
  }
  if (args.list) {
    print_shapes(args.json);
    return 0;
  }
  if (args.tune) return run_tuning(args);
  nlohmann::json file;
  if (take_kind(args, file) == "quantise") return write_quantise(args, file, machine);
  const GeneratedKernel kernel = generate(configuration(args), machine);
  const KernelFiles files = write_kernel(kernel, args.out);
  std::vector<std::filesystem::path> dumps;
  if (args.dump_schedule) dumps = dump_schedule(files, args);
  if (args.json)
    print_json(kernel.manifest, files, dumps);
  else
    print_summary(kernel, files, dumps, machine);
  return 0;
}

// --NAME and --no-NAME, of which one may be given.
void add_choice(CLI::App& app, const std::string& name, std::optional<bool>& choice, const char* yes, const char* no) {
  CLI::Option* on = app.add_flag_callback(
      "--" + name, [&choice] { choice = true; }, yes);
  CLI::Option* off = app.add_flag_callback(
      "--no-" + name, [&choice] { choice = false; }, no);
  off->excludes(on);
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

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Generates FP8 attention kernels for AMD's gfx950 (MI350X, MI355X)."};
  Arguments args;
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
  const CLI::Option* probe =
      app.add_option("--probe", args.probes,
                     "write these microbenchmarks, or all: docs/probes.md; with --list, name them")
          ->expected(0, -1);
  app.add_flag("--list", args.list, "print every supported shape, then stop");
  app.add_flag("--json", args.json, "print JSON instead of text");
  app.set_version_flag("--version", "zyfa " ZYFA_VERSION);
  CLI11_PARSE(app, argc, argv);
  if (probe->count() > 0 && !args.probes) args.probes.emplace();
  return generator::exit_code_of([&] {
    if (probe->count() > 0) check_probe_alone(app);
    return run(args);
  });
}
