// Steps of the softmax between the two matrix products, in the transposed form: a lane's registers all belong to query
// lane%32, lanes l and l+32 share a query and hold different keys.
//
// A block is 64 keys of 32 queries. Register r of 32 keys b in `s` (V<32>: s.at<16>(16*b)) is key 32*b + 8*(r/4) +
// 4*(lane/32) + r%4 of the block. A score there is the dot product minus the row's reference, times
// 2^-ScoreScale::shift. The reference is a maximum of the row's scores, so that the largest weight is a power of two
// and rounds without error. Each block has an exponent of its own: probabilities are rounded after division by
// 2^exponent, which brings the largest of the block near 2^lift, and the matrix instruction multiplies them by it again
// (kernel.md 4). So the reference need not move with every new maximum, only with one that weighs.
//
// Steps that take several blocks interleave them: each would wait for itself.
#pragma once

#include "schedules/queries.h"

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace zyfa::schedules {

// Lean P's codes in fixed point, in the bits of a denormal: a code of 1 is bit 16.
inline constexpr float code_unit = 0x1p-133f;
inline constexpr int code_shift = 16;
inline constexpr float codes_per_octave = 8;

// How scores count. An octave is a factor of two between probabilities.
struct ScoreScale {
  int shift;           // the first product's matrix instructions multiply by 2^-shift
  V<1> factors;        // E8M0 scale operands: byte 0 is K's, byte 1 is 1
  V<1> query_factors;  // byte 0 is Q's; together with K's 2^-shift, for BF16 queries times what their quantisation took
  S<1> octaves;        // octaves in a unit of a score
  S<1> codes;          // lean only: what a unit adds to a code's fixed-point form (lean_probabilities)
  // Constants in registers.
  V<1> no_exponent;     // 2^23 + 127
  V<1> least_exponent;  // 2^23 + 127 + the bounds of a block's exponent
  V<1> largest_exponent;
  V<1> no_octaves;  // exact: 2^23 + 127 + lift; lean: the lift's code in fixed point
  float
      zero_exponent;  // 2^23 + 127 + what a block's unbounded exponent is above, if not all of its probabilities are 0
  std::optional<QueryFactor> bf16 = {};
  // Folded scores (softmax_folded.h): no exponents, and an output that starts from 0 or NaN.
  std::optional<S<1>> output_start = {};
};
ScoreScale score_scale(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place);

// What the softmax of 32 queries carries along the keys.
struct Rows {
  V<16> bias;  // C of a block's first product: minus the row's reference, in every register
  V<1> total;  // of the rounded, lifted probabilities; lanes l and l+32 have a part each
  std::optional<V<1>>
      unrounded;  // the same before rounding and without the lift, kept for the log-sum-exp alone:
                  // rounding shifts a sum of equal probabilities by up to 6 %, which O's division cancels
  std::optional<V<1>> code = {};  // folded scores: the reference's, fixed point
};
Rows start_rows(Builder& k, const AttentionPlan& plan);

// 64 keys of 32 queries.
struct Block {
  V<32> s;        // scores
  V<8> p;         // e4m3 probabilities, four to a register: B operand of O^T = V^T P^T
  V<1> exponent;  // of p, as 2^23 + 127 + exponent: the low byte is its E8M0 form
  V<4> sums;      // of p: register 0, divided by 2^exponent
  V<1> maximum;   // of the scores, in lanes l and l+32 alike; -infinity where all are hidden
  Rows rows;
};
Block start_block(Builder& k, V<32> s, V<8> p, const Rows& rows);
using Blocks = std::span<const Block>;

// A against which the matrix pipe adds up probabilities: sparse ones (v_smfmac).
//
// P of 64 keys as the 32x32x64 instruction reads it (column lane%32, two lanes a column) reads as a 128x16 matrix whose
// columns are lane%16: queries n and n+16 share column n, and 16 of each 32 k are n's. Sparse A takes 2 of each 4 k, so
// row 4g of the result has ones where the k belong to the queries of lanes 16g..16g+15, first halves of the four k for
// g < 2, second halves else: register 0 of lanes l and l+32 then hold the two parts of query l's sum. Other rows are
// zero.
struct Ones {
  V<4> values;
  V<1> index;
};
Ones make_ones(Builder& k, const Place& place);
void sum_probabilities(Builder& k, const Block& block, const Ones& ones);

// Work of a wave in pieces that fit between its matrix instructions.
using Errands = std::vector<std::function<void()>>;

// The largest score that the lane has of the block, in pieces of one instruction.
Errands maximum_of_lane(Builder& k, const Block& block);

// Block::maximum of each; of the `early` first the lanes' own are known already. `meanwhile` is emitted where the
// exchange between lanes has to wait.
void find_maxima(Builder& k, Blocks blocks, const std::function<void()>& meanwhile, int early = 0);

// The first keys': the largest maximum of blocks of the same rows becomes the rows' reference.
void set_reference(Builder& k, const ScoreScale& scale, Blocks blocks);

// Adds the blocks' sums to their rows' totals and clears them for the next. Their P is lost.
void add_sums(Builder& k, Blocks blocks);

// The exponents that bring each block's maximum nearest to the lift. Bit i of `zero_blocks` becomes 1 where those of
// block i are so far below the least one that all of its probabilities are 0, for all rows of the wave.
void choose_exponents(Builder& k, const ScoreScale& scale, Blocks blocks, std::optional<S<1>> zero_blocks = {});

// From which weight on a score moves its row's reference. The total that a row will have is what it has, times the keys
// that the wave sees over those so far, as powers of two: with similar keys a maximum that comes early will not be the
// last. A weight counts by its exponent.
struct Moving {
  S<1> exponent;  // of 2^lift * AttentionPlan::weighty_share / 2, plus the leading zeros of the keys that the wave sees
};
Moving start_moving(Builder& k, const AttentionPlan& plan, S<1> keys_seen);

// The exponent of what a weight counts against the total so far. `keys`: how many the wave has seen, not 0.
S<1> weight_share(Builder& k, const Moving& moving, S<1> keys);

// Looks for scores above their row's reference that weigh more than 1 / weighty_share of what the row's total will be,
// and goes to `found` if a row of the wave has one.
void find_weighty(Builder& k, S<1> share, Blocks blocks, generator::Label found);

// References rise to the maxima of their rows' blocks where those are above. All blocks are of the same rows.
//
// First step: `risen`, by how much, at least 0; the blocks' maxima and exponents and the totals before rounding are
// brought to the new references. The blocks' scores stay relative to the old ones.
void find_rise(Builder& k, const ScoreScale& scale, Blocks blocks, V<1> risen);
// Scores of any block of the rows are brought to the new references.
void lower_scores(Builder& k, V<32> s, V<1> risen);
// Last step: bias and rounded totals; `shrink_output` is to multiply the rows' output by its argument.
void follow_rise(Builder& k, const ScoreScale& scale, const Rows& rows, V<1> risen,
                 const std::function<void(V<1>)>& shrink_output);
// Where the rise is so much that it can't be part of a multiply-add's constant, the blocks' scores are lowered and
// `risen` becomes 0: it is what is still to be subtracted.
void lower_far_scores(Builder& k, const ScoreScale& scale, Blocks blocks, V<1> risen);

}  // namespace zyfa::schedules
