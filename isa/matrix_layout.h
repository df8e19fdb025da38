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

// Operands of 8 and 16 bits that are longer than 16 bytes come in two halves of 16 bytes of consecutive k (FP8 of
// f8f6f4, B of the sparse instructions with the largest k); all others are one run.
constexpr MatrixSourceLayout matrix_source_layout(int width, int k, int element_bits) {
  const int groups = 64 / width;
  const int elements = k / groups;
  return {width, groups, elements, element_bits >= 8 ? std::min(elements, 128 / element_bits) : elements};
}

// Instructions with several blocks: the lane that holds row `row` (column of B) of a block. Lane groups divide k as
// above; only FP64 has more than one (AMD's matrix instruction calculator for CDNA3, as are all layouts with blocks and
// those of FP64).
constexpr int matrix_source_lane(int width, int blocks, int group, int block, int row) {
  return (group * blocks + block) * width + row;
}

// The sparse instructions keep 2 of every 4 elements of A. Lane group g stores those of the k / groups dense k from
// (k / groups) * g on, two for each 4 of them in order. B is dense and stands as above. The index register of the same
// lane says with 2 bits a stored element which of the 4 it is; where that fills only a part of the register there is
// room for several sets, of which abid selects one if cbsz is 0, else the first is taken. AMD's calculator has the
// shapes of CDNA3; tests of AMD's that were run on an MI350 (fpsan) have all of them, up to an order of k that is the
// same for A and B.
struct SparseLayout {
  int stored;      // elements of A in a lane
  int index_bits;  // of the index register, in one set

  constexpr int sets() const { return 32 / index_bits; }
  constexpr int first_index_bit(int cbsz, int abid) const { return cbsz == 0 ? abid % sets() * index_bits : 0; }
  // The dense k of stored element t in lane group `group`, being number `position` of its 4.
  constexpr int k(int group, int t, int position) const { return 2 * stored * group + 4 * (t / 2) + position; }
};
constexpr SparseLayout sparse_layout(int width, int k) {
  const int stored = k * width / 64 / 2;
  return {stored, 2 * stored};
}

// C and D: the row that lane group `group` holds in register `r`; the column is lane % width.
constexpr int accumulator_row(int width, int group, int r) {
  const int groups = 64 / width;
  return 4 * groups * (r / 4) + 4 * group + r % 4;
}

// The same from the other side, for any instruction: lane and element (32 or 64 bits) that hold D[row][column] of a
// block.
struct AccumulatorPlace {
  int lane, element;
};
constexpr AccumulatorPlace accumulator_place(int width, int blocks, bool is_double, int block, int row, int column) {
  if (is_double) {
    const int groups = 64 / (width * blocks);
    return {matrix_source_lane(width, blocks, row % groups, block, column), row / groups};
  }
  if (width == 4) return {4 * block + column, row};
  const int groups = 64 / width;
  return {width * (row / 4 % groups) + column, block * width * width / 64 + 4 * (row / (4 * groups)) + row % 4};
}

// blgp where it is no format and no sign: the lane that B's lane takes its data from (AMD's calculator).
constexpr int lane_group_source(int blgp, int lane) {
  switch (blgp) {
    case 0:
      return lane;
    case 1:
      return lane % 32;
    case 2:
      return 32 + lane % 32;
    case 3:
      return (lane + 16) % 64;
    default:
      return 16 * (blgp - 4) + lane % 16;
  }
}

// Block scales: one E8M0 byte per row of A (column of B) and block of 32 logical k; lane group g supplies
// block g.
constexpr int scale_block_k = 32;

}  // namespace zyfa::isa
