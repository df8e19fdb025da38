// Problems with given logits.
#pragma once

#include "runtime_loader/attention_problem.h"

#include <functional>

namespace zyfa {

// Logits that are `unit` times a whole number of key j, at most 512 in magnitude: as dot products with ones in 32
// elements, whose codes are exact. V is gaussian.
runtime::AttentionInputs with_logits(const runtime::AttentionShape& shape, double unit,
                                     const std::function<int(int)>& number);

}  // namespace zyfa
