// zyfa-gen: from a shape on the command line to a kernel's .s, .co and .json.

#include "generator/command.h"
#include "generator/generate.h"
#include "generator/machine_file.h"
#include "generator/probe_files.h"
#include "runtime_loader/dumps/dumps.h"
#include "runtime_loader/gen_options.h"
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
using namespace zyfa::runtime;

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

int write_quantise(const GenArguments& args, const nlohmann::json& file, const isa::Machine& machine) {
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
std::vector<std::filesystem::path> dump_schedule(const KernelFiles& files, const GenArguments& args) {
  const SimulatedProblem problem;
  const std::string machine = args.machine_file.value_or("nominal");
  const Simulation simulation(files.code_object, problem);
  const SimulatedMachine run = [&] {
    ProgressBar bar("simulating", simulations);
    return simulate(simulation, machine, find_machine(machine), {}, bar.done());
  }();
  return write_dumps(simulation, run, {parse_dumps("all"), args.out, {}, simulation.problem()});
}

// Whether ctrl-C was pressed, which is held back during a search: what has been measured is kept.
bool is_interrupted() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1;
}

int run_tuning(const GenArguments& args) {
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
  TuneOptions options{family, stem.string() + ".tuning", args.time_budget, is_interrupted};
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigprocmask(SIG_BLOCK, &interrupt, nullptr);
  const Tuned tuned = [&] {
    ProgressBar bar("tuning", static_cast<std::uint64_t>(1000 * args.time_budget));
    return tune(config, options, bar.done());
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

int run_probes(const GenArguments& args) {
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

int run(const GenArguments& args) {
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

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Generates FP8 attention kernels for AMD's gfx950 (MI350X, MI355X)."};
  GenArguments args;
  const CLI::Option* probe = add_gen_options(app, args);
  CLI11_PARSE(app, argc, argv);
  if (probe->count() > 0 && !args.probes) args.probes.emplace();
  return generator::exit_code_of([&] {
    if (probe->count() > 0) check_probe_alone(app);
    return run(args);
  });
}
