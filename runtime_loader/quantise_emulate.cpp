#include "runtime_loader/quantise_emulate.h"

#include "isa/error.h"

#include <chrono>
#include <cstring>
#include <limits>

namespace zyfa::runtime {
namespace {

constexpr std::uint8_t nan_code = 0x7f;

emulator::Result launch(const QuantiseKernel& kernel, const QuantiseLaunches& launches, std::size_t phase,
                        emulator::GlobalMemory memory, const emulator::Options& options, const Runner& runner) {
  emulator::Launch start = initial_state(kernel.descriptor);
  start.entry = kernel.code.entry;
  start.grid = launches.grid.workgroups;
  start.workgroup_size = launches.grid.workgroup_size;
  start.kernarg_address =
      memory.place_read_only("kernel arguments", std::as_bytes(std::span(&launches.phases[phase], 1)));
  return runner ? runner(kernel.code.program, start, memory)
                : emulator::run(kernel.code.program, start, memory, options);
}

}  // namespace

emulator::Result QuantiseRun::result() const {
  emulator::Result all = phases[0];
  const emulator::Result& second = phases[1];
  if (!all.trap) all.trap = second.trap;
  all.instructions += second.instructions;
  all.findings.insert(all.findings.end(), second.findings.begin(), second.findings.end());
  all.findings_left_out += second.findings_left_out;
  for (const auto& [kind, count] : second.finding_counts) all.finding_counts[kind] += count;
  return all;
}

std::array<emulator::Result, 2> launch_quantise_on_emulator(const QuantiseKernel& kernel,
                                                            const QuantiseProblem& problem,
                                                            const emulator::GlobalMemory& memory,
                                                            const emulator::Options& options, const Runner& runner) {
  const QuantiseLaunches launches = quantise_launches(kernel.manifest, problem);
  std::array<emulator::Result, 2> results{};
  if (launches.is_empty()) return results;
  for (std::size_t phase = 0; phase < results.size(); ++phase) {
    results[phase] = launch(kernel, launches, phase, memory, options, runner);
    if (results[phase].trap) break;
  }
  return results;
}

QuantiseRun run_quantise_on_emulator(const QuantiseKernel& kernel, const QuantiseInputs& inputs,
                                     const EmulationOptions& options) {
  const int dim = kernel.manifest.config.head_dim;
  if (inputs.head_dim != dim)
    throw Error("kernel {} is for a head dim of {}, the inputs have {}", kernel.manifest.symbol, dim, inputs.head_dim);
  if (options.layout == Layout::fused_qkv) throw Error("layout fused_qkv is of three tensors; accepted: bshd, bhsd");
  if (inputs.heads_per_scale < 1 || inputs.heads % inputs.heads_per_scale != 0)
    throw Error("{} heads are no multiple of the {} that share a descale", inputs.heads, inputs.heads_per_scale);
  const std::size_t elements = static_cast<std::size_t>(inputs.batch) * static_cast<std::size_t>(inputs.rows) *
                               static_cast<std::size_t>(inputs.heads) * static_cast<std::size_t>(dim);
  const auto scales = static_cast<std::size_t>(inputs.batch) * static_cast<std::size_t>(inputs.scale_heads());
  if (inputs.x.size() != elements) throw Error("x has {} elements, its shape needs {}", inputs.x.size(), elements);
  if (inputs.k_descale && inputs.k_descale->size() != scales)
    throw Error("k_descale has {} values, the codes have {} descales", inputs.k_descale->size(), scales);

  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  QuantiseRun run;
  run.quantised = {std::vector<std::uint8_t>(elements, nan_code), std::vector<float>(scales, nan)};
  QuantiseProblem problem{.batch = inputs.batch,
                          .rows = inputs.rows,
                          .heads = inputs.heads,
                          .heads_per_scale = inputs.heads_per_scale,
                          .softmax_scale = inputs.softmax_scale};
  problem.x_stride = strides_of(options.layout, inputs.rows, inputs.heads, 2 * std::int64_t{dim});
  problem.codes_stride = strides_of(options.layout, inputs.rows, inputs.heads, dim);
  problem.descale_stride = problem.k_descale_stride = {4, 4 * std::int64_t{inputs.scale_heads()}};
  std::vector<std::byte> x(2 * elements), codes(elements, std::byte{nan_code});
  scatter({reinterpret_cast<const std::uint8_t*>(inputs.x.data()), x.size()}, x.data(), problem.x_stride, inputs.batch,
          inputs.rows, inputs.heads, 2 * std::int64_t{dim});
  std::vector<float> workspace(
      quantise_workspace_bytes(kernel.manifest, inputs.batch, inputs.rows, inputs.heads) / sizeof(float), nan);
  emulator::GlobalMemory memory;
  problem.x = memory.place_read_only("x", x);
  problem.codes = memory.place("codes", codes);
  problem.descale = memory.place("descale", std::as_writable_bytes(std::span(run.quantised.descales)));
  problem.workspace = memory.place("workspace", std::as_writable_bytes(std::span(workspace)));
  if (inputs.k_descale)
    problem.k_descale = memory.place_read_only("k_descale", std::as_bytes(std::span(*inputs.k_descale)));

  const auto start = std::chrono::steady_clock::now();
  run.phases = launch_quantise_on_emulator(kernel, problem, memory, options.emulator, options.runner);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::uint8_t* to = run.quantised.codes.data();
  for (std::int64_t b = 0; b < inputs.batch; ++b)
    for (std::int64_t r = 0; r < inputs.rows; ++r)
      for (std::int64_t h = 0; h < inputs.heads; ++h, to += dim)
        std::memcpy(to,
                    codes.data() + b * problem.codes_stride.batch + r * problem.codes_stride.row +
                        h * problem.codes_stride.head,
                    static_cast<std::size_t>(dim));
  return run;
}

}  // namespace zyfa::runtime
