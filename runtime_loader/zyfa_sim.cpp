// zyfa-sim: how many clocks a kernel takes on the model of the machine's pipes, and where they go.

#include "generator/command.h"
#include "generator/generate.h"
#include "generator/machine_file.h"
#include "isa/error.h"
#include "runtime_loader/dumps/dumps.h"
#include "runtime_loader/probe_report.h"
#include "runtime_loader/progress.h"
#include "runtime_loader/quantise_sim.h"
#include "runtime_loader/sensitivity.h"
#include "runtime_loader/sim_report.h"
#include "runtime_loader/sim_text.h"

#include <fmt/ostream.h>
#include <CLI/CLI.hpp>

#include <array>

namespace {

using namespace zyfa;
using namespace zyfa::runtime;

constexpr const char* examples = R"(Examples:
  zyfa-sim K.co
  zyfa-sim K.co --seqlen 32768 --machine nominal --machine optimistic --machine pessimistic
  zyfa-sim K.co --input sink --sigma 2 --energy
  zyfa-sim K.co --sensitivity
  zyfa-sim zyfa_quantise_hd128_gfx950.co --heads 8 --seqlen 16384   both phases of a kernel that quantises
  zyfa-sim fwd_hd128_fp8.co --abi aiter-v4 --seqlen 8192 --json
  zyfa-sim gemm.co --launch gemm.json
  zyfa-sim K.co --dump page --out dumps          one HTML page: timeline, stalls, registers, LDS
  zyfa-sim K.co --dump timeline --dump-clk 40000:41000
  zyfa-sim K.co --dump all                       also a trace for Perfetto and a directory for rocprof-compute-viewer
  zyfa-sim --probe DIR --out-machine found.json  what zyfa-gen --probe --out DIR wrote, on the model
Clocks are modelled, not measured: docs/timing.md says from what, and how well it fits published figures, and has an
example of a launch description. Energy is a proxy with guessed weights: docs/energy.md.
)";

struct Arguments {
  std::string kernel, probe_directory;
  std::optional<std::string> out_machine, recorded, record;
  SimulatedProblem problem;
  std::optional<int> seqlen_k, kv_heads;
  std::string input = "gaussian";
  std::vector<std::string> machines;
  SimulatedRun run;
  std::size_t top = 12;
  std::string dumps, dump_clk, out = ".";
  bool energy = false, sensitivity = false, json = false;
};

nlohmann::ordered_json header(const Simulation& simulation) {
  return {{"kernel", simulation.symbol()}, {"modelled", true}, {"input", simulation.input()}};
}

int run_sensitivity(const Arguments& args, const Simulation& simulation) {
  if (args.machines.size() != 1) throw Error("--sensitivity takes one machine, not {}", args.machines.size());
  const isa::Machine machine = generator::find_machine(args.machines.front());
  const Sensitivity moved = [&] {
    const std::optional<std::uint32_t> asked = args.run.workgroup;
    ProgressBar bar("simulating", sensitivity_runs() + (asked ? 0 : samples));
    const std::uint32_t workgroup = asked ? *asked : slowest_workgroup(simulation, machine, bar.done());
    return sensitivity(simulation, workgroup, args.machines.front(), machine, bar.done());
  }();
  if (args.json) {
    nlohmann::ordered_json json = header(simulation);
    json.update(sensitivity_json(moved));
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  print_problem(simulation);
  print_sensitivity(moved);
  return 0;
}

void print_json(const Simulation& simulation, const std::vector<SimulatedMachine>& runs,
                const std::vector<std::filesystem::path>& dumped) {
  nlohmann::ordered_json json = header(simulation);
  if (runs.size() == 1) {
    json.update(simulation_json(simulation, runs.front()));
  } else {
    json["machines"] = nlohmann::ordered_json::array();
    for (const SimulatedMachine& one : runs) json["machines"].push_back(simulation_json(simulation, one));
  }
  for (const auto& path : dumped) json["dumps"].push_back(path.string());
  fmt::print("{}\n", json.dump(2));
}

// A launch description says all of the problem itself.
constexpr std::array problem_options = {"--abi",      "--batch", "--heads", "--kv-heads", "--seqlen",
                                        "--seqlen-k", "--input", "--sigma", "--seed"};

void check_launch_alone(const CLI::App& app) {
  for (const char* option : problem_options)
    if (app.count(option) > 0)
      throw Error("{} does not go with --launch, whose file describes the whole launch", option);
}

void check_probe_alone(const CLI::App& app) {
  std::vector<const char*> options(problem_options.begin(), problem_options.end());
  options.insert(options.end(), {"--launch", "--workgroup", "--clock-ghz", "--top", "--energy", "--sensitivity"});
  for (const char* option : options)
    if (app.count(option) > 0) throw Error("{} does not go with --probe, which runs the probes of a directory", option);
}

// Probes instead of a kernel. The exit code is 0 if the machine's parameters came back.
int run_probes(const Arguments& args) {
  if (args.machines.size() != 1) throw Error("--probe takes one --machine");
  const std::string& name = args.machines.front();
  const isa::Machine machine = generator::find_machine(name);
  const std::vector<LoadedProbe> probes = load_probes(args.probe_directory);
  std::vector<Recorded> recorded;
  if (args.recorded) {
    recorded = read_recorded(probes, *args.recorded);
  } else {
    ProgressBar bar("probing", probes.size());
    for (const LoadedProbe& probe : probes) {
      recorded.push_back(simulate_probe(probe, machine));
      ++bar.done();
    }
  }
  if (args.record) write_recorded(probes, recorded, *args.record);
  const std::vector<ProbeResult> results = evaluate_probes(recorded);
  if (args.out_machine)
    write_machine(results,
                  args.recorded ? ProbeSource{"recorded in " + *args.recorded, isa::Confidence::measured}
                                : ProbeSource{"on the pipe model of machine " + name, isa::Confidence::inferred},
                  *args.out_machine);
  if (args.json) {
    nlohmann::ordered_json json = {{"machine", name}, {"modelled", !args.recorded}};
    json.update(probe_json(results, machine));
    fmt::print("{}\n", json.dump(2));
  } else {
    print_probes(results, machine);
  }
  return all_agree(results, machine) ? 0 : 1;
}

// A kernel that quantises: --seqlen rows, of which --heads / --kv-heads heads share a descale.
int run_quantise(const Arguments& args, const CLI::App& app) {
  for (const char* option : {"--seqlen-k", "--input", "--sigma", "--seed", "--workgroup", "--top", "--energy",
                             "--sensitivity", "--dump", "--dump-clk", "--out"})
    if (app.count(option) > 0) throw Error("{} does not go with a kernel that quantises", option);
  const SimulatedProblem& p = args.problem;
  const int kv_heads = args.kv_heads.value_or(p.heads);
  if (p.heads % kv_heads != 0) throw Error("{} heads are no multiple of {} key/value heads", p.heads, kv_heads);
  if (p.seqlen_q == 0) throw Error("a problem without rows has no workgroup to simulate");
  const QuantiseExtents extents{p.batch, p.seqlen_q, p.heads, p.heads / kv_heads};
  const QuantiseKernel kernel = load_quantise_kernel(args.kernel);
  std::vector<QuantiseEstimate> estimates;
  for (const std::string& name : args.machines) {
    const isa::Machine machine = generator::find_machine(name);
    estimates.push_back(
        estimate_quantise(kernel, extents, name, machine, args.run.clock_ghz.value_or(machine.clock_ghz)));
  }
  if (args.json)
    fmt::print("{}\n", quantise_json(kernel, extents, estimates).dump(2));
  else
    print_quantise(kernel, extents, estimates);
  return 0;
}

int run(Arguments args, const CLI::App& app) {
  if (!args.probe_directory.empty()) return run_probes(args);
  if (args.kernel.empty()) throw Error("say which kernel to run, or --probe DIR (--help has examples)");
  if (args.run.clock_ghz && !(*args.run.clock_ghz > 0))
    throw Error("a clock of {} GHz is not positive", *args.run.clock_ghz);
  const bool is_own = args.problem.abi.empty() && args.problem.launch.empty();
  if (is_own && kernel_kind(args.kernel) == "quantise") return run_quantise(args, app);
  DumpRequest dump;
  if (!args.dumps.empty()) dump.kinds = parse_dumps(args.dumps);
  if (!args.dump_clk.empty()) dump.between = parse_window(args.dump_clk);
  if (!args.dumps.empty() && args.machines.size() > 1)
    throw Error("--dump shows one machine, not {}", args.machines.size());
  args.problem.seqlen_k = args.seqlen_k.value_or(args.problem.seqlen_q);
  args.problem.kv_heads = args.kv_heads.value_or(args.problem.heads);
  args.problem.input = parse_input_kind(args.input);
  if (args.problem.seqlen_q == 0) throw Error("a problem without queries has no workgroup to simulate");
  if (args.problem.heads % args.problem.kv_heads != 0)
    throw Error("{} query heads are no multiple of {} key/value heads", args.problem.heads, args.problem.kv_heads);
  const Simulation simulation(args.kernel, args.problem);
  if (args.run.workgroup && *args.run.workgroup >= simulation.workgroups_per_head())
    throw Error("{} has {} workgroups; there is no number {}", simulation.shape() ? "a head" : "the launch",
                simulation.workgroups_per_head(), *args.run.workgroup);
  if (args.sensitivity) return run_sensitivity(args, simulation);
  std::vector<SimulatedMachine> runs;
  {
    ProgressBar bar("simulating", simulations * args.machines.size());
    for (const std::string& name : args.machines)
      runs.push_back(simulate(simulation, name, generator::find_machine(name), args.run, bar.done()));
  }
  std::vector<std::filesystem::path> dumped;
  if (!dump.kinds.empty()) {
    dump.directory = args.out;
    dump.problem = simulation.problem();
    dumped = write_dumps(simulation, runs.front(), dump);
  }
  if (args.json) {
    print_json(simulation, runs, dumped);
    return 0;
  }
  print_problem(simulation);
  if (runs.size() == 1)
    print_simulation(simulation, runs.front(), args.top, args.energy);
  else
    print_spread(runs);
  for (const auto& path : dumped) fmt::print("wrote      {}\n", path.string());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Counts the clocks of a kernel on a model of the MI355X's instruction pipes."};
  Arguments args;
  app.footer(examples);
  app.failure_message([](const CLI::App*, const CLI::Error& error) { return generator::usage_error(error.what()); });
  CLI::Option* kernel =
      app.add_option("kernel", args.kernel,
                     "code object (.co), with its manifest (.json) beside it unless --abi or --launch is given");
  CLI::Option* probe = app.add_option("--probe", args.probe_directory,
                                      "run the probes in this directory instead of a kernel: docs/probes.md");
  app.add_option("--out-machine", args.out_machine, "write what the probes found as a file for --machine")
      ->needs(probe);
  CLI::Option* recorded = app.add_option("--recorded", args.recorded,
                                         "evaluate what a device stored, DIR/<symbol>.out, instead of the model");
  recorded->needs(probe);
  app.add_option("--record", args.record, "write such files of the model")->needs(probe)->excludes(recorded);
  kernel->excludes(probe);
  const CLI::Option* abi = app.add_option(
      "--abi", args.problem.abi, "calling convention of an object of AITER's: aiter-v3, aiter-v3-group or aiter-v4");
  const CLI::Option* launch = app.add_option(
      "--launch", args.problem.launch,
      "JSON description of a launch, in place of the options of a problem, for a kernel of any convention");
  app.add_option("--batch", args.problem.batch, "batch entries")
      ->check(generator::positive_number)
      ->capture_default_str();
  app.add_option("--heads", args.problem.heads, "query heads")
      ->check(generator::positive_number)
      ->capture_default_str();
  app.add_option("--kv-heads", args.kv_heads, "key/value heads (default: as --heads)")
      ->check(generator::positive_number);
  app.add_option("--seqlen", args.problem.seqlen_q, "queries, and keys unless --seqlen-k is given")
      ->check(generator::whole_number)
      ->capture_default_str();
  app.add_option("--seqlen-k", args.seqlen_k, "keys")->check(generator::whole_number);
  app.add_option("--input", args.input, "of Q, K and V: gaussian, sink, ones or peaked, as zyfa-run has them")
      ->capture_default_str();
  app.add_option("--sigma", args.problem.sigma, "standard deviation of the logits")->capture_default_str();
  app.add_option("--seed", args.problem.seed, "of the random input")
      ->check(generator::whole_number)
      ->capture_default_str();
  app.add_option("--machine", args.machines, "nominal, optimistic, pessimistic or a JSON file; several give a table")
      ->default_val(std::vector<std::string>{"nominal"});
  app.add_option(
      "--workgroup", args.run.workgroup,
      "which one of a head, or of a launch, to report and dump (default: of the first, middle and last the one "
      "that takes most clocks)");
  app.add_option("--clock-ghz", args.run.clock_ghz, "for the estimate (default: the machine's peak clock)");
  app.add_option("--top", args.top, "so many of the instructions that waited longest")->capture_default_str();
  app.add_flag("--energy", args.energy, "list what the loop's energy is made of");
  CLI::Option* sensitivity =
      app.add_flag("--sensitivity", args.sensitivity,
                   "how much each open question of the machine moves the clocks, alone (isa/machine_spread.def)");
  CLI::Option* dump = app.add_option("--dump", args.dumps,
                                     "write views of the run: timeline (text as of llvm-mca), trace (for Perfetto), "
                                     "viewer (for rocprof-compute-viewer), page (HTML), several with commas, or all")
                          ->excludes(sensitivity)
                          ->excludes(probe);
  app.add_option("--dump-clk", args.dump_clk,
                 "FROM:TO, the clocks to dump (default: one iteration of the loop for the timeline, four for trace and "
                 "page, all for the viewer)")
      ->needs(dump);
  app.add_option("--out", args.out, "directory for the dumps, created if need be")->capture_default_str()->needs(dump);
  app.add_flag("--json", args.json, "print one JSON object instead of text");
  app.set_version_flag("--version", "zyfa " ZYFA_VERSION);
  CLI11_PARSE(app, argc, argv);
  return generator::exit_code_of([&] {
    if (launch->count() > 0) check_launch_alone(app);
    if (abi->count() > 0) parse_aiter_abi(args.problem.abi);
    if (probe->count() > 0) check_probe_alone(app);
    return run(args, app);
  });
}
