// FP8 forward attention as a two-wave ping-pong: docs/kernel.md.
#pragma once

#include "generator/builder.h"
#include "generator/plan.h"

namespace zyfa::schedules {

generator::KernelBody ping_pong(const generator::AttentionPlan& plan, const isa::Machine& machine);

}  // namespace zyfa::schedules
