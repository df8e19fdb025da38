// Random instructions of every row, valid by construction: what the text, encoding and emulator tests feed
// on.
#pragma once

#include "isa/isa.h"

#include <random>

namespace zyfa::tests {

// Its numbers are fixed by the C++ standard, so a seed names the same instructions everywhere.
using Rng = std::mt19937_64;

// Any form, register file, constant and modifier that the row takes; validate() has nothing to say about it.
// Branches get the number of a dword offset, never a label.
isa::Inst random_inst(isa::Op op, Rng& rng);

}  // namespace zyfa::tests
