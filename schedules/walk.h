// What a wave of a two-wave ping-pong holds on its way along the keys, and how tiles of K and V come and go: three
// buffers in LDS, of which a trip reads two.
#pragma once

#include "schedules/limits.h"
#include "schedules/products.h"

#include <array>

namespace zyfa::schedules {

using generator::Arrival;

// Matrix operands on their way from LDS.
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
  V<1> key_lanes, value_lanes;                           // LDS read addresses relative to a buffer, bytes
  S<1> scored_buffer, weighed_buffer;                    // LDS offsets of tiles t+1 and t, bytes
  S<1> whole;                                            // tiles that start below this are seen whole
  Arrival arrived;                                       // LDS-DMA of tiles, and Q
  std::array<Arrival, fragments_ahead> first_fragments;  // what a matrix phase starts with
  A<32> fragments;                                       // matrix operands on their way from LDS

  A<8> fragment(std::size_t i) const { return fragments.at<8>(static_cast<int>(8 * (i % fragments_ahead))); }
};

// Sends for tile 0 and the keys of tile 1, before the first trip. Tiles that the workgroup does not need are left out,
// here and below.
void fetch_first_tiles(Builder& k, const Walk& w);

// What a matrix phase has to send for, K(t+3) and V(t+2), in pieces that fit between its instructions. `w` must outlive
// them.
Errands fetch_errands(Builder& k, const Walk& w);

// Trip t becomes trip t+1.
void step_on(Builder& k, const Walk& w);

}  // namespace zyfa::schedules
