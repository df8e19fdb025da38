// zyfa-run: runs a generated kernel on real input, in the emulator or on a GPU, and compares what it wrote with
// attention in double precision.

#include "generator/command.h"
#include "generator/machine_file.h"
#include "isa/error.h"
#include "runtime_loader/aiter_command.h"
#include "runtime_loader/captured_inputs.h"
#include "runtime_loader/gpu_run.h"
#include "runtime_loader/probe_command.h"
#include "runtime_loader/progress.h"
#include "runtime_loader/quantise_command.h"
#include "runtime_loader/report.h"
#include "runtime_loader/run_options.h"
#include "runtime_loader/run_report.h"
#include "runtime_loader/tensor_file.h"

#include <fmt/ostream.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cmath>
#include <cstring>
#include <iostream>
#include <optional>
#include <thread>

namespace {

using namespace zyfa;
using namespace zyfa::runtime;

isa::Machine machine_of(const RunArguments& args) {
  return args.machine_file.empty() ? isa::Machine{} : generator::find_machine(args.machine_file);
}

// What the kernel gets, and what it was made of where that is known.
struct RunInputs {
  AttentionInputs codes;
  std::optional<RealInputs> captured;
};

RunInputs inputs_from_files(const RunArguments& args, const generator::AttentionConfig& config) {
  if (args.q.empty() || args.k.empty() || args.v.empty()) throw Error("--q, --k and --v belong together");
  const CapturedTensors t = load_captured(args.q, args.k, args.v, parse_file_layout(args.file_layout));
  const AttentionShape shape = shape_of(t.q, t.k, t.v, config.causal);
  const float scale = args.softmax_scale.value_or(1 / std::sqrt(static_cast<float>(shape.head_dim)));
  return {quantise(shape, t.q, t.k, t.v, scale, args.threads, config.needs_power_of_two_factor(),
                   config.q_dtype == generator::QueryType::bf16),
          real_inputs(shape, t, scale)};
}

RunInputs inputs_of(const RunArguments& args, const Kernel& kernel) {
  const generator::AttentionConfig& config = kernel.manifest.config;
  if (args.has_files()) return inputs_from_files(args, config);
  AttentionShape shape = args.shape;
  shape.kv_heads = args.kv_heads.value_or(shape.heads);
  shape.seqlen_k = args.seqlen_k.value_or(shape.seqlen_q);
  shape.head_dim = config.head_dim;
  shape.v_head_dim = config.v_head_dim;
  shape.causal = config.causal;
  return {make_inputs(shape, parse_input_kind(args.input), args.sigma.value_or(1), args.seed,
                      {.softmax_scale = args.softmax_scale,
                       .v_ones = args.v_ones,
                       .v_mean = args.v_mean,
                       .distinct_descales = args.distinct_descales,
                       .power_of_two_factor = config.needs_power_of_two_factor(),
                       .q_bf16 = config.q_dtype == generator::QueryType::bf16,
                       .threads = args.threads}),
          {}};
}

emulator::Options emulator_options(const RunArguments& args) {
  emulator::Options options;
  options.threads = args.threads;
  options.max_instructions = args.max_instructions;
  options.strict = args.strict;
  options.shuffle_seed = args.shuffle_seed;
  options.machine = machine_of(args);
  return options;
}

EmulatedRun emulate(const RunArguments& args, const Kernel& kernel, const AttentionInputs& inputs,
                    emulator::Observer observer) {
  const AttentionShape& s = inputs.shape;
  const auto tiles = (static_cast<std::uint64_t>(s.seqlen_q) + kernel.manifest.queries_per_workgroup - 1) /
                     kernel.manifest.queries_per_workgroup;
  ProgressBar bar("emulating", tiles * static_cast<std::uint64_t>(s.heads) * static_cast<std::uint64_t>(s.batch));
  EmulationOptions options{.layout = parse_layout(args.layout), .emulator = emulator_options(args)};
  options.emulator.observer = std::move(observer);
  options.emulator.progress = [&bar](std::uint64_t done, std::uint64_t) {
    bar.done() = static_cast<std::int64_t>(done);
  };
  return run_on_emulator(kernel, inputs, options);
}

template <class Inputs>
AttentionResult reference(const RunArguments& args, const Inputs& inputs) {
  const AttentionShape& s = inputs.shape;
  const RowSelection rows{.stride = args.check_stride};
  ProgressBar bar("reference", static_cast<std::uint64_t>(s.batch) * static_cast<std::uint64_t>(s.heads) *
                                   static_cast<std::uint64_t>(selected_rows(rows, s.seqlen_q)));
  return reference_attention(inputs, {.rows = rows, .threads = args.threads, .rows_done = &bar.done()});
}

// O as a (batch, row, head, dim) tensor in whatever layout the run used.
void save_output(const EmulatedRun& run, const std::string& file) {
  const AttentionShape& s = run.shape;
  const AttentionOutput out = run.output();
  Tensor tensor{ElementType::bf16, {s.batch, s.seqlen_q, s.heads, s.v_head_dim}, {}};
  tensor.bytes.resize(run.o.size() * sizeof(std::uint16_t));
  std::byte* to = tensor.bytes.data();
  const auto row_bytes = static_cast<std::size_t>(s.v_head_dim) * sizeof(std::uint16_t);
  for (int b = 0; b < s.batch; ++b)
    for (int r = 0; r < s.seqlen_q; ++r)
      for (int h = 0; h < s.heads; ++h, to += row_bytes)
        std::memcpy(to,
                    &out.o[static_cast<std::size_t>(b * out.batch_stride + r * out.row_stride + h * out.head_stride)],
                    row_bytes);
  save_npy(file, tensor);
}

// An unwritable --output is known before the work, not after it.
void check_writable(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) throw Error("cannot write {}: it is a directory", file.string());
  const std::filesystem::path directory = file.has_parent_path() ? file.parent_path() : ".";
  if (access(directory.c_str(), W_OK) != 0)
    throw Error("cannot write {}: {}: {}", file.string(), directory.string(), std::strerror(errno));
}

std::vector<AiterSequence> sequences_of(const RunArguments& args) {
  const AttentionShape& s = args.shape;
  const int seqlen_k = args.seqlen_k.value_or(s.seqlen_q);
  if (!args.seqlens) return std::vector<AiterSequence>(static_cast<std::size_t>(s.batch), {s.seqlen_q, seqlen_k});
  const std::vector<int> q = parse_lengths("--seqlens", *args.seqlens);
  const std::vector<int> k = args.seqlens_k ? parse_lengths("--seqlens-k", *args.seqlens_k) : q;
  if (q.size() != k.size()) throw Error("--seqlens has {} lengths, --seqlens-k {}", q.size(), k.size());
  std::vector<AiterSequence> sequences;
  for (std::size_t i = 0; i < q.size(); ++i) sequences.push_back({q[i], k[i]});
  return sequences;
}

int run_foreign(const RunArguments& args) {
  if (args.seqlens && parse_aiter_abi(*args.abi) != AiterAbi::v3_group)
    throw Error("--seqlens is for --abi aiter-v3-group; {} takes --batch and --seqlen", *args.abi);
  AiterProblem problem{.sequences = sequences_of(args),
                       .heads = args.shape.heads,
                       .kv_heads = args.kv_heads.value_or(args.shape.heads),
                       .sigma = args.sigma,
                       .seed = args.seed,
                       .softmax_scale = args.softmax_scale,
                       .v_ones = args.v_ones || args.input == "ones"};
  return run_aiter_command({.kernel = args.kernel,
                            .abi = *args.abi,
                            .problem = std::move(problem),
                            .input = parse_input_kind(args.input),
                            .v_mean = args.v_mean,
                            .tolerance = args.tolerance,
                            .check = !args.no_check,
                            .json = args.json,
                            .threads = args.threads,
                            .check_stride = args.check_stride,
                            .max_instructions = args.max_instructions,
                            .strict = args.strict,
                            .shuffle_seed = args.shuffle_seed,
                            .machine = machine_of(args)});
}

int run_quantise(const RunArguments& args) {
  const AttentionShape& s = args.shape;
  const int kv_heads = args.kv_heads.value_or(s.heads);
  if (s.heads % kv_heads != 0) throw Error("heads ({}) must be a multiple of kv_heads ({})", s.heads, kv_heads);
  return run_quantise_command({.kernel = args.kernel,
                               .manifest = args.manifest,
                               .shape = {s.batch, s.seqlen_q, s.heads, s.heads / kv_heads},
                               .seed = args.seed,
                               .emulation = {parse_layout(args.layout), emulator_options(args)},
                               .device = args.on_gpu() ? std::optional(args.device) : std::nullopt,
                               .json = args.json});
}

int run(RunArguments args, const CLI::App& app) {
  if (!args.probe_directory.empty())
    return run_probe_command({.directory = args.probe_directory,
                              .device = args.device,
                              .machine = args.machine_file.empty() ? "nominal" : args.machine_file,
                              .json = args.json});
  if (args.tolerance && !(*args.tolerance >= 0))
    throw Error("tolerance {} is not a number of at least 0", *args.tolerance);
  if (!args.output.empty()) check_writable(args.output);
  if (args.threads == 0) args.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (args.abi) return run_foreign(args);
  if (kernel_kind(args.kernel, args.manifest) == "quantise") {
    check_quantise(app);
    return run_quantise(args);
  }
  const Kernel kernel = load_kernel(args.kernel, args.manifest);
  const RunInputs inputs = inputs_of(args, kernel);
  std::optional<ProbabilityObserver> watcher;
  if (args.p_statistics) watcher.emplace(kernel, inputs.codes.shape);
  std::optional<GpuRun> gpu;
  if (args.on_gpu()) gpu = run_on_gpu(args, kernel, inputs.codes);
  const EmulatedRun ran =
      gpu ? gpu->run : emulate(args, kernel, inputs.codes, watcher ? watcher->observer() : emulator::Observer{});
  stop_at_trap(ran.result, kernel.manifest.symbol, args.json);
  Tolerances tolerances = default_tolerances(kernel.manifest.config);
  tolerances.relative = args.tolerance.value_or(tolerances.relative);
  const AttentionResult dequantised = reference(args, inputs.codes);
  const Comparison comparison = compare(dequantised, ran.output(), tolerances);
  RunReport report{args, kernel, inputs.codes, ran, gpu ? &*gpu : nullptr, comparison, tolerances, {}, {}};
  if (inputs.captured) report.captured = compare_captured(reference(args, *inputs.captured), dequantised, ran.output());
  if (watcher) report.probabilities = watcher->statistics();
  if (args.json)
    fmt::print("{}\n", to_json(report).dump(2));
  else
    print(report);
  if (!args.output.empty()) save_output(ran, args.output);
  const bool same_bits = !gpu || gpu->report.different == 0;
  return comparison.passed && same_bits && ran.result.findings.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Runs a generated attention kernel, on the emulator or a GPU, and checks it against fp64 attention."};
  RunArguments args;
  add_run_options(app, args);
  CLI11_PARSE(app, argc, argv);
  return generator::exit_code_of([&] {
    check_backend(app, args);
    return run(args, app);
  });
}
