// The kernel that makes e4m3 codes of BF16 rows, with a scale per batch entry and key/value head: docs/quantise.md.
#pragma once

#include "generator/builder.h"
#include "generator/quantise.h"

namespace zyfa::schedules {

generator::KernelBody quantise(const generator::QuantisePlan& plan, const isa::Machine& machine);

}  // namespace zyfa::schedules
