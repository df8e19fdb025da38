#include "schedules/catalog.h"

#include "schedules/interleaved.h"
#include "schedules/ping_pong.h"
#include "schedules/quantise.h"

namespace zyfa::schedules {

generator::KernelBody build_kernel(const generator::AttentionPlan& plan, const isa::Machine& machine) {
  return std::holds_alternative<generator::Interleaved>(plan.schedule) ? interleaved(plan, machine)
                                                                       : ping_pong(plan, machine);
}

generator::KernelBody build_kernel(const generator::QuantisePlan& plan, const isa::Machine& machine) {
  return quantise(plan, machine);
}

}  // namespace zyfa::schedules
