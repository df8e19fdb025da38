// Steps that move key and value tiles: global memory -> LDS by LDS-DMA, LDS -> matrix operands.
//
// LDS layout of a K tile (128 keys x 128 bytes): slice 8*(key/64) + 4*(d/64) + (key%32)/8, in it 16 rows of 64 bytes,
// row key%8 + 8*((key/32)%2). Slices are 1,040 bytes apart. The 16 lanes that ds_read_b128 serves at once then fall on
// all 64 banks (gfx950.md 1.1).
//
// LDS layout of a V tile (128 keys x 128 bytes): slice 8*(key/64) + 4*key[3] + 2*key[1] + key[2] (bits of the key), in
// it 8 rows of 128 bytes, row key[0] + 2*((key/16)%4). A transposing read then delivers the keys in the order that
// packed probabilities have (kernel.md 3), and its 32 lanes fall on all banks.
#pragma once

#include "schedules/arguments.h"

namespace zyfa::schedules {

// A K or V tile on its way into LDS. Every wave brings two of the 16 slices.
struct TileSource {
  S<4> resource;        // from the next tile's first row to the last row of the sequence, at most a tile
  S<1> row_stride;      // bytes
  S<1> lds;             // this wave's first slice, relative to the buffer, bytes
  V<1> slice0, slice1;  // the lane's 16 bytes of both slices, relative to the tile's first row, bytes
};
TileSource key_source(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place);
TileSource value_source(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place);

// Requests the wave's slices of the next tile into the buffer at `buffer` (bytes) and moves on by a tile. `rows` is
// what is left of the sequence, at least 1; rows past it arrive as zeros.
Token fetch_tile(Builder& k, const AttentionPlan& plan, const TileSource& source, S<1> buffer, S<1> rows);

// The lane's LDS byte addresses, relative to a buffer, from which the reads of key_fragment and value_fragment count.
V<1> key_read_address(Builder& k, const AttentionPlan& plan, const Place& place);
V<1> value_read_address(Builder& k, const AttentionPlan& plan, const Place& place);

// A operand of S^T: row = key 32*block + lane%32; byte b = head-dim element 64*half + 32*(b/16) + 16*(lane/32) + b%16.
Token key_fragment(Builder& k, V<8> fragment, V<1> address, int block, int half);

// A operand of O^T: row = value-dim element 32*block + lane%32; byte 4j+t = key 64*half + 8j + 4*(lane/32) + t.
Token value_fragment(Builder& k, V<8> fragment, V<1> address, int block, int half);

// The queries as B operand of S^T, read from global memory once: column = query lane%32; q.at<8>(8*half) holds elements
// in the order of key_fragment. Queries from seqlen_q on are zero.
struct Queries {
  V<16> codes;
  Token loaded;
};
Queries load_queries(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place);

}  // namespace zyfa::schedules
