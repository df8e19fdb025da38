// Execution of everything that stays within one wave's registers: scalar and vector ALU, lane exchange, matrix.
#pragma once

#include "isa/emulator/wave.h"

namespace zyfa::emulator {

using Execute = void (*)(Wave&, const isa::Inst&);

// The function that executes an instruction of this row, compiled for the best vector extension of this host; null for
// rows that need more than the wave: memory, branches, waits, barriers, s_endpgm. Looked up once, at decode.
Execute find_execute(isa::Op op);

// Whether a branch instruction is taken in the wave's present state.
bool branch_taken(isa::Op op, const Wave& wave);

// The value of a scalar source of 32 bits: register, inline constant or literal.
std::uint32_t scalar_source(const Wave& wave, const isa::Operand& operand);

// Name of the host's vector extension that find_execute chose, for reports ("AVX3", "AVX2", ...).
const char* vector_extension();

}  // namespace zyfa::emulator
