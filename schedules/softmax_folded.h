// Lean P without a multiply-add for each score: the first product leaves the code of a probability in fixed point.
//
// As an integer an e4m3 number grows by 8 an octave, and as an integer the bits of an fp32 denormal are its value: code
// * 2^-133 has the bits code << 16. The matrix instruction's scale operands bring 8 * (octaves of a score) there, its C
// operand is (code at the reference) - (8 * octaves of the reference), and v_ashr_pk_u8_i32 packs what comes out.
// 2^-133 and a half against the cut are in C, too. As floats scores are right at any size, so references move by
// subtraction as elsewhere; as integers they grow linearly up to 2^24 only (a code of 255), and stay monotonic above.
//
// What it asks for: matrix instructions that keep denormals, which is not known of gfx950, and, of FP8 queries, a power
// of two as the factor of the logits, since only that can be a scale operand. Where either is missing all of the output
// is NaN.
//
// Blocks have no exponents and scores no sums: a row has one reference, and its total stays in the accumulators that
// add up probabilities. A wave leaves the straight path only for a code that e4m3 does not have.
#pragma once

#include "schedules/softmax.h"

namespace zyfa::schedules {

bool is_folded(const AttentionPlan& plan);

// A score is 2^-shift octaves. Members for exponents and multiply-adds are not set, `output_start` is.
ScoreScale folded_score_scale(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place);

// The two blocks of a tile of 32 queries. With folded scores both have the same `sums`, of which the rows' total is
// register 0, and `bias` is the code of the reference minus the reference.
std::array<Block, 2> start_blocks(Builder& k, const AttentionPlan& plan, V<64> s, V<16> p);

// The first tile's: each row's largest score becomes its reference.
void set_folded_reference(Builder& k, const AttentionPlan& plan, Blocks blocks);

// Goes to `found` if a lane holds a score whose code would be above 126. Leaves the maxima of the lane's scores of each
// block, the last one left out, compared as integers: right where positive.
void find_overflow(Builder& k, Blocks blocks, generator::Label found);

// Behind find_overflow: rows with a score above their reference take it as the new one. Scores, bias and totals are
// brought to it, as are `ahead`, scores of further blocks; `shrink_output` is to multiply the rows' output by its
// argument. The blocks, one or two, are of the same rows.
void raise_folded_references(Builder& k, const AttentionPlan& plan, Blocks blocks,
                             const std::function<void(V<1>)>& shrink_output, std::span<const V<32>> ahead = {});

// Scores become e4m3 probabilities, as in lean_probabilities.
void pack_folded(Builder& k, Blocks blocks);

}  // namespace zyfa::schedules
