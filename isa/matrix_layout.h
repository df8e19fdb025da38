// Where the elements of a matrix instruction's operands stand in lanes and registers (gfx950.md 3: AMD's
// matrix-core blog kernels, the FlyDSL loaders and AMD's simulator agree). A has M rows, B has N columns;
// both are called `width` here, as A and B follow the same rule. The 64 lanes form 64 / width groups: lane =
// group * width + row (or column).
#pragma once

#include <algorithm>

namespace zyfa::isa {

// A or B. A lane holds `elements` elements of its row, packed little-endian: element j at bit j *
// element_bits.
struct MatrixSourceLayout {
  int width;
  int groups;
  int elements;
  int run;  // elements of a lane that are consecutive in k

  constexpr int k(int group, int element) const { return run * groups * (element / run) + run * group + element % run; }
};

// FP8 operands longer than 16 bytes come in two halves of 16 consecutive k (f8f6f4); all others are one run.
constexpr MatrixSourceLayout matrix_source_layout(int width, int k, int element_bits) {
  const int groups = 64 / width;
  const int elements = k / groups;
  return {width, groups, elements, element_bits == 8 ? std::min(elements, 16) : elements};
}

// The sparse instructions keep 2 of every 4 elements of A: a lane of group g stores 16 bytes for the 32 dense k from
// 32 * g on, two for each 4 of them in order, and its index register says with 2 bits a byte which of the 4 it is. B is
// dense and stands as in the dense instruction of that shape. AITER's fp8 kernel sums the rows of P by a sparse matrix
// of ones, which counts each element once under this layout (aiter-anatomy.md 1.7), and is proven on hardware.
// C and D: the row that lane group `group` holds in register `r`; the column is lane % width.
constexpr int accumulator_row(int width, int group, int r) {
  const int groups = 64 / width;
  return 4 * groups * (r / 4) + 4 * group + r % 4;
}

// Block scales: one E8M0 byte per row of A (column of B) and block of 32 logical k; lane group g supplies
// block g.
constexpr int scale_block_k = 32;

}  // namespace zyfa::isa
