// A stream of matrix instructions with vector instructions woven between them, for a wave that has its SIMD to itself.
#pragma once

#include "schedules/walk.h"

namespace zyfa::schedules {

// The products of `half` of the keys, under which the probabilities of the other half are made.
struct Step {
  int half;
  MatrixSteps matrix;
  bool scores;        // are among the products
  Pieces pieces;      // one behind each matrix instruction
  MatrixSteps next;   // whose first operands are read ahead
  std::size_t first;  // fragment register of the first operand

  std::size_t products(const Walk& w) const { return matrix.size() * w.tiles.size(); }
};

// Weaves a strand under the step's matrix instructions from `multiplied` on, each with its piece, then what is left of
// it. `arriving`: for each operand of the step, its request, if it is one of those made before. `on_woven` hears of
// each instruction that is woven, and how many matrix instructions were issued before it. Throws Error where strand and
// step touch the same registers (generator/interference.h).
void weave_under(Builder& k, const Walk& w, const Step& step, const generator::Strand& strand, std::size_t multiplied,
                 std::vector<Token>& arriving, const std::function<void(std::size_t, std::size_t)>& on_woven = {});

}  // namespace zyfa::schedules
