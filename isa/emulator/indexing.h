// Vector registers found by an index: between s_set_gpr_idx_on and s_set_gpr_idx_off M0[7:0] is added to the register
// numbers of the operands that M0[15:12] names (CDNA4 ISA, "VGPR Indexing").
#pragma once

#include "isa/emulator/execute.h"
#include "isa/emulator/fault.h"

#include <optional>

namespace zyfa::emulator {

// What the wave's state adds to the register number of an argument, whatever the row.
std::uint32_t register_index(const Wave& wave, int arg);

// Executes a vector instruction of a wave whose MODE says that registers are indexed, on a copy with the registers
// meant. v_mov_b32 alone, which is what compilers index; another instruction is a Fault, and so is a register past the
// last.
std::optional<Fault> execute_indexed(Execute execute, const isa::Inst& inst, Wave& wave);

}  // namespace zyfa::emulator
