// Memory instructions as AMD's CDNA4 ISA pseudo code has them, one lane at a time, keyed by mnemonic: a second opinion
// on the emulator's memory rows that shares nothing with them but the wave's registers.
#pragma once

#include "isa/emulator/wave.h"
#include "tests/support/random_inst.h"

#include <cstdint>
#include <vector>

namespace zyfa::tests {

// All the memory there is: `global` begins at global_address. Private memory is the wave's.
struct OracleMemory {
  static constexpr std::uint64_t global_address = 0x12340000, lds_aperture = 0x1000000000000,
                                 private_aperture = 0x2000000000000;
  std::vector<std::uint8_t> global, lds;
  bool operator==(const OracleMemory&) const = default;
};

// What the instruction does once everything has arrived. False if there is no oracle for the row.
bool run_memory_oracle(emulator::Wave& wave, OracleMemory& memory, const isa::Inst& inst);

// A random instruction of the row, and registers that make its accesses fall into `memory` (buffers partly out of their
// range), aligned where `aligned` or atomic.
isa::Inst random_access(isa::Op op, emulator::Wave& wave, OracleMemory& memory, bool aligned, Rng& rng);

}  // namespace zyfa::tests
