// The matrix phase of a wave's trip, scores of a tile and output of the tile before, where blocks without a probability
// may be left out.
#pragma once

#include "schedules/walk.h"

namespace zyfa::schedules {

// A phase goes on in one of four ways before it reads operands of the output: each leaves out the
// output of other blocks. Three of them stand behind the loop.
struct ForkedPhase {
  MatrixSteps scores, output;  // output: half of the steps for each block
  Errands list;
  std::size_t fork;                        // the step before which the ways part
  std::vector<generator::Token> arriving;  // operands of the scores behind it
  generator::Label some_zero, done;
};

// multiply_some has to follow where the program does not come by.
ForkedPhase multiply_forked(Builder& k, const Walk& w, const MatrixSteps& scores, const MatrixSteps& output,
                            const Errands& list);
void multiply_some(Builder& k, const Walk& w, const ForkedPhase& phase);

// The phase of the output alone. `late` is work that makes its probabilities.
void multiply_output(Builder& k, const Walk& w, const MatrixSteps& output, const Errands& late, const Errands& list);

}  // namespace zyfa::schedules
