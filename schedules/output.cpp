#include "schedules/output.h"

#include <cmath>
#include <numbers>

namespace zyfa::schedules {
namespace {

// value += the same of lane l+32 or l-32: the two lanes of a query hold parts of one sum.
void add_other_half(Builder& k, V<1> value) {
  const auto scope = k.scope();
  const V<1> other = k.vgpr("the other half's part");
  k.v_mov_b32(other, value);
  k.settle();
  k.v_permlane32_swap_b32(value, other);
  k.v_add_f32(value, value, other);
}

// 32 elements of the value dim where the vector ALU can work on them.
V<16> output_block(Builder& k, const Output& o, int b) {
  if (const auto* v = std::get_if<V<64>>(&o.registers)) return v->at<16>(16 * b);
  const V<16> block = k.vgpr<16>("part of O");
  for (int i = 0; i < 16; ++i) {
    k.settle();
    k.v_accvgpr_read_b32(block[i], std::get<A<64>>(o.registers)[16 * b + i]);
  }
  return block;
}

// 32 elements of the value dim to memory. Packing leaves each lane with 4 consecutive elements of 8; exchanging them
// between lanes l and l+32 gives every lane 8 consecutive ones, 16 bytes, of every other 8.
void store_block(Builder& k, V<16> block, V<1> address, S<4> resource, int offset) {
  for (int i = 0; i < 8; ++i) k.v_cvt_pk_bf16_f32(block[i], block[2 * i], block[2 * i + 1]);
  k.settle();
  for (int pair = 0; pair < 2; ++pair)
    for (int i = 0; i < 2; ++i) k.v_permlane32_swap_b32(block[4 * pair + i], block[4 * pair + 2 + i]);
  for (int pair = 0; pair < 2; ++pair)
    k.buffer_store_dwordx4(block.at<4>(4 * pair), address, resource, 0, {.offset = offset + 32 * pair, .offen = true});
}

}  // namespace

void store_output(Builder& k, const Arguments& args, const Place& place, const Output& o, const Rows& rows) {
  const auto scope = k.scope();
  const S<2> base = head_address(k, args.o, place.batch, place.head, "O of the head");
  const S<4> resource = k.sgpr<4>("O resource");
  const V<1> address = k.vgpr("O address"), half = k.vgpr("lane / 32"), scale = k.vgpr("v_descale / total");
  const S<1> v_descale = k.sgpr("v_descale");
  const Token loaded = load_per_head(k, v_descale, args, PerHead::v_descale, place.batch, place.kv_head);
  advance(k, base, place.first_query, args.o.row_stride);
  make_resource(k, resource, base, queries_there(k, args, place), args.o.row_stride[0]);
  k.v_lshrrev_b32(half, 5, place.lane);
  k.v_and_b32(address, matrix_queries - 1, place.lane);
  k.v_mul_lo_u32(address, address, args.o.row_stride[0]);
  k.v_lshl_add_u32(address, half, 4, address);

  // A row that saw any key has a total of at least 2^lift, so the bound acts on empty rows alone: 0 / 1 = 0.
  k.settle();  // a total that is an accumulator
  k.v_mov_b32(scale, rows.total);
  add_other_half(k, scale);
  k.v_max_f32(scale, 1.0f, scale);
  k.v_rcp_f32(scale, scale);
  k.settle();
  k.wait(loaded);
  k.v_mul_f32(scale, v_descale, scale);
  for (int b = 0; b < 4; ++b) {
    const auto inner = k.scope();
    const V<16> block = output_block(k, o, b);
    for (int i = 0; i < 16; ++i) k.v_mul_f32(block[i], scale, block[i]);
    store_block(k, block, address, resource, 64 * b);
  }
}

void store_lse(Builder& k, const Arguments& args, const Place& place, const Rows& rows, const ScoreScale& scale) {
  const auto scope = k.scope();
  const V<1> address = k.vgpr("LSE address"), value = k.vgpr("LSE");
  k.v_mov_b32(value, *rows.unrounded);
  add_other_half(k, value);
  k.v_log_f32(value, value);
  {
    // The factor without the bounds that scale.octaves has.
    const auto inner = k.scope();
    const V<1> factor = k.vgpr("octaves of a product"), reference = k.vgpr("reference");
    if (!scale.bf16) exponent_factor(k, factor, args, place);
    k.v_mul_f32(reference, -std::ldexp(1.0f, scale.shift), rows.bias[0]);
    if (scale.bf16)
      k.v_add_f32(value, reference, value);
    else
      k.v_fma_f32(value, reference, factor, value);
  }
  k.v_mul_f32(value, std::numbers::ln2_v<float>, value);

  const PerHeadArgument lse = load_argument(k, args, PerHead::lse);
  const S<2> base = lse.base;
  const S<4> resource = k.sgpr<4>("LSE resource");
  const S<1> row_bytes = k.sgpr("bytes of a LSE row");
  advance(k, base, place.batch, lse.batch_stride);
  advance(k, base, place.head, lse.head_stride);
  k.s_mov_b32(row_bytes, 4);
  {
    const S<2> dense = k.sgpr<2>("dense row stride");
    k.s_mov_b64(dense, 4);
    advance(k, base, place.first_query, dense);
  }
  make_resource(k, resource, base, queries_there(k, args, place), row_bytes);
  k.v_lshlrev_b32(address, 2, place.lane);
  k.s_mov_b32(isa::exec_hi, 0);
  k.buffer_store_dword(value, address, resource, 0, {.offen = true});
}

}  // namespace zyfa::schedules
