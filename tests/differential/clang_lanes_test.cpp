// Kernels whose lanes exchange data, compiled by clang, against what they should leave in memory.
#include "isa/error.h"
#include "tests/support/catch.h"
#include "tests/support/clang_kernel.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

namespace zyfa::tests {
namespace {

using Words = std::vector<std::uint32_t>;
using Numbers = std::vector<std::int32_t>;

constexpr Grid one_wave{.workgroups = 1, .workgroup_size = 64};

Words random_words(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Words words(count);
  for (std::uint32_t& word : words) word = random();
  return words;
}
// 0..999, exact in every type and in every order of summation.
template <class T>
std::vector<T> small_numbers(std::size_t count, unsigned seed) {
  std::vector<T> numbers;
  for (const std::uint32_t word : random_words(count, seed)) numbers.push_back(static_cast<T>(word % 1000));
  return numbers;
}

// Launches kernel(out, in..., numbers...) and compares `out`.
template <class T, class... Inputs>
std::string compare(const ClangKernels& kernels, const std::string& symbol, Grid grid, const std::vector<T>& expected,
                    const Inputs&... inputs) {
  KernelArguments arguments;
  arguments.add(std::vector<T>(expected.size()));
  (arguments.add(inputs), ...);
  if (std::string wrong = kernels.launch(symbol, grid, arguments); !wrong.empty()) return wrong;
  return bit_difference(symbol, expected, arguments.contents(0));
}

Words transposed_tiles(const Words& in) {
  Words out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) out[i / 1024 * 1024 + i % 32 * 32 + i / 32 % 32] = in[i];
  return out;
}

// Each lane addresses `words` dwords; element j of lane t of 16 is element t + 16 j of what the 16 address (gfx950.md
// 4: 4, 8 and 16 bits as published for CDNA4, 6 bits as 4).
Words read_transposed(const Words& in, std::size_t bits, std::size_t words) {
  Words out(in.size());
  const auto bit = [&](std::size_t at) { return in[at / 32] >> at % 32 & 1; };
  for (std::size_t lane = 0; lane < 64; ++lane)
    for (std::size_t v = 0; v < 32 * words; ++v) {
      const std::size_t element = lane % 16 + 16 * (v / bits);
      const std::size_t from = lane / 16 * 512 * words + element * bits + v % bits;
      out[words * lane + v / 32] |= bit(from) << v % 32;
    }
  return out;
}

template <class T>
std::vector<T> inclusive_sums(const std::vector<T>& in, std::size_t run) {
  std::vector<T> out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] + (i % run == 0 ? 0 : out[i - 1]);
  return out;
}

constexpr int absent = -1;

// The lane that a DPP control reads (CDNA4 ISA 12, DPP_CTRL), absent if it is none of the wave or of the row.
int dpp_source(int control, int lane) {
  const int row = lane / 16 * 16, in_row = lane % 16, n = control & 15;
  const auto within_row = [&](int i) { return i < 0 || i > 15 ? absent : row + i; };
  if (control < 0x100) return lane / 4 * 4 + (control >> 2 * (lane % 4) & 3);
  switch (control & ~15) {
    case 0x100:
      return within_row(in_row + n);
    case 0x110:
      return within_row(in_row - n);
    case 0x120:
      return row + (in_row + 16 - n) % 16;
    case 0x150:
      return row + n;
    default:
      break;
  }
  switch (control) {
    case 0x130:
      return lane == 63 ? absent : lane + 1;
    case 0x134:
      return (lane + 1) % 64;
    case 0x138:
      return lane == 0 ? absent : lane - 1;
    case 0x13c:
      return (lane + 63) % 64;
    case 0x140:
      return row + 15 - in_row;
    case 0x141:
      return lane / 8 * 8 + 7 - lane % 8;
    case 0x142:
      return row == 0 ? absent : row - 1;
    case 0x143:
      return lane < 32 ? absent : 31;
    default:
      return absent;
  }
}

Numbers expected_moves(const Numbers& in) {
  struct Move {
    int control, row_mask = 15, bank_mask = 15;
    bool zero = false;
  };
  const Move moves[] = {{0x1b},
                        {0xb1},
                        {0x101},
                        {0x10f},
                        {0x113},
                        {0x125},
                        {0x130},
                        {0x134},
                        {0x138},
                        {0x13c},
                        {0x140},
                        {0x141},
                        {0x142},
                        {0x143},
                        {0x150},
                        {0x15b},
                        {0x111, 5, 15},
                        {0x111, 15, 6},
                        {0x111, 15, 15, true}};
  Numbers out;
  for (const Move& move : moves)
    for (int lane = 0; lane < 64; ++lane) {
      const bool enabled = (move.row_mask >> lane / 16 & 1) && (move.bank_mask >> lane % 16 / 4 & 1);
      const int from = dpp_source(move.control, lane), old = -1 - lane;
      const int moved = from != absent ? in[static_cast<std::size_t>(from)] : move.zero ? 0 : old;
      out.push_back(enabled ? moved : old);
    }
  return out;
}

// Reading a lane that is off keeps the old value, as reading none does.
Numbers expected_in_branch(const Numbers& in) {
  Numbers out;
  for (int lane = 0; lane < 64; ++lane) {
    const int from = dpp_source(0x111, lane);
    const bool is_on = from != absent && (in[static_cast<std::size_t>(from)] & 1);
    const int moved = is_on ? in[static_cast<std::size_t>(from)] : 1000;
    out.push_back(in[static_cast<std::size_t>(lane)] & 1 ? moved : -7);
  }
  return out;
}

Numbers expected_lane_access(const Numbers& in, std::size_t lane) {
  Numbers out = in;
  out[lane] = in[0] - in[lane];
  out[5] = in[63];
  out.resize(128);
  std::fill(out.begin() + 64 + 11, out.end(), out[11]);
  return out;
}

// v_permlane16_swap and v_permlane32_swap: the upper row of a pair of the first changes places with the lower of the
// second.
Words expected_swaps(const Words& x, const Words& y) {
  Words out;
  for (const std::size_t row : {16, 32}) {
    Words first = x, second = y;
    for (std::size_t lane = 0; lane < 64; ++lane)
      if (lane / row % 2 == 1) std::swap(first[lane], second[lane - row]);
    out.insert(out.end(), first.begin(), first.end());
    out.insert(out.end(), second.begin(), second.end());
  }
  return out;
}

// Lane * factor modulo 64 is another lane for each lane if the factor is odd.
Numbers expected_permutes(const Numbers& in, std::size_t factor) {
  Numbers out(256);
  for (std::size_t lane = 0; lane < 64; ++lane) {
    out[lane] = in[lane * factor % 64];
    out[64 + lane * factor % 64] = in[lane];
    out[128 + lane] = in[lane ^ 1];
    out[192 + lane] = in[lane / 4 * 4 + 3 - lane % 4];
  }
  return out;
}

Words expected_compact(const Words& in) {
  Words out;
  std::copy_if(in.begin(), in.end(), std::back_inserter(out), [](std::uint32_t x) { return x & 1; });
  const auto count = static_cast<std::uint32_t>(out.size());
  out.resize(64);
  out.push_back(count);
  return out;
}

std::vector<float> expected_product(const std::vector<float>& x, const std::vector<float>& y) {
  std::vector<float> out(64 * 64);
  for (std::size_t row = 0; row < 64; ++row)
    for (std::size_t column = 0; column < 64; ++column)
      for (std::size_t k = 0; k < 64; ++k) out[row * 64 + column] += x[row * 64 + k] * y[k * 64 + column];
  return out;
}

}  // namespace

TEST_CASE("clang's kernels that exchange data through LDS", "[quick]") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const ClangKernels kernels("lanes.c");
  const Words tiles = random_words(3 * 1024, 1), rows = random_words(128, 2);
  CHECK(compare(kernels, "transpose", {.workgroups = 3}, transposed_tiles(tiles), tiles) == "");
  CHECK(compare(kernels, "read_transposed_4", one_wave, read_transposed(rows, 4, 2), rows) == "");
  CHECK(compare(kernels, "read_transposed_8", one_wave, read_transposed(rows, 8, 2), rows) == "");
  CHECK(compare(kernels, "read_transposed_16", one_wave, read_transposed(rows, 16, 2), rows) == "");
  const Words wide_rows = random_words(192, 14);
  CHECK(compare(kernels, "read_transposed_6", one_wave, read_transposed(wide_rows, 6, 3), wide_rows) == "");

  const Words words = random_words(3 * 256, 3);
  const std::vector<float> floats = small_numbers<float>(3 * 256, 4);
  Words sums;
  std::vector<float> maxima;
  for (int block = 0; block < 3; ++block) {
    sums.push_back(std::accumulate(words.begin() + block * 256, words.begin() + block * 256 + 256, 0U));
    maxima.push_back(*std::max_element(floats.begin() + block * 256, floats.begin() + block * 256 + 256));
  }
  CHECK(compare(kernels, "block_sum", {.workgroups = 3}, sums, words) == "");
  CHECK(compare(kernels, "block_maximum", {.workgroups = 3}, maxima, floats) == "");

  const std::vector<float> x = small_numbers<float>(64 * 64, 5), y = small_numbers<float>(64 * 64, 6);
  std::vector<float> small = x;
  for (float& value : small) value = static_cast<float>(static_cast<int>(value) % 16);
  CHECK(compare(kernels, "tiled_product", {.workgroups = 16}, expected_product(small, y), small, y) == "");
}

TEST_CASE("clang's kernels that exchange data between lanes", "[quick]") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const ClangKernels kernels("lanes.c");
  const Numbers many = small_numbers<std::int32_t>(2 * 256, 7), wave(many.begin(), many.begin() + 64);
  CHECK(compare(kernels, "scan", {.workgroups = 2}, inclusive_sums(many, 64), many) == "");
  CHECK(compare(kernels, "block_scan", {.workgroups = 2}, inclusive_sums(many, 256), many) == "");
  CHECK(compare(kernels, "dpp_controls", one_wave, expected_moves(wave), wave) == "");
  CHECK(compare(kernels, "dpp_in_branch", one_wave, expected_in_branch(wave), wave) == "");
  for (const int lane : {0, 5, 31, 63})
    CHECK(compare(kernels, "lane_access", one_wave, expected_lane_access(wave, static_cast<std::size_t>(lane)), wave,
                  lane) == "");
  const Words x = random_words(64, 8), y = random_words(64, 9);
  CHECK(compare(kernels, "swaps", one_wave, expected_swaps(x, y), x, y) == "");
  CHECK(compare(kernels, "permutes", one_wave, expected_permutes(wave, 5), wave, 5) == "");
  CHECK(compare(kernels, "compact", one_wave, expected_compact(x), x) == "");
}

}  // namespace zyfa::tests
