#include "isa/matrix_layout.h"

#include "tests/support/catch.h"

#include <set>
#include <utility>
#include <vector>

namespace zyfa::isa {
namespace {

struct Shape {
  int width, k, bits;
};
// Every source of the table: 16-bit, plain FP8, f8f6f4 in 8, 6 and 4 bits, and float.
const std::vector<Shape> shapes = {{32, 16, 16}, {16, 32, 16}, {32, 16, 8},  {16, 32, 8}, {32, 64, 8},
                                   {16, 128, 8}, {32, 64, 6},  {16, 128, 6}, {32, 64, 4}, {16, 128, 4},
                                   {32, 2, 32},  {32, 32, 16}, {16, 64, 16}, {16, 4, 64}};

// Whether each k of a row is held exactly once by the row's lanes.
bool covers_every_k_once(const MatrixSourceLayout& layout, int k) {
  std::set<int> seen;
  for (int group = 0; group < layout.groups; ++group)
    for (int j = 0; j < layout.elements; ++j)
      if (const int at = layout.k(group, j); at < 0 || at >= k || !seen.insert(at).second) return false;
  return static_cast<int>(seen.size()) == k;
}

}  // namespace

TEST_CASE("matrix sources hold every k of every row once", "[quick]") {
  for (const Shape& s : shapes) {
    INFO(s.width << " x " << s.k << ", " << s.bits << " bits");
    CHECK(covers_every_k_once(matrix_source_layout(s.width, s.k, s.bits), s.k));
  }
  MatrixSourceLayout wrong = matrix_source_layout(32, 64, 8);
  wrong.run = 12;
  CHECK_FALSE(covers_every_k_once(wrong, 64));
}

TEST_CASE("matrix sources follow the published layouts", "[quick]") {
  // gfx950.md 3, written as it is there: k of element j in lane l.
  for (int l = 0; l < 64; ++l)
    for (int j = 0; j < 32; ++j) {
      CHECK(matrix_source_layout(32, 64, 8).k(l / 32, j) == 32 * (j / 16) + 16 * (l / 32) + j % 16);
      CHECK(matrix_source_layout(16, 128, 8).k(l / 16, j) == 64 * (j / 16) + 16 * (l / 16) + j % 16);
      CHECK(matrix_source_layout(32, 64, 4).k(l / 32, j) == 32 * (l / 32) + j);
      CHECK(matrix_source_layout(16, 128, 6).k(l / 16, j) == 32 * (l / 16) + j);
      if (j >= 8) continue;
      CHECK(matrix_source_layout(32, 16, 16).k(l / 32, j) == 8 * (l / 32) + j);
      CHECK(matrix_source_layout(16, 32, 8).k(l / 16, j) == 8 * (l / 16) + j);
    }
  CHECK(matrix_source_layout(32, 2, 32).elements == 1);
  CHECK(matrix_source_layout(32, 2, 32).k(1, 0) == 1);
}

TEST_CASE("accumulators hold every row once, in the published order", "[quick]") {
  for (const int width : {16, 32}) {
    std::set<int> rows;
    for (int r = 0; r < width * width / 64; ++r)
      for (int group = 0; group < 64 / width; ++group) rows.insert(accumulator_row(width, group, r));
    CHECK(static_cast<int>(rows.size()) == width);
    CHECK(*rows.rbegin() == width - 1);
  }
  for (int r = 0; r < 16; ++r) CHECK(accumulator_row(32, 1, r) == 8 * (r / 4) + 4 + r % 4);
  for (int r = 0; r < 4; ++r) CHECK(accumulator_row(16, 3, r) == 12 + r);
}

TEST_CASE("accumulators of blocks and doubles have a place for every element", "[quick]") {
  struct Case {
    int width, blocks;
    bool is_double;
  };
  for (const Case& c : {Case{32, 1, false}, Case{32, 2, false}, Case{16, 1, false}, Case{16, 4, false},
                        Case{4, 16, false}, Case{16, 1, true}, Case{4, 4, true}}) {
    INFO(c.width << " wide, " << c.blocks << " blocks");
    std::set<std::pair<int, int>> places;
    const int elements = c.width * c.width * c.blocks / 64;
    for (int block = 0; block < c.blocks; ++block)
      for (int row = 0; row < c.width; ++row)
        for (int column = 0; column < c.width; ++column) {
          const AccumulatorPlace at = accumulator_place(c.width, c.blocks, c.is_double, block, row, column);
          CHECK((at.lane >= 0 && at.lane < 64 && at.element >= 0 && at.element < elements));
          CHECK(places.emplace(at.lane, at.element).second);
          if (c.blocks == 1 && !c.is_double) CHECK(accumulator_row(c.width, at.lane / c.width, at.element) == row);
        }
  }
}

TEST_CASE("sparse sources keep two of each four k", "[quick]") {
  for (const Shape& s : {Shape{16, 32, 16}, Shape{32, 16, 16}, Shape{16, 64, 8}, Shape{32, 32, 8}, Shape{16, 128, 8}}) {
    INFO(s.width << " x " << s.k);
    const SparseLayout layout = sparse_layout(s.width, s.k);
    std::multiset<int> fours;
    for (int group = 0; group < 64 / s.width; ++group)
      for (int t = 0; t < layout.stored; ++t) {
        CHECK(layout.k(group, t, 3) - layout.k(group, t, 0) == 3);
        fours.insert(layout.k(group, t, 0));
      }
    for (int k = 0; k < s.k; k += 4) CHECK(fours.count(k) == 2);
  }
  // 8, 16 and 32 bits of indices: abid counts 4, 2 and 1 sets, and not at all beside cbsz.
  CHECK(sparse_layout(16, 32).first_index_bit(0, 3) == 24);
  CHECK(sparse_layout(16, 32).first_index_bit(1, 3) == 0);
  CHECK(sparse_layout(32, 32).first_index_bit(0, 1) == 16);
  CHECK(sparse_layout(32, 32).first_index_bit(0, 2) == 0);
  CHECK(sparse_layout(16, 128).first_index_bit(0, 1) == 0);
}

}  // namespace zyfa::isa
