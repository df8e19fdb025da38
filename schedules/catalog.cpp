#include "schedules/catalog.h"

#include "schedules/interleaved.h"
#include "schedules/ping_pong.h"

namespace zyfa::schedules {

generator::KernelBody build_kernel(const generator::AttentionPlan& plan, const isa::Machine& machine) {
  return std::holds_alternative<generator::Interleaved>(plan.schedule) ? interleaved(plan, machine)
                                                                       : ping_pong(plan, machine);
}

}  // namespace zyfa::schedules
