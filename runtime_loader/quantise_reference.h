// What the kernel that quantises computes, element by element on the host, in the order of operations that
// docs/quantise.md states: its codes and descales are these, bit by bit.
#pragma once

#include "generator/quantise.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace zyfa::runtime {

// BF16 rows, contiguous (batch, rows, heads, head_dim).
struct QuantiseInputs {
  int batch = 1, rows = 0, heads = 1, heads_per_scale = 1, head_dim = 128;
  std::vector<std::uint16_t> x;
  std::optional<std::vector<float>> k_descale = {};  // (batch, heads / heads_per_scale)
  float softmax_scale = 1;

  int scale_heads() const { return heads / heads_per_scale; }
};

struct Quantised {
  std::vector<std::uint8_t> codes;  // (batch, rows, heads, head_dim)
  std::vector<float> descales;      // (batch, heads / heads_per_scale)

  bool operator==(const Quantised&) const = default;
};

// Throws Error unless the sizes belong together.
Quantised reference_quantise(generator::Rotation rotation, const QuantiseInputs& inputs);

// A row's values as the kernel rounds them, but for 1 / descale: sums of the rotation, each to be multiplied by
// rotation_factor of its block.
void rotate_row(std::span<float> row);
float rotation_factor(generator::Rotation rotation, int block);
// Of a row of head_dim elements: 128, or 128 and 64.
std::vector<int> rotation_blocks(int head_dim);

}  // namespace zyfa::runtime
