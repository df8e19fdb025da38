// A workgroup of 4 waves holds 256 queries, 64 to a wave, and walks along the keys in tiles of 128. A wave has its SIMD
// and 512 registers to itself: what it reads from LDS serves two tiles of 32 queries, so it reads half as many bytes as
// the ping-pong for the same products. With nobody else on the SIMD the wave itself keeps both pipes busy: its stream
// is woven of the products of 64 keys and the probabilities of 64 others.
//
//   trip t    matrix pipe                                       vector ALU
//   step 0    S(t+1) of keys 0..63,   O += V(t) P(t) of those   P(t)   of keys 64..127
//   step 1    S(t+1) of keys 64..127, O += V(t) P(t) of those   P(t+1) of keys 0..63
//
// Tiles of K and V come as in the ping-pong (walk.h): trip t sends for K(t+3) and V(t+2), which have arrived when it
// ends, and the barrier at the head of the next trip tells the other waves.

#include "schedules/interleaved.h"

#include "schedules/output.h"
#include "schedules/probabilities.h"
#include "schedules/query_tiles.h"
#include "schedules/softmax_folded.h"
#include "schedules/weave.h"

namespace zyfa::schedules {
namespace {

using generator::KernelBody;
using generator::Label;
using generator::Strand;

void make_probabilities(Builder& k, const Walk& w, Blocks blocks) {
  if (is_folded(w.plan))
    pack_folded(k, blocks);
  else
    lean_probabilities(k, w.scale, blocks, {});
}

// Of a step: where references rise. That way stands behind the loop: it is rare, and not woven.
struct Rise {
  Label rising, done;
  std::size_t multiplied = 0;   // matrix instructions of the step before the branch
  std::vector<Token> arriving;  // operands that the step has sent for by then
};

std::vector<Block> half_blocks(const Walk& w, int half) {
  std::vector<Block> both;
  for (const Tile& tile : w.tiles) both.push_back(tile.halves[static_cast<std::size_t>(half)]);
  return both;
}

// Scores that the step has made, of keys that are not weighed yet.
std::vector<V<32>> scored_ahead(const Tile& tile, const Step& step) {
  if (!step.scores) return {};
  return {tile.halves[static_cast<std::size_t>(step.half)].s};
}

// P of these blocks, with sums of theirs that are at hand added first. Goes to `rising` where references rise; returns
// which instruction does.
std::size_t weigh(Builder& k, const Walk& w, Blocks blocks, Label rising) {
  const std::size_t start = k.code().size();
  if (is_folded(w.plan)) {
    find_overflow(k, blocks, rising);
  } else {
    const S<1> share = weight_share(k, w.moving, w.sight.tile_key);  // before the step's last piece goes on
    find_maxima(k, blocks, [&] { add_sums(k, blocks); });
    choose_exponents(k, w.scale, blocks);
    find_weighty(k, share, blocks, rising);
  }
  const std::size_t branch = k.code().size() - start - 1;
  make_probabilities(k, w, blocks);
  return branch;
}

Rise weave_step(Builder& k, const Walk& w, const Step& step) {
  const auto scope = k.scope();
  Rise rise{k.label("references_rise"), k.label("weighed"), 0, {}};
  const std::vector<Block> weighed = half_blocks(w, 1 - step.half);
  std::size_t branch = 0;
  const Strand strand = k.aside([&] { branch = weigh(k, w, weighed, rise.rising); });
  std::vector<Token> arriving(step.matrix.size());
  weave_under(k, w, step, strand, 0, arriving, [&](std::size_t i, std::size_t issued) {
    if (i != branch) return;
    rise.multiplied = issued;
    rise.arriving = arriving;
  });
  k.bind(rise.done);
  return rise;
}

// References of blocks[i]'s rows rise, and the blocks become P. The rest of the step's products are those with the old
// references: they come to an end before output and totals follow.
void raise_lean(Builder& k, const Walk& w, const Step& step, Rise& rise, Blocks blocks) {
  std::vector<V<1>> risen;
  for (std::size_t i = 0; i < blocks.size(); ++i) risen.push_back(k.vgpr("rise over the reference"));
  {
    const auto inner = k.scope();
    const Strand strand = k.aside([&] {
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        find_rise(k, w.scale, blocks.subspan(i, 1), risen[i]);
        lower_scores(k, blocks[i].s, risen[i]);
      }
      make_probabilities(k, w, blocks);
    });
    weave_under(k, w, step, strand, rise.multiplied, rise.arriving);
  }
  add_sums(k, half_blocks(w, step.half));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Tile& tile = w.tiles[i];
    const Label stay = k.label("references_stay");
    k.v_cmp_lt_f32(isa::vcc, 0.0f, risen[i]);
    k.s_cbranch_vccz(stay);
    follow_rise(k, w.scale, blocks[i].rows, risen[i], [&](V<1> shrink) { scale_output(k, tile.o, shrink); });
    for (const V<32> s : scored_ahead(tile, step)) lower_scores(k, s, risen[i]);
    k.bind(stay);
  }
}
void raise_folded(Builder& k, const Walk& w, const Step& step, Rise& rise, Blocks blocks) {
  weave_under(k, w, step, {}, rise.multiplied, rise.arriving);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Tile& tile = w.tiles[i];
    raise_folded_references(
        k, w.plan, blocks.subspan(i, 1), [&](V<1> shrink) { scale_output(k, tile.o, shrink); },
        scored_ahead(tile, step));
  }
  make_probabilities(k, w, blocks);
}

// The rest of the step where references rise.
void raise(Builder& k, const Walk& w, const Step& step, Rise rise) {
  const auto scope = k.scope();
  const std::vector<Block> weighed = half_blocks(w, 1 - step.half);
  k.bind(rise.rising);
  (is_folded(w.plan) ? raise_folded : raise_lean)(k, w, step, rise, weighed);
  k.s_branch(rise.done);
}

struct Products {
  MatrixSteps scores, outputs;
};
Products whole_products(Builder& k, const Walk& w, int half) {
  return {score_steps(k, w.plan, w.tiles, w.scale, half), output_steps(k, w.tiles, w.scale, w.ones, half)};
}
Products edge_products(Builder& k, const Walk& w, int half) {
  return {edge_score_steps(k, w.plan, w.tiles, w.scale, w.sight, half),
          edge_output_steps(k, w.tiles, w.scale, w.ones, w.sight, half)};
}

// P of the first tile's first half. The references come from both halves.
void weigh_first(Builder& k, const Walk& w) {
  for (const Tile& tile : w.tiles) {
    if (is_folded(w.plan)) {
      set_folded_reference(k, w.plan, tile.halves);
    } else {
      find_maxima(k, tile.halves, [] {});
      set_reference(k, w.scale, tile.halves);
    }
  }
  if (!is_folded(w.plan)) choose_exponents(k, w.scale, half_blocks(w, 0));
  make_probabilities(k, w, half_blocks(w, 0));
}

// Trips as long as the tile to score starts below `end`.
void trips(Builder& k, const Walk& w, std::string_view name, S<1> end, const std::array<Products, 2>& products) {
  const auto scope = k.scope();
  const V<1> ahead = k.vgpr("K address of the next trip");
  std::vector<Tile> next_tiles = w.tiles;
  next_tiles[0].key_address = ahead;
  const Step first{0, products[0].scores + products[0].outputs, true, fetch_pieces(k, w), products[1].scores, 0};
  const MatrixSteps second_products = products[1].scores + products[1].outputs;
  Pieces second_pieces = next_key_address(k, w, ahead);
  const Pieces last_pieces = step_on_pieces(k, w);
  second_pieces.resize(second_products.size() * w.tiles.size() - last_pieces.size());
  const Step second{1,
                    second_products,
                    true,
                    second_pieces + last_pieces,
                    score_steps(k, w.plan, next_tiles, w.scale, 0),
                    first.matrix.size()};
  const Label done = k.label(std::string(name) + "_done");
  k.s_cmp_lt_u32(w.sight.tile_key, end);
  k.s_cbranch_scc0(done);
  const Label top = k.here(name);
  k.s_barrier();
  const Rise first_rise = weave_step(k, w, first);
  const Rise second_rise = weave_step(k, w, second);
  k.s_cmp_lt_u32(w.sight.tile_key, end);
  k.wait(w.arrived);
  k.s_cbranch_scc1(top);
  k.s_branch(done);
  raise(k, w, first, first_rise);
  raise(k, w, second, second_rise);
  k.bind(done);
}

// The last tile's second half becomes P, both halves become output.
void finish(Builder& k, const Walk& w, const std::array<Products, 2>& products) {
  const Step step{0, products[0].outputs, false, {}, products[1].outputs, 0};
  const Label done = k.label("output_done");
  k.wait(w.first_fragments.back());  // LDS answers in order; what was read ahead may be overwritten from the barrier on
  k.s_barrier();
  read_first_fragments(k, w, step.matrix);
  if (w.plan.config.causal)
    for (const auto& errand : fetch_errands(k, w)) errand();
  const Rise rise = weave_step(k, w, step);
  multiply(k, w, products[1].outputs, {});
  if (!is_folded(w.plan))
    for (int half = 0; half < 2; ++half) add_sums(k, half_blocks(w, half));
  k.s_branch(done);
  raise(k, w, step, rise);
  k.bind(done);
}

// The wave's whole way, from its first scores to its last output. It sees the first tile.
void walk_keys(Builder& k, const Walk& w) {
  const std::array<Products, 2> whole{whole_products(k, w, 0), whole_products(k, w, 1)},
      edge{edge_products(k, w, 0), edge_products(k, w, 1)};
  const Label alone = k.label("no_second_tile");
  k.s_barrier();
  const MatrixSteps first = edge[0].scores + edge[1].scores;
  read_first_fragments(k, w, first);
  multiply(k, w, first, after_each(fetch_errands(k, w)));
  weigh_first(k, w);
  step_on(k, w);
  k.wait(w.arrived);
  k.s_cmp_lt_u32(w.sight.tile_key, w.sight.some);
  k.s_cbranch_scc0(alone);
  read_first_fragments(k, w, whole[0].scores);
  trips(k, w, "whole_tiles", w.whole, whole);
  trips(k, w, "edge_tiles", w.sight.some, edge);
  k.bind(alone);
  finish(k, w, edge);
}

// Attention of one tile of queries.
void attend(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place, const ScoreScale& scale) {
  const auto scope = k.scope();
  std::array<Place, 2> places{place, place};
  places[1].first_query = k.sgpr("first of the wave's second 32 queries");
  k.s_add_u32(places[1].first_query, place.first_query, matrix_queries);
  const Limits limits = plan.config.causal ? causal_limits(k, plan, args, place) : full_limits(k, args, place);
  std::array<V<1>, 2> row{limits.row, k.vgpr("keys that the lane's second row sees")};
  k.v_add_u32(row[1], matrix_queries, row[0]);
  k.v_min_i32(row[1], args.seqlen_k, row[1]);
  const V<1> key_address = k.vgpr("K address"), value_address = k.vgpr("V address");
  std::vector<Tile> tiles;
  for (std::size_t i = 0; i < 2; ++i) {
    const V<64> s = k.vgpr<64>("S");
    const Queries q =
        scale.bf16 ? load_bf16_queries(k, plan, args, places[i], s) : load_queries(k, plan, args, places[i]);
    const V<1> factors = scale.bf16 && i > 0 ? k.vgpr("E8M0 factor of the second 32 queries") : scale.query_factors;
    const V<16> p = k.vgpr<16>(generator::probability_registers);
    tiles.push_back({start_blocks(k, plan, s, p), {k.agpr<64>("O")}, q, factors, row[i], key_address, value_address});
    start_output(k, tiles[i].o, scale);
  }
  // Ahead of the walk, which leaves no registers for it.
  if (scale.bf16)
    for (const Tile& tile : tiles) {
      k.wait(tile.q.loaded);
      quantise_queries(k, *scale.bf16, V<64>{tile.halves[0].s.first}, tile.q, tile.query_factors);
    }
  {
    const auto inner = k.scope();
    const Walk w = start_walk(k, plan, args, place, scale, limits, tiles);
    const Label blind = k.label("sees_nothing"), seen = k.label("seen_all");
    k.s_cmp_eq_u32(limits.wave, 0);
    k.s_cbranch_scc1(blind);
    walk_keys(k, w);
    k.s_branch(seen);
    k.bind(blind);
    k.s_barrier();
    for (const auto& errand : fetch_errands(k, w)) errand();
    k.bind(seen);
    serve_others(k, w, 1);
  }
  for (std::size_t i = 0; i < 2; ++i) store_output(k, args, places[i], tiles[i].o, tiles[i].halves[0].rows);
  if (!plan.config.lse) return;
  for (std::size_t i = 0; i < 2; ++i) {
    k.s_mov_b64(isa::exec, -1);
    store_lse(k, args, places[i], tiles[i].halves[0].rows, scale);
  }
}

}  // namespace

KernelBody interleaved(const AttentionPlan& plan, const isa::Machine& machine) {
  return attention_kernel(plan, machine,
                          [&plan](Builder& k, const Arguments& args, const Place& place, const ScoreScale& scale) {
                            attend(k, plan, args, place, scale);
                          });
}

}  // namespace zyfa::schedules
