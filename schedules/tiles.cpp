#include "schedules/tiles.h"

namespace zyfa::schedules {

using generator::LdsPlan;

namespace {

// Where the parts of a tile lie in LDS, from the layouts above; bytes.
constexpr int slice = LdsPlan::slice_stride;
constexpr int k_part = 4 * slice;    // 64 elements of the head dim on
constexpr int k_keys32 = 8 * 64;     // 32 keys on: row + 8
constexpr int v_keys64 = 8 * slice;  // 64 keys on
constexpr int v_keys16 = 2 * 128;    // 16 keys on: row + 2

int head_dim_parts(const AttentionPlan& plan) { return plan.config.head_dim / 64; }

// d = (x >> shift & (2^bits - 1)) * scale: how a lane number is taken apart.
void field(Builder& k, V<1> d, V<1> x, int shift, int bits, int scale) {
  k.v_bfe_u32(d, x, shift, bits);
  k.v_mul_u32_u24(d, scale, d);
}

// The same of a scalar.
void field(Builder& k, S<1> d, S<1> wave, int shift, int bits, int scale) {
  k.s_bfe_u32(d, wave, shift | bits << 16);
  k.s_mul_i32(d, d, scale);
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
  field(k, t, wave, shift, bits, scale);
  k.v_add_u32(sum, t, sum);
}

// sum = (lane's row) * row_stride + column
void lane_bytes(Builder& k, V<1> sum, V<1> row, V<1> column, S<1> row_stride) {
  k.v_mul_lo_u32(sum, row, row_stride);
  k.v_add_u32(sum, sum, column);
}

// The part that K and V share.
TileSource allocate_source(Builder& k, const TensorArgument& tensor, const std::string& name) {
  return {k.sgpr<4>(name + " tile resource"),
          tensor.row_stride[0],
          k.sgpr("bytes of a " + name + " tile"),
          k.sgpr(name + " LDS slice"),
          {}};
}

void start_source(Builder& k, const AttentionPlan& plan, const TileSource& source, S<2> head_base, int lds_offset) {
  k.s_mov_b64(source.resource.at<2>(0), head_base);
  k.s_mov_b32(source.resource[3], raw_buffer_word3);
  k.s_mul_i32(source.tile_bytes, source.row_stride, plan.keys_per_tile);
  k.s_add_u32(source.lds, source.lds, lds_offset);
}

// The slices so far once more for the keys 64 on: 4 waves bring what 8 would.
void add_further_keys(Builder& k, TileSource& source, int lds) {
  const std::vector<Slice> own = source.slices;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const bool shared = i > 0 && own[i].lane == own[i - 1].lane;
    const V<1> lane = shared ? source.slices.back().lane : k.vgpr("the same 64 keys on");
    source.slices.push_back({lane, own[i].offset, own[i].lds + lds});
  }
}

// The lanes' bytes of the slices behind the first `own`.
void move_further_keys(Builder& k, const TileSource& source, std::size_t own) {
  const auto scope = k.scope();
  const S<1> bytes = k.sgpr("bytes of 64 keys");
  k.s_lshl_b32(bytes, source.row_stride, 6);
  for (std::size_t i = own; i < source.slices.size(); ++i)
    k.v_add_u32(source.slices[i].lane, bytes, source.slices[i - own].lane);
}

}  // namespace

TileSource key_source(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place) {
  // The wave's slices: key/64 = wave[2], or both with 4 waves; (key%32)/8 = wave[1:0]; every d/64. In a slice lane l
  // brings 16 bytes of row l/4.
  const int parts = head_dim_parts(plan);
  TileSource source = allocate_source(k, args.k, "K");
  const V<1> lane = k.vgpr("the lane's bytes of a K tile");
  for (int part = 0; part < parts; ++part) source.slices.push_back({lane, 64 * part, part * k_part});
  const std::size_t own = source.slices.size();
  if (plan.waves() == 4) add_further_keys(k, source, parts * k_part);
  const auto scope = k.scope();
  const S<2> base = head_address(k, args.k, place.batch, place.kv_head, "K of the head");
  const V<1> row = k.vgpr("key of the lane"), column = k.vgpr("byte of the key");
  const S<1> t = k.sgpr("part of an address");
  field(k, row, place.lane, 5, 1, 32);
  add_field(k, row, place.lane, 2, 3, 1);
  add_field(k, row, place.wave, 2, 1, 64);
  add_field(k, row, place.wave, 0, 2, 8);
  field(k, column, place.lane, 0, 2, 16);
  lane_bytes(k, lane, row, column, source.row_stride);
  move_further_keys(k, source, own);
  field(k, source.lds, place.wave, 2, 1, parts * k_part);
  field(k, t, place.wave, 0, 2, slice);
  k.s_add_u32(source.lds, source.lds, t);
  start_source(k, plan, source, base, plan.lds.k_offset);
  return source;
}

TileSource value_source(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place) {
  // The wave's slices 2*wave and the next, and with 4 waves those 64 keys on: key/64 = wave[2], key[3] = wave[1],
  // key[1] = wave[0], key[2] = 0 and 1. In a slice lane l brings 16 bytes of row l/8.
  TileSource source = allocate_source(k, args.v, "V");
  const V<1> first = k.vgpr("the lane's bytes of a V tile"), second = k.vgpr("the same 4 keys on");
  source.slices = {{first, 0, 0}, {second, 0, slice}};
  const std::size_t own = source.slices.size();
  if (plan.waves() == 4) add_further_keys(k, source, v_keys64);
  const auto scope = k.scope();
  const S<2> base = head_address(k, args.v, place.batch, place.kv_head, "V of the head");
  const V<1> row = k.vgpr("key of the lane"), column = k.vgpr("byte of the value");
  field(k, row, place.lane, 3, 1, 1);
  add_field(k, row, place.lane, 4, 2, 16);
  add_field(k, row, place.wave, 2, 1, 64);
  add_field(k, row, place.wave, 1, 1, 8);
  add_field(k, row, place.wave, 0, 1, 2);
  field(k, column, place.lane, 0, 3, 16);
  lane_bytes(k, first, row, column, source.row_stride);
  k.v_add_u32(row, 4, row);
  lane_bytes(k, second, row, column, source.row_stride);
  move_further_keys(k, source, own);
  k.s_mul_i32(source.lds, place.wave, 2 * slice);
  start_source(k, plan, source, base, plan.lds.v_offset);
  return source;
}

void bound_tile(Builder& k, const AttentionPlan& plan, const TileSource& source, S<1> rows) {
  k.s_min_u32(source.resource[2], rows, plan.keys_per_tile);
  k.s_mul_i32(source.resource[2], source.resource[2], source.row_stride);
}

void address_slice(Builder& k, const TileSource& source, S<1> buffer, std::size_t i) {
  if (i == 0) {
    k.s_add_u32(isa::m0, buffer, source.lds);
    return;
  }
  // The instruction's offset moves the LDS address as well.
  const Slice &slice = source.slices[i], &before = source.slices[i - 1];
  k.s_add_u32(isa::m0, isa::m0, slice.lds - before.lds - (slice.offset - before.offset));
}

Token fetch_slice(Builder& k, const TileSource& source, std::size_t i) {
  const Slice& slice = source.slices[i];
  k.settle();
  return k.buffer_load_dwordx4(slice.lane, source.resource, 0, {.offset = slice.offset, .offen = true});
}

Token fetch_slices(Builder& k, const TileSource& source, S<1> buffer, std::size_t first, std::size_t end) {
  Token arriving;
  int at = 0;  // m0 less the wave's first slice
  k.s_add_u32(isa::m0, buffer, source.lds);
  for (std::size_t i = first; i < end; ++i) {
    const Slice& s = source.slices[i];
    // The instruction's offset moves the LDS address as well.
    if (s.lds - s.offset != at) k.s_add_u32(isa::m0, isa::m0, s.lds - s.offset - at);
    at = s.lds - s.offset;
    arriving |= fetch_slice(k, source, i);
  }
  return arriving;
}

void next_tile(Builder& k, const TileSource& source) {
  k.s_add_u32(source.resource[0], source.resource[0], source.tile_bytes);
  k.s_addc_u32(source.resource[1], source.resource[1], 0);
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

Token key_fragment(Builder& k, const AttentionPlan& plan, A<8> fragment, V<1> address, int block, int part) {
  const int at = block / 2 * head_dim_parts(plan) * k_part + block % 2 * k_keys32 + part * k_part;
  Token read = k.ds_read_b128(fragment.at<4>(0), address, {.offset = at});
  return read |= k.ds_read_b128(fragment.at<4>(4), address, {.offset = at + 32});
}

Token value_fragment(Builder& k, A<8> fragment, V<1> address, int block, int half) {
  const int at = half * v_keys64 + block * 32;
  Token read;
  for (int i = 0; i < 4; ++i)
    read |= k.ds_read_b64_tr_b8(fragment.at<2>(2 * i), address, {.offset = at + i * v_keys16});
  return read;
}

void address_queries(Builder& k, const Arguments& args, const Place& place, int element_bytes, V<1> address,
                     S<4> resource) {
  const auto scope = k.scope();
  const S<2> base = head_address(k, args.q, place.batch, place.head, "Q of the head");
  advance(k, base, place.first_query, args.q.row_stride);
  make_resource(k, resource, base, queries_there(k, args, place), args.q.row_stride[0]);
  k.v_and_b32(address, matrix_queries - 1, place.lane);
  k.v_mul_lo_u32(address, address, args.q.row_stride[0]);
  add_field(k, address, place.lane, 5, 1, 16 * element_bytes);
}

Queries load_queries(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place) {
  const int parts = head_dim_parts(plan);
  Queries q{parts == 2 ? k.agpr<16>("Q")[0] : k.agpr<24>("Q")[0], parts, {}};
  const auto scope = k.scope();
  const S<4> resource = k.sgpr<4>("Q resource");
  const V<1> address = k.vgpr("Q address");
  address_queries(k, args, place, 1, address, resource);
  for (int p = 0; p < parts; ++p)
    for (int i = 0; i < 2; ++i)
      q.loaded |= k.buffer_load_dwordx4(q.part(p).at<4>(4 * i), address, resource, 0,
                                        {.offset = 64 * p + 32 * i, .offen = true});
  return q;
}

}  // namespace zyfa::schedules
