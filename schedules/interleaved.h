// FP8 forward attention with 64 queries a wave and one wave a SIMD: matrix and vector instructions woven into one
// stream.
#pragma once

#include "generator/builder.h"
#include "generator/plan.h"

namespace zyfa::schedules {

// Lean P only: with exact P the vector ALU has more to do than the matrix pipe, and two waves hide that better.
generator::KernelBody interleaved(const generator::AttentionPlan& plan, const isa::Machine& machine);

}  // namespace zyfa::schedules
