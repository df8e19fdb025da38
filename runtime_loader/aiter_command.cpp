#include "runtime_loader/aiter_command.h"

#include "isa/error.h"
#include "runtime_loader/aiter_run.h"
#include "runtime_loader/emulate.h"
#include "runtime_loader/findings.h"
#include "runtime_loader/progress.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>

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
  options.progress = [&bar](std::uint64_t done, std::uint64_t) { bar.done() = static_cast<std::int64_t>(done); };
  return run_aiter(kernel, command.problem, inputs, options);
}

// JSON has no infinity or NaN.
nlohmann::ordered_json number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(fmt::format("{}", value));
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
  if (c) {
    json["relative_error"] = number(c->relative_error);
    json["max_abs_error"] = number(c->max_abs_error);
    json["lse_max_error"] = number(c->lse_max_error);
    json["passed"] = c->passed && run.result.findings.empty();
  }
  if (command.strict) json["findings"] = findings_json(run.result);
  json["seconds"] = run.seconds;
  json["emulated_gflops"] = run.seconds > 0 ? flops(kernel, command.problem) / run.seconds * 1e-9 : 0;
  json["instructions"] = run.result.instructions;
  fmt::print("{}\n", json.dump(2));
}

void print_text(const AiterCommand& command, const AiterKernel& kernel, const AiterRun& run, const Comparison* c) {
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
  if (c)
    fmt::print("error      relative {:.3g}, maximum {:.3g}{}\n", c->relative_error, c->max_abs_error,
               run.lse.empty() ? "" : fmt::format(", LSE {:.3g}", c->lse_max_error));
  fmt::print("emulation  {:.2f} s, {:.1f} GFLOP/s, {} instructions\n", run.seconds,
             run.seconds > 0 ? flops(kernel, p) / run.seconds * 1e-9 : 0, run.result.instructions);
  if (c && !c->passed)
    fmt::print("worst      sequence {}, query {}, head {}, element {}: {:.3g} of the row's root mean square\n",
               c->worst.batch, c->worst.row, c->worst.head, c->worst.dim, c->max_element_error);
  print_findings(run.result);
  const bool found = !run.result.findings.empty();
  fmt::print("{}\n", found || (c && !c->passed) ? "FAILED" : c ? "PASSED" : "NOT CHECKED");
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
  const AiterKernel kernel = load_aiter_kernel(command.kernel, parse_aiter_abi(command.abi), command.overrides);
  if (command.check && !kernel.format.plain)
    throw Error("format {} has no reference; run it with --no-check", kernel.format.name);
  const AiterInputs inputs = make_aiter_inputs(kernel, command.problem);
  const AiterRun run = emulate(command, kernel, inputs);
  if (run.result.trap) {
    if (!command.json) print_findings(run.result);
    throw Error("{}", run.result.trap->message);
  }
  std::optional<Comparison> comparison;
  Tolerances tolerances = command.tolerances;
  if (command.default_tolerance) tolerances.relative = aiter_tolerance(kernel.format);
  if (command.check) comparison = compare_aiter(kernel, inputs, run, tolerances, command.check_stride, command.threads);
  const Comparison* c = comparison ? &*comparison : nullptr;
  command.json ? print_json(command, kernel, run, c) : print_text(command, kernel, run, c);
  return (!c || c->passed) && run.result.findings.empty() ? 0 : 1;
}

}  // namespace zyfa::runtime
