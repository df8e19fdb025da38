#include "schedules/catalog.h"

#include "isa/error.h"
#include "schedules/interleaved.h"
#include "schedules/ping_pong.h"

namespace zyfa::schedules {

generator::KernelBody build_kernel(const generator::AttentionPlan& plan, const isa::Machine& machine) {
  if (plan.config.skip_zero_blocks && plan.family == generator::Family::interleaved)
    throw Error(
        "skip_zero_blocks is for the schedule ping_pong; the interleaved one has no phases to leave work out of");
  return plan.family == generator::Family::interleaved ? interleaved(plan, machine) : ping_pong(plan, machine);
}

}  // namespace zyfa::schedules
