#include "schedules/softmax.h"

#include <array>
#include <bit>

namespace zyfa::schedules {
namespace {

// Below every score: 128 products of e4m3 numbers are at least -128 * 448^2 = -2^24.6. Finite, so that a difference of
// maxima is never infinity minus infinity.
constexpr float lowest_maximum = -0x1p25f;

constexpr std::uint32_t minus_infinity = 0xff800000;
constexpr std::uint32_t four_ones_e4m3 = 0x38383838;

}  // namespace

RowState start_rows(Builder& k, bool keep_unrounded) {
  RowState rows{k.vgpr("row maximum"), k.vgpr<4>("row total"), {}};
  if (keep_unrounded) {
    rows.unrounded = k.vgpr("row total before rounding");
    k.v_mov_b32(*rows.unrounded, 0);
  }
  k.v_mov_b32(rows.maximum, std::bit_cast<std::uint32_t>(lowest_maximum));
  for (int i = 0; i < 4; ++i) k.v_mov_b32(rows.total[i], 0);
  return rows;
}

void mask_scores(Builder& k, V<64> s, V<1> row_limit, S<1> tile_key, V<1> lane) {
  const auto scope = k.scope();
  const V<1> seen = k.vgpr("keys seen of the block"), hidden = k.vgpr("score of a hidden key");
  const std::array<S<2>, 4> visible = {k.sgpr<2>("visible 0"), k.sgpr<2>("visible 1"), k.sgpr<2>("visible 2"),
                                       k.sgpr<2>("visible 3")};
  k.v_mov_b32(hidden, minus_infinity);
  k.v_lshrrev_b32(seen, 5, lane);
  k.v_lshlrev_b32(seen, 2, seen);
  k.v_sub_u32(seen, row_limit, seen);
  k.v_subrev_u32(seen, tile_key, seen);
  for (int block = 0; block < 4; ++block) {
    for (int group = 0; group < 4; ++group) {
      for (int i = 0; i < 4; ++i) k.v_cmp_lt_i32(visible[static_cast<std::size_t>(i)], 8 * group + i, seen);
      k.settle();
      for (int i = 0; i < 4; ++i) {
        const V<1> score = s[16 * block + 4 * group + i];
        k.v_cndmask_b32(score, hidden, score, visible[static_cast<std::size_t>(i)]);
      }
    }
    k.v_subrev_u32(seen, 32, seen);
  }
}

void raise_maximum(Builder& k, V<64> s, const RowState& rows, V<64> o, S<1> factor) {
  const auto scope = k.scope();
  const V<1> old = k.vgpr("old maximum"), other = k.vgpr("other half's maximum"), shrink = k.vgpr("shrink");
  k.v_mov_b32(old, rows.maximum);
  k.settle();
  for (int i = 0; i < 64; i += 2) k.v_max3_f32(rows.maximum, rows.maximum, s[i], s[i + 1]);
  k.v_mov_b32(other, rows.maximum);
  k.settle();
  k.v_permlane32_swap_b32(rows.maximum, other);
  k.v_max_f32(rows.maximum, rows.maximum, other);

  const generator::Label steady = k.label("maxima_steady");
  k.v_cmp_lt_f32(isa::vcc, old, rows.maximum);
  k.v_sub_f32(shrink, old, rows.maximum);
  k.s_cbranch_vccz(steady);
  k.v_mul_f32(shrink, factor, shrink);
  k.v_exp_f32(shrink, shrink);
  k.settle();
  for (int i = 0; i < 64; ++i) k.v_mul_f32(o[i], shrink, o[i]);
  for (int i = 0; i < 4; ++i) k.v_mul_f32(rows.total[i], shrink, rows.total[i]);
  if (rows.unrounded) k.v_mul_f32(*rows.unrounded, shrink, *rows.unrounded);
  k.bind(steady);
}

V<16> probabilities(Builder& k, V<64> s, const RowState& rows, S<1> factor, int lift) {
  const auto scope = k.scope();
  const V<1> lifted = k.vgpr("exponent of the row's largest probability");
  k.v_mov_b32(lifted, std::bit_cast<std::uint32_t>(static_cast<float>(lift)));
  // The difference first: a rounded lift - factor * maximum would be off by octaves where logits are huge, and a
  // probability past 448 is NaN in e4m3. This exponent never exceeds the lift.
  for (int i = 0; i < 64; ++i) k.v_sub_f32(s[i], s[i], rows.maximum);
  for (int i = 0; i < 64; ++i) {
    k.v_fma_f32(s[i], s[i], factor, lifted);
    k.v_exp_f32(s[i], s[i]);
  }
  if (rows.unrounded)
    for (int i = 0; i < 64; ++i) k.v_add_f32(*rows.unrounded, s[i], *rows.unrounded);
  // Register i of the result replaces a score that has been packed by then: i <= 4*i. Low and high half of a register
  // are written by two instructions that may not follow each other (docs/hazards.md), so registers go in pairs.
  for (int i = 0; i < 16; i += 2) {
    for (int j = i; j < i + 2; ++j) k.v_cvt_pk_fp8_f32(s[j], s[4 * j], s[4 * j + 1]);
    for (int j = i; j < i + 2; ++j) k.v_cvt_pk_fp8_f32(s[j], s[4 * j + 2], s[4 * j + 3], {.op_sel = 8});
  }
  return s.at<16>(0);
}

void add_to_total(Builder& k, const RowState& rows, V<8> ones, V<8> p) {
  k.v_mfma_f32_16x16x128_f8f6f4(rows.total, ones, p, rows.total);
}

V<8> ones_operand(Builder& k, const Place& place) {
  const V<8> ones = k.vgpr<8>("ones where the lane's keys count");
  const auto scope = k.scope();
  const V<1> t = k.vgpr("lane bits");
  const S<2> counts = k.sgpr<2>("lane bits 2 and 4 are equal");
  k.v_lshrrev_b32(t, 2, place.lane);
  k.v_xor_b32(t, t, place.lane);
  k.v_and_b32(t, 4, t);
  k.v_cmp_eq_u32(counts, 0, t);
  k.v_mov_b32(t, four_ones_e4m3);
  k.settle();
  for (int i = 0; i < 8; ++i) k.v_cndmask_b32(ones[i], 0, t, counts);
  return ones;
}

}  // namespace zyfa::schedules
