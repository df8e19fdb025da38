#include "tests/support/logits.h"

#include "isa/numeric.h"

#include <algorithm>
#include <cmath>

namespace zyfa {

using namespace runtime;

AttentionInputs with_logits(const AttentionShape& shape, double unit, const std::function<int(int)>& number) {
  constexpr int elements = 32;
  AttentionInputs inputs = make_inputs(shape, InputKind::gaussian, 1, 14);
  std::ranges::fill(inputs.q, std::uint8_t{0});
  std::ranges::fill(inputs.k, std::uint8_t{0});
  std::ranges::fill(inputs.q_descale, 1.0f);
  std::ranges::fill(inputs.k_descale, 1.0f);
  inputs.softmax_scale = static_cast<float>(unit);
  const auto dim = static_cast<std::size_t>(shape.head_dim);
  for (std::size_t row = 0; row < inputs.q.size() / dim; ++row)
    std::fill_n(&inputs.q[row * dim], elements, isa::float_to_e4m3(1));
  for (int j = 0; j < shape.seqlen_k; ++j) {
    const int n = number(j);
    for (int d = 0; d < elements; ++d) {
      const int part = n / elements + (d < std::abs(n % elements) ? (n < 0 ? -1 : 1) : 0);
      inputs.k[static_cast<std::size_t>(j) * dim + static_cast<std::size_t>(d)] =
          isa::float_to_e4m3(static_cast<float>(part));
    }
  }
  return inputs;
}

}  // namespace zyfa
