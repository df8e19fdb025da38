// What all attention kernels have in common: which tiles of queries a workgroup works on, one after the other.
#pragma once

#include "schedules/arguments.h"
#include "schedules/softmax.h"

#include <functional>

namespace zyfa::schedules {

// Attention of the tile of queries at `place`. Runs once or twice in a kernel, is emitted once.
using Attend = std::function<void(Builder&, const Arguments&, const Place&, const ScoreScale&)>;

// A whole kernel. Without a mask workgroup x takes tile x; with one it takes tile n-1-x of n, then tile x, so that all
// have the same to do.
generator::KernelBody attention_kernel(const AttentionPlan& plan, const isa::Machine& machine, const Attend& attend);

}  // namespace zyfa::schedules
