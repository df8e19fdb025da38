// A workgroup of 8 waves holds 256 queries, 32 to a wave, and walks along the keys in tiles of 128. K and V tiles are
// shared in LDS, two deep: tile t+1 arrives by LDS-DMA while tile t is scored, turned into probabilities and multiplied
// into the output. One barrier per tile says both that tile t has arrived for all and that nobody reads tile t-1 any
// more.

#include "schedules/attention_forward.h"

#include "schedules/limits.h"
#include "schedules/output.h"
#include "schedules/tiles.h"

#include <array>

namespace zyfa::schedules {
namespace {

using generator::Arrival;
using generator::KernelBody;
using generator::Label;

// Everything of the walk along the keys that lives from tile to tile.
struct Walk {
  TileSource keys, values;
  V<1> key_lanes, value_lanes;  // LDS read addresses relative to a buffer
  S<1> buffer;                  // LDS offset of the present tile's buffer, bytes
  S<1> key;                     // first key of the present tile
  Arrival tile;                 // the present tile's LDS-DMA
  V<32> fragments;              // four matrix operands on their way from LDS
};

// Runs `multiply` over `count` matrix operands read from LDS by `read`, reads staying four operands ahead.
template <class Read, class Multiply>
void stream_fragments(Builder& k, V<32> fragments, int count, Read read, Multiply multiply) {
  constexpr int ahead = 4;
  std::array<Token, ahead> arriving;
  for (int i = 0; i < count + ahead; ++i) {
    const auto slot = static_cast<std::size_t>(i % ahead);
    const V<8> fragment = fragments.at<8>(8 * (i % ahead));
    if (i >= ahead) {
      k.wait(arriving[slot]);
      multiply(i - ahead, fragment);
    }
    if (i < count) arriving[slot] = read(i, fragment);
  }
}

// S^T = K Q^T: 128 keys x 32 queries, four blocks of 32 keys, each over two halves of the head dim.
void scores(Builder& k, const Walk& walk, V<64> s, V<16> q) {
  const auto scope = k.scope();
  const V<1> address = k.vgpr("K address in the buffer");
  k.v_add_u32(address, walk.buffer, walk.key_lanes);
  stream_fragments(
      k, walk.fragments, 8, [&](int i, V<8> fragment) { return key_fragment(k, fragment, address, i / 2, i % 2); },
      [&](int i, V<8> fragment) {
        const V<16> block = s.at<16>(16 * (i / 2));
        if (i % 2 == 0)
          k.v_mfma_f32_32x32x64_f8f6f4(block, fragment, q.at<8>(0), 0.0f);
        else
          k.v_mfma_f32_32x32x64_f8f6f4(block, fragment, q.at<8>(8), block);
      });
}

// O^T += V^T P^T, and the probabilities' sum: four blocks of 32 value elements, each over two halves of the keys.
void output(Builder& k, const Walk& walk, V<64> o, V<16> p, const RowState& rows, V<8> ones) {
  const auto scope = k.scope();
  const V<1> address = k.vgpr("V address in the buffer");
  k.v_add_u32(address, walk.buffer, walk.value_lanes);
  stream_fragments(
      k, walk.fragments, 8, [&](int i, V<8> fragment) { return value_fragment(k, fragment, address, i % 4, i / 4); },
      [&](int i, V<8> fragment) {
        const V<8> keys64 = p.at<8>(8 * (i / 4));
        const V<16> block = o.at<16>(16 * (i % 4));
        k.v_mfma_f32_32x32x64_f8f6f4(block, fragment, keys64, block);
        if (i % 4 == 3) add_to_total(k, rows, ones, keys64);
      });
}

// Requests the tile that starts at `next` into the buffer that is not being read, if the workgroup needs it.
void fetch_next(Builder& k, const AttentionPlan& plan, const Arguments& args, const Walk& walk, S<1> next, S<1> end) {
  const auto scope = k.scope();
  const Label last = k.label("no_next_tile");
  const S<1> buffer = k.sgpr("the other buffer"), rows = k.sgpr("rows left");
  k.s_cmp_lt_u32(next, end);
  k.s_cbranch_scc0(last);
  k.s_sub_u32(buffer, plan.lds.buffer_stride, walk.buffer);
  k.s_sub_u32(rows, args.seqlen_k, next);
  k.join(walk.tile, fetch_tile(k, plan, walk.keys, buffer, rows));
  k.join(walk.tile, fetch_tile(k, plan, walk.values, buffer, rows));
  k.bind(last);
}

// Visits the tiles from the present one on that start below `end`. For each: waits for it, lets the other waves catch
// up, sends for the next one, does `work` and steps on.
template <class Work>
void for_tiles(Builder& k, const AttentionPlan& plan, const Arguments& args, const Walk& walk, std::string_view name,
               S<1> end, S<1> workgroup_end, Work work) {
  const auto scope = k.scope();
  const S<1> next = k.sgpr("first key of the next tile");
  const Label done = k.label(std::string(name) + "_done");
  const Label top = k.here(name);
  k.s_cmp_lt_u32(walk.key, end);
  k.s_cbranch_scc0(done);
  k.wait(walk.tile);
  k.s_barrier();
  k.s_add_u32(next, walk.key, plan.keys_per_tile);
  fetch_next(k, plan, args, walk, next, workgroup_end);
  work();
  k.s_mov_b32(walk.key, next);
  k.s_sub_u32(walk.buffer, plan.lds.buffer_stride, walk.buffer);
  k.s_branch(top);
  k.bind(done);
}

Walk start_walk(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place, S<1> workgroup_end) {
  Walk walk{key_source(k, plan, args, place),
            value_source(k, plan, args, place),
            key_read_address(k, plan, place),
            value_read_address(k, plan, place),
            k.sgpr("LDS buffer"),
            k.sgpr("first key of the tile"),
            k.arrival(),
            k.vgpr<32>("K and V fragments")};
  // As if the tile before the first lay in the second buffer.
  k.s_mov_b32(walk.key, 0);
  k.s_mov_b32(walk.buffer, plan.lds.buffer_stride);
  fetch_next(k, plan, args, walk, walk.key, workgroup_end);
  k.s_mov_b32(walk.buffer, 0);
  return walk;
}

}  // namespace

KernelBody attention_forward_hd128(const AttentionPlan& plan, const isa::Machine& machine) {
  Builder k(machine);
  const S<2> kernarg = k.claim(S<2>{0}, "kernel arguments");
  const S<1> tile = k.claim(S<1>{2}, "workgroup x: tile of queries");
  const S<1> head = k.claim(S<1>{3}, "workgroup y: query head");
  const S<1> batch = k.claim(S<1>{4}, "workgroup z: batch entry");
  const V<1> work_item = k.claim(V<1>{0}, "work-item");

  const Arguments args = load_arguments(k, kernarg);
  const Place place = find_place(k, plan, args, tile, head, batch, work_item);
  const Limits limits = plan.config.causal ? causal_limits(k, plan, args, place) : full_limits(k, plan, args, place);
  const Walk walk = start_walk(k, plan, args, place, limits.workgroup);
  const S<1> factor = exponent_factor(k, args, place);
  const Queries q = load_queries(k, plan, args, place);
  k.join(walk.tile, q.loaded);  // first needed where the first tile is
  const V<8> ones = ones_operand(k, place);
  const RowState rows = start_rows(k, plan.config.lse);
  const V<64> o = k.vgpr<64>("O"), s = k.vgpr<64>("S, then P");
  for (int i = 0; i < 64; ++i) k.v_mov_b32(o[i], 0);

  const auto attend = [&](auto mask) {
    scores(k, walk, s, q.codes);
    mask();
    raise_maximum(k, s, rows, o, factor);
    const V<16> p = probabilities(k, s, rows, factor, plan.lift_log2);
    output(k, walk, o, p, rows, ones);
  };
  for_tiles(k, plan, args, walk, "full_tiles", limits.full, limits.workgroup, [&] { attend([] {}); });
  for_tiles(k, plan, args, walk, "edge_tiles", limits.wave, limits.workgroup,
            [&] { attend([&] { mask_scores(k, s, limits.row, walk.key, place.lane); }); });
  for_tiles(k, plan, args, walk, "tiles_of_other_waves", limits.workgroup, limits.workgroup, [] {});

  store_output(k, plan, args, place, o, rows);
  if (plan.config.lse) store_lse(k, plan, args, place, rows, factor);
  k.s_endpgm();
  return k.finish();
}

}  // namespace zyfa::schedules
