#include "runtime_loader/aiter_command.h"

#include "isa/error.h"
#include "runtime_loader/aiter_run.h"
#include "runtime_loader/emulate.h"
#include "runtime_loader/progress.h"
#include "runtime_loader/report.h"

#include <nlohmann/json.hpp>

#include <charconv>

namespace zyfa::runtime {
namespace {

double flops(const AiterKernel& kernel, const AiterProblem& problem) {
  double sum = 0;
  for (std::size_t i = 0; i < problem.sequences.size(); ++i) sum += attention_flops(shape_of(kernel, problem, i));
  return sum;
}

AiterRun emulate(const AiterCommand& command, const AiterKernel& kernel, const AiterInputs& inputs) {
  int longest = 0;
  for (const AiterSequence& s : command.problem.sequences) longest = std::max(longest, s.seqlen_q);
  const auto grid =
      aiter_grid(kernel, longest, command.problem.heads, static_cast<int>(command.problem.sequences.size()));
  ProgressBar bar("emulating", std::uint64_t{grid[0]} * grid[1] * grid[2]);
  emulator::Options options;
  options.threads = command.threads;
  options.max_instructions = command.max_instructions;
  options.strict = command.strict;
  options.shuffle_seed = command.shuffle_seed;
  options.machine = command.machine;
  options.progress = [&bar](std::uint64_t done, std::uint64_t) { bar.done() = static_cast<std::int64_t>(done); };
  return run_aiter(kernel, command.problem, inputs, options);
}

// What zyfa-run makes for a kernel of ours with the same options. Groups of sequences and packed layouts have input of
// their own.
AiterInputs inputs_of(const AiterCommand& command, const AiterKernel& kernel) {
  const AiterProblem& p = command.problem;
  if (!kernel.format.plain || kernel.abi == AiterAbi::v3_group) {
    if ((command.input != InputKind::gaussian && command.input != InputKind::ones) || command.v_mean != 0)
      throw Error("{} of format {} takes --input gaussian or ones, without --v-mean", command.abi, kernel.format.name);
    return make_aiter_inputs(kernel, p);
  }
  AttentionShape shape = shape_of(kernel, p, 0);
  shape.batch = static_cast<int>(p.sequences.size());
  return encode_aiter_inputs(kernel, make_inputs(shape, command.input, p.sigma.value_or(1), p.seed,
                                                 {.softmax_scale = p.softmax_scale,
                                                  .v_ones = p.v_ones,
                                                  .v_mean = command.v_mean,
                                                  .threads = command.threads}));
}

void print_json(const AiterCommand& command, const AiterKernel& kernel, const AiterRun& run, const Comparison* c) {
  nlohmann::ordered_json lengths = nlohmann::ordered_json::array();
  for (const AiterSequence& s : command.problem.sequences) lengths.push_back({s.seqlen_q, s.seqlen_k});
  nlohmann::ordered_json json = {{"kernel", kernel.symbol},
                                 {"backend", "emulator"},
                                 {"abi", command.abi},
                                 {"format", kernel.format.name},
                                 {"sequences", lengths},
                                 {"heads", command.problem.heads},
                                 {"kv_heads", command.problem.kv_heads},
                                 {"head_dim", kernel.head_dim},
                                 {"v_head_dim", kernel.v_head_dim},
                                 {"causal", kernel.causal},
                                 {"checked", c != nullptr}};
  add_outcome(json, run.result, run.seconds, flops(kernel, command.problem), c, command.strict);
  fmt::print("{}\n", json.dump(2));
}

void print_text(const AiterCommand& command, const AiterKernel& kernel, const AiterRun& run, const Comparison* c,
                const Tolerances& tolerances) {
  const AiterProblem& p = command.problem;
  fmt::print("kernel     {}\n", kernel.symbol);
  fmt::print(
      "problem    {} of {}, heads {} (key/value heads {}), head dims {} and {}, up to {} queries and {} keys{}\n",
      p.sequences.size(), kernel.format.name, p.heads, p.kv_heads, kernel.head_dim, kernel.v_head_dim,
      std::max_element(p.sequences.begin(), p.sequences.end(),
                       [](const auto& a, const auto& b) { return a.seqlen_q < b.seqlen_q; })
          ->seqlen_q,
      std::max_element(p.sequences.begin(), p.sequences.end(),
                       [](const auto& a, const auto& b) { return a.seqlen_k < b.seqlen_k; })
          ->seqlen_k,
      kernel.causal ? ", causal" : "");
  print_outcome(run.result, run.seconds, flops(kernel, p), c, tolerances, !run.lse.empty());
}

}  // namespace

std::vector<int> parse_lengths(const std::string& option, const std::string& text) {
  std::vector<int> lengths;
  const char* at = text.data();
  const char* end = at + text.size();
  while (true) {
    int length = 0;
    const auto [next, error] = std::from_chars(at, end, length);
    if (error != std::errc{} || length < 0 || (next != end && *next != ','))
      throw Error("{} '{}' is not a list of lengths like 100,200", option, text);
    lengths.push_back(length);
    if (next == end) return lengths;
    at = next + 1;
  }
}

int run_aiter_command(const AiterCommand& command) {
  const AiterKernel kernel = load_aiter_kernel(command.kernel, parse_aiter_abi(command.abi));
  if (command.check && !kernel.format.plain)
    throw Error("format {} has no reference; run it with --no-check", kernel.format.name);
  const AiterInputs inputs = inputs_of(command, kernel);
  const AiterRun run = emulate(command, kernel, inputs);
  stop_at_trap(run.result, kernel.symbol, command.json);
  std::optional<Comparison> comparison;
  Tolerances tolerances;
  tolerances.relative = command.tolerance.value_or(aiter_tolerance(kernel.format));
  if (command.check) comparison = compare_aiter(kernel, inputs, run, tolerances, command.check_stride, command.threads);
  const Comparison* c = comparison ? &*comparison : nullptr;
  command.json ? print_json(command, kernel, run, c) : print_text(command, kernel, run, c, tolerances);
  return (!c || c->passed) && run.result.findings.empty() ? 0 : 1;
}

}  // namespace zyfa::runtime
