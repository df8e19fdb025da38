// Damage to files, the same for the same random numbers.
#pragma once

#include "tests/fuzz/targets.h"

#include <random>

namespace zyfa::fuzz {

// Its numbers are fixed by the C++ standard, so a seed names the same damage everywhere.
using Rng = std::mt19937_64;

// `input` after one to four edits: flipped bits, other bytes, pieces of any of `corpus` put in or written over, pieces
// taken out or doubled, the end cut off, a length field (2, 4 or 8 bytes, little-endian) or decimal number replaced by
// one of the values at which readers go wrong.
Bytes mutate(Bytes input, std::span<const Bytes> corpus, Rng& rng);

}  // namespace zyfa::fuzz
