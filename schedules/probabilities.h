// Steps that make e4m3 probabilities from scores.
#pragma once

#include "schedules/softmax.h"

namespace zyfa::schedules {

// Scores become probabilities.
//
// Exact: 2^x. Lean: as an integer an e4m3 number grows by 8 an octave, so the code of about 2^x is 8*x + constant
// (ZYFA, kernel.md 1). One multiply-add makes the code as a fixed-point number, in the bits of a denormal: code *
// 2^-133 has the bits code << 16. v_ashr_pk_u8_i32 cuts the fraction off and saturates what is below 0.
struct Making {
  std::optional<V<1>> risen = {};  // still to be subtracted from the scores
  // Of all blocks but the first so many pairs of registers of p, the last of four, are left unmade in `s`, for
  // late_conversions in the matrix phase.
  int late = 0;
  std::function<void(std::size_t)> before = [](std::size_t) {};  // called before each block with its number
};
void exact_probabilities(Builder& k, const ScoreScale& scale, Blocks blocks, const Making& making);
void lean_probabilities(Builder& k, const ScoreScale& scale, Blocks blocks, const Making& making);
// A pair of registers each. To be done before new scores overwrite the old.
Errands late_conversions(Builder& k, generator::Softmax softmax, Blocks blocks, int late);

}  // namespace zyfa::schedules
