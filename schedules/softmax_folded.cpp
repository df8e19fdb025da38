#include "schedules/softmax_folded.h"

#include <bit>
#include <cmath>
#include <limits>

namespace zyfa::schedules {
namespace {

using generator::Label;

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

constexpr int code_unit_log2 = -133;  // of code_unit
constexpr int octave_shift = 130;     // an octave is 8 codes
constexpr std::uint32_t nan_code = 127;

constexpr int e8m0_bias = 127, fp32_mantissa = 23;

// The keys' scale operand is constant, so that the queries' stays within E8M0 for every factor 2^n that takes products
// to octaves (softmax.cpp says why these bounds change no probability; BF16 queries have the larger one).
constexpr int key_scale_log2 = bf16_key_factor_log2 - octave_shift;
constexpr int least_factor_log2 = bf16_least_factor_log2, largest_factor_log2 = 27;
static_assert(least_factor_log2 - bf16_key_factor_log2 + e8m0_bias >= 0 &&
              bf16_largest_factor_log2 - bf16_key_factor_log2 + e8m0_bias < 255);

// Rounding of softmax_scale, two descales, log2(e) and their products is within so many units in the last place.
constexpr std::uint32_t factor_slack = 16;

// Below every score: 192 products of e4m3 numbers are at least -192 * 448^2 = -2^25.2.
constexpr int lowest_score_log2 = 26 + bf16_largest_factor_log2 - octave_shift;

// Up to here subtracting (score - code) at once is off by a thousandth of a code at most.
constexpr float furthest_rise = 0x1p12f * code_unit;

float code(const AttentionPlan& plan, int whole) {
  return (static_cast<float>(whole) + 0.5f + plan.lean_offset) * code_unit;
}

// lanes |= those where a matrix instruction with denormal C, products and D does not keep all three.
void find_flushed_denormals(Builder& k, S<2> lanes) {
  constexpr std::uint32_t ones_e4m3 = 0x38383838;
  constexpr int start = 40, product = 64;  // codes: C, and 64 times 1 * 1
  const auto scope = k.scope();
  const V<16> d = k.vgpr<16>("denormals kept?");
  const V<8> ones = k.vgpr<8>("ones");
  const V<1> scale = k.vgpr("E8M0 of a code");
  for (int i = 0; i < 16; ++i) k.v_mov_b32(d[i], bits(start * code_unit));
  for (int i = 0; i < 8; ++i) k.v_mov_b32(ones[i], ones_e4m3);
  k.v_mov_b32(scale, (key_scale_log2 + e8m0_bias) | (code_unit_log2 - key_scale_log2 + e8m0_bias) << 8);
  k.settle();
  k.v_mfma_scale_f32_32x32x64_f8f6f4(d, ones, ones, d, scale, scale, {.op_sel = 2});
  k.settle();
  k.v_cmp_ne_u32(isa::vcc, (start + product) << code_shift, d[0]);
  k.settle();
  k.s_or_b64(lanes, lanes, isa::vcc);
}

}  // namespace

bool is_folded(const AttentionPlan& plan) { return plan.config.score_scale == generator::ScoreScaling::folded; }

namespace {

// Byte 0 of the queries' scale operand. lanes |= those whose factor of the logits is no power of two.
void find_query_factors(Builder& k, const Arguments& args, const Place& place, V<1> factors, S<2> lanes) {
  const auto scope = k.scope();
  const V<1> factor = k.vgpr("octaves of a product"), rest = k.vgpr("what it has beside a power of two");
  exponent_factor(k, factor, args, place);
  k.v_max_f32(factor, std::ldexp(1.0f, least_factor_log2), factor);
  k.v_min_f32(factor, std::ldexp(1.0f, largest_factor_log2), factor);
  k.v_add_u32(factor, factor_slack, factor);
  k.v_and_b32(rest, ((1u << fp32_mantissa) - 1) & ~(2 * factor_slack - 1), factor);
  k.v_cmp_ne_u32(isa::vcc, 0, rest);
  k.v_lshrrev_b32(factor, fp32_mantissa, factor);
  k.v_subrev_u32(factors, bf16_key_factor_log2, factor);
  k.settle();
  k.s_or_b64(lanes, lanes, isa::vcc);
}

}  // namespace

ScoreScale folded_score_scale(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place) {
  ScoreScale scale{};
  scale.shift = octave_shift;
  scale.factors = k.vgpr("E8M0 factors of keys and of 1");
  scale.query_factors = k.vgpr("E8M0 factor of queries");
  scale.output_start = k.sgpr("output to start from: 0, or NaN");
  if (is_bf16(plan)) scale.bf16 = load_query_factor(k, args, place);
  k.v_mov_b32(scale.factors, (key_scale_log2 + e8m0_bias) | e8m0_bias << 8);
  const auto scope = k.scope();
  const S<2> refused = k.sgpr<2>("lanes that cannot compute");
  k.s_mov_b64(refused, 0);
  if (!scale.bf16) find_query_factors(k, args, place, scale.query_factors, refused);
  find_flushed_denormals(k, refused);
  k.s_cmp_lg_u64(refused, 0);
  k.s_cselect_b32(*scale.output_start, bits(std::numeric_limits<float>::quiet_NaN()), 0);
  return scale;
}

std::array<Block, 2> start_blocks(Builder& k, const AttentionPlan& plan, V<64> s, V<16> p) {
  if (!is_folded(plan)) {
    const Rows rows = start_rows(k, plan);
    return {start_block(k, s.at<32>(0), p.at<8>(0), rows), start_block(k, s.at<32>(32), p.at<8>(8), rows)};
  }
  const V<4> sums = k.vgpr<4>("row total in register 0");
  const Rows rows{.bias = k.vgpr<16>(generator::folded_reference_registers),
                  .total = sums[0],
                  .unrounded = {},
                  .code = k.vgpr("code of the reference, fixed point")};
  for (int i = 0; i < 16; ++i) k.v_mov_b32(rows.bias[i], 0);
  for (int i = 0; i < 4; ++i) k.v_mov_b32(sums[i], 0);
  k.v_mov_b32(*rows.code, bits(code(plan, plan.folded_code)));
  const auto block = [&](int half) {
    return Block{s.at<32>(32 * half), p.at<8>(8 * half), {}, sums, k.vgpr("maximum of a block"), rows};
  };
  return {block(0), block(1)};
}

namespace {

// The largest and the least of two registers, of lanes l and l+32 together.
void spread_between_lanes(Builder& k, V<1> largest, V<1> least) {
  const auto scope = k.scope();
  const std::array<V<1>, 2> other = {k.vgpr("the other lane's largest"), k.vgpr("the other lane's least")};
  k.v_max_f32(other[0], largest, least);
  k.v_min_f32(other[1], largest, least);
  k.v_mov_b32(largest, other[0]);
  k.v_mov_b32(least, other[1]);
  k.settle();
  k.v_permlane32_swap_b32(largest, other[0]);
  k.v_permlane32_swap_b32(least, other[1]);
  k.v_max_f32(largest, largest, other[0]);
  k.v_min_f32(least, least, other[1]);
}

// A row's keys of a block are two groups of 32, a lane's each. A key that stands far above the largest
// of some group is followed by few as large, and its row has small weights that need the room below.
// The first block's maximum becomes the row's largest score.
void choose_code(Builder& k, const AttentionPlan& plan, Blocks blocks, V<1> chosen) {
  const auto scope = k.scope();
  const V<1> t = k.vgpr("where a key stands far above"), least = k.vgpr("least of the groups' maxima");
  k.v_mov_b32(least, blocks.back().maximum);
  spread_between_lanes(k, blocks.front().maximum, least);
  k.v_add_f32(t, static_cast<float>(plan.folded_lone_codes) * code_unit, least);
  k.v_cmp_le_f32(isa::vcc, t, blocks[0].maximum);
  k.v_mov_b32(chosen, bits(code(plan, plan.folded_code)));
  k.v_mov_b32(t, bits(code(plan, plan.folded_code_of_lone_key)));
  k.settle();
  k.v_cndmask_b32(chosen, chosen, t, isa::vcc);
}

// For i = 1, 3, ..., 29: step(block, i), for the block's scores i and i+1. The two chains alternate: each would wait
// for itself.
template <class Step>
void chain_maxima(Builder& k, Blocks blocks, Step step) {
  for (int i = 1; i < 31; i += 2)
    for (const Block& b : blocks) {
      k.settle();  // scores may come straight from the matrix pipe
      step(b, i);
    }
}

void subtract(Builder& k, Blocks blocks, V<1> by) {
  for (const Block& b : blocks)
    for (int i = 0; i < 32; ++i) k.v_sub_f32(b.s[i], b.s[i], by);
}

}  // namespace

void set_folded_reference(Builder& k, const AttentionPlan& plan, Blocks blocks) {
  const Rows& rows = blocks.front().rows;
  const V<1> reference = blocks.front().maximum;
  chain_maxima(k, blocks, [&](const Block& b, int i) {
    k.v_max3_f32(b.maximum, i == 1 ? b.s[0] : b.maximum, b.s[i], b.s[i + 1]);
  });
  for (const Block& b : blocks) k.v_max_f32(b.maximum, b.maximum, b.s[31]);
  choose_code(k, plan, blocks, *rows.code);
  // Finite also for a row that sees no key: a difference of infinities would be NaN.
  k.v_max_f32(reference, -std::ldexp(1.0f, lowest_score_log2), reference);
  // In two steps, of which the first is exact at the maximum, however large it is.
  subtract(k, blocks, reference);
  for (const Block& b : blocks)
    for (int i = 0; i < 32; ++i) k.v_add_f32(b.s[i], b.s[i], *rows.code);
  k.v_sub_f32(rows.bias[0], *rows.code, reference);
  for (int i = 1; i < 16; ++i) k.v_mov_b32(rows.bias[i], rows.bias[0]);
}

void find_overflow(Builder& k, Blocks blocks, Label found) {
  const auto scope = k.scope();
  const V<1> largest = k.vgpr("largest score of the lane");
  chain_maxima(k, blocks, [&](const Block& b, int i) {
    k.v_max3_i32(b.maximum, i == 1 ? b.s[0] : b.maximum, b.s[i], b.s[i + 1]);
  });
  k.v_max3_i32(largest, blocks[0].maximum, blocks[0].s[31], blocks[1].s[31]);
  k.v_max_i32(largest, largest, blocks[1].maximum);
  k.v_cmp_le_i32(isa::vcc, nan_code << code_shift, largest);
  k.settle();
  k.s_cbranch_vccnz(found);
}

void raise_folded_references(Builder& k, const AttentionPlan& plan, Blocks blocks,
                             const std::function<void(V<1>)>& shrink_output, std::span<const V<32>> ahead) {
  const Rows& rows = blocks.front().rows;
  const V<1> reference = blocks.front().maximum;
  const auto scope = k.scope();
  const V<1> chosen = k.vgpr("code of the new reference"), risen = k.vgpr("rise of the reference");
  const V<1> shrink = k.vgpr("what older weights shrink by");
  const S<2> rising = k.sgpr<2>("rows whose reference rises");
  const Label near = k.label("rise_is_small");
  for (const Block& b : blocks) k.v_max_i32(b.maximum, b.maximum, b.s[31]);
  choose_code(k, plan, blocks, chosen);
  k.v_cmp_lt_f32(rising, *rows.code, reference);
  k.v_sub_f32(risen, reference, chosen);
  k.settle();
  k.v_cndmask_b32(risen, 0, risen, rising);
  k.v_cndmask_b32(*rows.code, *rows.code, chosen, rising);
  // 2^-octaves; 2^octave_shift is no float.
  k.v_mul_f32(shrink, std::ldexp(1.0f, octave_shift - 30), risen);
  k.v_mul_f32(shrink, -0x1p30f, shrink);
  k.v_exp_f32(shrink, shrink);
  for (int i = 0; i < 16; ++i) k.v_sub_f32(rows.bias[i], rows.bias[i], risen);
  k.settle();
  k.v_mul_f32(rows.total, shrink, rows.total);
  shrink_output(shrink);
  for (const V<32> s : ahead) lower_scores(k, s, risen);
  k.v_cmp_lt_f32(isa::vcc, furthest_rise, risen);
  k.s_cbranch_vccz(near);
  // As in set_folded_reference: first the maximum, exactly, then its code.
  k.v_cndmask_b32(reference, 0, reference, rising);
  subtract(k, blocks, reference);
  k.v_sub_f32(risen, 0.0f, chosen);
  k.v_cndmask_b32(risen, 0, risen, rising);
  k.bind(near);
  subtract(k, blocks, risen);
}

void pack_folded(Builder& k, Blocks blocks) {
  // The two halves of a register are not written by neighbours: docs/hazards.md.
  for (const Block& b : blocks)
    for (int i = 0; i < 8; i += 2) {
      for (int j = i; j < i + 2; ++j) k.v_ashr_pk_u8_i32(b.p[j], b.s[4 * j], b.s[4 * j + 1], code_shift);
      for (int j = i; j < i + 2; ++j)
        k.v_ashr_pk_u8_i32(b.p[j], b.s[4 * j + 2], b.s[4 * j + 3], code_shift, {.op_sel = 8});
    }
}

}  // namespace zyfa::schedules
