#include "schedules/limits.h"

namespace zyfa::schedules {
namespace {

Limits allocate(Builder& k) {
  return {k.sgpr("keys that all rows of the wave see"), k.sgpr("keys that some row of the wave sees"),
          k.sgpr("keys that some row of the workgroup sees"), k.vgpr("keys that the lane's row sees")};
}

// A wave that lies wholly behind the last query has nothing to compute: it only takes part in loading the tiles.
void drop_idle_wave(Builder& k, const Limits& limits, const Arguments& args, const Place& place) {
  k.s_cmp_lt_u32(place.first_query, args.seqlen_q);
  k.s_cselect_b32(limits.all, limits.all, 0);
  k.s_cselect_b32(limits.wave, limits.wave, 0);
}

// limit = clamp(seqlen_k - seqlen_q + min(first + rows, seqlen_q), 0, seqlen_k): the keys that the last of `rows`
// queries from `first` on sees. `diagonal` holds seqlen_k - seqlen_q.
void keys_seen(Builder& k, S<1> limit, S<1> first, int rows, S<1> diagonal, const Arguments& args) {
  k.s_add_u32(limit, first, rows);
  k.s_min_u32(limit, limit, args.seqlen_q);
  k.s_add_i32(limit, limit, diagonal);
  k.s_max_i32(limit, limit, 0);
  k.s_min_u32(limit, limit, args.seqlen_k);
}

}  // namespace

Limits full_limits(Builder& k, const Arguments& args, const Place& place) {
  const Limits limits = allocate(k);
  k.s_mov_b32(limits.all, args.seqlen_k);
  k.s_mov_b32(limits.wave, args.seqlen_k);
  k.s_mov_b32(limits.workgroup, args.seqlen_k);
  k.v_mov_b32(limits.row, args.seqlen_k);
  drop_idle_wave(k, limits, args, place);
  return limits;
}

Limits causal_limits(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place) {
  const Limits limits = allocate(k);
  const auto scope = k.scope();
  const S<1> diagonal = k.sgpr("seqlen_k - seqlen_q");
  const V<1> keys = k.vgpr("seqlen_k");
  k.s_sub_i32(diagonal, args.seqlen_k, args.seqlen_q);
  keys_seen(k, limits.all, place.first_query, 1, diagonal, args);
  keys_seen(k, limits.wave, place.first_query, plan.queries_per_wave(), diagonal, args);
  keys_seen(k, limits.workgroup, place.workgroup_first_query, plan.queries_per_tile(), diagonal, args);
  drop_idle_wave(k, limits, args, place);

  k.s_add_i32(diagonal, diagonal, place.first_query);
  k.v_and_b32(limits.row, matrix_queries - 1, place.lane);
  k.v_mov_b32(keys, args.seqlen_k);
  k.v_add3_u32(limits.row, limits.row, 1, diagonal);
  k.v_min_i32(limits.row, limits.row, keys);
  return limits;
}

}  // namespace zyfa::schedules
