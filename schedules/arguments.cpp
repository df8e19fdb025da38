#include "schedules/arguments.h"

#include "generator/kernargs.h"

#include <bit>
#include <numbers>

namespace zyfa::schedules {

using generator::AttentionKernargs;
using generator::Label;

Arguments load_arguments(Builder& k, S<2> kernarg) {
  const S<8> pointers = k.sgpr<8>("pointers of q k v o");
  const S<24> strides = k.sgpr<24>("strides of q k v o: row head batch");
  const S<4> scalars = k.sgpr<4>("seqlen_q seqlen_k heads_per_kv_head softmax_scale");
  constexpr std::uint32_t strides_at = offsetof(AttentionKernargs, q_stride);
  Token loaded = k.s_load_dwordx8(pointers, kernarg, offsetof(AttentionKernargs, q));
  loaded |= k.s_load_dwordx16(strides.at<16>(0), kernarg, strides_at);
  loaded |= k.s_load_dwordx8(strides.at<8>(16), kernarg, strides_at + 64);
  loaded |= k.s_load_dwordx4(scalars, kernarg, offsetof(AttentionKernargs, seqlen_q));
  k.wait(loaded);

  const auto tensor = [&](int i) {
    return TensorArgument{pointers.at<2>(2 * i), strides.at<2>(6 * i), strides.at<2>(6 * i + 2),
                          strides.at<2>(6 * i + 4)};
  };
  return {kernarg, tensor(0), tensor(1), tensor(2), tensor(3), scalars[0], scalars[1], scalars[2], scalars[3]};
}

PerHeadArgument load_argument(Builder& k, const Arguments& args, PerHead which) {
  const S<2> base = k.sgpr<2>("address of values per head");
  const S<4> strides = k.sgpr<4>("strides of head and batch");
  const auto i = static_cast<std::uint32_t>(which);
  Token loaded = k.s_load_dwordx2(base, args.kernarg, offsetof(AttentionKernargs, lse) + 8 * i);
  loaded |= k.s_load_dwordx4(strides, args.kernarg, offsetof(AttentionKernargs, lse_stride) + 16 * i);
  k.wait(loaded);
  return {base, strides.at<2>(0), strides.at<2>(2)};
}

// The scalar ALU does not divide. In fp32 (x + 1/2) / n is off by at most 2^-22 of itself and at
// least 1/(2n) away from a whole number, so the quotient is exact up to 2^20.
S<1> divide(Builder& k, S<1> x, S<1> n, std::string_view name) {
  const S<1> quotient = k.sgpr(name);
  const auto scope = k.scope();
  const V<1> a = k.vgpr("dividend"), b = k.vgpr("divisor");
  k.v_cvt_f32_u32(b, n);
  k.v_cvt_f32_u32(a, x);
  k.v_rcp_f32(b, b);
  k.v_add_f32(a, 0.5f, a);
  k.v_mul_f32(a, a, b);
  k.v_cvt_u32_f32(a, a);
  k.settle();
  k.v_readfirstlane_b32(quotient, a);
  return quotient;
}

S<1> find_wave(Builder& k, V<1> work_item, V<1> lane) {
  const S<1> wave = k.sgpr("wave");
  k.v_lshrrev_b32(lane, 6, work_item);
  k.settle();
  k.v_readfirstlane_b32(wave, lane);
  k.v_and_b32(lane, 63, work_item);
  return wave;
}

void find_work(Builder& k, const AttentionPlan& plan, S<2> kernarg, const Arguments& args, S<1> workgroup, S<1> head,
               const isa::Machine& machine) {
  const auto dies = static_cast<unsigned>(machine.dies);
  if (dies < 2 || !std::has_single_bit(dies)) return;
  const auto scope = k.scope();
  const Label as_it_is = k.label("order_of_the_grid");
  const S<1> heads = k.sgpr("query heads");
  const Token loaded = k.s_load_dword(heads, kernarg, offsetof(AttentionKernargs, heads));
  const S<1> per_head = k.sgpr("workgroups of a head"), all = k.sgpr("workgroups of a batch entry");
  const S<1> work = k.sgpr("number of the work"), part = k.sgpr("die"), t = k.sgpr("part of a number");
  k.s_add_u32(per_head, args.seqlen_q, plan.queries_per_workgroup() - 1);
  k.s_lshr_b32(per_head, per_head, std::countr_zero(static_cast<unsigned>(plan.queries_per_workgroup())));
  k.wait(loaded);
  k.s_mul_hi_u32(t, heads, per_head);
  k.s_mul_i32(all, heads, per_head);
  k.s_cmp_lg_u32(t, 0);
  k.s_cbranch_scc1(as_it_is);
  k.s_cmp_le_u32(all, static_cast<std::uint32_t>(generator::max_ordered_workgroups));
  k.s_cbranch_scc0(as_it_is);

  // part * floor(all / dies) + min(part, all mod dies) + floor(number / dies)
  k.s_mul_i32(work, head, per_head);
  k.s_add_u32(work, work, workgroup);
  k.s_and_b32(part, work, dies - 1);
  k.s_lshr_b32(work, work, std::countr_zero(dies));
  k.s_lshr_b32(t, all, std::countr_zero(dies));
  k.s_mul_i32(t, t, part);
  k.s_add_u32(work, work, t);
  k.s_and_b32(t, all, dies - 1);
  k.s_min_u32(t, t, part);
  k.s_add_u32(work, work, t);
  k.s_mov_b32(head, divide(k, work, per_head, "head of the work"));
  k.s_mul_i32(t, head, per_head);
  k.s_sub_u32(workgroup, work, t);
  k.bind(as_it_is);
}

Place find_place(Builder& k, const Arguments& args, S<1> head, S<1> batch, V<1> work_item) {
  const V<1> lane = k.vgpr("lane");
  const S<1> wave = find_wave(k, work_item, lane);
  const S<1> workgroup_first_query = k.sgpr("first query of the workgroup");
  const S<1> first_query = k.sgpr("first query of the wave");
  const S<1> kv_head = divide(k, head, args.heads_per_kv_head, "key/value head");
  return {batch, head, kv_head, wave, workgroup_first_query, first_query, lane};
}

void go_to_tile(Builder& k, const AttentionPlan& plan, const Place& place, S<1> tile) {
  k.s_mul_i32(place.workgroup_first_query, tile, plan.queries_per_tile());
  k.s_mul_i32(place.first_query, place.wave, plan.queries_per_wave());
  k.s_add_u32(place.first_query, place.first_query, place.workgroup_first_query);
}

void advance(Builder& k, S<2> address, S<1> index, S<2> stride) {
  const auto scope = k.scope();
  const S<2> t = k.sgpr<2>("index * stride");
  k.s_mul_i32(t[0], index, stride[0]);
  k.s_mul_hi_u32(t[1], index, stride[0]);
  k.s_add_u32(address[0], address[0], t[0]);
  k.s_addc_u32(address[1], address[1], t[1]);
  k.s_mul_i32(t[0], index, stride[1]);
  k.s_add_u32(address[1], address[1], t[0]);
}

S<2> head_address(Builder& k, const TensorArgument& tensor, S<1> batch, S<1> head, std::string_view name) {
  const S<2> address = k.sgpr<2>(name);
  k.s_mov_b64(address, tensor.base);
  advance(k, address, batch, tensor.batch_stride);
  advance(k, address, head, tensor.head_stride);
  return address;
}

S<2> per_head_address(Builder& k, const Arguments& args, PerHead which, S<1> batch, S<1> head) {
  const S<2> address = k.sgpr<2>("address of a value per head");
  const auto scope = k.scope();
  const PerHeadArgument argument = load_argument(k, args, which);
  k.s_mov_b64(address, argument.base);
  advance(k, address, batch, argument.batch_stride);
  advance(k, address, head, argument.head_stride);
  return address;
}

Token load_per_head(Builder& k, S<1> value, const Arguments& args, PerHead which, S<1> batch, S<1> head) {
  const auto scope = k.scope();
  return k.s_load_dword(value, per_head_address(k, args, which, batch, head), 0);
}

S<1> queries_there(Builder& k, const Arguments& args, const Place& place) {
  const S<1> rows = k.sgpr("queries that exist");
  k.s_sub_i32(rows, args.seqlen_q, place.first_query);
  k.s_max_i32(rows, rows, 0);
  k.s_min_i32(rows, rows, matrix_queries);
  return rows;
}

void make_resource(Builder& k, S<4> resource, S<2> address, S<1> rows, S<1> row_stride) {
  k.s_mov_b64(resource.at<2>(0), address);
  k.s_mul_i32(resource[2], rows, row_stride);
  k.s_mov_b32(resource[3], raw_buffer_word3);
}

void exponent_factor(Builder& k, V<1> factor, const Arguments& args, const Place& place) {
  const auto scope = k.scope();
  const S<1> q_descale = k.sgpr("q_descale"), k_descale = k.sgpr("k_descale");
  // Addresses first: a load may not overwrite the address of one that is on its way.
  const S<2> q_address = per_head_address(k, args, PerHead::q_descale, place.batch, place.kv_head);
  const S<2> k_address = per_head_address(k, args, PerHead::k_descale, place.batch, place.kv_head);
  Token loaded = k.s_load_dword(q_descale, q_address, 0);
  loaded |= k.s_load_dword(k_descale, k_address, 0);
  k.wait(loaded);
  k.v_mov_b32(factor, args.softmax_scale);
  k.v_mul_f32(factor, q_descale, factor);
  k.v_mul_f32(factor, k_descale, factor);
  k.v_mul_f32(factor, std::numbers::log2e_v<float>, factor);
}

}  // namespace zyfa::schedules
