// The kernel that quantises, generated in memory, and its runs.
#pragma once

#include "runtime_loader/quantise_emulate.h"
#include "runtime_loader/quantise_inputs.h"

namespace zyfa {

runtime::QuantiseKernel generate_quantise_kernel(const generator::QuantiseConfig& config);

// Runs it in strict mode. A trap or a finding is an Error with its message.
runtime::Quantised run_quantise(const runtime::QuantiseKernel& kernel, const runtime::QuantiseInputs& inputs,
                                runtime::EmulationOptions options = {});

}  // namespace zyfa
