// What the environment asks of the emulated devices: docs/hip-emulated.md.
#pragma once

#include "isa/emulator/emulator.h"

#include <string>

namespace zyfa::hip_emulated {

struct Settings {
  int devices = 1;                              // ZYFA_HIP_EMULATED_DEVICES, 0 to 16
  std::string arch = "gfx950:sramecc+:xnack-";  // ZYFA_HIP_EMULATED_ARCH: the name it gives itself
  int threads = 1;                              // ZYFA_HIP_EMULATED_THREADS, of all kernels together
  emulator::MemoryModel memory_model{};         // ZYFA_HIP_EMULATED_MEMORY_MODEL
  int api = 7;                                  // HIP's major version, as the library's file name says: 5, 6, 7

  // "gfx950" of "gfx950:sramecc+:xnack-".
  std::string processor() const { return arch.substr(0, arch.find(':')); }
};

// Throws Error naming the variable and what it accepts.
Settings read_settings();

}  // namespace zyfa::hip_emulated
