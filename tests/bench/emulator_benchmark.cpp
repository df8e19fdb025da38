// How fast the emulator runs the attention kernel, and what its time goes to.
//
// GFLOP/s are the attention's own operations, 2 * (head_dim + v_head_dim) for every query and visible key, over the
// wall time of the emulation alone. The share of a kind of instruction is what the kernel takes longer when every
// instruction of that kind within its loops is there twice (what it computes then is of no interest), in processor
// time, best of all repeats, kernels taking turns: a busy host disturbs that least. What is left is scalar
// instructions, waits, barriers and the code outside the loops.
#include "generator/command.h"
#include "isa/emulator/vector_targets.h"

#include "isa/error.h"
#include "isa/isa.h"
#include "tests/support/kernels.h"

#include <fmt/ostream.h>
#include <hwy/targets.h>
#include <sys/resource.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ctime>
#include <iostream>
#include <limits>
#include <thread>

namespace {

using namespace zyfa;
using namespace zyfa::runtime;
using isa::Class;
using isa::Inst;

struct Arguments {
  AttentionShape shape{.batch = 1, .heads = 2, .kv_heads = 1, .seqlen_q = 2048, .seqlen_k = 0};
  int threads = 0, repeats = 7;
  bool json = false;
};

struct InstructionKind {
  const char* name;
  bool (*includes)(const Inst&);
};
constexpr InstructionKind kinds[] = {
    {"matrix", [](const Inst& inst) { return isa::is_mfma(inst); }},
    {"exponentials", [](const Inst& inst) { return isa::desc(inst.op).cls == Class::Trans; }},
    {"other vector", [](const Inst& inst) { return isa::is_valu(inst) && isa::desc(inst.op).cls != Class::Trans; }},
    {"LDS reads", [](const Inst& inst) { return isa::desc(inst.op).cls == Class::LdsRead; }},
    {"LDS-DMA", [](const Inst& inst) { return isa::is_lds_dma(inst); }},
};

// Which instructions lie between a branch backwards and its target.
std::vector<bool> in_loops(const isa::Program& program) {
  std::vector<bool> inside(program.code.size());
  for (std::uint32_t i = 0; i < program.code.size(); ++i)
    if (isa::is_branch(program.code[i]) && program.code[i].args[0].value <= i)
      std::fill(inside.begin() + program.code[i].args[0].value, inside.begin() + i + 1, true);
  return inside;
}

isa::Program with_doubled(const isa::Program& program, const InstructionKind& kind) {
  const std::vector<bool> inside = in_loops(program);
  isa::Program result;
  std::vector<std::uint32_t> moved;
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    moved.push_back(static_cast<std::uint32_t>(result.code.size()));
    result.code.push_back(program.code[i]);
    if (inside[i] && kind.includes(program.code[i])) result.code.push_back(program.code[i]);
  }
  for (Inst& inst : result.code)
    if (isa::is_branch(inst)) inst.args[0].value = moved[inst.args[0].value];
  return result;
}

struct Seconds {
  double wall, processor;
};

Seconds measure(const Kernel& kernel, const AttentionInputs& inputs, const Arguments& args) {
  EmulationOptions options;
  options.emulator.threads = args.threads;
  const std::clock_t start = std::clock();
  const EmulatedRun run = run_on_emulator(kernel, inputs, options);
  const std::clock_t end = std::clock();
  if (run.result.trap) throw Error("{}", run.result.trap->message);
  return {run.seconds, static_cast<double>(end - start) / CLOCKS_PER_SEC};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Measurement {
  double seconds = 0;  // wall, median
  std::vector<std::pair<const char*, double>> shares;
};

Measurement measure_all(Kernel kernel, const AttentionInputs& inputs, const Arguments& args) {
  std::vector<isa::Program> programs{kernel.code.program};
  for (const InstructionKind& kind : kinds) programs.push_back(with_doubled(programs[0], kind));
  std::vector<double> best(programs.size(), std::numeric_limits<double>::infinity()), wall;
  for (int round = 0; round <= args.repeats; ++round)
    for (std::size_t i = 0; i < programs.size(); ++i) {
      kernel.code.program = programs[i];
      const Seconds seconds = measure(kernel, inputs, args);
      if (round == 0) continue;  // warms up
      best[i] = std::min(best[i], seconds.processor);
      if (i == 0) wall.push_back(seconds.wall);
    }
  Measurement measurement{median(wall), {}};
  double rest = 1;
  for (std::size_t i = 1; i < programs.size(); ++i) {
    measurement.shares.emplace_back(kinds[i - 1].name, best[i] / best[0] - 1);
    rest -= measurement.shares.back().second;
  }
  measurement.shares.emplace_back("rest", rest);
  return measurement;
}

// What the process has held at most beyond the problem's inputs and outputs, in MB (10^6 bytes).
double extra_memory(const AttentionInputs& inputs) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const AttentionShape& s = inputs.shape;
  const auto rows = static_cast<double>(s.batch) * static_cast<double>(s.heads) * static_cast<double>(s.seqlen_q);
  const double outputs = rows * (2.0 * static_cast<double>(s.v_head_dim) + 4);  // BF16, and the FP32 LSE
  const double in = static_cast<double>(inputs.q.size() + inputs.k.size() + inputs.v.size());
  return (static_cast<double>(usage.ru_maxrss) * 1024 - in - outputs) * 1e-6;
}

// Targets are single bits; the lower, the better.
std::string vector_extension() {
  const std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(targets & -targets);
}

int run(Arguments args) {
  if (args.repeats < 1) throw Error("--repeats is {}; accepted: 1 or more", args.repeats);
  if (args.threads == 0) args.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const Kernel kernel = generate_kernel(args.shape.causal, true);
  const AttentionInputs inputs = make_inputs(args.shape, InputKind::gaussian, 1, 1, {.threads = args.threads});
  const Measurement measured = measure_all(kernel, inputs, args);
  const double gflops = attention_flops(args.shape) / measured.seconds * 1e-9;
  if (args.json) {
    nlohmann::ordered_json shares;
    for (const auto& [name, share] : measured.shares) shares[name] = share;
    const nlohmann::ordered_json json = {{"kernel", kernel.manifest.symbol},
                                         {"heads", args.shape.heads},
                                         {"seqlen_q", args.shape.seqlen_q},
                                         {"seqlen_k", args.shape.seqlen_k},
                                         {"threads", args.threads},
                                         {"vector_extension", vector_extension()},
                                         {"repeats", args.repeats},
                                         {"seconds", measured.seconds},
                                         {"gflops", gflops},
                                         {"extra_memory_mb", extra_memory(inputs)},
                                         {"shares", shares}};
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  fmt::print("{}, {} heads, {} queries, {} keys\n", kernel.manifest.symbol, args.shape.heads, args.shape.seqlen_q,
             args.shape.seqlen_k);
  fmt::print("{} threads, {}, median of {}: {:.4f} s, {:.1f} GFLOP/s\n", args.threads, vector_extension(), args.repeats,
             measured.seconds, gflops);
  fmt::print("{:.0f} MB at most beyond inputs and outputs\n", extra_memory(inputs));
  for (const auto& [name, share] : measured.shares) fmt::print("  {:<14} {:5.1f} %\n", name, 100 * share);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Measures the emulator on the attention kernel."};
  Arguments args;
  app.add_option("--heads", args.shape.heads, "query heads, one key/value head")->capture_default_str();
  app.add_option("--seqlen", args.shape.seqlen_q, "queries")->capture_default_str();
  app.add_option("--seqlen-k", args.shape.seqlen_k, "keys (default: as many as queries)");
  app.add_flag("--causal", args.shape.causal, "the causal kernel");
  app.add_option("--threads", args.threads, "host threads (default: all)");
  app.add_option("--repeats", args.repeats, "runs to take the median of")->capture_default_str();
  app.add_flag("--json", args.json, "print one JSON object instead of text");
  CLI11_PARSE(app, argc, argv);
  if (args.shape.seqlen_k == 0) args.shape.seqlen_k = args.shape.seqlen_q;
  return generator::exit_code_of([&args] { return run(args); });
}
