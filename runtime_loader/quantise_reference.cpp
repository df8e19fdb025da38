#include "runtime_loader/quantise_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "isa/error.h"
#include "isa/numeric.h"

namespace zyfa::runtime {
namespace {

constexpr float e4m3_max = 448;

void rotate_block(std::span<float> block) {
  constexpr std::size_t bits[] = {0, 1, 2, 5, 6, 4, 3};
  for (const std::size_t bit : bits) {
    const std::size_t distance = std::size_t{1} << bit;
    for (std::size_t i = 0; i + distance < block.size(); ++i) {
      if ((i & distance) != 0) continue;
      const float a = block[i], b = block[i + distance];
      block[i] = a + b;
      block[i + distance] = a - b;
    }
  }
}

// The row of values that belongs to an index, rotated.
std::vector<float> row_values(generator::Rotation rotation, const QuantiseInputs& inputs, std::size_t row) {
  const auto dim = static_cast<std::size_t>(inputs.head_dim);
  std::vector<float> values(dim);
  for (std::size_t d = 0; d < dim; ++d) values[d] = isa::bf16_to_float(inputs.x[row * dim + d]);
  if (rotation == generator::Rotation::hadamard) rotate_row(values);
  return values;
}

struct Mantissa {
  float mantissa;
  int exponent;
};
Mantissa split(float x) {
  int exponent = 0;
  const float mantissa = std::frexp(x, &exponent);
  return {mantissa, exponent};
}

float following_key(float descale, float k_descale, float softmax_scale) {
  const float t =
      split(split(softmax_scale).mantissa * split(k_descale).mantissa * std::numbers::log2e_v<float>).mantissa;
  if (t == 0) return descale;
  const Mantissa own = split(descale), product = split(own.mantissa * t);
  return std::ldexp(1 / t, own.exponent + product.exponent - (product.mantissa == 0.5F ? 1 : 0));
}

}  // namespace

std::vector<int> rotation_blocks(int head_dim) {
  return head_dim == 192 ? std::vector{128, 64} : std::vector{head_dim};
}

float rotation_factor(generator::Rotation rotation, int block) {
  if (rotation == generator::Rotation::none) return 1;
  return static_cast<float>(1 / std::sqrt(static_cast<double>(block)));
}

void rotate_row(std::span<float> row) {
  std::size_t first = 0;
  for (const int block : rotation_blocks(static_cast<int>(row.size()))) {
    rotate_block(row.subspan(first, static_cast<std::size_t>(block)));
    first += static_cast<std::size_t>(block);
  }
}

Quantised reference_quantise(generator::Rotation rotation, const QuantiseInputs& inputs) {
  const auto scales = static_cast<std::size_t>(inputs.batch) * static_cast<std::size_t>(inputs.scale_heads());
  const auto rows = static_cast<std::size_t>(inputs.batch) * static_cast<std::size_t>(inputs.rows) *
                    static_cast<std::size_t>(inputs.heads);
  const auto dim = static_cast<std::size_t>(inputs.head_dim);
  if (inputs.x.size() != rows * dim) throw Error("x has {} elements, its shape needs {}", inputs.x.size(), rows * dim);
  if (inputs.k_descale && inputs.k_descale->size() != scales)
    throw Error("k_descale has {} values, the codes have {} descales", inputs.k_descale->size(), scales);
  const auto scale_of = [&](std::size_t row) {
    const std::size_t heads = static_cast<std::size_t>(inputs.heads), head = row % heads;
    const std::size_t batch = row / (heads * static_cast<std::size_t>(inputs.rows));
    return batch * static_cast<std::size_t>(inputs.scale_heads()) +
           head / static_cast<std::size_t>(inputs.heads_per_scale);
  };
  // Calls visit(element, value, factor of its block) for each element of the row.
  const auto for_each = [&](std::size_t row, const auto& visit) {
    const std::vector<float> values = row_values(rotation, inputs, row);
    std::size_t d = 0;
    for (const int block : rotation_blocks(inputs.head_dim))
      for (int i = 0; i < block; ++i, ++d) visit(d, values[d], rotation_factor(rotation, block));
  };

  std::vector<float> largest(scales);
  for (std::size_t row = 0; row < rows; ++row)
    for_each(row, [&](std::size_t, float value, float factor) {
      float& most = largest[scale_of(row)];
      if (std::isfinite(value)) most = std::max(most, std::abs(value) * factor);
    });
  Quantised result{std::vector<std::uint8_t>(rows * dim), {}};
  for (std::size_t i = 0; i < scales; ++i) {
    const float plain = largest[i] == 0 ? 1.0F : std::max(largest[i] / e4m3_max, std::numeric_limits<float>::min());
    result.descales.push_back(inputs.k_descale ? following_key(plain, (*inputs.k_descale)[i], inputs.softmax_scale)
                                               : plain);
  }
  for (std::size_t row = 0; row < rows; ++row)
    for_each(row, [&](std::size_t d, float value, float factor) {
      const float scaled = value * (factor / result.descales[scale_of(row)]);
      result.codes[row * dim + d] = isa::float_to_e4m3(scaled, isa::Overflow::to_nan);
    });
  return result;
}

}  // namespace zyfa::runtime
