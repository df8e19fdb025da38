// The two matrix products of a tile as lists of steps, for a stream that reads operands ahead.
#pragma once

#include "schedules/softmax.h"
#include "schedules/tiles.h"

#include <variant>

namespace zyfa::schedules {

using generator::Data;

// Matrix instructions that share an operand which comes from LDS.
struct MatrixStep {
  std::function<Token(A<8>)> read;
  std::vector<std::function<void(A<8>)>> multiply;
};
using MatrixSteps = std::vector<MatrixStep>;

// O^T: block(b) holds 32 elements of the value dim, register r of lane l is element 32*b + 8*(r/4) + 4*(l/32) + r%4 of
// query l%32.
struct Output {
  std::variant<V<64>, A<64>> registers;
  Data<16> block(int b) const {
    return std::visit([b](auto r) { return Data<16>(r.template at<16>(16 * b)); }, registers);
  }
};
// All elements become `value`, bits of a float.
void start_output(Builder& k, const Output& o, const ScoreScale& scale);  // 0, or ScoreScale::output_start
void scale_output(Builder& k, const Output& o, V<1> factor);

// Operands of the products. A tile is 128 keys x 32 queries.
struct Tile {
  std::array<Block, 2> halves;  // keys 0..63 and 64..127: scores, and probabilities of the tile before
  Output o;                     // so far
  Queries q;
  V<1> query_factors;               // their E8M0 scale operand: ScoreScale::query_factors, or the tile's own
  V<1> row;                         // the lane's query sees the keys below this; may be negative
  V<1> key_address, value_address;  // where the lane reads in LDS, bytes
};
using Tiles = std::span<const Tile>;

// Which keys of a tile a wave sees.
struct Sight {
  S<1> tile_key;  // first key of the tile that is scored
  S<1> all;       // all rows of the wave see the keys below this
  S<1> some;      // no row of the wave sees keys from here on
  V<1> lane;
};

// The products of 64 keys. Several tiles are the same keys with other queries: they share what is read from LDS.

// S^T = K Q^T + bias: two blocks of 32 keys, each over the parts of the head dim.
MatrixSteps score_steps(Builder& k, const AttentionPlan& plan, Tiles tiles, const ScoreScale& scale, int half);

// The same where some keys are hidden from some rows: their scores are -infinity, by way of the accumulator. Blocks
// that no row sees are not multiplied.
MatrixSteps edge_score_steps(Builder& k, const AttentionPlan& plan, Tiles tiles, const ScoreScale& scale,
                             const Sight& sight, int half);

// O^T += V^T P^T 2^exponent: four blocks of 32 value elements. The sums of P stand before the products of one of them;
// by default that is the phase's last long instruction, under which the next phase begins.
MatrixSteps output_steps(Builder& k, Tiles tiles, const ScoreScale& scale, const Ones& ones, int half,
                         int sums_before = 3);

// The same of a tile of which the wave may not see the second half, which is then left out.
MatrixSteps edge_output_steps(Builder& k, Tiles tiles, const ScoreScale& scale, const Ones& ones, const Sight& sight,
                              int half, int sums_before = 3);

}  // namespace zyfa::schedules
