// The two matrix products of a tile as lists of steps, for a stream that reads operands ahead.
#pragma once

#include "schedules/softmax.h"
#include "schedules/tiles.h"

namespace zyfa::schedules {

// One matrix instruction, or few, with one operand that comes from LDS.
struct MatrixStep {
  std::function<Token(V<8>)> read;
  std::function<void(V<8>)> multiply;
};

// Operands of the products. A tile is 128 keys x 32 queries.
struct Tile {
  V<64> s;  // scores
  V<16> p;  // probabilities of the tile before
  V<64> o;  // output so far
  Queries q;
  V<1> key_address, value_address;  // where the lane reads in LDS, bytes
};

// Which keys of a tile a wave sees.
struct Sight {
  S<1> tile_key;  // first key of the tile that is scored
  S<1> all;       // all rows of the wave see the keys below this
  S<1> some;      // no row of the wave sees keys from here on
  V<1> row;       // the lane's query sees the keys below this; may be negative
  V<1> lane;
};

// S^T = K Q^T + bias: four blocks of 32 keys, each over the parts of the head dim.
std::vector<MatrixStep> score_steps(Builder& k, const AttentionPlan& plan, const Tile& tile, const ScoreScale& scale,
                                    const RowState& rows);

// The same where some keys are hidden from some rows: their scores are -infinity, by way of the accumulator. Blocks
// that no row sees are not multiplied.
std::vector<MatrixStep> edge_score_steps(Builder& k, const AttentionPlan& plan, const Tile& tile,
                                         const ScoreScale& scale, const RowState& rows, const Sight& sight);

// O^T += V^T P^T 2^exponent, and the sums of P: four blocks of 32 value elements, each over two halves of the keys.
std::vector<MatrixStep> output_steps(Builder& k, const Tile& tile, const ScoreScale& scale, const RowState& rows,
                                     const Ones& ones);

// The same for a tile of which the wave may not see the second half, which is then left out.
std::vector<MatrixStep> edge_output_steps(Builder& k, const Tile& tile, const ScoreScale& scale, const RowState& rows,
                                          const Ones& ones, const Sight& sight);

}  // namespace zyfa::schedules
