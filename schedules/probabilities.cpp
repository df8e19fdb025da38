#include "schedules/probabilities.h"

namespace zyfa::schedules {
namespace {

using generator::Softmax;

// Registers i and i+1 of p from eight probabilities or codes. Low and high half of a register are written by two
// instructions that may not follow each other (docs/hazards.md), so registers go in pairs.
void convert_pair(Builder& k, Softmax softmax, const Block& block, int i) {
  const auto convert = [&](int to, int from, const isa::Modifiers& mods) {
    if (softmax == Softmax::lean)
      k.v_ashr_pk_u8_i32(block.p[to], block.s[from], block.s[from + 1], code_shift, mods);
    else
      k.v_cvt_pk_fp8_f32(block.p[to], block.s[from], block.s[from + 1], mods);
  };
  for (int j = i; j < i + 2; ++j) convert(j, 4 * j, {});
  for (int j = i; j < i + 2; ++j) convert(j, 4 * j + 2, {.op_sel = 8});
}

// How many of the block's registers of p are not left to late_conversions.
int early_registers(std::size_t block, int late) { return block == 0 ? 8 : 8 - 2 * late; }

}  // namespace

void exact_probabilities(Builder& k, const ScoreScale& scale, Blocks blocks, const Making& making) {
  const auto scope = k.scope();
  const V<1> lifted = k.vgpr("lift - exponent"), sum = k.vgpr("sum before rounding");
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    const Block& b = blocks[block];
    making.before(block);
    k.v_sub_f32(lifted, scale.no_octaves, b.exponent);
    if (making.risen) k.v_fma_f32(lifted, generator::negated(*making.risen), scale.octaves, lifted);
    for (int i = 0; i < 32; ++i) k.v_fma_f32(b.s[i], b.s[i], scale.octaves, lifted);
    for (int i = 0; i < 32; ++i) k.v_exp_f32(b.s[i], b.s[i]);
    k.settle();
    if (b.rows.unrounded) {
      k.v_mov_b32(sum, 0);
      for (int i = 0; i < 32; ++i) k.v_add_f32(sum, b.s[i], sum);
      k.v_sub_f32(lifted, b.exponent, scale.no_octaves);
      k.v_exp_f32(lifted, lifted);
      k.settle();
      k.v_fma_f32(*b.rows.unrounded, sum, lifted, *b.rows.unrounded);
    }
    for (int i = 0; i < early_registers(block, making.late); i += 2) convert_pair(k, Softmax::exact, b, i);
  }
}

Errands late_conversions(Builder& k, Softmax softmax, Blocks blocks, int late) {
  Errands list;
  for (const Block& b : blocks.subspan(1))
    for (int i = 8 - 2 * late; i < 8; i += 2) list.push_back([&k, softmax, b, i] { convert_pair(k, softmax, b, i); });
  return list;
}

namespace {

// Adds 2^score to the sum before rounding. p serves for 8 probabilities at a time.
void add_unrounded(Builder& k, const ScoreScale& scale, const Block& b, std::optional<V<1>> risen) {
  const auto scope = k.scope();
  const V<1> octaves = k.vgpr("octaves of the rise");
  if (risen) k.v_mul_f32(octaves, scale.octaves, *risen);
  for (int first = 0; first < 32; first += 8) {
    for (int i = 0; i < 8; ++i)
      if (risen)
        k.v_fma_f32(b.p[i], b.s[first + i], scale.octaves, generator::negated(octaves));
      else
        k.v_mul_f32(b.p[i], scale.octaves, b.s[first + i]);
    for (int i = 0; i < 8; ++i) k.v_exp_f32(b.p[i], b.p[i]);
    k.settle();
    for (int i = 0; i < 8; ++i) k.v_add_f32(*b.rows.unrounded, b.p[i], *b.rows.unrounded);
  }
}

}  // namespace

void lean_probabilities(Builder& k, const ScoreScale& scale, Blocks blocks, const Making& making) {
  const auto scope = k.scope();
  const V<1> start = k.vgpr("code of a score of 0, fixed point");
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    const Block& b = blocks[block];
    making.before(block);
    if (b.rows.unrounded) add_unrounded(k, scale, b, making.risen);
    k.v_sub_f32(start, scale.no_exponent, b.exponent);
    k.v_fmamk_f32(start, start, codes_per_octave * code_unit, scale.no_octaves);
    if (making.risen) k.v_fma_f32(start, generator::negated(*making.risen), scale.codes, start);
    // In small portions: packs may be slower than the rest (isa/machine.def), and other work is woven between.
    for (int i = 0; i < 8; i += 2) {
      for (int r = 4 * i; r < 4 * i + 8; ++r) k.v_fma_f32(b.s[r], b.s[r], scale.codes, start);
      if (i < early_registers(block, making.late)) convert_pair(k, Softmax::lean, b, i);
    }
  }
}

}  // namespace zyfa::schedules
