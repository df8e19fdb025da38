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
constexpr int fp32_mantissa = 23;

// A weight that is so many octaves below 2^exponent is rounded to 0: with lean P from 15.006 on, with exact P from 18
// on (half of e4m3's least number, lifted by 8). Half an octave more for the exponent, which is rounded.
constexpr float certainly_zero = 19;
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
constexpr float e4m3_bias = 7;

}  // namespace

ScoreScale score_scale(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place) {
  const bool lean = plan.config.softmax == generator::Softmax::lean;
  const int shift = lean ? lean_shift : 0;
  ScoreScale scale{shift,
                   k.vgpr("E8M0 factors of scores and of 1"),
                   {},
                   k.sgpr("octaves of a score"),
                   k.sgpr("codes of a score"),
                   k.vgpr("exponent of 0"),
                   k.vgpr("least exponent"),
                   k.vgpr("largest exponent"),
                   k.vgpr("octaves of 0"),
                   integer_bits + e8m0_one + static_cast<float>(plan.least_exponent) - certainly_zero};
  scale.query_factors = scale.factors;
  k.v_mov_b32(scale.no_exponent, bits(integer_bits + e8m0_one));
  k.v_mov_b32(scale.least_exponent, bits(integer_bits + e8m0_one + static_cast<float>(plan.least_exponent)));
  k.v_mov_b32(scale.largest_exponent, bits(integer_bits + e8m0_one + largest_exponent));
  // Lean: a half against the cut, and the offset that makes logarithmic rounding right on average.
  const auto lift = static_cast<float>(plan.lift_log2);
  const float lean_code = (codes_per_octave * (lift + e4m3_bias) + 0.5f + plan.lean_offset) * code_unit;
  k.v_mov_b32(scale.no_octaves, bits(lean ? lean_code : integer_bits + e8m0_one + lift));

  if (is_bf16(plan)) {
    // Scores are octaves at once.
    scale.bf16 = load_query_factor(k, args, place);
    scale.query_factors = k.vgpr("E8M0 factor of queries");
    k.v_mov_b32(scale.factors, (bf16_key_factor_log2 - shift + 127) | 127 << 8);
    k.s_mov_b32(scale.octaves, bits(std::ldexp(1.0f, shift)));
    k.s_mov_b32(scale.codes, bits(std::ldexp(codes_per_octave * code_unit, shift)));
    return scale;
  }
  k.v_mov_b32(scale.factors, (127 - shift / 2) | 127 << 8);
  const auto scope = k.scope();
  const V<1> t = k.vgpr("octaves of a product"), octaves = k.vgpr("octaves of a score");
  exponent_factor(k, t, args, place);
  k.v_max_f32(t, least_factor, t);
  k.v_min_f32(t, largest_factor, t);
  k.v_mul_f32(octaves, std::ldexp(1.0f, shift), t);
  k.v_mul_f32(t, std::ldexp(codes_per_octave * code_unit, shift), t);
  k.settle();
  k.v_readfirstlane_b32(scale.octaves, octaves);
  k.v_readfirstlane_b32(scale.codes, t);
  return scale;
}

Rows start_rows(Builder& k, const AttentionPlan& plan) {
  Rows rows{k.vgpr<16>(generator::reference_registers), k.vgpr("row total"), {}};
  if (plan.config.lse) {
    rows.unrounded = k.vgpr("row total before rounding");
    k.v_mov_b32(*rows.unrounded, 0);
  }
  for (int i = 0; i < 16; ++i) k.v_mov_b32(rows.bias[i], 0);
  k.v_mov_b32(rows.total, 0);
  return rows;
}

Block start_block(Builder& k, V<32> s, V<8> p, const Rows& rows) {
  const Block block{
      s, p, k.vgpr(generator::exponent_register), k.vgpr<4>("sum of a block"), k.vgpr("maximum of a block"), rows};
  for (int i = 0; i < 4; ++i) k.v_mov_b32(block.sums[i], 0);
  k.v_mov_b32(block.exponent, bits(integer_bits + e8m0_one));
  return block;
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

void sum_probabilities(Builder& k, const Block& block, const Ones& ones) {
  k.v_smfmac_f32_16x16x128_fp8_fp8(block.sums, ones.values, block.p, ones.index);
}

namespace {

// The step for one block after the other, where each has what it needs.
template <class Step>
void each(Builder& k, Blocks blocks, Step step) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    k.settle();
    step(blocks[i], i);
  }
}

}  // namespace

Errands maximum_of_lane(Builder& k, const Block& block) {
  const auto [m, s] = std::pair(block.maximum, block.s);
  Errands pieces;
  // The scores may come straight from the matrix pipe.
  const auto add = [&](auto piece) {
    pieces.push_back([&k, piece] {
      k.settle();
      piece();
    });
  };
  add([&k, m, s] { k.v_max3_f32(m, s[0], s[1], s[2]); });
  for (int r = 3; r < 31; r += 2) add([&k, m, s, r] { k.v_max3_f32(m, m, s[r], s[r + 1]); });
  add([&k, m, s] { k.v_max_f32(m, m, s[31]); });
  return pieces;
}

void find_maxima(Builder& k, Blocks blocks, const std::function<void()>& meanwhile, int early) {
  const auto scope = k.scope();
  std::vector<V<1>> other;
  for (std::size_t i = 0; i < blocks.size(); ++i) other.push_back(k.vgpr("other half's maximum"));
  std::vector<Errands> maxima;
  for (const Block& b : blocks.subspan(static_cast<std::size_t>(early))) maxima.push_back(maximum_of_lane(k, b));
  for (std::size_t i = 0; !maxima.empty() && i < maxima.front().size(); ++i)
    for (const Errands& pieces : maxima) pieces[i]();
  each(k, blocks, [&](const Block& b, std::size_t i) { k.v_mov_b32(other[i], b.maximum); });
  meanwhile();
  each(k, blocks, [&](const Block& b, std::size_t i) { k.v_permlane32_swap_b32(b.maximum, other[i]); });
  each(k, blocks, [&](const Block& b, std::size_t i) { k.v_max_f32(b.maximum, b.maximum, other[i]); });
}

void set_reference(Builder& k, const ScoreScale& scale, Blocks blocks) {
  const auto scope = k.scope();
  const V<1> reference = k.vgpr("reference");
  // Finite also for a row that sees no key: a difference of infinities would be NaN.
  k.v_mov_b32(reference, bits(std::ldexp(lowest_product, (scale.bf16 ? bf16_largest_factor_log2 : 0) - scale.shift)));
  for (const Block& b : blocks) k.v_max_f32(reference, b.maximum, reference);
  for (const Block& b : blocks) {
    for (int i = 0; i < 32; ++i) k.v_sub_f32(b.s[i], b.s[i], reference);
    k.v_sub_f32(b.maximum, b.maximum, reference);
  }
  const V<16> bias = blocks.front().rows.bias;
  for (int i = 0; i < 16; ++i) k.v_sub_f32(bias[i], bias[i], reference);
}

void add_sums(Builder& k, Blocks blocks) {
  // The exponent's E8M0 form where fp32 has it. P is used up, so there is room.
  each(k, blocks, [&](const Block& b, std::size_t) { k.v_lshlrev_b32(b.p[0], fp32_mantissa, b.exponent); });
  each(k, blocks, [&](const Block& b, std::size_t) { k.v_fma_f32(b.rows.total, b.p[0], b.sums[0], b.rows.total); });
  each(k, blocks, [&](const Block& b, std::size_t) { k.v_mov_b32(b.sums[0], 0); });
}

namespace {

// From exponents that have no bound yet.
void find_zero_blocks(Builder& k, const ScoreScale& scale, Blocks blocks, S<1> zero_blocks) {
  const auto scope = k.scope();
  const S<1> zero = k.sgpr("a block without a probability");
  k.s_mov_b32(zero_blocks, 0);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    k.v_cmp_lt_f32(isa::vcc, scale.zero_exponent, blocks[i].exponent);
    k.s_cmp_eq_u64(isa::vcc, 0);
    k.s_cselect_b32(zero, 1 << i, 0);
    k.s_or_b32(zero_blocks, zero_blocks, zero);
  }
}

}  // namespace

void choose_exponents(Builder& k, const ScoreScale& scale, Blocks blocks, std::optional<S<1>> zero_blocks) {
  for (const Block& b : blocks) k.v_fma_f32(b.exponent, b.maximum, scale.octaves, scale.no_exponent);
  if (zero_blocks) find_zero_blocks(k, scale, blocks, *zero_blocks);
  for (const Block& b : blocks) k.v_med3_f32(b.exponent, scale.least_exponent, b.exponent, scale.largest_exponent);
}

Moving start_moving(Builder& k, const AttentionPlan& plan, S<1> keys_seen) {
  const Moving moving{k.sgpr("weight that moves a reference")};
  // A lane has half of the total.
  const int share_log2 = std::countr_zero(static_cast<unsigned>(plan.weighty_share)) - 1;
  k.s_flbit_i32_b32(moving.exponent, keys_seen);
  k.s_add_u32(moving.exponent, moving.exponent, plan.lift_log2 + share_log2);
  return moving;
}

S<1> weight_share(Builder& k, const Moving& moving, S<1> keys) {
  const S<1> share = k.sgpr("exponent of what a weight counts against the total");
  k.s_flbit_i32_b32(share, keys);
  k.s_sub_u32(share, moving.exponent, share);
  return share;
}

void find_weighty(Builder& k, S<1> share, Blocks blocks, Label found) {
  const auto scope = k.scope();
  std::vector<S<2>> above, heavy;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    above.push_back(k.sgpr<2>("rows above their reference"));
    heavy.push_back(k.sgpr<2>("rows whose maximum weighs"));
  }
  // The weight of the largest score, 2^(exponent + share): all but the E8M0 form is shifted out. P is not made yet.
  each(k, blocks, [&](const Block& b, std::size_t) { k.v_add_lshl_u32(b.p[0], b.exponent, share, fp32_mantissa); });
  each(k, blocks, [&](const Block& b, std::size_t i) { k.v_cmp_lt_f32(above[i], 0.0f, b.maximum); });
  each(k, blocks, [&](const Block& b, std::size_t i) { k.v_cmp_lt_f32(heavy[i], b.rows.total, b.p[0]); });
  k.s_and_b64(isa::vcc, heavy[0], above[0]);
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    k.s_and_b64(heavy[i], heavy[i], above[i]);
    k.s_or_b64(isa::vcc, isa::vcc, heavy[i]);
  }
  k.s_cbranch_vccnz(found);
}

void find_rise(Builder& k, const ScoreScale& scale, Blocks blocks, V<1> risen) {
  k.v_mov_b32(risen, 0);
  for (const Block& b : blocks) k.v_max_f32(risen, b.maximum, risen);
  for (const Block& b : blocks) k.v_sub_f32(b.maximum, b.maximum, risen);
  if (const auto& unrounded = blocks.front().rows.unrounded) {
    const V<1> shrink = blocks.front().exponent;  // chosen behind this
    k.v_mul_f32(shrink, scale.octaves, risen);
    k.v_exp_f32(shrink, generator::negated(shrink));
    k.settle();
    k.v_mul_f32(*unrounded, shrink, *unrounded);
  }
  choose_exponents(k, scale, blocks);
}

void lower_scores(Builder& k, V<32> s, V<1> risen) {
  for (int i = 0; i < 32; ++i) {
    k.settle();
    k.v_sub_f32(s[i], s[i], risen);
  }
}

void follow_rise(Builder& k, const ScoreScale& scale, const Rows& rows, V<1> risen,
                 const std::function<void(V<1>)>& shrink_output) {
  const auto scope = k.scope();
  const V<1> shrink = k.vgpr("2^-octaves of the rise");
  k.v_mul_f32(shrink, scale.octaves, risen);
  for (int i = 0; i < 16; ++i) k.v_sub_f32(rows.bias[i], rows.bias[i], risen);
  k.v_exp_f32(shrink, generator::negated(shrink));
  k.settle();
  shrink_output(shrink);
  k.v_mul_f32(rows.total, shrink, rows.total);
}

void lower_far_scores(Builder& k, const ScoreScale& scale, Blocks blocks, V<1> risen) {
  const auto scope = k.scope();
  const V<1> octaves = k.vgpr("octaves of the rise");
  const Label near = k.label("rise_is_small");
  k.v_mul_f32(octaves, scale.octaves, risen);
  k.v_cmp_lt_f32(isa::vcc, furthest_rise, octaves);
  k.s_cbranch_vccz(near);
  for (const Block& b : blocks) lower_scores(k, b.s, risen);
  k.v_mov_b32(risen, 0);
  k.bind(near);
}

}  // namespace zyfa::schedules
