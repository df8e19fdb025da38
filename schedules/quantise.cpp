// A workgroup takes 128 rows of a head, each of its four waves 32 of them, in two launches:
//
//   phase 0   rows -> rotation -> largest |value| of the workgroup -> workspace
//   phase 1   workspace -> largest of the scale's heads -> descale; rows -> rotation -> times 1 / descale -> codes
//
// All rows of a wave are sent for before anything that takes time.

#include "schedules/quantise.h"

#include "generator/kernargs.h"
#include "schedules/descale.h"
#include "schedules/rotation.h"

#include <bit>
#include <cmath>

namespace zyfa::schedules {
namespace {

using generator::KernelBody;
using generator::Label;
using generator::QuantiseKernargs;
using generator::Rotation;

// Elements of a row that are rotated together. Its `quads` of 4 registers hold 8 elements of each of 4 lanes as BF16,
// or 16 as codes.
struct Block {
  int elements, first;
  float factor;  // of what the rotation gives

  int quads() const { return elements / 32; }
  int stores() const { return elements / 64; }
};

bool is_rotated(const QuantisePlan& plan) { return plan.config.rotation == Rotation::hadamard; }

std::vector<Block> blocks_of(const QuantisePlan& plan) {
  std::vector<Block> blocks = {{128, 0, 1.0f}};
  if (plan.config.head_dim == 192) blocks.push_back({64, 128, 1.0f});
  if (is_rotated(plan))
    for (Block& block : blocks) block.factor = static_cast<float>(1 / std::sqrt(static_cast<double>(block.elements)));
  return blocks;
}

// 16 rows as they come from memory.
struct RawTile {
  std::vector<V<4>> quads;
  Token loaded;
};

std::vector<RawTile> make_tiles(Builder& k, const QuantisePlan& plan) {
  std::vector<RawTile> tiles(static_cast<std::size_t>(plan.tiles_per_wave));
  for (RawTile& tile : tiles)
    for (int i = 0; i < plan.config.head_dim / 32; ++i) tile.quads.push_back(k.vgpr<4>("rows as BF16, then codes"));
  return tiles;
}

void load(Builder& k, const WaveRows& rows, std::vector<RawTile>& tiles) {
  constexpr int quad_bytes = 64;  // of the four lanes of a row
  for (std::size_t t = 0; t < tiles.size(); ++t)
    for (int i = 0; const V<4> quad : tiles[t].quads)
      tiles[t].loaded |=
          k.buffer_load_dwordx4(quad, rows.offsets[t], rows.resource, 0, {.offset = quad_bytes * i++, .offen = true});
}

std::span<const V<4>> quads_of(const RawTile& tile, const Block& block) {
  return std::span(tile.quads)
      .subspan(static_cast<std::size_t>(block.first / 32), static_cast<std::size_t>(block.quads()));
}

std::vector<V<1>> registers_of(std::span<const V<4>> quads) {
  std::vector<V<1>> registers;
  for (const V<4> quad : quads) registers.insert(registers.end(), {quad[0], quad[1], quad[2], quad[3]});
  return registers;
}

// largest = the larger of itself and of all finite elements. x * 0 + x is NaN where x is infinite, and the maximum of
// NaN and a number is the number.
void find_largest(Builder& k, const Elements& x, V<1> largest) {
  k.settle();
  for (const V<2> pair : x.pairs) k.v_pk_fma_f32(pair, pair, 0.0f, pair);
  k.settle();
  for (const V<2> pair : x.pairs)
    k.v_max3_f32(largest, generator::magnitude(pair[0]), generator::magnitude(pair[1]), largest);
}

// codes = e4m3 of x * factor, in registers that hold their elements' BF16 or nothing any more.
void round_to_codes(Builder& k, const Elements& x, V<2> factor, std::span<const V<1>> codes) {
  constexpr std::uint8_t upper_half = 8;
  k.settle();
  for (const V<2> pair : x.pairs) k.v_pk_mul_f32(pair, pair, factor);
  k.settle();
  // The two halves of a register are not written by neighbours: docs/hazards.md.
  for (std::size_t i = 0; i < codes.size(); ++i) k.v_cvt_pk_fp8_f32(codes[i], x.pairs[2 * i][0], x.pairs[2 * i][1]);
  for (std::size_t i = 0; i < codes.size(); ++i)
    k.v_cvt_pk_fp8_f32(codes[i], x.pairs[2 * i + 1][0], x.pairs[2 * i + 1][1], {.op_sel = upper_half});
}

// One value of lane 0 of wave 0, last of all: it leaves EXEC with that lane.
void store_one(Builder& k, const QuantisePlace& place, V<1> value, S<2> address, Label skipped) {
  const V<1> offset = k.vgpr("0");
  k.s_cmp_eq_u32(place.wave, 0);
  k.s_cbranch_scc0(skipped);
  k.s_mov_b64(isa::exec, 1);
  k.v_mov_b32(offset, 0);
  k.global_store_dword(offset, value, address);
}

void find_maxima(Builder& k, const QuantisePlan& plan, const QuantiseArguments& args, const QuantisePlace& place,
                 Label done) {
  const auto scope = k.scope();
  std::vector<RawTile> tiles = make_tiles(k, plan);
  load(k, find_rows(k, args, place, args.x), tiles);
  const S<2> of_head = partials_of_head(k, args);
  const S<2> address = partials_address(k, args, place, place.head, of_head);
  const V<1> largest = k.vgpr("largest of the work-item");
  k.v_mov_b32(largest, 0);
  std::vector<V<1>> of_blocks;
  for ([[maybe_unused]] const Block& block : blocks_of(plan)) {
    of_blocks.push_back(k.vgpr("largest of a block"));
    k.v_mov_b32(of_blocks.back(), 0);
  }
  for (const RawTile& tile : tiles) {
    k.wait(tile.loaded);
    std::size_t b = 0;
    for (const Block& block : blocks_of(plan)) {
      const auto inner = k.scope();
      Elements x = make_elements(k, block.elements);
      unpack(k, registers_of(quads_of(tile, block)), x);
      if (is_rotated(plan)) rotate(k, x);
      find_largest(k, x, of_blocks[b++]);
    }
  }
  std::size_t b = 0;
  for (const Block& block : blocks_of(plan)) {
    k.v_mul_f32(of_blocks[b], block.factor, of_blocks[b]);
    k.v_max_f32(largest, largest, of_blocks[b++]);
  }
  find_largest_of_workgroup(k, place, largest);
  {
    const auto inner = k.scope();
    const S<2> four = k.sgpr<2>("bytes of a partial maximum");
    k.s_mov_b64(four, 4);
    advance(k, address, place.workgroup, four);
  }
  store_one(k, place, largest, address, done);
}

// Of the scale's heads, from all their partial maxima. `behind_first` runs between the first loads and their arrival.
template <class Between>
void find_largest_of_heads(Builder& k, const QuantiseArguments& args, const QuantisePlace& place, V<1> largest,
                           Between behind_first) {
  constexpr int loads = 4, load_bytes = 4 * QuantisePlan::workgroup_size();
  const auto scope = k.scope();
  const S<4> resource = k.sgpr<4>("resource of partial maxima");
  const S<1> end = k.sgpr("bytes of partial maxima"), first_head = k.sgpr("first head of the scale"),
             at = k.sgpr("bytes read");
  const V<1> offset = k.vgpr("offset of partial maxima");
  const V<4> values = k.vgpr<4>("partial maxima");
  const S<2> of_head = partials_of_head(k, args);
  k.s_mul_i32(first_head, place.scale_head, args.heads_per_scale);
  const S<2> address = partials_address(k, args, place, first_head, of_head);
  k.s_mul_i32(end, of_head[0], args.heads_per_scale);
  k.s_mov_b64(resource.at<2>(0), address);
  k.s_mov_b32(resource[2], end);
  k.s_mov_b32(resource[3], raw_buffer_word3);
  k.v_lshlrev_b32(offset, 2, place.work_item);
  const auto load = [&] {
    Token loaded;
    for (int i = 0; i < loads; ++i)
      loaded |= k.buffer_load_dword(values[i], offset, resource, 0, {.offset = load_bytes * i, .offen = true});
    return loaded;
  };
  const auto take = [&] {
    k.v_max3_f32(largest, values[0], values[1], largest);
    k.v_max3_f32(largest, values[2], values[3], largest);
  };
  k.v_mov_b32(largest, 0);
  k.s_mov_b32(at, loads * load_bytes);
  const Token first = load();
  behind_first();
  k.wait(first);
  take();
  const Label all = k.label("all_partial_maxima");
  k.s_cmp_lt_u32(at, end);
  k.s_cbranch_scc0(all);
  const Label more = k.here("more_partial_maxima");
  k.v_add_u32(offset, loads * load_bytes, offset);
  k.s_add_u32(at, at, loads * load_bytes);
  k.wait(load());
  take();
  k.s_cmp_lt_u32(at, end);
  k.s_cbranch_scc1(more);
  k.bind(all);
}

void store_codes(Builder& k, const QuantisePlan& plan, const WaveRows& to, const std::vector<RawTile>& tiles,
                 std::span<const V<2>> factors) {
  constexpr int store_bytes = 64;  // of the four lanes of a row
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    k.wait(tiles[i].loaded);
    std::size_t b = 0;
    for (const Block& block : blocks_of(plan)) {
      const auto scope = k.scope();
      const std::span<const V<4>> quads = quads_of(tiles[i], block);
      const std::vector<V<1>> raw = registers_of(quads);
      Elements x = make_elements(k, block.elements);
      if (!is_rotated(plan)) exchange(k, raw);
      unpack(k, raw, x);
      if (is_rotated(plan)) rotate(k, x);
      round_to_codes(k, x, factors[b++], std::span(raw).first(raw.size() / 2));
      k.settle();
      for (int s = 0; s < block.stores(); ++s)
        k.buffer_store_dwordx4(quads[static_cast<std::size_t>(s)], to.offsets[i], to.resource, 0,
                               {.offset = block.first + store_bytes * s, .offen = true});
    }
  }
}

void scale_and_round(Builder& k, const QuantisePlan& plan, const QuantiseArguments& args, const QuantisePlace& place,
                     Label done) {
  const auto scope = k.scope();
  const V<1> largest = k.vgpr("largest |value|"), descale = k.vgpr("descale");
  const WaveRows from = find_rows(k, args, place, args.x), to = find_rows(k, args, place, args.codes);
  std::vector<RawTile> tiles = make_tiles(k, plan);
  std::vector<V<2>> factors;
  for (const Block& block : blocks_of(plan)) factors.push_back(k.vgpr<2>(fmt::format("factor of {}", block.elements)));
  find_largest_of_heads(k, args, place, largest, [&] { load(k, from, tiles); });
  find_largest_of_workgroup(k, place, largest);
  find_descale(k, args, place, largest, descale);
  std::size_t b = 0;
  for (const Block& block : blocks_of(plan)) {
    const V<2> factor = factors[b++];
    k.v_mov_b32(factor[1], std::bit_cast<std::uint32_t>(block.factor));
    divide(k, factor[0], factor[1], descale);
    k.v_mov_b32(factor[1], factor[0]);
  }
  store_codes(k, plan, to, tiles, factors);

  const S<1> first_head = k.sgpr("first head of the scale");
  k.s_mul_i32(first_head, place.scale_head, args.heads_per_scale);
  k.s_cmp_eq_u32(first_head, place.head);
  k.s_cbranch_scc0(done);
  k.s_cmp_eq_u32(place.workgroup, 0);
  k.s_cbranch_scc0(done);
  const S<2> address = args.descale;
  const S<4> strides = k.sgpr<4>("strides of the descale: head batch");
  k.wait(k.s_load_dwordx4(strides, args.kernarg, offsetof(QuantiseKernargs, descale_stride)));
  advance(k, address, place.batch, strides.at<2>(2));
  advance(k, address, place.scale_head, strides.at<2>(0));
  store_one(k, place, descale, address, done);
}

}  // namespace

KernelBody quantise(const QuantisePlan& plan, const isa::Machine& machine) {
  Builder k(machine);
  const S<2> kernarg = k.claim(S<2>{0}, "kernel arguments");
  const S<1> workgroup = k.claim(S<1>{2}, "workgroup x");
  const S<1> head = k.claim(S<1>{3}, "workgroup y: head");
  const S<1> batch = k.claim(S<1>{4}, "workgroup z: batch entry");
  const V<1> work_item = k.claim(V<1>{0}, "work-item");

  const QuantiseArguments args = load_quantise_arguments(k, kernarg);
  const QuantisePlace place = find_quantise_place(k, args, workgroup, head, batch, work_item);
  const Label second = k.label("scale_and_round"), done = k.label("done");
  k.s_cmp_eq_u32(args.phase, 0);
  k.s_cbranch_scc0(second);
  find_maxima(k, plan, args, place, done);
  k.s_branch(done);
  k.bind(second);
  scale_and_round(k, plan, args, place, done);
  k.bind(done);
  k.s_endpgm();
  return k.finish();
}

}  // namespace zyfa::schedules
