// Packed halves, dot products and fma of mixed widths.
#include "isa/emulator/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isa/emulator/execute_packed.cpp"
#include <hwy/foreach_target.h>

#include "isa/emulator/lane_results-inl.h"

HWY_BEFORE_NAMESPACE();
namespace zyfa::emulator::HWY_NAMESPACE {

namespace rows {
#define LANE_FUNCTION(name, ...)                                          \
  struct name {                                                           \
    static constexpr isa::Op op = isa::Op::name;                          \
    template <class D>                                                    \
    static HWY_INLINE D result(auto a, auto b, [[maybe_unused]] auto c) { \
      return static_cast<D>(__VA_ARGS__);                                 \
    }                                                                     \
  };
#define PK16_2(name, T, ...) LANE_FUNCTION(name, __VA_ARGS__)
#define PK16_3(name, T, ...) LANE_FUNCTION(name, __VA_ARGS__)
#define DOT(name, C, A, ...) LANE_FUNCTION(name, __VA_ARGS__)
#include "isa/gfx950.def"
#undef LANE_FUNCTION
}  // namespace rows

// An element of a pair, and what is computed of it.
template <class T>
HWY_INLINE auto element(u32 half) {
  if constexpr (is_f16<T>)
    return f16::of(half);
  else if constexpr (std::is_signed_v<T>)
    return i32{static_cast<T>(half)};
  else
    return u32{static_cast<T>(half)};
}
template <class T>
using ElementResult = std::conditional_t<is_f16<T>, double, std::conditional_t<std::is_signed_v<T>, i32, u32>>;

// The half of source `i` (from 0) that the low or high result takes, in the low half of 64 words.
template <class T>
const u32* half_source(const Wave& wave, const Inst& inst, int i, bool for_high, Lanes& buffer) {
  const Operand& operand = inst.args[static_cast<std::size_t>(i + 1)];
  const u32 selection = for_high ? isa::op_sel_hi(inst) : inst.mods.op_sel;
  const u32 negation = for_high ? inst.mods.neg_hi : inst.mods.neg_lo;
  SourceModifiers modifiers = half_modifiers(wave, operand, is_f16<T>, (selection >> i & 1) != 0);
  if (is_f16<T> && (negation >> i & 1)) modifiers.flip = 0x8000U;
  return source_words(wave, operand, 0, Source<T>::scalar_word(wave, operand, 0), modifiers, buffer);
}

template <class Row, class T>
void half_results(const Wave& wave, const Inst& inst, const u32* a, const u32* b, const u32* c, Lanes& halves) {
  if constexpr (is_f16<T>) {
    for (std::size_t i = 0; i < lanes; ++i)
      halves[i] =
          f16_result(wave, inst, Row::template result<double>(element<T>(a[i]), element<T>(b[i]), element<T>(c[i])));
  } else if (inst.mods.clamp) {
    for (std::size_t i = 0; i < lanes; ++i)
      halves[i] = static_cast<T>(held_between<T>(
          Row::template result<i64>(i64{element<T>(a[i])}, i64{element<T>(b[i])}, i64{element<T>(c[i])})));
  } else {
    for (std::size_t i = 0; i < lanes; ++i)
      halves[i] = static_cast<u32>(
          Row::template result<ElementResult<T>>(element<T>(a[i]), element<T>(b[i]), element<T>(c[i])));
  }
}

template <class Row, class T, int sources>
void packed_halves(Wave& wave, const Inst& inst) {
  Words both[2];
  for (int half = 0; half < 2; ++half) {
    Words buffer[3];
    const u32* a = half_source<T>(wave, inst, 0, half == 1, buffer[0].lane);
    const u32* b = half_source<T>(wave, inst, 1, half == 1, buffer[1].lane);
    const u32* c = sources == 3 ? half_source<T>(wave, inst, 2, half == 1, buffer[2].lane) : a;
    half_results<Row, T>(wave, inst, a, b, c, both[half].lane);
  }
  for (std::size_t i = 0; i < lanes; ++i) both[0].lane[i] = (both[0].lane[i] & 0xffffU) | both[1].lane[i] << 16;
  write_masked(wave.lanes_of(inst.args[0]), both[0].lane, wave.exec());
}

// D = C + the products of the elements of A and B. neg_lo and neg_hi turn the halves of fp16 and bf16 pairs.
template <class Row, class C, class A>
void dot(Wave& wave, const Inst& inst) {
  const Source<A> a(wave, inst, 1);
  const Source<A> b(wave, inst, 2);
  const Source<C> c(wave, inst, 3);
  const auto signs = [&](int i) {
    return (inst.mods.neg_lo >> i & 1 ? 0x8000U : 0U) | (inst.mods.neg_hi >> i & 1 ? 0x80000000U : 0U);
  };
  const u32 flip_a = signs(0), flip_b = signs(1);
  Result<C> result;
  for (std::size_t i = 0; i < lanes; ++i) {
    if constexpr (std::is_same_v<C, float>) {
      result.set(i, Row::template result<float>(a[i] ^ flip_a, b[i] ^ flip_b, c[i]));
    } else {
      const i64 exact = Row::template result<i64>(a[i], b[i], c[i]);
      result.set(i, static_cast<C>(inst.mods.clamp ? held_between<C>(exact) : exact));
    }
  }
  result.write(wave, inst);
}

// Source i of v_fma_mix: a float, or with op_sel_hi's bit the half that op_sel's bit picks.
inline void mixed_source(const Wave& wave, const Inst& inst, int i, std::array<float, lanes>& to) {
  const bool is_f16 = (isa::op_sel_hi(inst) >> i & 1) != 0;
  const auto fill = [&](const auto& source) {
    for (std::size_t lane = 0; lane < lanes; ++lane) to[lane] = source[lane];
  };
  if (is_f16)
    fill(Source<f16>(wave, inst, i + 1));
  else
    fill(Source<float>(wave, inst, i + 1));
}
template <int bits, int first_bit>
void mix(Wave& wave, const Inst& inst) {
  alignas(64) std::array<float, lanes> source[3];
  for (int i = 0; i < 3; ++i) mixed_source(wave, inst, i, source[i]);
  if constexpr (bits == 32) {
    Result<float> result;
    for (std::size_t i = 0; i < lanes; ++i) result.set(i, fused_multiply_add(source[0][i], source[1][i], source[2][i]));
    result.write(wave, inst);
  } else {
    Result<f16> result;
    for (std::size_t i = 0; i < lanes; ++i) result.set(i, fused_multiply_add(source[0][i], source[1][i], source[2][i]));
    write_half(wave.lanes_of(inst.args[0]), result.finished(wave, inst), first_bit == 16, wave.exec());
  }
}

// clang-format off
constexpr Execute functions[] = {
#define INSTRUCTION(name) nullptr,
#define MIX(name, bits, first_bit) mix<bits, first_bit>,
#define PK16_2(name, T, ...) packed_halves<rows::name, T, 2>,
#define PK16_3(name, T, ...) packed_halves<rows::name, T, 3>,
#define DOT(name, C, A, ...) dot<rows::name, C, A>,
#include "isa/gfx950.def"
};
// clang-format on
static_assert(std::size(functions) == static_cast<std::size_t>(isa::Op::count));

Execute packed_function(isa::Op op) { return functions[static_cast<std::size_t>(op)]; }

}  // namespace zyfa::emulator::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zyfa::emulator {

HWY_EXPORT(packed_function);

Execute find_packed(isa::Op op) { return HWY_DYNAMIC_DISPATCH(packed_function)(op); }

}  // namespace zyfa::emulator
#endif
