#include "tests/support/quantise_problem.h"

#include "generator/generate.h"
#include "isa/error.h"

namespace zyfa {

using namespace runtime;

QuantiseKernel generate_quantise_kernel(const generator::QuantiseConfig& config) {
  const generator::GeneratedQuantise kernel = generator::generate_quantise(config, isa::Machine{});
  return make_kernel(kernel.code_object, generator::quantise_manifest_from_json(kernel.manifest, "generated manifest"),
                     kernel.plan.symbol);
}

Quantised run_quantise(const QuantiseKernel& kernel, const QuantiseInputs& inputs, EmulationOptions options) {
  options.emulator.strict = true;
  const QuantiseRun run = run_quantise_on_emulator(kernel, inputs, options);
  const emulator::Result result = run.result();
  if (result.trap) throw Error("{}", result.trap->message);
  for (const emulator::Finding& finding : result.findings) throw Error("{}", finding.message);
  return run.quantised;
}

}  // namespace zyfa
