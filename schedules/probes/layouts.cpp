// Where the elements of matrix operands stand: scale blocks, and the sparse instructions' sources.
#include "isa/matrix_layout.h"
#include "isa/numeric.h"
#include "schedules/probes/groups.h"
#include "schedules/probes/value_kernel.h"

#include <bit>
#include <cmath>

namespace zyfa::schedules {
namespace {

constexpr std::uint32_t fp8_one = 0x38;
constexpr std::uint32_t four_of(std::uint32_t byte) { return byte * 0x01010101; }

// An operand that is zero but for a one in byte `byte` of the lanes of one group of `width`.
template <int N>
void set_one(ValueKernel& kernel, V<N> operand, int width, int group, int byte, bool on) {
  kernel.only_lanes(width * group, width);
  kernel.k.v_mov_b32(operand[byte / 4], on ? fp8_one << 8 * (byte % 4) : 0);
  kernel.every_lane();
}

// Group g of lanes supplies scale 4^g for its block of A; the product of a single one of A with ones says whose it got.
constexpr int bytes_of_a_lane = 32;

template <int width>
void emit_scales(ValueKernel& kernel) {
  constexpr int registers = width * width / 64, groups = 64 / width;
  Builder& k = kernel.k;
  const V<8> a = k.vgpr<8>("A"), b = k.vgpr<8>("B");
  const V<registers> d = k.vgpr<registers>("D");
  const V<1> scale_a = k.vgpr("scales of A"), scale_b = k.vgpr("scales of B");
  for (int i = 0; i < 8; ++i) {
    k.v_mov_b32(a[i], 0);
    k.v_mov_b32(b[i], four_of(fp8_one));
  }
  constexpr int bias = 127;
  k.v_mov_b32(scale_b, bias);
  for (int g = 0; g < groups; ++g) {
    kernel.only_lanes(width * g, width);
    k.v_mov_b32(scale_a, bias + 2 * g);
  }
  kernel.every_lane();
  for (int g = 0; g < groups; ++g)
    for (int byte = 0; byte < bytes_of_a_lane; ++byte) {
      set_one(kernel, a, width, g, byte, true);
      k.settle();
      if constexpr (width == 32)
        k.v_mfma_scale_f32_32x32x64_f8f6f4(d, a, b, 0.0f, scale_a, scale_b);
      else
        k.v_mfma_scale_f32_16x16x128_f8f6f4(d, a, b, 0.0f, scale_a, scale_b);
      kernel.store(d[0]);
      set_one(kernel, a, width, g, byte, false);
    }
}

// "lanes 0-31: 16 x 0, 16 x 1; ..."
template <class BlockOf>
std::string runs(int width, BlockOf block_of) {
  std::string text;
  for (int g = 0; g < 64 / width; ++g) {
    text += fmt::format("{}lanes {}-{}:", g == 0 ? "" : "; ", width * g, width * g + width - 1);
    for (int byte = 0; byte < bytes_of_a_lane;) {
      const int block = block_of(g, byte), first = byte;
      while (byte < bytes_of_a_lane && block_of(g, byte) == block) ++byte;
      text += fmt::format("{} {} bytes of block {}", first == 0 ? "" : ",", byte - first, block);
    }
  }
  return text;
}

template <int width>
Findings evaluate_scales(Words words) {
  constexpr int depth = bytes_of_a_lane * (64 / width);
  const isa::MatrixSourceLayout layout = isa::matrix_source_layout(width, depth, 8);
  const auto found = [&](int group, int byte) {
    const float scale = std::bit_cast<float>(first_lane(words, group * bytes_of_a_lane + byte));
    return scale > 0 && std::isfinite(scale) ? std::ilogb(scale) / 2 : -1;
  };
  const auto assumed = [&](int group, int byte) { return layout.k(group, byte) / isa::scale_block_k; };
  return {{},
          {{fmt::format("scale blocks of FP8 {0}x{0}x{1}", width, depth), runs(width, found), runs(width, assumed)}}};
}

// SMFMAC 16x16x128: a single one of A meets the codes 1, 2, 3, ... of B, of lanes 0..31 and then of lanes 32..63, so
// that the result's value is its partner's place.
constexpr int sparse_groups = 4, stored = 16, places_at_once = 64;
constexpr std::uint32_t first_two = 0x44444444, last_two = 0xe;  // of every four; of one four

void emit_sparse(ValueKernel& kernel) {
  Builder& k = kernel.k;
  const V<4> a = k.vgpr<4>("A"), d = k.vgpr<4>("D");
  const V<8> low = k.vgpr<8>("B, lanes 0..31"), high = k.vgpr<8>("B, lanes 32..63");
  const V<1> indices = k.vgpr("indices");
  for (int i = 0; i < 4; ++i) k.v_mov_b32(a[i], 0);
  for (int i = 0; i < 8; ++i) {
    k.v_mov_b32(low[i], 0);
    k.v_mov_b32(high[i], 0);
  }
  for (int g = 0; g < sparse_groups; ++g) {
    kernel.only_lanes(16 * g, 16);
    for (int i = 0; i < 8; ++i) {
      const std::uint32_t codes = 0x04030201 + four_of(static_cast<std::uint32_t>(32 * (g % 2) + 4 * i));
      k.v_mov_b32((g < 2 ? low : high)[i], codes);
    }
  }
  kernel.every_lane();
  k.v_mov_b32(indices, first_two);
  const auto multiply = [&](int group, int byte) {
    set_one(kernel, a, 16, group, byte, true);
    for (const V<8> b : {low, high}) {
      for (int i = 0; i < 4; ++i) k.v_mov_b32(d[i], 0);
      k.settle();
      k.v_smfmac_f32_16x16x128_fp8_fp8(d, a, b, indices);
      kernel.store(d[0]);
    }
    set_one(kernel, a, 16, group, byte, false);
  };
  for (int g = 0; g < sparse_groups; ++g)
    for (int byte = 0; byte < stored; ++byte) multiply(g, byte);
  // One index of one group of lanes changed.
  for (int g = 0; g < sparse_groups; ++g)
    for (int four = 0; four < stored / 2; ++four) {
      kernel.only_lanes(16 * g, 16);
      k.v_mov_b32(indices, (first_two & ~(0xfu << 4 * four)) | last_two << 4 * four);
      kernel.every_lane();
      multiply(g, 2 * four);
      k.v_mov_b32(indices, first_two);
    }
}

struct Place {
  int group = -1, byte = -1;
  bool operator==(const Place&) const = default;
};

Place partner(Words words, int at) {
  for (const int half : {0, 1}) {
    const float value = std::bit_cast<float>(first_lane(words, 2 * at + half));
    if (value == 0) continue;
    for (int code = 1; code <= places_at_once; ++code)
      if (isa::e4m3_to_float(static_cast<std::uint8_t>(code)) == value) {
        const int place = half * places_at_once + code - 1;
        return {place / bytes_of_a_lane, place % bytes_of_a_lane};
      }
  }
  return {};
}

// Where B holds this k, by the layout that the emulator uses.
Place place_of(int k) {
  const isa::MatrixSourceLayout layout = isa::matrix_source_layout(16, 128, 8);
  for (int group = 0; group < layout.groups; ++group)
    for (int byte = 0; byte < layout.elements; ++byte)
      if (layout.k(group, byte) == k) return {group, byte};
  return {};
}

Findings evaluate_sparse(Words words) {
  const isa::SparseLayout layout = isa::sparse_layout(16, 128);
  std::vector<std::string> found, assumed;
  const auto add = [](std::vector<std::string>& list, Place p) {
    list.push_back(fmt::format("{}.{}", p.group, p.byte));
  };
  for (int g = 0; g < sparse_groups; ++g)
    for (int byte = 0; byte < stored; ++byte) {
      add(found, partner(words, g * stored + byte));
      add(assumed, place_of(layout.k(g, byte, byte % 2)));
    }
  int moved = 0;
  for (int g = 0; g < sparse_groups; ++g)
    for (int four = 0; four < stored / 2; ++four)
      moved += partner(words, sparse_groups * stored + g * stored / 2 + four) == place_of(layout.k(g, 2 * four, 2));
  return {{},
          {{"SMFMAC 16x16x128 FP8: lane group and byte of B for each byte of A, group after group",
            fmt::format("{}", fmt::join(found, " ")), fmt::format("{}", fmt::join(assumed, " "))},
           {"SMFMAC 16x16x128 FP8: fours whose index stands in their own lanes, four bits each in order",
            fmt::format("{} of 32", moved), "32 of 32"}}};
}

}  // namespace

std::vector<Probe> layout_probes() {
  constexpr int scale_cases[] = {2 * bytes_of_a_lane, 4 * bytes_of_a_lane};
  constexpr int sparse_cases = 2 * (sparse_groups * stored + sparse_groups * stored / 2);
  return {make_probe(ValueProbe{"scale-blocks-32",
                                "which lanes scale which bytes of FP8 32x32x64",
                                {},
                                scale_cases[0],
                                false,
                                emit_scales<32>,
                                evaluate_scales<32>}),
          make_probe(ValueProbe{"scale-blocks-16",
                                "which lanes scale which bytes of FP8 16x16x128",
                                {},
                                scale_cases[1],
                                false,
                                emit_scales<16>,
                                evaluate_scales<16>}),
          make_probe(ValueProbe{"sparse-layout",
                                "which elements a sparse FP8 16x16x128 multiplies",
                                {},
                                sparse_cases,
                                false,
                                emit_sparse,
                                evaluate_sparse})};
}

}  // namespace zyfa::schedules
