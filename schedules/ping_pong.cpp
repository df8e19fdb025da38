// A workgroup of 8 waves holds 256 queries, 32 to a wave, and walks along the keys in tiles of 128. Waves w and w+4
// share a SIMD and take turns: while one multiplies (scores of a tile, output of the tile before), the other makes
// probabilities. Each phase begins with a barrier, so that the matrix pipe goes from one to the other; waves 4 to 7 run
// one phase behind.
//
//   phase        0        1        2        3        4    ...
//   waves 0..3   M        V        M        V        M
//   waves 4..7            M        V        M        V
//                     M of trip t: S(t+1) = K(t+1) Q, O += V(t) P(t); V of trip t: P(t+1) from S(t+1)
//
// Tiles of K and V arrive by LDS-DMA in three buffers. M of trip t sends for K(t+3) and V(t+2), into the buffers of
// K(t) and V(t-1), which both groups have left a phase ago. What it sent for has arrived when V of the same trip ends,
// and the barrier behind that tells the others, two phases before anybody reads it.

#include "schedules/ping_pong.h"

#include "schedules/forked_phase.h"
#include "schedules/matrix_phase.h"
#include "schedules/output.h"
#include "schedules/probabilities.h"
#include "schedules/query_tiles.h"
#include "schedules/softmax_folded.h"

namespace zyfa::schedules {
namespace {

using generator::KernelBody;
using generator::Label;

// Both halves of the keys.
MatrixSteps scores(Builder& k, const Walk& w) {
  return score_steps(k, w.plan, w.tiles, w.scale, 0) + score_steps(k, w.plan, w.tiles, w.scale, 1);
}
MatrixSteps edge_scores(Builder& k, const Walk& w) {
  return edge_score_steps(k, w.plan, w.tiles, w.scale, w.sight, 0) +
         edge_score_steps(k, w.plan, w.tiles, w.scale, w.sight, 1);
}
MatrixSteps outputs(Builder& k, const Walk& w) {
  const auto half = [&](int h) {
    return output_steps(k, w.tiles, w.scale, w.ones, h, free_choices(w.plan).sums_before);
  };
  return half(0) + half(1);
}
MatrixSteps edge_outputs(Builder& k, const Walk& w) {
  const auto half = [&](int h) {
    return edge_output_steps(k, w.tiles, w.scale, w.ones, w.sight, h, free_choices(w.plan).sums_before);
  };
  return half(0) + half(1);
}

Blocks blocks(const Walk& w) { return w.tiles[0].halves; }

// On to the next trip, whose first operands are sent for. Too early, the other wave's reads would keep them out of the
// LDS queue and this wave from its work.
void look_ahead(Builder& k, const Walk& w) {
  const Label last = k.label("no_more_scores");
  if (!free_choices(w.plan).early_step) step_on(k, w);
  k.s_cmp_lt_u32(w.sight.tile_key, w.sight.some);
  k.s_cbranch_scc0(last);
  read_first_fragments(k, w, arrange(k, w, {.scores = scores(k, w), .outputs = outputs(k, w)}).steps);
  k.bind(last);
}

void make_probabilities(Builder& k, const Walk& w, std::optional<V<1>> risen = {}) {
  if (is_folded(w.plan)) return pack_folded(k, blocks(w));
  const auto make = w.plan.config.softmax == generator::Softmax::lean ? lean_probabilities : exact_probabilities;
  make(k, w.scale, blocks(w), {risen, free_choices(w.plan).late_conversions, [&k, &w](std::size_t half) {
                                 if (static_cast<int>(half) == free_choices(w.plan).look_ahead) look_ahead(k, w);
                               }});
}

// The end of a vector phase.
void look_ahead_last(Builder& k, const Walk& w) {
  if (free_choices(w.plan).look_ahead == 2) look_ahead(k, w);
}

// Labels of a vector phase. The way of references that rise stands behind the loop: it is rare.
struct Weighing {
  Label rising, done;
};
Weighing start_weighing(Builder& k) { return {k.label("references_rise"), k.label("weighed")}; }

// What is left of making P for the matrix phase.
Errands late_work(Builder& k, const Walk& w) {
  return late_conversions(k, w.plan.config.softmax, blocks(w), free_choices(w.plan).late_conversions);
}

// P of the first tile.
void weigh_first(Builder& k, const Walk& w) {
  if (is_folded(w.plan)) {
    set_folded_reference(k, w.plan, blocks(w));
  } else {
    find_maxima(k, blocks(w), [] {});
    set_reference(k, w.scale, blocks(w));
    choose_exponents(k, w.scale, blocks(w), w.zero_blocks);
  }
  make_probabilities(k, w);
  look_ahead_last(k, w);
}

// P of any other, while the sums of the tile before are at hand.
void weigh(Builder& k, const Walk& w, const Weighing& phase) {
  if (is_folded(w.plan)) {
    find_overflow(k, blocks(w), phase.rising);
  } else {
    find_maxima(
        k, blocks(w), [&] { add_sums(k, blocks(w)); }, free_choices(w.plan).early_maxima);
    choose_exponents(k, w.scale, blocks(w), w.zero_blocks);
    const auto scope = k.scope();
    S<1> keys = w.sight.tile_key;
    if (free_choices(w.plan).early_step) {
      keys = k.sgpr("first key of the tile weighed");
      k.s_sub_u32(keys, w.sight.tile_key, w.plan.keys_per_tile);
    }
    find_weighty(k, weight_share(k, w.moving, keys), blocks(w), phase.rising);
  }
  make_probabilities(k, w);
  if (const int rest = free_choices(w.plan).folded_rest; is_folded(w.plan) && rest > 0) k.s_sleep(rest);
  k.bind(phase.done);
  look_ahead_last(k, w);
}

// The part of `weigh` that stands elsewhere.
void weigh_rising(Builder& k, const Walk& w, const Weighing& phase) {
  const auto scope = k.scope();
  const V<1> risen = k.vgpr("rise over the reference");
  k.bind(phase.rising);
  const Tile& tile = w.tiles[0];
  const auto shrink_output = [&](V<1> shrink) { scale_output(k, tile.o, shrink); };
  if (is_folded(w.plan)) {
    raise_folded_references(k, w.plan, blocks(w), shrink_output);
  } else {
    find_rise(k, w.scale, blocks(w), risen);
    if (w.zero_blocks) choose_exponents(k, w.scale, blocks(w), w.zero_blocks);
    follow_rise(k, w.scale, tile.halves[0].rows, risen, shrink_output);
    lower_far_scores(k, w.scale, blocks(w), risen);
  }
  make_probabilities(k, w, risen);
  k.s_branch(phase.done);
}

// Blocks that are hidden have no probabilities, either.
MatrixSteps outputs_in_part(Builder& k, const Walk& w) { return w.zero_blocks ? outputs(k, w) : edge_outputs(k, w); }

// Scores of a tile, output of the tile before; hands over to the other wave.
std::optional<ForkedPhase> matrix_phase(Builder& k, const Walk& w, MatrixSteps scores, MatrixSteps outputs,
                                        Errands fetch) {
  if (w.zero_blocks) {
    const ForkedPhase phase = multiply_forked(k, w, scores, outputs, late_work(k, w) + fetch);
    k.s_barrier();
    return phase;
  }
  run(k, w, arrange(k, w, {std::move(scores), std::move(outputs), late_work(k, w), true, std::move(fetch)}), true);
  return {};
}

// Output of the last tile.
void last_outputs(Builder& k, const Walk& w) {
  const Errands fetch = w.plan.config.causal ? fetch_errands(k, w, free_choices(w.plan).fetch_split) : Errands{};
  k.s_barrier();
  if (w.zero_blocks) {
    multiply_output(k, w, outputs(k, w), late_work(k, w), fetch);
  } else {
    const MatrixPhase last = arrange(k, w, {.outputs = edge_outputs(k, w), .late = late_work(k, w), .fetch = fetch});
    read_first_fragments(k, w, last.steps);
    run(k, w, last, false);
  }
  if (!is_folded(w.plan)) add_sums(k, blocks(w));
}

// Trips as long as the tile to score starts below `end`.
void trips(Builder& k, const Walk& w, std::string_view name, S<1> end, MatrixSteps scores, MatrixSteps outputs) {
  const auto scope = k.scope();
  const Weighing phase = start_weighing(k);
  const Label done = k.label(std::string(name) + "_done");
  k.s_cmp_lt_u32(w.sight.tile_key, end);
  k.s_cbranch_scc0(done);
  const Label top = k.here(name);
  k.s_barrier();
  const std::optional<ForkedPhase> forked =
      matrix_phase(k, w, std::move(scores), std::move(outputs), fetch_errands(k, w, free_choices(w.plan).fetch_split));
  weigh(k, w, phase);
  k.s_cmp_lt_u32(w.sight.tile_key, end);
  k.wait(w.arrived);
  k.s_cbranch_scc1(top);
  k.s_branch(done);
  weigh_rising(k, w, phase);
  if (forked) multiply_some(k, w, *forked);
  k.bind(done);
}

// The one tile that a wave without a causal mask may see in part is the sequence's last: nothing is sent for any more.
void last_trip(Builder& k, const Walk& w) {
  const auto scope = k.scope();
  const Weighing phase = start_weighing(k);
  const Label done = k.label("no_tile_in_part");
  k.s_cmp_lt_u32(w.sight.tile_key, w.sight.some);
  k.s_cbranch_scc0(done);
  k.s_barrier();
  const std::optional<ForkedPhase> forked = matrix_phase(k, w, edge_scores(k, w), outputs_in_part(k, w), {});
  weigh(k, w, phase);
  k.s_branch(done);
  weigh_rising(k, w, phase);
  if (forked) multiply_some(k, w, *forked);
  k.bind(done);
}

// The wave's whole way, from its first scores to its last output. It sees the first tile.
void walk_keys(Builder& k, const Walk& w) {
  const MatrixPhase first =
      arrange(k, w, {.scores = edge_scores(k, w), .fetch = fetch_errands(k, w, free_choices(w.plan).fetch_split)});
  k.s_barrier();
  read_first_fragments(k, w, first.steps);
  run(k, w, first, true);
  weigh_first(k, w);
  k.wait(w.arrived);

  trips(k, w, "whole_tiles", w.whole, scores(k, w), outputs(k, w));
  if (w.plan.config.causal)
    trips(k, w, "edge_tiles", w.sight.some, edge_scores(k, w), outputs_in_part(k, w));
  else
    last_trip(k, w);

  last_outputs(k, w);
}

// A barrier for waves 4 to 7 alone, or for the others: the groups' phases are one apart.
void shift_phase(Builder& k, const Place& place, bool late_group) {
  const Label other = k.label("other_group");
  k.s_cmp_lt_u32(place.wave, 4);
  if (late_group)
    k.s_cbranch_scc1(other);
  else
    k.s_cbranch_scc0(other);
  k.s_barrier();
  k.bind(other);
}

Tile start_tile(Builder& k, const AttentionPlan& plan, const ScoreScale& scale, V<64> s, const Queries& q,
                const Limits& limits) {
  const V<16> p = k.vgpr<16>(generator::probability_registers);
  const Tile tile{start_blocks(k, plan, s, p), {k.vgpr<64>("O")},  q, scale.query_factors, limits.row,
                  k.vgpr("K address"),         k.vgpr("V address")};
  start_output(k, tile.o, scale);
  return tile;
}

// Attention of one tile of queries.
void attend(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place, const ScoreScale& scale) {
  const auto scope = k.scope();
  const Limits limits = plan.config.causal ? causal_limits(k, plan, args, place) : full_limits(k, args, place);
  const V<64> s = k.vgpr<64>("S");
  const Queries q = scale.bf16 ? load_bf16_queries(k, plan, args, place, s) : load_queries(k, plan, args, place);
  const Walk w = start_walk(k, plan, args, place, scale, limits, {start_tile(k, plan, scale, s, q, limits)},
                            free_choices(plan).fragments_ahead);
  if (scale.bf16) quantise_queries(k, *scale.bf16, s, q, scale.query_factors);

  const Label blind = k.label("sees_nothing"), seen = k.label("seen_all");
  shift_phase(k, place, true);
  k.s_cmp_eq_u32(limits.wave, 0);
  k.s_cbranch_scc1(blind);
  walk_keys(k, w);
  k.s_branch(seen);
  k.bind(blind);
  k.s_barrier();
  for (const auto& errand : fetch_errands(k, w, free_choices(w.plan).fetch_split)) errand();
  k.bind(seen);
  serve_others(k, w, 2);
  shift_phase(k, place, false);

  const Rows& rows = w.tiles[0].halves[0].rows;
  store_output(k, args, place, w.tiles[0].o, rows);
  if (plan.config.lse) store_lse(k, args, place, rows, scale);
}

}  // namespace

KernelBody ping_pong(const AttentionPlan& plan, const isa::Machine& machine) {
  return attention_kernel(plan, machine,
                          [&plan](Builder& k, const Arguments& args, const Place& place, const ScoreScale& scale) {
                            attend(k, plan, args, place, scale);
                          });
}

}  // namespace zyfa::schedules
