// How far along the keys a wave and its workgroup have to go, with and without the causal mask.
#pragma once

#include "schedules/arguments.h"

namespace zyfa::schedules {

// Key counts from the first key on; all are at least 0.
struct Limits {
  S<1> all;        // every row of the wave sees the keys below this
  S<1> wave;       // no row of the wave sees a key from here on
  S<1> workgroup;  // no row of the workgroup does
  V<1> row;        // query lane % 32 of the wave sees the keys below this; may be negative
};

// Every query sees every key.
Limits full_limits(Builder& k, const Arguments& args, const Place& place);

// Bottom-right causal mask: query i sees the keys j <= i + seqlen_k - seqlen_q.
Limits causal_limits(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place);

}  // namespace zyfa::schedules
