// Problems for the kernel that quantises, and the kernel itself, generated in memory.
#pragma once

#include "runtime_loader/quantise_emulate.h"

namespace zyfa {

runtime::QuantiseKernel generate_quantise_kernel(const generator::QuantiseConfig& config);

// Normal BF16 rows of deviation 1, each (batch, head) times a power of two of its own from 1/8 to 8. Every
// `outlier_every`th element of a row, from the 4th on, is `outlier` times as large.
struct QuantiseShape {
  int batch = 1, rows = 1, heads = 1, heads_per_scale = 1;
  float outlier = 1;
  int outlier_every = 40;
};
runtime::QuantiseInputs make_quantise_inputs(const generator::QuantiseConfig& config, const QuantiseShape& shape,
                                             std::uint64_t seed = 1);

// The same kernel run in strict mode. A trap or a finding is an Error with its message.
runtime::Quantised run_quantise(const runtime::QuantiseKernel& kernel, const runtime::QuantiseInputs& inputs,
                                runtime::EmulationOptions options = {});

}  // namespace zyfa
