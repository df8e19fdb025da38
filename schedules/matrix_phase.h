// A matrix phase of the ping-pong: products of scores and of the output in one order, and the wave's other work in the
// gaps between them.
#pragma once

#include "schedules/walk.h"

namespace zyfa::schedules {

inline const generator::PingPong& free_choices(const AttentionPlan& plan) {
  return std::get<generator::PingPong>(plan.schedule);
}

struct MatrixPhase {
  MatrixSteps steps;
  std::vector<Errand> errands;  // in their order
};

// What goes into a phase. Either list of steps may be empty.
struct PhaseWork {
  MatrixSteps scores = {}, outputs = {};
  Errands late = {};    // what is left of making the P that the outputs take
  bool maxima = false;  // of the scores are found here, as far as the schedule finds them early
  Errands fetch = {};
};

// The steps in the schedule's order. Late work is done before the keys' scores are overwritten and their P is taken;
// maxima are found behind the last product of their scores.
MatrixPhase arrange(Builder& k, const Walk& w, PhaseWork work);

// Runs the phase. `hands_over`: ends with a barrier, from which on the other wave of the SIMD multiplies.
void run(Builder& k, const Walk& w, const MatrixPhase& phase, bool hands_over);

}  // namespace zyfa::schedules
