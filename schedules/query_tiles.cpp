#include "schedules/query_tiles.h"

#include "schedules/softmax_folded.h"

#include <bit>

namespace zyfa::schedules {
namespace {

using generator::Label;

// tile = n - 1 - tile, n being the number of tiles of queries.
void count_from_behind(Builder& k, const AttentionPlan& plan, const Arguments& args, S<1> tile) {
  const auto scope = k.scope();
  const S<1> t = k.sgpr("tiles of queries");
  k.s_add_u32(t, args.seqlen_q, plan.queries_per_tile() - 1);
  k.s_lshr_b32(t, t, std::countr_zero(static_cast<unsigned>(plan.queries_per_tile())));
  k.s_sub_u32(t, t, 1);
  k.s_sub_u32(tile, t, tile);
}

}  // namespace

generator::KernelBody attention_kernel(const AttentionPlan& plan, const isa::Machine& machine, const Attend& attend) {
  Builder k(machine);
  const S<2> kernarg = k.claim(S<2>{0}, "kernel arguments");
  const S<1> tile = k.claim(S<1>{2}, "workgroup x, then tile of queries");
  const S<1> head = k.claim(S<1>{3}, "workgroup y: query head");
  const S<1> batch = k.claim(S<1>{4}, "workgroup z: batch entry");
  const V<1> work_item = k.claim(V<1>{0}, "work-item");

  const Arguments args = load_arguments(k, kernarg);
  find_work(k, plan, kernarg, args, tile, head, machine);
  const Place place = find_place(k, args, head, batch, work_item);
  const ScoreScale scale =
      is_folded(plan) ? folded_score_scale(k, plan, args, place) : score_scale(k, plan, args, place);
  if (plan.config.causal) {
    const Label again = k.label("second_tile"), done = k.label("both_tiles_done");
    const S<1> x = k.sgpr("workgroup x");
    k.s_mov_b32(x, tile);
    count_from_behind(k, plan, args, tile);
    k.bind(again);
    go_to_tile(k, plan, place, tile);
    attend(k, args, place, scale);
    k.s_cmp_eq_u32(tile, x);
    k.s_cbranch_scc1(done);
    k.s_mov_b32(tile, x);
    k.s_mov_b64(isa::exec, -1);
    k.s_barrier();  // nobody reads the first one's tiles of K and V any more
    k.s_branch(again);
    k.bind(done);
  } else {
    go_to_tile(k, plan, place, tile);
    attend(k, args, place, scale);
  }
  k.s_endpgm();
  return k.finish();
}

}  // namespace zyfa::schedules
