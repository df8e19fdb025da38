#include "tests/support/kernels.h"

#include "isa/error.h"

namespace zyfa {

using namespace runtime;
using generator::QueryType;
using generator::ScoreScaling;

std::vector<generator::AttentionConfig> all_configurations() {
  std::vector<generator::AttentionConfig> all;
  for (const bool causal : {true, false})
    for (const bool lse : {true, false})
      for (generator::AttentionConfig config : every_shape(causal, lse))
        for (const int version : {5, 6}) {
          config.code_object_version = version;
          all.push_back(config);
        }
  for (const ScoreScaling scaling : {ScoreScaling::multiply_add, ScoreScaling::folded})
    all.push_back({.q_dtype = QueryType::bf16, .score_scale = scaling});
  for (const bool causal : {true, false})
    for (const generator::AttentionConfig& config : every_interleaved(causal, causal)) all.push_back(config);
  return all;
}

std::vector<generator::AttentionConfig> every_shape(bool causal, bool lse) {
  std::vector<generator::AttentionConfig> all;
  for (const generator::SupportedShape& shape : generator::supported_shapes())
    if (!lse || shape.has_exponents())
      all.push_back({.dtype = shape.dtype,
                     .head_dim = shape.head_dim,
                     .v_head_dim = shape.v_head_dim,
                     .causal = causal,
                     .softmax = shape.softmax,
                     .score_scale = shape.score_scale,
                     .lse = lse});
  return all;
}

std::vector<generator::AttentionConfig> every_interleaved(bool causal, bool lse) {
  std::vector<generator::AttentionConfig> all;
  for (generator::AttentionConfig config : every_shape(causal, lse)) {
    config.schedule = "interleaved";
    if (generator::offers(config.schedule, config)) all.push_back(config);
  }
  return all;
}

Kernel generate_kernel(const generator::AttentionConfig& config) {
  const generator::GeneratedKernel kernel = generator::generate(config, isa::Machine{});
  return make_kernel(kernel.code_object, generator::manifest_from_json(kernel.manifest, "generated manifest"),
                     kernel.plan.symbol);
}

Kernel generate_kernel(bool causal, bool lse) {
  generator::AttentionConfig config;
  config.causal = causal;
  config.lse = lse;
  return generate_kernel(config);
}

AttentionShape shape_for(const generator::AttentionConfig& config, int queries, int keys, int heads, int kv_heads,
                         int batch) {
  return {.batch = batch,
          .heads = heads,
          .kv_heads = kv_heads,
          .seqlen_q = queries,
          .seqlen_k = keys,
          .head_dim = config.head_dim,
          .v_head_dim = config.v_head_dim,
          .causal = config.causal};
}

InputOptions suited(const generator::AttentionConfig& config, InputOptions options) {
  options.power_of_two_factor = config.needs_power_of_two_factor();
  options.q_bf16 = config.q_dtype == QueryType::bf16;
  return options;
}

CheckedRun run_and_compare(const Kernel& kernel, const AttentionInputs& inputs, EmulationOptions options) {
  options.emulator.strict = true;
  CheckedRun checked{run_on_emulator(kernel, inputs, options), reference_attention(inputs, {.threads = 2}), {}};
  if (checked.run.result.trap) throw Error("{}", checked.run.result.trap->message);
  for (const emulator::Finding& finding : checked.run.result.findings) throw Error("{}", finding.message);
  checked.comparison = compare(checked.reference, checked.run.output(), default_tolerances(kernel.manifest.config));
  return checked;
}

}  // namespace zyfa
