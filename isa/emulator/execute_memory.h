// Execution of the rows that reach beyond the wave: scalar, buffer and global memory, LDS, LDS-DMA. Memory is
// read and written when the instruction issues; what it loads arrives through the wave's Arrivals.
#pragma once

#include "isa/emulator/arrivals.h"
#include "isa/emulator/fault.h"
#include "isa/emulator/lds.h"
#include "isa/emulator/wave.h"

#include <optional>

namespace zyfa::emulator {

// What an instruction of a wave sees of the world outside the wave.
struct Surroundings {
  const GlobalMemory& memory;
  Lds& lds;
  Arrivals& arrivals;
};

// Whether a row is executed here.
bool is_memory_row(isa::Op op);

// Executes one instruction of such a row; `index` is its place in the program. Operands must have passed
// isa::validate.
std::optional<Fault> execute_memory(const isa::Inst& inst, std::uint32_t index, Wave& wave, Surroundings around);

}  // namespace zyfa::emulator
