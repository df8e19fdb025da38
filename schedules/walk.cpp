#include "schedules/walk.h"

namespace zyfa::schedules {
namespace {

using generator::Label;

// to = LDS offset of the buffer that holds neither tile t+1 nor tile t.
void third_buffer(Builder& k, const Walk& w, S<1> to) {
  k.s_sub_u32(to, 3 * w.plan.lds.buffer_stride, w.scored_buffer);
  k.s_sub_u32(to, to, w.weighed_buffer);
}

// The tile that starts `keys_on` behind tile t+1 is the next of its source; these two send for it.
void bound_next(Builder& k, const Walk& w, const TileSource& source, int keys_on) {
  const auto scope = k.scope();
  const S<1> rows = k.sgpr("rows left");
  k.s_sub_u32(rows, w.args.seqlen_k, w.sight.tile_key);
  k.s_sub_u32(rows, rows, keys_on);
  bound_tile(k, w.plan, source, rows);
}
void fetch_next(Builder& k, const Walk& w, const TileSource& source, int keys_on, S<1> buffer) {
  const auto scope = k.scope();
  const S<1> key = k.sgpr("first key of the tile sent for");
  const Label unneeded = k.label("tile_unneeded");
  k.s_add_u32(key, w.sight.tile_key, keys_on);
  k.s_cmp_lt_u32(key, w.limits.workgroup);
  k.s_cbranch_scc0(unneeded);
  k.join(w.arrived, fetch_tile(k, source, buffer));
  k.bind(unneeded);
}

}  // namespace

void fetch_first_tiles(Builder& k, const Walk& w) {
  const auto scope = k.scope();
  const S<1> second = k.sgpr("buffer of tile 1");
  third_buffer(k, w, second);
  const auto fetch = [&](const TileSource& source, int keys_on, S<1> buffer) {
    bound_next(k, w, source, keys_on);
    fetch_next(k, w, source, keys_on, buffer);
    next_tile(k, source);
  };
  fetch(w.keys, 0, w.scored_buffer);
  fetch(w.values, 0, w.scored_buffer);
  fetch(w.keys, w.plan.keys_per_tile, second);
}

Errands fetch_errands(Builder& k, const Walk& w) {
  const int keys_on = 2 * w.plan.keys_per_tile, values_on = w.plan.keys_per_tile;
  return {[&k, &w, keys_on] { bound_next(k, w, w.keys, keys_on); },
          [&k, &w, keys_on] { fetch_next(k, w, w.keys, keys_on, w.weighed_buffer); },
          [&k, &w] { next_tile(k, w.keys); },
          [&k, &w, values_on] { bound_next(k, w, w.values, values_on); },
          [&k, &w, values_on] {
            const auto scope = k.scope();
            const S<1> buffer = k.sgpr("third buffer");
            third_buffer(k, w, buffer);
            fetch_next(k, w, w.values, values_on, buffer);
          },
          [&k, &w] { next_tile(k, w.values); }};
}

void step_on(Builder& k, const Walk& w) {
  const auto scope = k.scope();
  const S<1> next = k.sgpr("next buffer");
  third_buffer(k, w, next);
  k.s_mov_b32(w.weighed_buffer, w.scored_buffer);
  k.s_mov_b32(w.scored_buffer, next);
  k.s_add_u32(w.sight.tile_key, w.sight.tile_key, w.plan.keys_per_tile);
  k.v_add_u32(w.tiles[0].key_address, w.scored_buffer, w.key_lanes);
  k.v_add_u32(w.tiles[0].value_address, w.weighed_buffer, w.value_lanes);
}

}  // namespace zyfa::schedules
