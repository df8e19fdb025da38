// zyfa-sim: how many clocks a kernel takes on the model of the machine's pipes, and where they go.

#include "generator/command.h"
#include "generator/machine_file.h"
#include "isa/error.h"
#include "runtime_loader/progress.h"
#include "runtime_loader/sim_report.h"

#include <fmt/ostream.h>
#include <CLI/CLI.hpp>

#include <set>

namespace {

using namespace zyfa;
using namespace zyfa::runtime;

constexpr const char* examples = R"(Examples:
  zyfa-sim K.co
  zyfa-sim K.co --seqlen 32768 --machine nominal --machine optimistic --machine pessimistic
  zyfa-sim fwd_hd128_fp8.co --abi aiter-v4 --seqlen 8192 --json
Clocks are modelled, not measured: docs/timing.md says from what, and how well it fits published figures.
)";

struct Arguments {
  std::string kernel;
  SimulatedProblem problem;
  std::optional<int> seqlen_k, kv_heads;
  std::vector<std::string> machines;
  std::optional<std::uint32_t> workgroup;
  std::optional<double> clock_ghz;
  std::size_t top = 12;
  bool json = false;
};

// The reported workgroup, and the three that the estimate rests on.
SimulatedMachine simulate(const Simulation& simulation, const Arguments& args, const std::string& name,
                          std::atomic<std::int64_t>& done) {
  SimulatedMachine run{name, generator::find_machine(name), {}, {}, {}};
  const std::uint32_t all = simulation.workgroups_per_head();
  const std::uint32_t reported = args.workgroup.value_or(all - 1);
  if (reported >= all) throw Error("a head has {} workgroups; there is no number {}", all, reported);
  const std::set<std::uint32_t> sampled{0, all / 2, all - 1};
  std::set<std::uint32_t> simulated = sampled;
  simulated.insert(reported);
  std::vector<std::pair<std::uint32_t, pipes::Clk>> known;
  const pipes::Options options{.machine = run.machine, .on_issue = {}};
  for (const std::uint32_t x : simulated) {
    pipes::Result result = simulation.run(x, options);
    if (sampled.contains(x)) known.emplace_back(x, result.cycles);
    if (x == reported) run.result = std::move(result);
    ++done;
  }
  run.loop = pipes::find_loop(run.result);
  run.estimate = estimate_grid(simulation, known, run.machine, args.clock_ghz.value_or(run.machine.clock_ghz));
  return run;
}

int run(Arguments args) {
  args.problem.seqlen_k = args.seqlen_k.value_or(args.problem.seqlen_q);
  args.problem.kv_heads = args.kv_heads.value_or(args.problem.heads);
  if (args.clock_ghz && !(*args.clock_ghz > 0)) throw Error("a clock of {} GHz is not positive", *args.clock_ghz);
  if (args.problem.seqlen_q == 0) throw Error("a problem without queries has no workgroup to simulate");
  const Simulation simulation(args.kernel, args.problem);
  std::vector<SimulatedMachine> runs;
  {
    ProgressBar bar("simulating", 4 * args.machines.size());
    for (const std::string& name : args.machines) runs.push_back(simulate(simulation, args, name, bar.done()));
  }
  if (args.json) {
    nlohmann::ordered_json json = {{"kernel", simulation.symbol()}, {"modelled", true}};
    if (runs.size() == 1) {
      json.update(simulation_json(simulation, runs.front()));
    } else {
      json["machines"] = nlohmann::ordered_json::array();
      for (const SimulatedMachine& one : runs) json["machines"].push_back(simulation_json(simulation, one));
    }
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  fmt::print("kernel     {}\n", simulation.symbol());
  const AttentionShape s = simulation.shape();
  fmt::print("problem    batch {}, heads {}, {} queries, {} keys{}; modelled, not measured\n", s.batch, s.heads,
             s.seqlen_q, s.seqlen_k, s.causal ? ", causal" : "");
  if (runs.size() == 1)
    print_simulation(simulation, runs.front(), args.top);
  else
    print_spread(runs);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Counts the clocks of a kernel on a model of the MI355X's instruction pipes."};
  Arguments args;
  app.footer(examples);
  app.failure_message([](const CLI::App*, const CLI::Error& error) { return generator::usage_error(error.what()); });
  app.add_option("kernel", args.kernel, "code object (.co), with its manifest (.json) beside it unless --abi is given")
      ->required();
  app.add_option("--abi", args.problem.abi,
                 "calling convention of an object of AITER's: aiter-v3, aiter-v3-group or aiter-v4");
  app.add_option("--batch", args.problem.batch, "batch entries")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--heads", args.problem.heads, "query heads")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--kv-heads", args.kv_heads, "key/value heads (default: as --heads)")->check(CLI::PositiveNumber);
  app.add_option("--seqlen", args.problem.seqlen_q, "queries, and keys unless --seqlen-k is given")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--seqlen-k", args.seqlen_k, "keys")->check(CLI::NonNegativeNumber);
  app.add_option("--sigma", args.problem.sigma, "standard deviation of the logits")->capture_default_str();
  app.add_option("--seed", args.problem.seed, "of the random input")->capture_default_str();
  app.add_option("--machine", args.machines, "nominal, optimistic, pessimistic or a JSON file; several give a table")
      ->default_val(std::vector<std::string>{"nominal"});
  app.add_option("--workgroup", args.workgroup, "which one of a head to report (default: the last)");
  app.add_option("--clock-ghz", args.clock_ghz, "for the estimate (default: the machine's peak clock)");
  app.add_option("--top", args.top, "so many of the instructions that waited longest")->capture_default_str();
  app.add_flag("--json", args.json, "print one JSON object instead of text");
  app.set_version_flag("--version", "zyfa " ZYFA_VERSION);
  CLI11_PARSE(app, argc, argv);
  return generator::exit_code_of([&args] { return run(args); });
}
