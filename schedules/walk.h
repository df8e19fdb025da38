// What a wave holds on its way along the keys, and how tiles of K and V come and go: three buffers in LDS, of which a
// trip reads two.
#pragma once

#include "schedules/limits.h"
#include "schedules/products.h"

#include <optional>

namespace zyfa::schedules {

using generator::Arrival;

// Matrix operands on their way from LDS, unless a schedule has another number.
inline constexpr std::size_t fragments_ahead = 4;

// All that a wave holds on its way along the keys. Trip t scores tile t+1, the first trip is -1.
struct Walk {
  const AttentionPlan& plan;
  const Arguments& args;
  Limits limits;
  TileSource keys, values;
  std::vector<Tile> tiles;  // the wave's queries, 32 each
  ScoreScale scale;
  Moving moving;
  Ones ones;
  Sight sight;
  V<1> key_lanes, value_lanes;           // LDS read addresses relative to a buffer, bytes
  S<1> scored_buffer, weighed_buffer;    // LDS offsets of tiles t+1 and t, bytes
  S<1> whole;                            // tiles that start below this are seen whole
  Arrival arrived;                       // LDS-DMA of tiles, and Q
  std::vector<A<8>> fragments;           // matrix operands on their way from LDS
  std::vector<Arrival> first_fragments;  // of as many, what a matrix phase starts with
  std::optional<S<1>> zero_blocks = {};  // with skip_zero_blocks: choose_exponents'

  A<8> fragment(std::size_t i) const { return fragments[i % fragments.size()]; }
};

// A wave at the first tile, which has arrived, as have the queries. `tiles` are the wave's, with the queries requested.
Walk start_walk(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place,
                const ScoreScale& scale, const Limits& limits, const std::vector<Tile>& tiles,
                std::size_t fragments = fragments_ahead);

// What a matrix phase has to send for, K(t+3) and V(t+2), in pieces that fit between its instructions. Tiles that the
// workgroup does not need are left out. `w` must outlive them. `split`: each of the wave's loads is a piece, not each
// tile.
Errands fetch_errands(Builder& k, const Walk& w, bool split = false);

// Trip t becomes trip t+1.
void step_on(Builder& k, const Walk& w);

// Work in pieces for a stream that has few turns to spare: right behind a matrix instruction the scalar unit is free,
// the vector port and memory are not.
struct Piece {
  std::function<void()> scalar, memory;
};
using Pieces = std::vector<Piece>;

// As fetch_errands. Tiles that the workgroup does not need arrive as zeros, so what was sent for has to be waited for.
// Registers of the present scope.
Pieces fetch_pieces(Builder& k, const Walk& w);

// address = Tile::key_address of trip t+1, or that of this one where the wave sees nothing more.
Pieces next_key_address(Builder& k, const Walk& w, V<1> address);

// step_on; the last piece changes Sight::tile_key.
Pieces step_on_pieces(Builder& k, const Walk& w);

// Trips of a wave that has nothing more to see: it brings its part of the tiles. Each has that many barriers.
void serve_others(Builder& k, const Walk& w, int barriers_a_trip);

void read_first_fragments(Builder& k, const Walk& w, const MatrixSteps& steps);

// Work that stands before the products of a step, or behind the last.
struct Errand {
  std::size_t before;
  std::function<void()> run;
};
std::vector<Errand> after_each(const Errands& list);  // one behind each of the first steps

// How a stream of products runs and ends.
struct Course {
  int priority = 1;
  bool barrier = false;       // at the end, from which on another wave of the SIMD multiplies
  std::size_t hand_over = 0;  // so many steps stand behind it
};

// Runs the steps, whose first operands are on their way, and reads operands ahead.
void multiply(Builder& k, const Walk& w, const MatrixSteps& steps, const std::vector<Errand>& errands,
              const Course& course = {});

template <class T>
std::vector<T> operator+(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace zyfa::schedules
