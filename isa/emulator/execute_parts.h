// What the files behind execute.h share: one finder per group of rows, and 64-bit scalar sources.
#pragma once

#include "isa/emulator/execute.h"

namespace zyfa::emulator {

// Null for rows of another group.
Execute find_scalar(isa::Op op);
Execute find_vector(isa::Op op);
Execute find_packed(isa::Op op);
Execute find_convert(isa::Op op);
Execute find_matrix(isa::Op op);

// MFMA rows one element at a time: those with several blocks, those of FP64, and any other with blgp.
void execute_blocks(Wave& wave, const isa::Inst& inst);

// A scalar source of 64 bits. Inline integers are sign-extended; inline floats are doubles (LLVM's
// isInlinableLiteral64 takes the bits of 1.0 and so on for any 64-bit operand); a literal's missing half is
// zero, or its sign if the operand is a signed integer (LLVM AMDGPUOperandSyntax, conversion of literals).
std::uint64_t scalar_source64(const Wave& wave, const isa::Operand& operand, bool is_signed);

// The same where an fp64 is meant: a literal is its high half.
std::uint64_t scalar_source_f64(const Wave& wave, const isa::Operand& operand);

}  // namespace zyfa::emulator
