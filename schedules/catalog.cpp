#include "schedules/catalog.h"

#include "schedules/attention_forward.h"

namespace zyfa::schedules {

generator::KernelBody build_kernel(const generator::AttentionPlan& plan, const isa::Machine& machine) {
  return attention_forward_hd128(plan, machine);
}

}  // namespace zyfa::schedules
