#include "runtime_loader/emulate.h"

#include "isa/error.h"
#include "runtime_loader/launch_rules.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace zyfa::runtime {
namespace {

using generator::AttentionKernargs;
using generator::TensorStrides;

constexpr std::uint16_t bf16_nan = 0x7fc0;

// Strides in bytes of a tensor (batch, rows, heads, row_bytes).
TensorStrides strides(Layout layout, std::int64_t rows, std::int64_t heads, std::int64_t row_bytes) {
  if (layout == Layout::bhsd) return {row_bytes, rows * row_bytes, heads * rows * row_bytes};
  return {heads * row_bytes, row_bytes, rows * heads * row_bytes};
}

// One tensor's bytes copied from contiguous (batch, row, head, dim) to wherever `to` and the strides say.
void scatter(std::span<const std::uint8_t> from, std::byte* to, const TensorStrides& stride, std::int64_t batch,
             std::int64_t rows, std::int64_t heads, std::int64_t row_bytes) {
  const std::uint8_t* source = from.data();
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t h = 0; h < heads; ++h, source += row_bytes)
        std::memcpy(to + b * stride.batch + r * stride.row + h * stride.head, source,
                    static_cast<std::size_t>(row_bytes));
}

// The inputs in memory: three buffers, or one for the fused layout.
class DeviceInputs {
 public:
  DeviceInputs(const AttentionInputs& inputs, Layout layout, emulator::GlobalMemory& memory, AttentionKernargs& args) {
    const AttentionShape& s = inputs.shape;
    if (layout == Layout::fused_qkv) {
      if (inputs.q_bf16) throw Error("layout fused_qkv needs Q, K and V of one type; Q is bf16");
      fill_fused(inputs);
      const std::uint64_t base = memory.place_read_only("qkv", buffers_[0]);
      const std::int64_t row = std::int64_t{s.heads + 2 * s.kv_heads} * s.head_dim;
      args.q_stride = args.k_stride = args.v_stride = {row, s.head_dim, row * s.seqlen_q};
      args.q = base;
      args.k = base + static_cast<std::uint64_t>(s.heads) * static_cast<std::uint64_t>(s.head_dim);
      args.v = args.k + static_cast<std::uint64_t>(s.kv_heads) * static_cast<std::uint64_t>(s.head_dim);
      return;
    }
    const std::span<const std::uint8_t> q =
        inputs.q_bf16
            ? std::span(reinterpret_cast<const std::uint8_t*>(inputs.q_bf16->data()), inputs.q_bf16->size() * 2)
            : std::span(inputs.q);
    const std::int64_t q_bytes = std::int64_t{s.head_dim} * (inputs.q_bf16 ? 2 : 1);
    args.q_stride = strides(layout, s.seqlen_q, s.heads, q_bytes);
    args.k_stride = strides(layout, s.seqlen_k, s.kv_heads, s.head_dim);
    args.v_stride = strides(layout, s.seqlen_k, s.kv_heads, s.v_head_dim);
    const auto put = [&](const char* name, std::span<const std::uint8_t> from, std::vector<std::byte>& buffer,
                         const TensorStrides& stride, std::int64_t rows, std::int64_t heads, std::int64_t bytes) {
      buffer.resize(from.size());
      scatter(from, buffer.data(), stride, s.batch, rows, heads, bytes);
      return memory.place_read_only(name, buffer);
    };
    args.q = put("q", q, buffers_[0], args.q_stride, s.seqlen_q, s.heads, q_bytes);
    args.k = put("k", inputs.k, buffers_[1], args.k_stride, s.seqlen_k, s.kv_heads, s.head_dim);
    args.v = put("v", inputs.v, buffers_[2], args.v_stride, s.seqlen_k, s.kv_heads, s.v_head_dim);
  }

 private:
  void fill_fused(const AttentionInputs& inputs) {
    const AttentionShape& s = inputs.shape;
    if (s.seqlen_q != s.seqlen_k || s.head_dim != s.v_head_dim)
      throw Error(
          "layout fused_qkv needs as many keys as queries and one head dim; the problem has {} and {}, {} and {}",
          s.seqlen_q, s.seqlen_k, s.head_dim, s.v_head_dim);
    const std::int64_t row = std::int64_t{s.heads + 2 * s.kv_heads} * s.head_dim;
    const TensorStrides stride{row, s.head_dim, row * s.seqlen_q};
    buffers_[0].resize(static_cast<std::size_t>(row * s.seqlen_q * s.batch));
    std::byte* at = buffers_[0].data();
    scatter(inputs.q, at, stride, s.batch, s.seqlen_q, s.heads, s.head_dim);
    at += std::int64_t{s.heads} * s.head_dim;
    scatter(inputs.k, at, stride, s.batch, s.seqlen_k, s.kv_heads, s.head_dim);
    at += std::int64_t{s.kv_heads} * s.head_dim;
    scatter(inputs.v, at, stride, s.batch, s.seqlen_k, s.kv_heads, s.head_dim);
  }

  std::array<std::vector<std::byte>, 3> buffers_;
};

void check_suits(const Kernel& kernel, const AttentionInputs& inputs) {
  const generator::AttentionConfig& config = kernel.manifest.config;
  const AttentionShape& s = inputs.shape;
  if (config.head_dim != s.head_dim || config.v_head_dim != s.v_head_dim)
    throw Error("kernel {} is for head dims {} and {}, the inputs have {} and {}", kernel.manifest.symbol,
                config.head_dim, config.v_head_dim, s.head_dim, s.v_head_dim);
  if (config.causal != s.causal)
    throw Error("kernel {} is {}causal, the problem is {}causal", kernel.manifest.symbol, config.causal ? "" : "not ",
                s.causal ? "" : "not ");
  if ((config.q_dtype == generator::QueryType::bf16) != inputs.q_bf16.has_value())
    throw Error("kernel {} takes {} queries, the problem has {} ones", kernel.manifest.symbol, name(config.q_dtype),
                inputs.q_bf16 ? "bf16" : "fp8");
  if (config.needs_power_of_two_factor()) check_power_of_two_factors(inputs);
}

emulator::Launch launch(const Kernel& kernel, std::uint32_t queries, int heads, int batch,
                        std::uint64_t kernarg_address) {
  const LaunchGrid grid =
      attention_grid(kernel.manifest, queries, static_cast<std::uint32_t>(heads), static_cast<std::uint32_t>(batch));
  emulator::Launch launch = initial_state(kernel.descriptor);
  launch.entry = kernel.code.entry;
  launch.grid = grid.workgroups;
  launch.workgroup_size = grid.workgroup_size;
  launch.kernarg_address = kernarg_address;
  return launch;
}

}  // namespace

emulator::Launch initial_state(const generator::KernelDescriptor& d) {
  // Registers that would shift all others and that the emulator does not fill.
  const std::pair<bool, const char*> lacking[] = {
      {d.enable_sgpr_private_segment_buffer(), "a scratch buffer descriptor"},
      {d.enable_sgpr_flat_scratch_init(), "a scratch address"},
      {d.enable_sgpr_private_segment_size(), "a scratch size"},
      {d.kernarg_preload_dwords() != 0, "preloaded arguments"}};
  for (const auto& [wanted, what] : lacking)
    if (wanted) throw Error("the kernel wants {} in scalar registers, which the emulator does not provide", what);
  emulator::Launch launch;
  launch.pass_dispatch_ptr = d.enable_sgpr_dispatch_ptr();
  launch.pass_queue_ptr = d.enable_sgpr_queue_ptr();
  launch.pass_kernarg_ptr = d.enable_sgpr_kernarg_segment_ptr();
  launch.pass_dispatch_id = d.enable_sgpr_dispatch_id();
  launch.pass_workgroup_id = {d.enable_workgroup_id_x(), d.enable_workgroup_id_y(), d.enable_workgroup_id_z()};
  launch.user_sgprs = d.user_sgpr_count();
  launch.mode = d.float_mode() | std::uint32_t{d.dx10_clamp()} << 8 | std::uint32_t{d.ieee_mode()} << 9 |
                std::uint32_t{d.fp16_overflow()} << 23;
  launch.lds_bytes = d.group_segment_bytes;
  // HIP's stack (hipLimitStackSize) where the compiler can not know how deep calls go.
  constexpr std::uint32_t stack_bytes = 1024;
  launch.private_bytes = d.private_segment_bytes + (d.uses_dynamic_stack() ? stack_bytes : 0);
  return launch;
}

std::string_view to_string(Layout layout) {
  return layout == Layout::bshd ? "bshd" : layout == Layout::bhsd ? "bhsd" : "fused_qkv";
}

Layout parse_layout(std::string_view name) {
  for (const Layout layout : {Layout::bshd, Layout::bhsd, Layout::fused_qkv})
    if (name == to_string(layout)) return layout;
  throw Error("layout '{}' is not known; accepted: bshd, bhsd, fused_qkv", name);
}

AttentionOutput EmulatedRun::output() const {
  const TensorStrides bytes = strides(layout, shape.seqlen_q, shape.heads,
                                      std::int64_t{shape.v_head_dim} * std::int64_t{sizeof(std::uint16_t)});
  return {o, bytes.batch / 2, bytes.row / 2, bytes.head / 2, lse};
}

Tolerances default_tolerances(const generator::AttentionConfig& config) {
  if (config.q_dtype == generator::QueryType::fp8) return {};
  return {.relative = 0.1, .element = 2, .lse = 0.25};
}

double attention_flops(const AttentionShape& shape) {
  double pairs = 0;
  for (int row = 0; row < shape.seqlen_q; ++row) pairs += visible_keys(shape, row);
  return 2.0 * (shape.head_dim + shape.v_head_dim) * pairs * shape.heads * shape.batch;
}

emulator::Result launch_on_emulator(const Kernel& kernel, const AttentionKernargs& arguments, int heads, int batch,
                                    emulator::GlobalMemory memory, const emulator::Options& options,
                                    const Runner& runner) {
  check_limits(kernel.manifest, arguments, heads);
  if (arguments.seqlen_q == 0) return {};
  const std::uint64_t address = memory.place_read_only("kernel arguments", std::as_bytes(std::span(&arguments, 1)));
  const emulator::Launch start = launch(kernel, arguments.seqlen_q, heads, batch, address);
  return runner ? runner(kernel.code.program, start, memory)
                : emulator::run(kernel.code.program, start, memory, options);
}

EmulatedRun run_on_emulator(const Kernel& kernel, const AttentionInputs& inputs, const EmulationOptions& options) {
  check(inputs);
  check_suits(kernel, inputs);
  const AttentionShape& s = inputs.shape;
  const auto rows =
      static_cast<std::size_t>(s.batch) * static_cast<std::size_t>(s.heads) * static_cast<std::size_t>(s.seqlen_q);
  EmulatedRun run{s, options.layout, {}, {}, {}, 0};
  run.o.assign(rows * static_cast<std::size_t>(s.v_head_dim), bf16_nan);
  if (kernel.manifest.config.lse) run.lse.assign(rows, std::numeric_limits<float>::quiet_NaN());

  emulator::GlobalMemory memory;
  AttentionKernargs args{};
  const DeviceInputs device(inputs, options.layout, memory, args);
  args.o = memory.place("o", std::as_writable_bytes(std::span(run.o)));
  args.o_stride = strides(options.layout, s.seqlen_q, s.heads, std::int64_t{s.v_head_dim} * 2);
  if (!run.lse.empty()) args.lse = memory.place("lse", std::as_writable_bytes(std::span(run.lse)));
  args.lse_stride = {std::int64_t{s.seqlen_q} * 4, std::int64_t{s.seqlen_q} * s.heads * 4};
  const auto descale = [&](const char* name, const std::vector<float>& values, generator::DescaleStrides& stride) {
    stride = {4, std::int64_t{s.kv_heads} * 4};
    return memory.place_read_only(name, std::as_bytes(std::span(values)));
  };
  args.q_descale = descale("q_descale", inputs.q_descale, args.q_descale_stride);
  args.k_descale = descale("k_descale", inputs.k_descale, args.k_descale_stride);
  args.v_descale = descale("v_descale", inputs.v_descale, args.v_descale_stride);
  args.seqlen_q = static_cast<std::uint32_t>(s.seqlen_q);
  args.seqlen_k = static_cast<std::uint32_t>(s.seqlen_k);
  args.heads_per_kv_head = static_cast<std::uint32_t>(s.heads / s.kv_heads);
  args.softmax_scale = inputs.softmax_scale;
  args.heads = static_cast<std::uint32_t>(s.heads);

  const auto start = std::chrono::steady_clock::now();
  run.result = launch_on_emulator(kernel, args, s.heads, s.batch, std::move(memory), options.emulator, options.runner);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return run;
}

}  // namespace zyfa::runtime
