// zyfa-run of a kernel that quantises: runs it on random rows and compares every bit with the host's.
#pragma once

#include "runtime_loader/quantise_emulate.h"
#include "runtime_loader/quantise_inputs.h"

#include <optional>

namespace zyfa::runtime {

struct QuantiseCommand {
  std::string kernel, manifest;
  QuantiseShape shape;  // its head_dim is the kernel's
  std::uint64_t seed = 1;
  EmulationOptions emulation;
  std::optional<int> device;  // number of a GPU; none: the emulator
  bool json = false;
};

// Prints what came out. 0 if all codes and descales are the host's and strict mode found nothing, else 1. Throws Error
// as load_quantise_kernel and run_quantise_on_emulator do, and for a trap.
int run_quantise_command(const QuantiseCommand& command);

}  // namespace zyfa::runtime
