#include "schedules/products.h"

#include <array>

namespace zyfa::schedules {
namespace {

using generator::Label;

constexpr std::uint32_t minus_infinity = 0xff800000;

// One instruction of S^T. Without a score shift the unscaled one does, which issues a slot earlier.
void multiply_scores(Builder& k, const ScoreScale& scale, V<16> d, V<8> keys, V<8> queries, V<16> c) {
  if (scale.shift == 0)
    k.v_mfma_f32_32x32x64_f8f6f4(d, keys, queries, c);
  else
    k.v_mfma_scale_f32_32x32x64_f8f6f4(d, keys, queries, c, scale.factors, scale.factors);
}

void multiply_output(Builder& k, const ScoreScale& scale, V<16> o, V<8> values, V<8> p, V<1> exponent) {
  // A takes byte 1 of the factors, 1; B byte 0 of the exponent.
  k.v_mfma_scale_f32_32x32x64_f8f6f4(o, values, p, o, scale.factors, exponent, {.op_sel = 1});
}

// For each block of 32 keys and part of the head dim. Blocks alternate in pairs, so that an instruction need not wait
// for the one whose sum it goes on with.
template <class Multiply>
std::vector<MatrixStep> score_stream(Builder& k, const AttentionPlan& plan, const Tile& tile, Multiply multiply) {
  std::vector<MatrixStep> steps;
  for (int pair = 0; pair < 2; ++pair)
    for (int part = 0; part < tile.q.parts; ++part)
      for (int block = 2 * pair; block < 2 * pair + 2; ++block)
        steps.push_back({[&k, &plan, tile, block, part](V<8> fragment) {
                           return key_fragment(k, plan, fragment, tile.key_address, block, part);
                         },
                         [multiply, block, part](V<8> fragment) { multiply(block, part, fragment); }});
  return steps;
}

// C of a block whose keys are hidden from some rows: the bias where the row sees the key, else -infinity.
void mask_block(Builder& k, V<16> c, const RowState& rows, const Sight& sight, int block) {
  const auto scope = k.scope();
  const V<1> seen = k.vgpr("keys seen of the block"), hidden = k.vgpr("score of a hidden key");
  const std::array<S<2>, 4> visible = {k.sgpr<2>("visible 0"), k.sgpr<2>("visible 1"), k.sgpr<2>("visible 2"),
                                       k.sgpr<2>("visible 3")};
  k.v_mov_b32(hidden, minus_infinity);
  k.v_lshrrev_b32(seen, 5, sight.lane);
  k.v_lshlrev_b32(seen, 2, seen);
  k.v_sub_u32(seen, sight.row, seen);
  k.v_subrev_u32(seen, sight.tile_key, seen);
  if (block != 0) k.v_subrev_u32(seen, 32 * block, seen);
  for (int group = 0; group < 4; ++group) {
    for (int i = 0; i < 4; ++i) k.v_cmp_lt_i32(visible[static_cast<std::size_t>(i)], 8 * group + i, seen);
    k.settle();
    for (int i = 0; i < 4; ++i) {
      const int r = 4 * group + i;
      k.v_cndmask_b32(c[r], hidden, rows.bias[r], visible[static_cast<std::size_t>(i)]);
    }
  }
}

}  // namespace

std::vector<MatrixStep> score_steps(Builder& k, const AttentionPlan& plan, const Tile& tile, const ScoreScale& scale,
                                    const RowState& rows) {
  return score_stream(k, plan, tile, [&k, tile, scale, rows](int block, int part, V<8> keys) {
    const V<16> s = tile.s.at<16>(16 * block);
    multiply_scores(k, scale, s, keys, tile.q.part(part), part == 0 ? rows.bias : s);
  });
}

std::vector<MatrixStep> edge_score_steps(Builder& k, const AttentionPlan& plan, const Tile& tile,
                                         const ScoreScale& scale, const RowState& rows, const Sight& sight) {
  return score_stream(k, plan, tile, [&k, tile, scale, rows, sight](int block, int part, V<8> keys) {
    const auto scope = k.scope();
    const V<16> s = tile.s.at<16>(16 * block);
    const S<1> key = k.sgpr("first key of the block");
    const Label hidden = k.label("block_hidden"), done = k.label("block_done");
    k.s_add_u32(key, sight.tile_key, 32 * block);
    k.s_cmp_lt_u32(key, sight.some);
    k.s_cbranch_scc0(hidden);
    if (part == 0) {
      const Label plain = k.label("block_seen");
      k.s_add_u32(key, key, 32);
      k.s_cmp_le_u32(key, sight.all);
      k.s_cbranch_scc1(plain);
      mask_block(k, s, rows, sight, block);
      k.settle();
      multiply_scores(k, scale, s, keys, tile.q.part(0), s);
      k.s_branch(done);
      k.bind(plain);
      multiply_scores(k, scale, s, keys, tile.q.part(0), rows.bias);
      k.s_branch(done);
      k.bind(hidden);
      for (int i = 0; i < 16; ++i) k.v_mov_b32(s[i], minus_infinity);
    } else {
      multiply_scores(k, scale, s, keys, tile.q.part(part), s);
      k.bind(hidden);
    }
    k.bind(done);
  });
}

std::vector<MatrixStep> output_steps(Builder& k, const Tile& tile, const ScoreScale& scale, const RowState& rows,
                                     const Ones& ones) {
  std::vector<MatrixStep> steps;
  for (int half = 0; half < 2; ++half)
    for (int block = 0; block < 4; ++block)
      steps.push_back({[&k, tile, block, half](V<8> fragment) {
                         return value_fragment(k, fragment, tile.value_address, block, half);
                       },
                       [&k, tile, scale, rows, ones, block, half](V<8> values) {
                         const V<8> p = tile.p.at<8>(8 * half);
                         // Ahead of the phase's last long instruction, under which the next phase begins.
                         if (block == 3) sum_probabilities(k, rows, ones, p, half);
                         multiply_output(k, scale, tile.o.at<16>(16 * block), values, p,
                                         rows.exponent[static_cast<std::size_t>(half)]);
                       }});
  return steps;
}

std::vector<MatrixStep> edge_output_steps(Builder& k, const Tile& tile, const ScoreScale& scale, const RowState& rows,
                                          const Ones& ones, const Sight& sight) {
  std::vector<MatrixStep> steps = output_steps(k, tile, scale, rows, ones);
  for (std::size_t i = 4; i < 8; ++i)
    steps[i].multiply = [&k, sight, multiply = steps[i].multiply](V<8> values) {
      const auto scope = k.scope();
      const S<1> key = k.sgpr("first key of the half");
      const Label hidden = k.label("half_hidden");
      k.s_sub_u32(key, sight.tile_key, 64);  // of the tile before the one that is scored
      k.s_cmp_lt_u32(key, sight.some);
      k.s_cbranch_scc0(hidden);
      multiply(values);
      k.bind(hidden);
    };
  return steps;
}

}  // namespace zyfa::schedules
