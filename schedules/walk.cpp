#include "schedules/walk.h"

#include <limits>

namespace zyfa::schedules {
namespace {

using generator::Label;

// to = LDS offset of the buffer that holds neither tile t+1 nor tile t.
void third_buffer(Builder& k, const Walk& w, S<1> to) {
  k.s_sub_u32(to, 3 * w.plan.lds.buffer_stride, w.scored_buffer);
  k.s_sub_u32(to, to, w.weighed_buffer);
}

// The tile that starts `keys_on` behind tile t+1 is the next of its source; these two send for it, the second for the
// slices from `first` to `end` - 1.
void bound_next(Builder& k, const Walk& w, const TileSource& source, int keys_on) {
  const auto scope = k.scope();
  const S<1> rows = k.sgpr("rows left");
  k.s_sub_u32(rows, w.args.seqlen_k, w.sight.tile_key);
  k.s_sub_u32(rows, rows, keys_on);
  bound_tile(k, w.plan, source, rows);
}
void fetch_next(Builder& k, const Walk& w, const TileSource& source, int keys_on, S<1> buffer, std::size_t first,
                std::size_t end) {
  const auto scope = k.scope();
  const S<1> key = k.sgpr("first key of the tile sent for");
  const Label unneeded = k.label("tile_unneeded");
  k.s_add_u32(key, w.sight.tile_key, keys_on);
  k.s_cmp_lt_u32(key, w.limits.workgroup);
  k.s_cbranch_scc0(unneeded);
  k.join(w.arrived, fetch_slices(k, source, buffer, first, end));
  k.bind(unneeded);
}

// Sends for tile 0 and the keys of tile 1, before the first trip. Tiles that the workgroup does not need are left out.
void fetch_first_tiles(Builder& k, const Walk& w) {
  const auto scope = k.scope();
  const S<1> second = k.sgpr("buffer of tile 1");
  third_buffer(k, w, second);
  const auto fetch = [&](const TileSource& source, int keys_on, S<1> buffer) {
    bound_next(k, w, source, keys_on);
    fetch_next(k, w, source, keys_on, buffer, 0, source.slices.size());
    next_tile(k, source);
  };
  fetch(w.keys, 0, w.scored_buffer);
  fetch(w.values, 0, w.scored_buffer);
  fetch(w.keys, w.plan.keys_per_tile, second);
}

}  // namespace

Walk start_walk(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place,
                const ScoreScale& scale, const Limits& limits, const std::vector<Tile>& tiles, std::size_t fragments) {
  Walk w{plan,
         args,
         limits,
         key_source(k, plan, args, place),
         value_source(k, plan, args, place),
         tiles,
         scale,
         start_moving(k, plan, limits.wave),
         make_ones(k, place),
         {k.sgpr("first key of the tile"), limits.all, limits.wave, place.lane},
         key_read_address(k, plan, place),
         value_read_address(k, plan, place),
         k.sgpr("LDS buffer of the tile"),
         k.sgpr("LDS buffer of the tile before"),
         k.sgpr("keys of tiles seen whole"),
         k.arrival(),
         {},
         {},
         plan.config.skip_zero_blocks ? std::optional(k.sgpr("blocks without a probability")) : std::nullopt};
  for (std::size_t i = 0; i < fragments; ++i) {
    w.fragments.push_back(k.agpr<8>("K or V fragment"));
    w.first_fragments.push_back(k.arrival());
  }
  k.s_and_b32(w.whole, limits.all, -plan.keys_per_tile);
  k.s_mov_b32(w.sight.tile_key, 0);
  k.s_mov_b32(w.scored_buffer, 0);
  k.s_mov_b32(w.weighed_buffer, 2 * plan.lds.buffer_stride);
  k.v_mov_b32(w.tiles[0].key_address, w.key_lanes);
  for (const Tile& tile : tiles) k.join(w.arrived, tile.q.loaded);
  fetch_first_tiles(k, w);
  k.wait(w.arrived);
  return w;
}

Errands fetch_errands(Builder& k, const Walk& w, bool split) {
  Errands list;
  // `with_buffer` calls what it is given with the LDS buffer that the tile goes to.
  const auto add = [&](const TileSource& source, int keys_on, auto with_buffer) {
    const std::size_t slices = source.slices.size();
    const std::size_t at_once = split ? 1 : slices;
    list.push_back([&k, &w, &source, keys_on] { bound_next(k, w, source, keys_on); });
    for (std::size_t first = 0; first < slices; first += at_once)
      list.push_back([&k, &w, &source, keys_on, with_buffer, first, end = first + at_once] {
        with_buffer([&](S<1> buffer) { fetch_next(k, w, source, keys_on, buffer, first, end); });
      });
    list.push_back([&k, &source] { next_tile(k, source); });
  };
  add(w.keys, 2 * w.plan.keys_per_tile, [&w](auto fetch) { fetch(w.weighed_buffer); });
  add(w.values, w.plan.keys_per_tile, [&k, &w](auto fetch) {
    const auto scope = k.scope();
    const S<1> buffer = k.sgpr("third buffer");
    third_buffer(k, w, buffer);
    fetch(buffer);
  });
  return list;
}

Pieces fetch_pieces(Builder& k, const Walk& w) {
  Pieces pieces;
  const S<1> rows = k.sgpr("rows left"), key = k.sgpr("first key of the tile sent for");
  const auto fetch = [&](const TileSource& source, int keys_on, auto buffer) {
    pieces.push_back({[&k, &w, rows, keys_on] {
                        k.s_sub_u32(rows, w.args.seqlen_k, w.sight.tile_key);
                        k.s_sub_u32(rows, rows, keys_on);
                        k.s_min_u32(rows, rows, w.plan.keys_per_tile);
                      },
                      {}});
    pieces.push_back({[&k, &w, rows, key, keys_on] {
                        k.s_add_u32(key, w.sight.tile_key, keys_on);
                        k.s_cmp_lt_u32(key, w.limits.workgroup);
                        k.s_cselect_b32(rows, rows, 0);
                      },
                      {}});
    pieces.push_back({[&k, &source, rows, key, buffer] {
                        k.s_mul_i32(source.resource[2], rows, source.row_stride);
                        buffer(key);
                      },
                      {}});
    for (std::size_t i = 0; i < source.slices.size(); ++i)
      pieces.push_back({[&k, &source, key, i] { address_slice(k, source, key, i); },
                        [&k, &w, &source, i] { k.join(w.arrived, fetch_slice(k, source, i)); }});
    pieces.push_back({[&k, &source] { next_tile(k, source); }, {}});
  };
  fetch(w.keys, 2 * w.plan.keys_per_tile, [&k, &w](S<1> to) { k.s_mov_b32(to, w.weighed_buffer); });
  fetch(w.values, w.plan.keys_per_tile, [&k, &w](S<1> to) { third_buffer(k, w, to); });
  return pieces;
}

Pieces next_key_address(Builder& k, const Walk& w, V<1> address) {
  const S<1> next = k.sgpr("next buffer"), key = k.sgpr("first key of the next tile");
  return {{[&k, &w, next] { third_buffer(k, w, next); }, {}},
          {[&k, &w, next, key] {
             k.s_add_u32(key, w.sight.tile_key, w.plan.keys_per_tile);
             k.s_cmp_lt_u32(key, w.sight.some);
             k.s_cselect_b32(next, next, w.scored_buffer);
           },
           [&k, &w, next, address] { k.v_add_u32(address, next, w.key_lanes); }}};
}

Pieces step_on_pieces(Builder& k, const Walk& w) {
  const S<1> next = k.sgpr("next buffer");
  return {{[&k, &w, next] {
             third_buffer(k, w, next);
             k.s_mov_b32(w.weighed_buffer, w.scored_buffer);
           },
           {}},
          {[&k, &w, next] {
             k.s_mov_b32(w.scored_buffer, next);
             k.s_add_u32(w.sight.tile_key, w.sight.tile_key, w.plan.keys_per_tile);
           },
           [&k, &w] {
             k.v_add_u32(w.tiles[0].key_address, w.scored_buffer, w.key_lanes);
             k.v_add_u32(w.tiles[0].value_address, w.weighed_buffer, w.value_lanes);
           }}};
}

void step_on(Builder& k, const Walk& w) {
  const auto scope = k.scope();
  for (const Piece& piece : step_on_pieces(k, w)) {
    piece.scalar();
    if (piece.memory) piece.memory();
  }
}

void serve_others(Builder& k, const Walk& w, int barriers_a_trip) {
  const Label done = k.label("served_others");
  k.s_cmp_lt_u32(w.sight.tile_key, w.limits.workgroup);
  k.s_cbranch_scc0(done);
  const Label top = k.here("tiles_of_other_waves");
  for (int i = 1; i < barriers_a_trip; ++i) k.s_barrier();
  step_on(k, w);
  k.wait(w.arrived);
  k.s_barrier();
  for (const auto& errand : fetch_errands(k, w)) errand();
  k.s_cmp_lt_u32(w.sight.tile_key, w.limits.workgroup);
  k.s_cbranch_scc1(top);
  k.bind(done);
}

void read_first_fragments(Builder& k, const Walk& w, const MatrixSteps& steps) {
  for (std::size_t i = 0; i < w.fragments.size(); ++i) k.join(w.first_fragments[i], steps[i].read(w.fragment(i)));
}

std::vector<Errand> after_each(const Errands& list) {
  std::vector<Errand> errands;
  for (std::size_t i = 0; i < list.size(); ++i) errands.push_back({i + 1, list[i]});
  return errands;
}

void multiply(Builder& k, const Walk& w, const MatrixSteps& steps, const std::vector<Errand>& errands,
              const Course& course) {
  const std::size_t n = steps.size(), ahead = w.fragments.size();
  // The barrier stands before this step. All operands have come then: behind it LDS may be written again.
  const std::size_t over = n - (course.barrier ? course.hand_over : 0);
  std::vector<Token> arriving(n);
  auto errand = errands.begin();
  const auto run_errands = [&](std::size_t before) {
    const auto first = errand;
    for (; errand != errands.end() && errand->before <= before; ++errand) errand->run();
    if (errand != first) k.settle();
  };
  if (course.priority > 0) k.s_setprio(course.priority);
  for (std::size_t i = 0; i < n; ++i) {
    run_errands(i);
    if (i == over) {
      Token rest;
      for (std::size_t left = over; left < n; ++left) rest |= arriving[left];
      k.wait(rest);
      k.s_setprio(course.priority + 1);  // ahead of the other wave's
      k.s_barrier();
    }
    if (i < ahead)
      k.wait(w.first_fragments[i]);
    else if (i < over)
      k.wait(arriving[i]);
    for (const auto& multiply_tile : steps[i].multiply) multiply_tile(w.fragment(i));
    if (const std::size_t next = i + ahead; next < n) arriving[next] = steps[next].read(w.fragment(next));
  }
  run_errands(std::numeric_limits<std::size_t>::max());
  if (course.priority > 0 || over < n) k.s_setprio(0);
  if (course.barrier && over == n) k.s_barrier();
}

}  // namespace zyfa::schedules
