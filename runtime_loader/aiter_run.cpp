#include "runtime_loader/aiter_run.h"

#include "isa/error.h"
#include "runtime_loader/emulate.h"
#include "runtime_loader/reference.h"

#include <chrono>
#include <limits>

namespace zyfa::runtime {
namespace {

constexpr std::uint16_t bf16_nan = 0x7fc0;

std::uint32_t narrow(std::int64_t value) {
  if (value < 0 || value > std::numeric_limits<std::uint32_t>::max())
    throw Error("a stride or length of {} does not fit AITER's 32-bit arguments", value);
  return static_cast<std::uint32_t>(value);
}

// 0, then the sums of lengths.
std::vector<std::int32_t> cumulative(const AiterProblem& problem, int AiterSequence::*length) {
  std::vector<std::int32_t> sums = {0};
  for (const AiterSequence& s : problem.sequences) sums.push_back(sums.back() + s.*length);
  return sums;
}

int longest(const AiterProblem& problem) {
  int length = 0;
  for (const AiterSequence& s : problem.sequences) length = std::max(length, s.seqlen_q);
  return length;
}

// AITER's host code (csrc/cpp_itfs/mha_fwd.cu): 5, or 3 for causal problems it would not suit.
std::uint32_t tuning(const AiterKernel& kernel, const AiterProblem& problem) {
  return kernel.causal && (problem.heads % 8 != 0 || longest(problem) > 16384) ? 3 : 5;
}

void set_strides(AiterKernargs& args, const AiterKernel& kernel, const AiterProblem& problem,
                 const AiterInputs& inputs) {
  args.q_row.value = narrow(inputs.q.row_stride);
  args.q_tile.value = narrow(kernel.queries_per_workgroup() * inputs.q.row_stride);
  args.q_head.value = narrow(inputs.q.head_stride);
  // The FP8 objects for groups add a sequence's start and its batch stride, which must be 0 there.
  const bool group = kernel.abi == AiterAbi::v3_group;
  args.q_batch.value = narrow(group ? 0 : inputs.q.batch_stride);
  const auto strides = [group](const AiterOperand& operand) -> AiterStrides {
    return {{narrow(operand.row_stride)}, {narrow(operand.head_stride)}, {narrow(group ? 0 : operand.batch_stride)}};
  };
  const auto scales = [](const AiterOperand& operand) -> AiterDescaleStrides {
    return {{narrow(operand.scale_batch_stride)}, {narrow(operand.scale_head_stride)}};
  };
  args.k_stride = strides(inputs.k);
  args.v_stride = strides(inputs.v);
  const std::int64_t o_row = std::int64_t{problem.heads} * kernel.v_head_dim * 2;
  args.o_stride = {{narrow(o_row)},
                   {narrow(kernel.v_head_dim * 2)},
                   {narrow(group ? 0 : o_row * problem.sequences.front().seqlen_q)}};
  args.q_descale_stride = scales(inputs.q);
  args.k_descale_stride = scales(inputs.k);
  args.v_descale_stride = scales(inputs.v);
}

void set_sizes(AiterKernargs& args, const AiterKernel& kernel, const AiterProblem& problem, const AiterInputs& inputs) {
  args.softmax_scale.value = inputs.softmax_scale;
  args.seqlen_q.value = narrow(longest(problem));
  for (const AiterSequence& s : problem.sequences)
    args.seqlen_k.value = std::max(args.seqlen_k.value, narrow(s.seqlen_k));
  args.heads_per_kv_head.value = narrow(problem.heads / problem.kv_heads);
  args.tuning.value = tuning(kernel, problem);
  args.head_dim.value = narrow(kernel.head_dim);
  args.v_head_dim.value = narrow(kernel.v_head_dim);
  args.heads.value = narrow(problem.heads);
}

std::uint64_t place(emulator::GlobalMemory& memory, const char* name, const std::vector<std::byte>& bytes) {
  return bytes.empty() ? 0 : memory.place_read_only(name, bytes);
}

}  // namespace

AiterRun run_aiter(const AiterKernel& kernel, const AiterProblem& problem, const AiterInputs& inputs,
                   const emulator::Options& options, emulator::MemoryModel memory_model, const Runner& runner) {
  const std::vector<std::int32_t> q_lengths = cumulative(problem, &AiterSequence::seqlen_q);
  const std::vector<std::int32_t> k_lengths = cumulative(problem, &AiterSequence::seqlen_k);
  const auto rows = static_cast<std::size_t>(q_lengths.back()) * static_cast<std::size_t>(problem.heads);
  AiterRun run;
  run.o.assign(rows * static_cast<std::size_t>(kernel.v_head_dim), bf16_nan);
  if (kernel.abi != AiterAbi::v4) run.lse.assign(rows, std::numeric_limits<float>::quiet_NaN());

  emulator::GlobalMemory memory;
  AiterKernargs args;
  set_sizes(args, kernel, problem, inputs);
  set_strides(args, kernel, problem, inputs);
  args.q.value = place(memory, "q", inputs.q.bytes);
  args.k.value = place(memory, "k", inputs.k.bytes);
  args.v.value = place(memory, "v", inputs.v.bytes);
  args.q_descale.value = place(memory, "q_descale", inputs.q.scales);
  args.k_descale.value = place(memory, "k_descale", inputs.k.scales);
  args.v_descale.value = place(memory, "v_descale", inputs.v.scales);
  args.o.value = memory.place("o", std::as_writable_bytes(std::span(run.o)));
  if (!run.lse.empty()) {
    const bool group = kernel.abi == AiterAbi::v3_group;
    args.lse.value = memory.place("lse", std::as_writable_bytes(std::span(run.lse)));
    args.write_lse.value = 1;
    args.lse_head.value = narrow(4 * std::int64_t{group ? q_lengths.back() : longest(problem)});
  }
  if (kernel.abi == AiterAbi::v3_group) {
    args.q_lengths.value = args.q_starts.value =
        memory.place_read_only("query lengths", std::as_bytes(std::span(q_lengths)));
    args.k_lengths.value = args.k_starts.value =
        memory.place_read_only("key lengths", std::as_bytes(std::span(k_lengths)));
  }

  emulator::Launch launch = initial_state(kernel.descriptor);
  launch.entry = kernel.code.entry;
  launch.grid = aiter_grid(kernel, longest(problem), problem.heads, static_cast<int>(problem.sequences.size()));
  launch.memory_model = memory_model;
  launch.workgroup_size = {kernel.workgroup_size, 1, 1};
  launch.kernarg_address = memory.place_read_only("kernel arguments", std::as_bytes(std::span(&args, 1)));
  const auto start = std::chrono::steady_clock::now();
  run.result = runner ? runner(kernel.code.program, launch, memory)
                      : emulator::run(kernel.code.program, launch, memory, options);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return run;
}

namespace {

void worsen(Comparison& all, const Comparison& one) {
  all.relative_error = std::max(all.relative_error, one.relative_error);
  all.max_abs_error = std::max(all.max_abs_error, one.max_abs_error);
  all.lse_max_error = std::max(all.lse_max_error, one.lse_max_error);
  if (one.max_element_error > all.max_element_error) {
    all.max_element_error = one.max_element_error;
    all.worst = one.worst;
  }
  all.finite = all.finite && one.finite;
  all.empty_rows_zero = all.empty_rows_zero && one.empty_rows_zero;
  all.lse_infinities_match = all.lse_infinities_match && one.lse_infinities_match;
  all.passed = all.passed && one.passed;
}

}  // namespace

Comparison compare_aiter(const AiterKernel& kernel, const AiterInputs& inputs, const AiterRun& run,
                         const Tolerances& tolerances, int check_stride, int threads) {
  if (inputs.reals.empty()) throw Error("format {} has no reference; it runs unchecked only", kernel.format.name);
  std::size_t all_rows = 0, first_row = 0;
  for (const RealInputs& sequence : inputs.reals) all_rows += static_cast<std::size_t>(sequence.shape.seqlen_q);
  Comparison worst;
  worst.passed = true;
  for (std::size_t i = 0; i < inputs.reals.size(); ++i) {
    const AttentionShape& shape = inputs.reals[i].shape;
    const auto rows = static_cast<std::size_t>(shape.seqlen_q), heads = static_cast<std::size_t>(shape.heads);
    const std::size_t row_elements = heads * static_cast<std::size_t>(shape.v_head_dim);
    std::vector<float> lse;
    if (!run.lse.empty())
      for (std::size_t head = 0; head < heads; ++head) {
        const std::size_t at =
            kernel.abi == AiterAbi::v3_group ? head * all_rows + first_row : first_row * heads + head * rows;
        const auto begin = run.lse.begin() + static_cast<std::ptrdiff_t>(at);
        lse.insert(lse.end(), begin, begin + static_cast<std::ptrdiff_t>(rows));
      }
    const auto o = std::span(run.o).subspan(first_row * row_elements, rows * row_elements);
    const AttentionResult reference =
        reference_attention(inputs.reals[i], {.rows = {.stride = check_stride}, .threads = threads});
    Comparison one = compare(reference, contiguous_output(shape, o, lse), tolerances);
    one.worst.batch = static_cast<int>(i);
    worsen(worst, one);
    first_row += rows;
  }
  return worst;
}

double aiter_tolerance(const AiterFormat& format) { return format.qk_bits == 16 ? 0.01 : 0.05; }

}  // namespace zyfa::runtime
