// Forward attention in FP8, head dim 128: one kernel for the whole of softmax(Q K^T) V.
#pragma once

#include "generator/builder.h"
#include "generator/plan.h"

namespace zyfa::schedules {

generator::KernelBody attention_forward_hd128(const generator::AttentionPlan& plan, const isa::Machine& machine);

}  // namespace zyfa::schedules
