#include "schedules/tiles.h"

namespace zyfa::schedules {

using generator::LdsPlan;

namespace {

// Where the parts of a tile lie in LDS, from the layouts above; bytes.
constexpr int slice = LdsPlan::slice_stride;
constexpr int keys64 = 8 * slice;  // 64 keys on, both tiles
constexpr int k_half = 4 * slice;  // 64 elements of the head dim on
constexpr int k_keys32 = 8 * 64;   // 32 keys on: row + 8
constexpr int v_keys16 = 2 * 128;  // 16 keys on: row + 2

// d = (x >> shift & (2^bits - 1)) * scale: how a lane number is taken apart.
void field(Builder& k, V<1> d, V<1> x, int shift, int bits, int scale) {
  k.v_bfe_u32(d, x, shift, bits);
  k.v_mul_u32_u24(d, scale, d);
}

// sum += (x >> shift & (2^bits - 1)) * scale
void add_field(Builder& k, V<1> sum, V<1> x, int shift, int bits, int scale) {
  const auto scope = k.scope();
  const V<1> t = k.vgpr("part of an address");
  field(k, t, x, shift, bits, scale);
  k.v_add_u32(sum, sum, t);
}

// sum += (wave >> shift & (2^bits - 1)) * scale, the same for all lanes
void add_field(Builder& k, V<1> sum, S<1> wave, int shift, int bits, int scale) {
  const auto scope = k.scope();
  const S<1> t = k.sgpr("part of an address");
  k.s_bfe_u32(t, wave, shift | bits << 16);
  k.s_mul_i32(t, t, scale);
  k.v_add_u32(sum, t, sum);
}

TileSource allocate_source(Builder& k, const TensorArgument& tensor, const std::string& name) {
  return {k.sgpr<4>(name + " tile resource"), tensor.row_stride[0], k.sgpr(name + " LDS slice"),
          k.vgpr(name + " slice 0"), k.vgpr(name + " slice 1")};
}

// What K and V share: `row` is the lane's row of the tile and `column` its byte, for the wave's first slice; the second
// slice lies `second` rows on.
void fill_source(Builder& k, const AttentionPlan& plan, const TileSource& source, S<2> head_base, const Place& place,
                 V<1> row, V<1> column, int second, int lds_offset) {
  k.s_mov_b64(source.resource.at<2>(0), head_base);
  k.s_mov_b32(source.resource[3], raw_buffer_word3);
  k.s_mul_i32(source.lds, place.wave, 16 / plan.waves * slice);
  k.s_add_u32(source.lds, source.lds, lds_offset);
  k.v_mul_lo_u32(source.slice0, row, source.row_stride);
  k.v_add_u32(row, second, row);
  k.v_mul_lo_u32(source.slice1, row, source.row_stride);
  k.v_add_u32(source.slice0, source.slice0, column);
  k.v_add_u32(source.slice1, source.slice1, column);
}

}  // namespace

TileSource key_source(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place) {
  // Slice 2*wave: key/64 = wave[2], d/64 = wave[1], (key%32)/8 = 2*wave[0]; the second slice is 8 keys on. In a slice
  // lane l brings 16 bytes of row l/4.
  const TileSource source = allocate_source(k, args.k, "K");
  const auto scope = k.scope();
  const S<2> base = head_address(k, args.k, place.batch, place.kv_head, "K of the head");
  const V<1> row = k.vgpr("key of the lane"), column = k.vgpr("byte of the key");
  field(k, row, place.lane, 5, 1, 32);
  add_field(k, row, place.lane, 2, 3, 1);
  add_field(k, row, place.wave, 2, 1, 64);
  add_field(k, row, place.wave, 0, 1, 16);
  field(k, column, place.lane, 0, 2, 16);
  add_field(k, column, place.wave, 1, 1, 64);
  fill_source(k, plan, source, base, place, row, column, 8, plan.lds.k_offset);
  return source;
}

TileSource value_source(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place) {
  // Slice 2*wave: key/64 = wave[2], key[3] = wave[1], key[1] = wave[0], key[2] = 0; the second slice is 4 keys on. In a
  // slice lane l brings 16 bytes of row l/8.
  const TileSource source = allocate_source(k, args.v, "V");
  const auto scope = k.scope();
  const S<2> base = head_address(k, args.v, place.batch, place.kv_head, "V of the head");
  const V<1> row = k.vgpr("key of the lane"), column = k.vgpr("byte of the value");
  field(k, row, place.lane, 3, 1, 1);
  add_field(k, row, place.lane, 4, 2, 16);
  add_field(k, row, place.wave, 2, 1, 64);
  add_field(k, row, place.wave, 1, 1, 8);
  add_field(k, row, place.wave, 0, 1, 2);
  field(k, column, place.lane, 0, 3, 16);
  fill_source(k, plan, source, base, place, row, column, 4, plan.lds.v_offset);
  return source;
}

Token fetch_tile(Builder& k, const AttentionPlan& plan, const TileSource& source, S<1> buffer, S<1> rows) {
  const auto scope = k.scope();
  const S<1> t = k.sgpr("rows of the tile");
  k.s_min_u32(t, rows, plan.keys_per_tile);
  k.s_mul_i32(source.resource[2], t, source.row_stride);
  k.s_add_u32(isa::m0, buffer, source.lds);
  k.settle();
  Token arriving = k.buffer_load_dwordx4(source.slice0, source.resource, 0, {.offen = true});
  k.s_add_u32(isa::m0, isa::m0, slice);
  k.settle();
  arriving |= k.buffer_load_dwordx4(source.slice1, source.resource, 0, {.offen = true});
  k.s_mul_i32(t, source.row_stride, plan.keys_per_tile);
  k.s_add_u32(source.resource[0], source.resource[0], t);
  k.s_addc_u32(source.resource[1], source.resource[1], 0);
  return arriving;
}

V<1> key_read_address(Builder& k, const AttentionPlan& plan, const Place& place) {
  const V<1> address = k.vgpr("K read address");
  field(k, address, place.lane, 0, 3, 64);
  add_field(k, address, place.lane, 3, 2, slice);
  add_field(k, address, place.lane, 5, 1, 16);
  if (plan.lds.k_offset != 0) k.v_add_u32(address, plan.lds.k_offset, address);
  return address;
}

V<1> value_read_address(Builder& k, const AttentionPlan& plan, const Place& place) {
  // Of 16 lanes, lanes 2r and 2r+1 address the 16 bytes of row r (gfx950.md 4): r[0] is key[0], r[1] key[1], r[2]
  // key[3].
  const V<1> address = k.vgpr("V read address");
  field(k, address, place.lane, 0, 1, 8);
  add_field(k, address, place.lane, 1, 1, 128);
  add_field(k, address, place.lane, 2, 2, 2 * slice);
  add_field(k, address, place.lane, 4, 1, 16);
  add_field(k, address, place.lane, 5, 1, slice);
  k.v_add_u32(address, plan.lds.v_offset, address);
  return address;
}

Token key_fragment(Builder& k, V<8> fragment, V<1> address, int block, int half) {
  const int at = block / 2 * keys64 + block % 2 * k_keys32 + half * k_half;
  Token read = k.ds_read_b128(fragment.at<4>(0), address, {.offset = at});
  return read |= k.ds_read_b128(fragment.at<4>(4), address, {.offset = at + 32});
}

Token value_fragment(Builder& k, V<8> fragment, V<1> address, int block, int half) {
  const int at = half * keys64 + block * 32;
  Token read;
  for (int i = 0; i < 4; ++i)
    read |= k.ds_read_b64_tr_b8(fragment.at<2>(2 * i), address, {.offset = at + i * v_keys16});
  return read;
}

Queries load_queries(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place) {
  const V<16> q = k.vgpr<16>("Q");
  const auto scope = k.scope();
  const S<2> base = head_address(k, args.q, place.batch, place.head, "Q of the head");
  const S<4> resource = k.sgpr<4>("Q resource");
  const V<1> address = k.vgpr("Q address");
  advance(k, base, place.first_query, args.q.row_stride);
  make_resource(k, resource, base, queries_of_wave(k, plan, args, place), args.q.row_stride[0]);
  k.v_and_b32(address, plan.queries_per_wave - 1, place.lane);
  k.v_mul_lo_u32(address, address, args.q.row_stride[0]);
  add_field(k, address, place.lane, 5, 1, 16);
  Token loaded;
  for (int i = 0; i < 4; ++i)
    loaded |= k.buffer_load_dwordx4(q.at<4>(4 * i), address, resource, 0, {.offset = 32 * i, .offen = true});
  return {q, loaded};
}

}  // namespace zyfa::schedules
