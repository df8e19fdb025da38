#include "schedules/products.h"

#include <array>

namespace zyfa::schedules {
namespace {

using generator::Label;

constexpr std::uint32_t minus_infinity = 0xff800000;

// One instruction of S^T. Without a score shift the unscaled one does, which issues a slot earlier.
void multiply_scores(Builder& k, const ScoreScale& scale, const Tile& tile, int part, V<16> d, A<8> keys, V<16> c) {
  if (scale.shift == 0 && !scale.bf16)
    k.v_mfma_f32_32x32x64_f8f6f4(d, keys, tile.q.part(part), c);
  else
    k.v_mfma_scale_f32_32x32x64_f8f6f4(d, keys, tile.q.part(part), c, scale.factors, tile.query_factors);
}

void multiply_output(Builder& k, const ScoreScale& scale, Data<16> o, A<8> values, const Block& block) {
  // A takes byte 1 of the factors, 1; B byte 0 of the exponent.
  if (scale.output_start)
    k.v_mfma_f32_32x32x64_f8f6f4(o, values, block.p, o);
  else
    k.v_mfma_scale_f32_32x32x64_f8f6f4(o, values, block.p, o, scale.factors, block.exponent, {.op_sel = 1});
}

// For each 32 keys and part of the head dim. Those of 32 keys alternate, so that an instruction need not wait for the
// one whose sum it goes on with. `multiply` gets the tile, which 32 keys of the half, the part and the keys.
template <class Multiply>
MatrixSteps score_stream(Builder& k, const AttentionPlan& plan, Tiles tiles, int half, Multiply multiply) {
  MatrixSteps steps;
  for (int part = 0; part < tiles[0].q.parts; ++part)
    for (int keys32 = 0; keys32 < 2; ++keys32) {
      MatrixStep& step = steps.emplace_back();
      step.read = [&k, &plan, address = tiles[0].key_address, block = 2 * half + keys32, part](A<8> fragment) {
        return key_fragment(k, plan, fragment, address, block, part);
      };
      for (const Tile& tile : tiles)
        step.multiply.push_back(
            [multiply, tile, keys32, part](A<8> fragment) { multiply(tile, keys32, part, fragment); });
    }
  return steps;
}

// C of a block whose keys are hidden from some rows: the bias where the row sees the key, else -infinity.
void mask_block(Builder& k, V<16> c, const Tile& tile, const Sight& sight, int block) {
  const auto scope = k.scope();
  const V<1> seen = k.vgpr("keys seen of the block"), hidden = k.vgpr("score of a hidden key");
  const std::array<S<2>, 4> visible = {k.sgpr<2>("visible 0"), k.sgpr<2>("visible 1"), k.sgpr<2>("visible 2"),
                                       k.sgpr<2>("visible 3")};
  k.v_mov_b32(hidden, minus_infinity);
  k.v_lshrrev_b32(seen, 5, sight.lane);
  k.v_lshlrev_b32(seen, 2, seen);
  k.v_sub_u32(seen, tile.row, seen);
  k.v_subrev_u32(seen, sight.tile_key, seen);
  if (block != 0) k.v_subrev_u32(seen, 32 * block, seen);
  for (int group = 0; group < 4; ++group) {
    for (int i = 0; i < 4; ++i) k.v_cmp_lt_i32(visible[static_cast<std::size_t>(i)], 8 * group + i, seen);
    k.settle();
    for (int i = 0; i < 4; ++i) {
      const int r = 4 * group + i;
      k.v_cndmask_b32(c[r], hidden, tile.halves[0].rows.bias[r], visible[static_cast<std::size_t>(i)]);
    }
  }
}

}  // namespace

void start_output(Builder& k, const Output& o, const ScoreScale& scale) {
  const generator::Source<isa::Type::u32> start =
      scale.output_start ? generator::Source<isa::Type::u32>(*scale.output_start) : 0;
  if (const auto* v = std::get_if<V<64>>(&o.registers))
    for (int i = 0; i < 64; ++i) k.v_mov_b32((*v)[i], start);
  else
    for (int i = 0; i < 64; ++i) k.v_accvgpr_write_b32(std::get<A<64>>(o.registers)[i], start);
}

void scale_output(Builder& k, const Output& o, V<1> factor) {
  if (const auto* v = std::get_if<V<64>>(&o.registers)) {
    for (int i = 0; i < 64; ++i) k.v_mul_f32((*v)[i], factor, (*v)[i]);
    return;
  }
  const A<64> a = std::get<A<64>>(o.registers);
  const auto scope = k.scope();
  const V<4> t = k.vgpr<4>("output on its way");
  for (int first = 0; first < 64; first += 4) {
    k.settle();
    for (int i = 0; i < 4; ++i) k.v_accvgpr_read_b32(t[i], a[first + i]);
    for (int i = 0; i < 4; ++i) k.v_mul_f32(t[i], factor, t[i]);
    for (int i = 0; i < 4; ++i) k.v_accvgpr_write_b32(a[first + i], t[i]);
  }
}

MatrixSteps score_steps(Builder& k, const AttentionPlan& plan, Tiles tiles, const ScoreScale& scale, int half) {
  return score_stream(k, plan, tiles, half, [&k, scale, half](const Tile& tile, int keys32, int part, A<8> keys) {
    const Block& block = tile.halves[static_cast<std::size_t>(half)];
    const V<16> s = block.s.at<16>(16 * keys32);
    multiply_scores(k, scale, tile, part, s, keys, part == 0 ? block.rows.bias : s);
  });
}

MatrixSteps edge_score_steps(Builder& k, const AttentionPlan& plan, Tiles tiles, const ScoreScale& scale,
                             const Sight& sight, int half) {
  return score_stream(k, plan, tiles, half,
                      [&k, scale, sight, half](const Tile& tile, int keys32, int part, A<8> keys) {
                        const auto scope = k.scope();
                        const Block& block = tile.halves[static_cast<std::size_t>(half)];
                        const V<16> s = block.s.at<16>(16 * keys32);
                        const S<1> key = k.sgpr("first key of the block");
                        const Label hidden = k.label("block_hidden"), done = k.label("block_done");
                        k.s_add_u32(key, sight.tile_key, 64 * half + 32 * keys32);
                        k.s_cmp_lt_u32(key, sight.some);
                        k.s_cbranch_scc0(hidden);
                        if (part == 0) {
                          const Label plain = k.label("block_seen");
                          k.s_add_u32(key, key, 32);
                          k.s_cmp_le_u32(key, sight.all);
                          k.s_cbranch_scc1(plain);
                          mask_block(k, s, tile, sight, 2 * half + keys32);
                          k.settle();
                          multiply_scores(k, scale, tile, 0, s, keys, s);
                          k.s_branch(done);
                          k.bind(plain);
                          multiply_scores(k, scale, tile, 0, s, keys, block.rows.bias);
                          k.s_branch(done);
                          k.bind(hidden);
                          for (int i = 0; i < 16; ++i) k.v_mov_b32(s[i], minus_infinity);
                        } else {
                          multiply_scores(k, scale, tile, part, s, keys, s);
                          k.bind(hidden);
                        }
                        k.bind(done);
                      });
}

MatrixSteps output_steps(Builder& k, Tiles tiles, const ScoreScale& scale, const Ones& ones, int half,
                         int sums_before) {
  MatrixSteps steps;
  for (int values = 0; values < 4; ++values) {
    MatrixStep& step = steps.emplace_back();
    step.read = [&k, address = tiles[0].value_address, values, half](A<8> fragment) {
      return value_fragment(k, fragment, address, values, half);
    };
    for (const Tile& tile : tiles)
      step.multiply.push_back([&k, tile, scale, ones, values, half, sums_before](A<8> fragment) {
        const Block& block = tile.halves[static_cast<std::size_t>(half)];
        if (values == sums_before) sum_probabilities(k, block, ones);
        multiply_output(k, scale, tile.o.block(values), fragment, block);
      });
  }
  return steps;
}

MatrixSteps edge_output_steps(Builder& k, Tiles tiles, const ScoreScale& scale, const Ones& ones, const Sight& sight,
                              int half, int sums_before) {
  MatrixSteps steps = output_steps(k, tiles, scale, ones, half, sums_before);
  if (half == 0) return steps;
  for (MatrixStep& step : steps)
    for (auto& multiply : step.multiply)
      multiply = [&k, sight, inner = multiply](A<8> fragment) {
        const auto scope = k.scope();
        const S<1> key = k.sgpr("first key of the half");
        const Label hidden = k.label("half_hidden");
        k.s_sub_u32(key, sight.tile_key, 64);  // of the tile before the one that is scored
        k.s_cmp_lt_u32(key, sight.some);
        k.s_cbranch_scc0(hidden);
        inner(fragment);
        k.bind(hidden);
      };
  return steps;
}

}  // namespace zyfa::schedules
