// Steps that move key and value tiles: global memory -> LDS by LDS-DMA, LDS -> matrix operands.
//
// A tile is 128 keys. With n = head dim / 64, LDS holds a K tile as slices of 16 rows of 64 bytes: slice
// 4*n*(key/64) + 4*(d/64) + (key%32)/8, row key%8 + 8*((key/32)%2). Slices are 1,040 bytes apart. The 16 lanes that
// ds_read_b128 serves at once then fall on all 64 banks (gfx950.md 1.1).
//
// LDS layout of a V tile (128 bytes a key): slice 8*(key/64) + 4*key[3] + 2*key[1] + key[2] (bits of the key), in it 8
// rows of 128 bytes, row key[0] + 2*((key/16)%4). A transposing read then delivers the keys in the order that packed
// probabilities have (kernel.md 3), and its 32 lanes fall on all banks.
#pragma once

#include "schedules/arguments.h"

#include <vector>

namespace zyfa::schedules {

// What one LDS-DMA instruction of a wave brings: 1,024 bytes, 16 a lane.
struct Slice {
  V<1> lane;   // the lane's 16 bytes relative to the tile's first row, bytes
  int offset;  // further bytes of every lane
  int lds;     // where the slice lies, relative to the wave's first, bytes
};

// The next K or V tile that the workgroup has not sent for. Each of 8 waves brings its part.
struct TileSource {
  S<4> resource;    // from the tile's first row on, as many rows as the sequence has, at most a tile
  S<1> row_stride;  // bytes
  S<1> tile_bytes;  // 128 * row_stride
  S<1> lds;         // this wave's first slice, relative to the buffer, bytes
  std::vector<Slice> slices;
};
TileSource key_source(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place);
TileSource value_source(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place);

// Bounds the resource to the tile: `rows` is what is left of the sequence, at least 1; rows past it arrive as zeros.
void bound_tile(Builder& k, const AttentionPlan& plan, const TileSource& source, S<1> rows);
// Requests the wave's slices, those from `first` to `end` - 1, into the buffer at `buffer` (bytes).
Token fetch_slices(Builder& k, const TileSource& source, S<1> buffer, std::size_t first, std::size_t end);
// M0 for slice i, behind slice i-1; and the request, not at once behind it.
void address_slice(Builder& k, const TileSource& source, S<1> buffer, std::size_t i);
Token fetch_slice(Builder& k, const TileSource& source, std::size_t i);
// Moves on by a tile.
void next_tile(Builder& k, const TileSource& source);

// The lane's LDS byte addresses, relative to a buffer, from which the reads of key_fragment and value_fragment count.
V<1> key_read_address(Builder& k, const AttentionPlan& plan, const Place& place);
V<1> value_read_address(Builder& k, const AttentionPlan& plan, const Place& place);

// A operand of S^T: row = key 32*block + lane%32; byte b = head-dim element 64*part + 32*(b/16) + 16*(lane/32) + b%16.
Token key_fragment(Builder& k, const AttentionPlan& plan, A<8> fragment, V<1> address, int block, int part);

// A operand of O^T: row = value-dim element 32*block + lane%32; byte 4j+t = key 64*half + 8j + 4*(lane/32) + t.
Token value_fragment(Builder& k, A<8> fragment, V<1> address, int block, int half);

// The queries as B operand of S^T, read from global memory once: column = query lane%32; part(p) holds elements 64*p
// to 64*p + 63 in the order of key_fragment. Queries from seqlen_q on are zero.
struct Queries {
  A<1> first;
  int parts;
  Token loaded;
  A<8> part(int p) const { return {static_cast<std::uint16_t>(first.first + 8 * p)}; }
};
Queries load_queries(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place);

// The lane's first bytes of its query, for rows of elements of `element_bytes`, and a resource over the wave's queries.
void address_queries(Builder& k, const Arguments& args, const Place& place, int element_bytes, V<1> address,
                     S<4> resource);

}  // namespace zyfa::schedules
