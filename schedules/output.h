// Steps at the end: the output divided by the rows' totals and stored, the log-sum-exp.
#pragma once

#include "schedules/products.h"

namespace zyfa::schedules {

// O[query] = o * v_descale / total in BF16; 0 where no key was visible. Overwrites `o`.
void store_output(Builder& k, const Arguments& args, const Place& place, const Output& o, const Rows& rows);

// LSE[query] = ln(sum of exp(logits)) = ln 2 * (octaves * reference + log2(unrounded)), from the sum
// before rounding, which `rows` must hold; -infinity where no key was visible.
// Leaves EXEC with the lower half only.
void store_lse(Builder& k, const Arguments& args, const Place& place, const Rows& rows, const ScoreScale& scale);

}  // namespace zyfa::schedules
