// zyfa-run: runs a generated kernel on real input and compares what it wrote with attention in double precision.

#include "generator/command.h"
#include "generator/machine_file.h"
#include "isa/error.h"
#include "runtime_loader/aiter_command.h"
#include "runtime_loader/emulate.h"
#include "runtime_loader/progress.h"
#include "runtime_loader/report.h"
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

constexpr const char* examples = R"(Examples:
  zyfa-run K.co --batch 1 --heads 2 --kv-heads 1 --seqlen 512
  zyfa-run K.co --heads 8 --kv-heads 1 --seqlen 1000 --seqlen-k 3000 --input sink --sigma 2 --json
  zyfa-run fwd_hd128_fp8.co --abi aiter-v3 --seqlen 4096 --input sink --v-mean 1
  zyfa-run K.co --q q.npy --k k.npy --v kv.safetensors:v --output o.npy
The manifest (K.json) must lie beside the code object, or be named with --manifest.
The exit code is 0 only if the kernel ran to its end and passed.
)";

struct Arguments {
  std::string kernel, manifest;
  std::optional<std::string> abi, seqlens, seqlens_k;  // of AITER's objects
  bool no_check = false;
  AttentionShape shape{.batch = 1, .heads = 1, .seqlen_q = 512};
  std::optional<int> kv_heads, seqlen_k;  // as heads and seqlen_q if not given
  std::string input = "gaussian", layout = "bshd", q, k, v, output;
  std::optional<double> sigma;
  std::uint64_t seed = 1;
  std::optional<float> softmax_scale;
  double v_mean = 0;
  bool distinct_descales = false, v_ones = false, json = false, strict = false;
  std::optional<std::uint64_t> shuffle_seed;
  std::string machine_file;
  int threads = 0, check_stride = 1;
  std::uint64_t max_instructions = emulator::Options{}.max_instructions;
  std::optional<double> tolerance;
};

isa::Machine machine_of(const Arguments& args) {
  return args.machine_file.empty() ? isa::Machine{} : generator::find_machine(args.machine_file);
}

AttentionInputs inputs_of(const Arguments& args, const Kernel& kernel) {
  const generator::AttentionConfig& config = kernel.manifest.config;
  const bool bf16 = config.q_dtype == generator::QueryType::bf16;
  if (!args.q.empty() || !args.k.empty() || !args.v.empty()) {
    if (args.q.empty() || args.k.empty() || args.v.empty()) throw Error("--q, --k and --v belong together");
    const Tensor q = load_tensor(args.q), k = load_tensor(args.k), v = load_tensor(args.v);
    const AttentionShape shape = shape_of(q, k, v, config.causal);
    const float scale = args.softmax_scale.value_or(1 / std::sqrt(static_cast<float>(shape.head_dim)));
    return quantise(shape, q, k, v, scale, args.threads, config.needs_power_of_two_factor(), bf16);
  }
  AttentionShape shape = args.shape;
  shape.kv_heads = args.kv_heads.value_or(shape.heads);
  shape.seqlen_k = args.seqlen_k.value_or(shape.seqlen_q);
  shape.head_dim = config.head_dim;
  shape.v_head_dim = config.v_head_dim;
  shape.causal = config.causal;
  return make_inputs(shape, parse_input_kind(args.input), args.sigma.value_or(1), args.seed,
                     {.softmax_scale = args.softmax_scale,
                      .v_ones = args.v_ones,
                      .v_mean = args.v_mean,
                      .distinct_descales = args.distinct_descales,
                      .power_of_two_factor = config.needs_power_of_two_factor(),
                      .q_bf16 = bf16,
                      .threads = args.threads});
}

EmulatedRun emulate(const Arguments& args, const Kernel& kernel, const AttentionInputs& inputs) {
  const AttentionShape& s = inputs.shape;
  const auto tiles = (static_cast<std::uint64_t>(s.seqlen_q) + kernel.manifest.queries_per_workgroup - 1) /
                     kernel.manifest.queries_per_workgroup;
  ProgressBar bar("emulating", tiles * static_cast<std::uint64_t>(s.heads) * static_cast<std::uint64_t>(s.batch));
  EmulationOptions options{.layout = parse_layout(args.layout), .emulator = {}};
  options.emulator.threads = args.threads;
  options.emulator.max_instructions = args.max_instructions;
  options.emulator.strict = args.strict;
  options.emulator.shuffle_seed = args.shuffle_seed;
  options.emulator.machine = machine_of(args);
  options.emulator.progress = [&bar](std::uint64_t done, std::uint64_t) {
    bar.done() = static_cast<std::int64_t>(done);
  };
  return run_on_emulator(kernel, inputs, options);
}

AttentionResult reference(const Arguments& args, const AttentionInputs& inputs) {
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

nlohmann::ordered_json report_json(const Arguments& args, const Kernel& kernel, const AttentionInputs& inputs,
                                   const EmulatedRun& run, const Comparison& c) {
  const AttentionShape& s = inputs.shape;
  nlohmann::ordered_json json = {
      {"kernel", kernel.manifest.symbol},
      {"backend", "emulator"},
      {"shape",
       {{"batch", s.batch},
        {"heads", s.heads},
        {"kv_heads", s.kv_heads},
        {"seqlen_q", s.seqlen_q},
        {"seqlen_k", s.seqlen_k},
        {"head_dim", s.head_dim},
        {"v_head_dim", s.v_head_dim},
        {"causal", s.causal}}},
      {"layout", args.layout},
      {"softmax_scale", inputs.softmax_scale},
      {"descales", {{"q", inputs.q_descale}, {"k", inputs.k_descale}, {"v", inputs.v_descale}}}};
  if (args.q.empty()) json["input"] = {{"kind", args.input}, {"sigma", args.sigma.value_or(1)}, {"seed", args.seed}};
  add_outcome(json, run.result, run.seconds, attention_flops(s), &c, args.strict);
  return json;
}

void print_range(const char* name, const std::vector<float>& descales) {
  const auto [low, high] = std::minmax_element(descales.begin(), descales.end());
  if (low != descales.end()) fmt::print("  {} descale  {:.6g} .. {:.6g}\n", name, *low, *high);
}

void print_report(const Arguments& args, const Kernel& kernel, const AttentionInputs& inputs, const EmulatedRun& run,
                  const Comparison& c, const Tolerances& tolerances) {
  const AttentionShape& s = inputs.shape;
  fmt::print("kernel     {}\n", kernel.manifest.symbol);
  fmt::print("problem    batch {}, heads {} (key/value heads {}), {} queries, {} keys{}, layout {}\n", s.batch, s.heads,
             s.kv_heads, s.seqlen_q, s.seqlen_k, s.causal ? ", causal" : "", args.layout);
  if (args.q.empty())
    fmt::print("input      {}, sigma {}, seed {}, softmax scale {:.6g}\n", args.input, args.sigma.value_or(1),
               args.seed, inputs.softmax_scale);
  else
    fmt::print("input      {}, {}, {}, softmax scale {:.6g}\n", args.q, args.k, args.v, inputs.softmax_scale);
  print_range("q", inputs.q_descale);
  print_range("k", inputs.k_descale);
  print_range("v", inputs.v_descale);
  print_outcome(run.result, run.seconds, attention_flops(s), &c, tolerances, !run.lse.empty());
}

// An unwritable --output is known before the work, not after it.
void check_writable(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) throw Error("cannot write {}: it is a directory", file.string());
  const std::filesystem::path directory = file.has_parent_path() ? file.parent_path() : ".";
  if (access(directory.c_str(), W_OK) != 0)
    throw Error("cannot write {}: {}: {}", file.string(), directory.string(), std::strerror(errno));
}

std::vector<AiterSequence> sequences_of(const Arguments& args) {
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

int run_foreign(const Arguments& args) {
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

int run(Arguments args) {
  if (args.tolerance && !(*args.tolerance >= 0))
    throw Error("tolerance {} is not a number of at least 0", *args.tolerance);
  if (!args.output.empty()) check_writable(args.output);
  if (args.threads == 0) args.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (args.abi) return run_foreign(args);
  const Kernel kernel = load_kernel(args.kernel, args.manifest);
  const AttentionInputs inputs = inputs_of(args, kernel);
  const EmulatedRun emulated = emulate(args, kernel, inputs);
  stop_at_trap(emulated.result, kernel.manifest.symbol, args.json);
  Tolerances tolerances = default_tolerances(kernel.manifest.config);
  tolerances.relative = args.tolerance.value_or(tolerances.relative);
  const Comparison comparison = compare(reference(args, inputs), emulated.output(), tolerances);
  if (args.json)
    fmt::print("{}\n", report_json(args, kernel, inputs, emulated, comparison).dump(2));
  else
    print_report(args, kernel, inputs, emulated, comparison, tolerances);
  if (!args.output.empty()) save_output(emulated, args.output);
  return comparison.passed && emulated.result.findings.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Runs a generated attention kernel on the emulator and checks it against fp64 attention."};
  Arguments args;
  app.footer(examples);
  app.failure_message([](const CLI::App*, const CLI::Error& error) { return generator::usage_error(error.what()); });
  app.add_option("kernel", args.kernel, "code object (.co)")->required();
  app.add_option("--manifest", args.manifest, "its manifest (default: the .json beside it)");
  app.add_option("--abi", args.abi,
                 "calling convention of an object of AITER's, which has no manifest: aiter-v3, "
                 "aiter-v3-group or aiter-v4");
  app.add_option("--seqlens", args.seqlens, "with --abi aiter-v3-group, queries of each sequence: 100,200");
  app.add_option("--seqlens-k", args.seqlens_k, "keys of each, likewise (default: as --seqlens)");
  app.add_flag("--no-check", args.no_check, "with --abi, run to the end and compare nothing");
  app.add_option("--batch", args.shape.batch, "batch entries")
      ->check(generator::positive_number)
      ->capture_default_str();
  app.add_option("--heads", args.shape.heads, "query heads")->check(generator::positive_number)->capture_default_str();
  app.add_option("--kv-heads", args.kv_heads, "key/value heads, a divisor of --heads (default: as --heads)")
      ->check(generator::positive_number);
  app.add_option("--seqlen", args.shape.seqlen_q, "queries, and keys unless --seqlen-k is given")
      ->check(generator::whole_number)
      ->capture_default_str();
  app.add_option("--seqlen-k", args.seqlen_k, "keys")->check(generator::whole_number);
  app.add_option("--input", args.input, "gaussian, sink, ones or peaked")->capture_default_str();
  app.add_option("--sigma", args.sigma, "standard deviation of the logits (default: 1)");
  app.add_option("--seed", args.seed, "of the random input")->check(generator::whole_number)->capture_default_str();
  app.add_option("--softmax-scale", args.softmax_scale, "default: 1 / sqrt(head dim)");
  app.add_flag("--distinct-descales", args.distinct_descales, "another magnitude for every batch entry and head");
  app.add_flag("--v-ones", args.v_ones, "V all ones with any input kind");
  app.add_option("--v-mean", args.v_mean, "mean of V, whose deviation is 1 (default: 0)");
  app.add_option("--layout", args.layout, "bshd, bhsd or fused_qkv")->capture_default_str();
  app.add_option("--q", args.q, "queries from .npy or .safetensors (batch, seq, heads, dim); BF16, F32, F16 or FP8");
  app.add_option("--k", args.k, "keys, likewise");
  app.add_option("--v", args.v, "values, likewise");
  app.add_option("--output", args.output, "save O to this .npy");
  app.add_option("--tolerance", args.tolerance, "largest relative error that passes (default: 0.05)");
  app.add_option("--check-stride", args.check_stride, "compare every Nth query only")
      ->check(generator::positive_number)
      ->capture_default_str();
  app.add_option("--threads", args.threads, "host threads (default: all)")->check(CLI::Range(0, 1024));
  app.add_option("--max-instructions", args.max_instructions, "per wave, before a loop counts as endless")
      ->check(generator::whole_number)
      ->capture_default_str();
  app.add_flag("--strict", args.strict, "report what the architecture leaves undefined (docs/strict.md), and fail");
  app.add_option("--shuffle", args.shuffle_seed, "random order of waves and latencies, from this seed")
      ->check(generator::whole_number);
  app.add_option("--machine", args.machine_file,
                 "as zyfa-gen takes it, nominal, optimistic, pessimistic or a JSON file: arithmetic "
                 "(docs/numerics.md), wait states");
  app.add_flag("--json", args.json, "print one JSON object instead of text");
  app.set_version_flag("--version", "zyfa " ZYFA_VERSION);
  for (const char* name : {"--seqlens", "--no-check"}) app.get_option(name)->needs("--abi");
  app.get_option("--seqlens-k")->needs("--seqlens");
  for (const char* name : {"--manifest", "--q", "--k", "--v", "--output", "--layout", "--distinct-descales"})
    app.get_option(name)->excludes("--abi");
  for (const char* name : {"--batch", "--seqlen", "--seqlen-k"}) app.get_option(name)->excludes("--seqlens");
  app.get_option("--v-mean")->excludes("--v-ones");
  for (const char* name : {"--tolerance", "--check-stride"}) app.get_option(name)->excludes("--no-check");
  for (const char* name : {"--batch", "--heads", "--kv-heads", "--seqlen", "--seqlen-k", "--input", "--sigma", "--seed",
                           "--v-ones", "--v-mean", "--distinct-descales"})
    for (const char* file : {"--q", "--k", "--v"}) app.get_option(name)->excludes(file);
  CLI11_PARSE(app, argc, argv);
  return generator::exit_code_of([&args] { return run(args); });
}
