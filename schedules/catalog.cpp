#include "schedules/catalog.h"

#include "schedules/interleaved.h"
#include "schedules/ping_pong.h"
#include "schedules/softmax_folded.h"

namespace zyfa::schedules {

generator::KernelBody build_kernel(const generator::AttentionPlan& plan, const isa::Machine& machine) {
  if (plan.family == generator::Family::interleaved && (is_folded(plan) || is_bf16(plan)))
    throw Error("schedule interleaved takes neither a folded score scale nor BF16 queries; ping_pong does");
  return plan.family == generator::Family::interleaved ? interleaved(plan, machine) : ping_pong(plan, machine);
}

}  // namespace zyfa::schedules
