#include "runtime_loader/emulate.h"

#include "isa/error.h"
#include "runtime_loader/launch_rules.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace zyfa::runtime {
namespace {

using generator::AttentionKernargs;

constexpr std::uint16_t bf16_nan = 0x7fc0;

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

AttentionOutput EmulatedRun::output() const { return written_output(shape, layout, o, lse); }

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
  check_limits(kernel.manifest, arguments, heads, batch);
  if (arguments.seqlen_q == 0) return {};
  const std::uint64_t address = memory.place_read_only("kernel arguments", std::as_bytes(std::span(&arguments, 1)));
  const emulator::Launch start = launch(kernel, arguments.seqlen_q, heads, batch, address);
  return runner ? runner(kernel.code.program, start, memory)
                : emulator::run(kernel.code.program, start, memory, options);
}

EmulatedRun run_on_emulator(const Kernel& kernel, const AttentionInputs& inputs, const EmulationOptions& options) {
  check(inputs);
  check_suits(kernel.manifest, inputs);
  const AttentionShape& s = inputs.shape;
  const auto rows =
      static_cast<std::size_t>(s.batch) * static_cast<std::size_t>(s.heads) * static_cast<std::size_t>(s.seqlen_q);
  EmulatedRun run{s, options.layout, {}, {}, {}, 0};
  run.o.assign(rows * static_cast<std::size_t>(s.v_head_dim), bf16_nan);
  if (kernel.manifest.config.lse) run.lse.assign(rows, std::numeric_limits<float>::quiet_NaN());

  emulator::GlobalMemory memory;
  LaidOutProblem problem(inputs, options.layout, [&memory](const char* name, std::span<const std::byte> bytes) {
    return memory.place_read_only(name, bytes);
  });
  problem.arguments.o = memory.place("o", std::as_writable_bytes(std::span(run.o)));
  if (!run.lse.empty()) problem.arguments.lse = memory.place("lse", std::as_writable_bytes(std::span(run.lse)));

  const auto start = std::chrono::steady_clock::now();
  run.result = launch_on_emulator(kernel, problem.arguments, s.heads, s.batch, std::move(memory), options.emulator,
                                  options.runner);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return run;
}

}  // namespace zyfa::runtime
