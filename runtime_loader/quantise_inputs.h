// Random BF16 rows for the kernel that quantises.
#pragma once

#include "runtime_loader/quantise_reference.h"

namespace zyfa::runtime {

struct QuantiseShape {
  int batch = 1, rows = 1, heads = 1, heads_per_scale = 1, head_dim = 128;
  float outlier = 1;  // factor of outlier channels
};

// Normal rows of deviation 1, each (batch, head) times a power of two of its own from 1/8 to 8. One channel of 40, from
// the 4th on, is `outlier` times as large. The same arguments give the same bits on every host.
QuantiseInputs make_quantise_inputs(const QuantiseShape& shape, std::uint64_t seed);

}  // namespace zyfa::runtime
