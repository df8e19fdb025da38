// Steps of the softmax between the two matrix products, in the transposed form: a lane's registers all belong to query
// lane%32, lanes l and l+32 share a query and hold different keys.
//
// Register r of key block b in `s` (V<64>: s.at<16>(16*b)) is key 32*b + 8*(r/4) + 4*(lane/32) + r%4 of the tile.
#pragma once

#include "schedules/arguments.h"

#include <optional>

namespace zyfa::schedules {

// What a row's softmax carries from tile to tile.
struct RowState {
  V<1> maximum;  // largest score so far, in units of the dot product
  V<4> total;    // sum of the rounded, lifted probabilities; all four registers are equal
  // Sum of the lane's own lifted probabilities before rounding, kept for the log-sum-exp alone: rounding shifts a sum
  // of equal probabilities by up to 6 %, which O's division cancels and the LSE would show.
  std::optional<V<1>> unrounded;
};
RowState start_rows(Builder& k, bool keep_unrounded);

// Scores of keys from `row_limit` on become -infinity. `row_limit` counts from the sequence's first key, as does
// `tile_key`, the tile's first.
void mask_scores(Builder& k, V<64> s, V<1> row_limit, S<1> tile_key, V<1> lane);

// rows.maximum takes in the tile's scores. Where it rises anywhere in the wave, output and sums are brought to the new
// one: multiplied by 2^(factor * (old - new)).
void raise_maximum(Builder& k, V<64> s, const RowState& rows, V<64> o, S<1> factor);

// Scores become rounded probabilities 2^(factor * (s - maximum) + lift) in e4m3, four to a register: the result is the
// B operand of O^T = V^T P^T, p.at<8>(8*half) for 64 keys each. Its 16 registers are the first of `s`.
V<16> probabilities(Builder& k, V<64> s, const RowState& rows, S<1> factor, int lift);

// Adds a 64-key block of rounded probabilities to the rows' totals on the matrix pipe. `ones` is what ones_operand
// made.
//
// The 32x32x64 operand that p is (column lane%32, two lanes to a column) reads as a 16x16x128 operand with columns
// lane%16: queries n and n+16 fall into column n, from lanes whose bit 4 is 0 and 1. Rows 4g..4g+3 of the result belong
// to lanes 16g..16g+15, so `ones` has ones where bit 4 of the lane that supplies the keys equals bit 2 of the row.
void add_to_total(Builder& k, const RowState& rows, V<8> ones, V<8> p);
V<8> ones_operand(Builder& k, const Place& place);

}  // namespace zyfa::schedules
