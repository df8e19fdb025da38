#include "tests/support/quantise_problem.h"

#include "generator/generate.h"
#include "isa/error.h"
#include "isa/numeric.h"
#include "runtime_loader/random.h"

#include <cmath>

namespace zyfa {

using namespace runtime;

QuantiseKernel generate_quantise_kernel(const generator::QuantiseConfig& config) {
  const generator::GeneratedQuantise kernel = generator::generate_quantise(config, isa::Machine{});
  return make_kernel(kernel.code_object, generator::quantise_manifest_from_json(kernel.manifest, "generated manifest"),
                     kernel.plan.symbol);
}

QuantiseInputs make_quantise_inputs(const generator::QuantiseConfig& config, const QuantiseShape& shape,
                                    std::uint64_t seed) {
  constexpr int magnitudes = 7, first_outlier = 3;
  QuantiseInputs inputs{shape.batch, shape.rows, shape.heads, shape.heads_per_scale, config.head_dim, {}};
  const RandomStream random(seed, 0), magnitude(seed, 1);
  std::uint64_t index = 0;
  for (int b = 0; b < shape.batch; ++b)
    for (int r = 0; r < shape.rows; ++r)
      for (int h = 0; h < shape.heads; ++h) {
        const auto head = static_cast<std::uint64_t>(b * shape.heads + h);
        const int power = static_cast<int>(magnitude.bits(head) % magnitudes) - magnitudes / 2;
        for (int d = 0; d < config.head_dim; ++d) {
          const float scale = d % shape.outlier_every == first_outlier ? shape.outlier : 1.0F;
          const auto value = static_cast<float>(random.gaussian(index++));
          inputs.x.push_back(isa::float_to_bf16(std::ldexp(scale * value, power)));
        }
      }
  return inputs;
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
