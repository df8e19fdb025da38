#include "runtime_loader/quantise_emulate.h"

#include "runtime_loader/laid_out_rows.h"

#include <chrono>
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
  LaidOutRows rows(kernel.manifest, inputs, options.layout);
  std::vector<std::byte> codes(rows.code_bytes, std::byte{nan_code}), workspace(rows.workspace_bytes, std::byte{0xff});
  QuantiseRun run;
  run.quantised.descales.assign(rows.descales, std::numeric_limits<float>::quiet_NaN());
  emulator::GlobalMemory memory;
  rows.problem.x = memory.place_read_only("x", rows.x);
  rows.problem.codes = memory.place("codes", codes);
  rows.problem.descale = memory.place("descale", std::as_writable_bytes(std::span(run.quantised.descales)));
  rows.problem.workspace = memory.place("workspace", workspace);
  if (inputs.k_descale)
    rows.problem.k_descale = memory.place_read_only("k_descale", std::as_bytes(std::span(*inputs.k_descale)));

  const auto start = std::chrono::steady_clock::now();
  run.phases = launch_quantise_on_emulator(kernel, rows.problem, memory, options.emulator, options.runner);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  run.quantised.codes = rows.gather(codes);
  return run;
}

}  // namespace zyfa::runtime
