#include "schedules/softmax.h"

#include <bit>
#include <cmath>

namespace zyfa::schedules {
namespace {

using generator::Label;

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

// 2^23 + n as a float has n in its low bits.
constexpr float integer_bits = 0x1p23f;
constexpr float e8m0_one = 127;
constexpr int fp32_bias = 127, fp32_mantissa = 23;

// Exponents below this would come near the end of fp32's range, and such keys count for nothing.
constexpr float least_exponent = -100;
// Totals do not reach this, so such a weight moves its row's reference.
constexpr float largest_exponent = 100;
// Up to here a difference of octaves keeps a hundredth of a code when it is part of a multiply-add's constant.
constexpr float furthest_rise = 0x1p12f;

// Below every dot product: 192 products of e4m3 numbers are at least -192 * 448^2 = -2^25.2.
constexpr float lowest_product = -0x1p26f;

// Dot products of e4m3 numbers are multiples of 2^-18 below 2^26. With factors from here on, two that differ at all are
// 2^9 octaves apart; with those up to here, all are less than 2^-70 apart. So the bounds change no probability, and
// what is computed from them stays within fp32: a score of -infinity stays one, and no 0 meets an infinity.
constexpr float least_factor = 0x1p-96f, largest_factor = 0x1p27f;

// Lean: a score is 2^-100 of a dot product, so that the factor which takes it to the range of denormals is itself a
// normal number.
constexpr int lean_shift = 100;
constexpr float code_unit = 0x1p-133f;  // a code of 1: bit 16 of a denormal
constexpr int code_shift = 16;
constexpr float codes_per_octave = 8, e4m3_bias = 7;

}  // namespace

ScoreScale score_scale(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place) {
  const int shift = plan.config.softmax == generator::Softmax::lean ? lean_shift : 0;
  ScoreScale scale{shift, k.vgpr("E8M0 factors of scores and of 1"), k.sgpr("octaves of a score"),
                   k.sgpr("codes of a score")};
  const auto scope = k.scope();
  const V<1> t = k.vgpr("octaves of a product"), octaves = k.vgpr("octaves of a score");
  exponent_factor(k, t, args, place);
  k.v_max_f32(t, least_factor, t);
  k.v_min_f32(t, largest_factor, t);
  k.v_mov_b32(scale.factors, (127 - shift / 2) | 127 << 8);
  k.v_mul_f32(octaves, std::ldexp(1.0f, shift), t);
  k.v_mul_f32(t, std::ldexp(codes_per_octave * code_unit, shift), t);
  k.settle();
  k.v_readfirstlane_b32(scale.octaves, octaves);
  k.v_readfirstlane_b32(scale.codes, t);
  return scale;
}

RowState start_rows(Builder& k, const AttentionPlan& plan) {
  RowState rows{k.vgpr<16>("minus the row's reference"),
                k.vgpr("row total"),
                {},
                {k.vgpr("exponent of keys 0..63"), k.vgpr("exponent of keys 64..127")},
                {k.vgpr<4>("sum of keys 0..63"), k.vgpr<4>("sum of keys 64..127")},
                k.vgpr("exponent of 0"),
                k.vgpr("octaves of 0")};
  if (plan.config.lse) {
    rows.unrounded = k.vgpr("row total before rounding");
    k.v_mov_b32(*rows.unrounded, 0);
  }
  for (int i = 0; i < 16; ++i) k.v_mov_b32(rows.bias[i], 0);
  for (const V<4> sum : rows.sums)
    for (int i = 0; i < 4; ++i) k.v_mov_b32(sum[i], 0);
  k.v_mov_b32(rows.total, 0);
  k.v_mov_b32(rows.no_exponent, bits(integer_bits + e8m0_one));
  // Lean: a half against the cut, and the offset that makes logarithmic rounding right on average.
  const auto lift = static_cast<float>(plan.lift_log2);
  const float lean_code = (codes_per_octave * (lift + e4m3_bias) + 0.5f + plan.lean_offset) * code_unit;
  k.v_mov_b32(rows.no_octaves,
              bits(plan.config.softmax == generator::Softmax::lean ? lean_code : integer_bits + e8m0_one + lift));
  for (const V<1> exponent : rows.exponent) k.v_mov_b32(exponent, bits(integer_bits + e8m0_one));
  return rows;
}

Ones make_ones(Builder& k, const Place& place) {
  constexpr std::uint32_t four_ones_e4m3 = 0x38383838;
  constexpr std::uint32_t first_two_of_four = 0x44444444, last_two_of_four = 0xeeeeeeee;
  const Ones ones{k.vgpr<4>("sparse ones"), k.vgpr("which of four k")};
  const auto scope = k.scope();
  const V<1> t = k.vgpr("lane bits");
  const S<2> chosen = k.sgpr<2>("lanes chosen");
  const auto lanes_with = [&](int mask, int value) {
    k.v_and_b32(t, mask, place.lane);
    k.v_cmp_eq_u32(chosen, value, t);
  };
  // The lane's row of A is lane%16, its 32 k are those of B's lanes of one 16 and of the next.
  for (int first = 0; first < 2; ++first) {
    lanes_with(7, 4 * first);
    k.v_mov_b32(t, four_ones_e4m3);
    k.settle();
    for (int i = 0; i < 2; ++i) k.v_cndmask_b32(ones.values[2 * first + i], 0, t, chosen);
  }
  lanes_with(8, 0);
  k.v_mov_b32(t, first_two_of_four);
  k.v_mov_b32(ones.index, last_two_of_four);
  k.settle();
  k.v_cndmask_b32(ones.index, ones.index, t, chosen);
  return ones;
}

void sum_probabilities(Builder& k, const RowState& rows, const Ones& ones, V<8> p, int half) {
  k.v_smfmac_f32_16x16x128_fp8_fp8(rows.sums[static_cast<std::size_t>(half)], ones.values, p, ones.index);
}

Maxima allocate_maxima(Builder& k) { return {{k.vgpr("maximum of keys 0..63"), k.vgpr("maximum of keys 64..127")}}; }

void find_maxima(Builder& k, V<64> s, const Maxima& maxima, const std::function<void()>& meanwhile) {
  const auto scope = k.scope();
  const std::array<V<1>, 2> other = {k.vgpr("other half's maximum 0"), k.vgpr("other half's maximum 1")};
  // The two chains alternate: each would wait for itself.
  const auto each = [&](auto step) {
    for (std::size_t half = 0; half < 2; ++half) {
      k.settle();  // the first tile's scores come straight from the matrix pipe
      step(maxima.of[half], s.at<32>(static_cast<int>(32 * half)), half);
    }
  };
  each([&](V<1> m, V<32> s64, std::size_t) { k.v_max3_f32(m, s64[0], s64[1], s64[2]); });
  for (int i = 3; i < 31; i += 2) each([&](V<1> m, V<32> s64, std::size_t) { k.v_max3_f32(m, m, s64[i], s64[i + 1]); });
  each([&](V<1> m, V<32> s64, std::size_t) { k.v_max_f32(m, m, s64[31]); });
  each([&](V<1> m, V<32>, std::size_t half) { k.v_mov_b32(other[half], m); });
  meanwhile();
  k.settle();
  each([&](V<1> m, V<32>, std::size_t half) { k.v_permlane32_swap_b32(m, other[half]); });
  each([&](V<1> m, V<32>, std::size_t half) { k.v_max_f32(m, m, other[half]); });
}

namespace {

// The reference rises by `by`.
void move_reference(Builder& k, V<64> s, const RowState& rows, const Maxima& maxima, V<1> by) {
  for (int i = 0; i < 64; ++i) k.v_sub_f32(s[i], s[i], by);
  for (int i = 0; i < 16; ++i) k.v_sub_f32(rows.bias[i], rows.bias[i], by);
  for (const V<1> maximum : maxima.of) k.v_sub_f32(maximum, maximum, by);
}

}  // namespace

void set_reference(Builder& k, const ScoreScale& scale, V<64> s, const RowState& rows, const Maxima& maxima) {
  const auto scope = k.scope();
  const V<1> reference = k.vgpr("reference");
  // Finite also for a row that sees no key: a difference of infinities would be NaN.
  k.v_max_f32(reference, maxima.of[0], maxima.of[1]);
  k.v_max_f32(reference, std::ldexp(lowest_product, -scale.shift), reference);
  move_reference(k, s, rows, maxima, reference);
}

void add_sums(Builder& k, const RowState& rows) {
  const auto scope = k.scope();
  const std::array<V<1>, 2> factor = {k.vgpr("2^exponent 0"), k.vgpr("2^exponent 1")};
  // The exponent's E8M0 form where fp32 has it.
  for (std::size_t half = 0; half < 2; ++half) k.v_lshlrev_b32(factor[half], fp32_mantissa, rows.exponent[half]);
  for (std::size_t half = 0; half < 2; ++half) {
    k.settle();
    k.v_fma_f32(rows.total, factor[half], rows.sums[half][0], rows.total);
  }
  for (const V<4> sum : rows.sums) {
    k.settle();
    k.v_mov_b32(sum[0], 0);
  }
}

void choose_exponents(Builder& k, const ScoreScale& scale, const RowState& rows, const Maxima& maxima) {
  for (std::size_t half = 0; half < 2; ++half)
    k.v_fma_f32(rows.exponent[half], maxima.of[half], scale.octaves, rows.no_exponent);
  for (const V<1> exponent : rows.exponent) k.v_max_f32(exponent, integer_bits + e8m0_one + least_exponent, exponent);
}

Moving start_moving(Builder& k, const AttentionPlan& plan, S<1> keys_seen) {
  const Moving moving{k.sgpr("weight that moves a reference")};
  // A lane has half of the total.
  const int share_log2 = std::countr_zero(static_cast<unsigned>(plan.weighty_share)) - 1;
  k.s_flbit_i32_b32(moving.factor, keys_seen);
  k.s_add_u32(moving.factor, moving.factor, fp32_bias + plan.lift_log2 + share_log2);
  k.s_lshl_b32(moving.factor, moving.factor, fp32_mantissa);
  return moving;
}

void find_weighty(Builder& k, const Moving& moving, S<1> keys, const RowState& rows, const Maxima& maxima, V<1> risen,
                  Label found) {
  const auto scope = k.scope();
  const V<1> weight = k.vgpr("weight of the largest score");
  const S<2> above = k.sgpr<2>("rows above their reference");
  const S<1> share = k.sgpr("what a weight counts against the total");
  k.s_flbit_i32_b32(share, keys);
  k.s_lshl_b32(share, share, fp32_mantissa);
  k.s_sub_u32(share, moving.factor, share);
  k.v_max3_f32(risen, maxima.of[0], maxima.of[1], 0.0f);
  k.v_max_f32(weight, rows.exponent[0], rows.exponent[1]);
  k.v_cmp_lt_f32(above, 0.0f, risen);
  k.v_min_f32(weight, integer_bits + e8m0_one + largest_exponent, weight);
  k.v_lshlrev_b32(weight, fp32_mantissa, weight);  // 2^exponent, as in add_sums
  k.v_mul_f32(weight, share, weight);
  k.v_cmp_lt_f32(isa::vcc, rows.total, weight);
  k.s_and_b64(isa::vcc, isa::vcc, above);
  k.s_cbranch_vccnz(found);
}

void raise_references(Builder& k, const ScoreScale& scale, V<64> s, const RowState& rows, const Maxima& maxima,
                      V<1> risen, V<64> o) {
  const auto scope = k.scope();
  const V<1> octaves = k.vgpr("octaves of the rise, then shrink");
  const Label near = k.label("rise_is_small");
  k.v_mul_f32(octaves, scale.octaves, risen);
  for (int i = 0; i < 16; ++i) k.v_sub_f32(rows.bias[i], rows.bias[i], risen);
  for (const V<1> maximum : maxima.of) k.v_sub_f32(maximum, maximum, risen);
  choose_exponents(k, scale, rows, maxima);
  k.v_cmp_lt_f32(isa::vcc, furthest_rise, octaves);
  k.v_exp_f32(octaves, generator::negated(octaves));
  k.settle();
  for (int i = 0; i < 64; ++i) k.v_mul_f32(o[i], octaves, o[i]);
  k.v_mul_f32(rows.total, octaves, rows.total);
  if (rows.unrounded) k.v_mul_f32(*rows.unrounded, octaves, *rows.unrounded);
  k.s_cbranch_vccz(near);
  for (int i = 0; i < 64; ++i) k.v_sub_f32(s[i], s[i], risen);
  k.v_mov_b32(risen, 0);
  k.bind(near);
}

namespace {

// Registers i and i+1 of p from eight probabilities. Low and high half of a register are written by two instructions
// that may not follow each other (docs/hazards.md), so registers go in pairs.
void convert_pair(Builder& k, V<64> s, V<16> p, int i) {
  for (int j = i; j < i + 2; ++j) k.v_cvt_pk_fp8_f32(p[j], s[4 * j], s[4 * j + 1]);
  for (int j = i; j < i + 2; ++j) k.v_cvt_pk_fp8_f32(p[j], s[4 * j + 2], s[4 * j + 3], {.op_sel = 8});
}

}  // namespace

void exact_probabilities(Builder& k, const ScoreScale& scale, V<64> s, V<16> p, const RowState& rows,
                         std::optional<V<1>> risen) {
  const auto scope = k.scope();
  const V<1> lifted = k.vgpr("lift - exponent"), sum = k.vgpr("sum before rounding");
  for (std::size_t half = 0; half < 2; ++half) {
    const V<32> s64 = s.at<32>(static_cast<int>(32 * half));
    k.v_sub_f32(lifted, rows.no_octaves, rows.exponent[half]);
    if (risen) k.v_fma_f32(lifted, generator::negated(*risen), scale.octaves, lifted);
    for (int i = 0; i < 32; ++i) k.v_fma_f32(s64[i], s64[i], scale.octaves, lifted);
    for (int i = 0; i < 32; ++i) k.v_exp_f32(s64[i], s64[i]);
    k.settle();
    if (rows.unrounded) {
      k.v_mov_b32(sum, 0);
      for (int i = 0; i < 32; ++i) k.v_add_f32(sum, s64[i], sum);
      k.v_sub_f32(lifted, rows.exponent[half], rows.no_octaves);
      k.v_exp_f32(lifted, lifted);
      k.settle();
      k.v_fma_f32(*rows.unrounded, sum, lifted, *rows.unrounded);
    }
    if (half == 0)
      for (int i = 0; i < 8; i += 2) convert_pair(k, s, p, i);
  }
}

Errands late_conversions(Builder& k, V<64> s, V<16> p) {
  Errands list;
  for (int i = 8; i < 16; i += 2) list.push_back([&k, s, p, i] { convert_pair(k, s, p, i); });
  return list;
}

namespace {

// Adds 2^score to the sum before rounding. p serves for 16 probabilities at a time.
void add_unrounded(Builder& k, const ScoreScale& scale, V<64> s, V<16> p, const RowState& rows,
                   std::optional<V<1>> risen) {
  const auto scope = k.scope();
  const V<1> octaves = k.vgpr("octaves of the rise");
  if (risen) k.v_mul_f32(octaves, scale.octaves, *risen);
  for (int first = 0; first < 64; first += 16) {
    for (int i = 0; i < 16; ++i)
      if (risen)
        k.v_fma_f32(p[i], s[first + i], scale.octaves, generator::negated(octaves));
      else
        k.v_mul_f32(p[i], scale.octaves, s[first + i]);
    for (int i = 0; i < 16; ++i) k.v_exp_f32(p[i], p[i]);
    k.settle();
    for (int i = 0; i < 16; ++i) k.v_add_f32(*rows.unrounded, p[i], *rows.unrounded);
  }
}

}  // namespace

void lean_probabilities(Builder& k, const ScoreScale& scale, V<64> s, V<16> p, const RowState& rows,
                        std::optional<V<1>> risen) {
  if (rows.unrounded) add_unrounded(k, scale, s, p, rows, risen);
  const auto scope = k.scope();
  const V<1> start = k.vgpr("code of a score of 0, fixed point");
  for (std::size_t half = 0; half < 2; ++half) {
    const V<32> s64 = s.at<32>(static_cast<int>(32 * half));
    const V<8> p64 = p.at<8>(static_cast<int>(8 * half));
    k.v_sub_f32(start, rows.no_exponent, rows.exponent[half]);
    k.v_fmamk_f32(start, start, codes_per_octave * code_unit, rows.no_octaves);
    if (risen) k.v_fma_f32(start, generator::negated(*risen), scale.codes, start);
    for (int i = 0; i < 32; ++i) k.v_fma_f32(s64[i], s64[i], scale.codes, start);
    for (int i = 0; i < 8; i += 2) {
      for (int j = i; j < i + 2; ++j) k.v_ashr_pk_u8_i32(p64[j], s64[4 * j], s64[4 * j + 1], code_shift);
      for (int j = i; j < i + 2; ++j)
        k.v_ashr_pk_u8_i32(p64[j], s64[4 * j + 2], s64[4 * j + 3], code_shift, {.op_sel = 8});
    }
  }
}

}  // namespace zyfa::schedules
