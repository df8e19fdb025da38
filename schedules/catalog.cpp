#include "schedules/catalog.h"

#include "schedules/ping_pong.h"

namespace zyfa::schedules {

generator::KernelBody build_kernel(const generator::AttentionPlan& plan, const isa::Machine& machine) {
  return ping_pong(plan, machine);
}

}  // namespace zyfa::schedules
