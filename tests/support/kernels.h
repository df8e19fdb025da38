// Kernels for tests, generated in memory and taken back from the bytes of their code object, as a user's would be.
#pragma once

#include "generator/generate.h"
#include "runtime_loader/attention_problem.h"
#include "runtime_loader/emulate.h"

#include <vector>

namespace zyfa {

// Every configuration that zyfa-gen offers with FP8 queries and its own choice of a schedule: shapes x causal x lse x
// code object version; and some of BF16, and of the interleaved schedule.
std::vector<generator::AttentionConfig> all_configurations();

runtime::Kernel generate_kernel(const generator::AttentionConfig& config);
runtime::Kernel generate_kernel(bool causal, bool lse);
// The shapes and softmaxes that zyfa-gen offers, with this mask and LSE.
std::vector<generator::AttentionConfig> every_shape(bool causal, bool lse);
// Those of them that the interleaved schedule has.
std::vector<generator::AttentionConfig> every_interleaved(bool causal, bool lse);
// A problem of the configuration.
runtime::AttentionShape shape_for(const generator::AttentionConfig& config, int queries, int keys, int heads = 1,
                                  int kv_heads = 1, int batch = 1);
// The options with what the configuration asks of its input: BF16 queries, a factor of the logits that is a power of
// two.
runtime::InputOptions suited(const generator::AttentionConfig& config, runtime::InputOptions options = {});

// Runs the problem in strict mode and compares all rows with the reference. A trap or a finding is an Error with its
// message.
struct CheckedRun {
  runtime::EmulatedRun run;
  runtime::AttentionResult reference;
  runtime::Comparison comparison;
};
CheckedRun run_and_compare(const runtime::Kernel& kernel, const runtime::AttentionInputs& inputs,
                           runtime::EmulationOptions options = {});

}  // namespace zyfa
