#include "schedules/quantise_rows.h"

#include "generator/kernargs.h"

#include <bit>

namespace zyfa::schedules {

using generator::QuantiseKernargs;

QuantiseArguments load_quantise_arguments(Builder& k, S<2> kernarg) {
  const S<8> pointers = k.sgpr<8>("pointers of x codes descale k_descale");
  const S<2> workspace = k.sgpr<2>("pointer of workspace");
  const S<12> strides = k.sgpr<12>("strides of x and codes: row head batch");
  const S<4> scalars = k.sgpr<4>("rows heads heads_per_scale phase");
  constexpr std::uint32_t strides_at = offsetof(QuantiseKernargs, x_stride);
  Token loaded = k.s_load_dwordx8(pointers, kernarg, offsetof(QuantiseKernargs, x));
  loaded |= k.s_load_dwordx2(workspace, kernarg, offsetof(QuantiseKernargs, workspace));
  loaded |= k.s_load_dwordx8(strides.at<8>(0), kernarg, strides_at);
  loaded |= k.s_load_dwordx4(strides.at<4>(8), kernarg, strides_at + 32);
  loaded |= k.s_load_dwordx4(scalars, kernarg, offsetof(QuantiseKernargs, rows));
  k.wait(loaded);
  const auto tensor = [&](int i) {
    return TensorArgument{pointers.at<2>(2 * i), strides.at<2>(6 * i), strides.at<2>(6 * i + 2),
                          strides.at<2>(6 * i + 4)};
  };
  return {kernarg,   tensor(0),  tensor(1),  pointers.at<2>(4), pointers.at<2>(6),
          workspace, scalars[0], scalars[1], scalars[2],        scalars[3]};
}

QuantisePlace find_quantise_place(Builder& k, const QuantiseArguments& args, S<1> workgroup, S<1> head, S<1> batch,
                                  V<1> work_item) {
  const V<1> lane = k.vgpr("lane");
  const S<1> wave = find_wave(k, work_item, lane);
  const S<1> first_row = k.sgpr("first row of the wave");
  const S<1> scale_head = divide(k, head, args.heads_per_scale, "head of the scale");
  const auto scope = k.scope();
  const S<1> t = k.sgpr("first row of the workgroup");
  k.s_mul_i32(t, workgroup, QuantisePlan::rows_per_workgroup());
  k.s_mul_i32(first_row, wave, QuantisePlan::rows_per_wave());
  k.s_add_u32(first_row, first_row, t);
  return {workgroup, head, batch, scale_head, wave, first_row, work_item, lane};
}

WaveRows find_rows(Builder& k, const QuantiseArguments& args, const QuantisePlace& place,
                   const TensorArgument& tensor) {
  constexpr int rows = QuantisePlan::rows_per_tile;
  WaveRows found{k.sgpr<4>("resource of the wave's rows"), {}};
  for (int i = 0; i < QuantisePlan::tiles_per_wave; ++i) found.offsets.push_back(k.vgpr("offset in a tile of rows"));
  const auto scope = k.scope();
  const S<1> there = k.sgpr("rows that exist"), tile_stride = k.sgpr("from tile to tile");
  const V<1> part = k.vgpr("part of a row");
  const S<2> base = head_address(k, tensor, place.batch, place.head, "address of the wave's rows");
  advance(k, base, place.first_row, tensor.row_stride);
  k.s_sub_i32(there, args.rows, place.first_row);
  k.s_max_i32(there, there, 0);
  k.s_min_i32(there, there, QuantisePlan::rows_per_wave());
  make_resource(k, found.resource, base, there, tensor.row_stride[0]);
  k.v_lshrrev_b32(part, std::countr_zero(static_cast<unsigned>(rows)), place.lane);
  k.v_and_b32(found.offsets[0], rows - 1, place.lane);
  k.v_mul_lo_u32(found.offsets[0], found.offsets[0], tensor.row_stride[0]);
  k.v_lshl_add_u32(found.offsets[0], part, 4, found.offsets[0]);
  k.s_mul_i32(tile_stride, tensor.row_stride[0], rows);
  for (std::size_t i = 1; i < found.offsets.size(); ++i)
    k.v_add_u32(found.offsets[i], tile_stride, found.offsets[i - 1]);
  return found;
}

S<2> partials_of_head(Builder& k, const QuantiseArguments& args) {
  constexpr auto rows = static_cast<unsigned>(QuantisePlan::rows_per_workgroup());
  const S<2> bytes = k.sgpr<2>("bytes of a head's partial maxima");
  k.s_add_u32(bytes[0], args.rows, rows - 1);
  k.s_lshr_b32(bytes[0], bytes[0], std::countr_zero(rows));
  k.s_lshl_b32(bytes[0], bytes[0], 2);
  k.s_mov_b32(bytes[1], 0);
  return bytes;
}

S<2> partials_address(Builder& k, const QuantiseArguments& args, const QuantisePlace& place, S<1> head,
                      S<2> partials_of_head) {
  const S<2> address = k.sgpr<2>("address of partial maxima");
  k.s_mov_b64(address, args.workspace);
  const auto scope = k.scope();
  const S<1> number = k.sgpr("number of the head in the grid");
  k.s_mul_i32(number, place.batch, args.heads);
  k.s_add_u32(number, number, head);
  advance(k, address, number, partials_of_head);
  return address;
}

}  // namespace zyfa::schedules
