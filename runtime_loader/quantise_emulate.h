// The kernel that quantises on the emulator.
#pragma once

#include "runtime_loader/emulate.h"
#include "runtime_loader/quantise_launch.h"
#include "runtime_loader/quantise_reference.h"

namespace zyfa::runtime {

struct QuantiseRun {
  Quantised quantised;                       // what it wrote, in the order of Quantised whatever the layout
  std::array<emulator::Result, 2> phases{};  // the second is empty if the first trapped
  double seconds = 0;

  // Of both: the first trap, all findings, the sum of the instructions.
  emulator::Result result() const;
};

// Lays x and the codes out, launches both phases and takes the codes back. Codes start out as NaN, descales and the
// workspace as NaN. Throws Error where the kernel is for another head dim, the sizes do not belong together, or the
// layout is not bshd or bhsd.
QuantiseRun run_quantise_on_emulator(const QuantiseKernel& kernel, const QuantiseInputs& inputs,
                                     const EmulationOptions& options = {});

// Both launches of a problem whose tensors are mapped in `memory`; the second only if the first did not trap. Throws
// Error as quantise_launches does.
std::array<emulator::Result, 2> launch_quantise_on_emulator(const QuantiseKernel& kernel,
                                                            const QuantiseProblem& problem,
                                                            const emulator::GlobalMemory& memory,
                                                            const emulator::Options& options = {},
                                                            const Runner& runner = {});

}  // namespace zyfa::runtime
