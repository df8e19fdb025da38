// Steps at the end: the output divided by the rows' totals and stored, the log-sum-exp.
#pragma once

#include "schedules/softmax.h"

namespace zyfa::schedules {

// O[query] = o * v_descale / total in BF16; 0 where no key was visible. `o` is O^T: o.at<16>(16*block) holds 32
// elements of the value dim, register r of lane l is element 32*block + 8*(r/4) + 4*(l/32) + r%4 of query l%32.
// Overwrites `o`.
void store_output(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place, V<64> o,
                  const RowState& rows);

// LSE[query] = ln(sum of exp(logits)) = ln 2 * (octaves * reference + log2(unrounded)), from the sum
// before rounding, which `rows` must hold; -infinity where no key was visible.
// Leaves EXEC with the lower half only.
void store_lse(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place, const RowState& rows,
               const ScoreScale& scale);

}  // namespace zyfa::schedules
