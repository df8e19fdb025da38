// From a plan to its schedule: the only place that knows them all.
#pragma once

#include "generator/builder.h"
#include "generator/plan.h"
#include "generator/quantise.h"

namespace zyfa::schedules {

generator::KernelBody build_kernel(const generator::AttentionPlan& plan, const isa::Machine& machine);
generator::KernelBody build_kernel(const generator::QuantisePlan& plan, const isa::Machine& machine);

}  // namespace zyfa::schedules
