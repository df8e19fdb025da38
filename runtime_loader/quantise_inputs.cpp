#include "runtime_loader/quantise_inputs.h"

#include <cmath>

#include "isa/numeric.h"
#include "runtime_loader/random.h"

namespace zyfa::runtime {

QuantiseInputs make_quantise_inputs(const QuantiseShape& shape, std::uint64_t seed) {
  constexpr int magnitudes = 7, first_outlier = 3, outlier_every = 40;
  QuantiseInputs inputs{shape.batch, shape.rows, shape.heads, shape.heads_per_scale, shape.head_dim, {}};
  inputs.x.reserve(static_cast<std::size_t>(shape.batch) * static_cast<std::size_t>(shape.rows) *
                   static_cast<std::size_t>(shape.heads) * static_cast<std::size_t>(shape.head_dim));
  const RandomStream random(seed, 0), magnitude(seed, 1);
  std::uint64_t index = 0;
  for (int b = 0; b < shape.batch; ++b)
    for (int r = 0; r < shape.rows; ++r)
      for (int h = 0; h < shape.heads; ++h) {
        const auto head = static_cast<std::uint64_t>(b * shape.heads + h);
        const int power = static_cast<int>(magnitude.bits(head) % magnitudes) - magnitudes / 2;
        for (int d = 0; d < shape.head_dim; ++d) {
          const float scale = d % outlier_every == first_outlier ? shape.outlier : 1.0F;
          const auto value = static_cast<float>(random.gaussian(index++));
          inputs.x.push_back(isa::float_to_bf16(std::ldexp(scale * value, power)));
        }
      }
  return inputs;
}

}  // namespace zyfa::runtime
