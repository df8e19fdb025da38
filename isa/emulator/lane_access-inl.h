// How vector rows get at their sources: with modifiers and DPP as 64 words in a row. Results: lane_results-inl.h.
// Compiled once per vector extension (HWY_NAMESPACE); every loop runs over all 64 lanes without a branch.
#if defined(ZYFA_LANE_ACCESS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ZYFA_LANE_ACCESS_INL_H
#undef ZYFA_LANE_ACCESS_INL_H
#else
#define ZYFA_LANE_ACCESS_INL_H
#endif

#include "isa/emulator/convert_math.h"
#include "isa/emulator/dpp.h"
#include "isa/emulator/execute_parts.h"
#include "isa/emulator/lane_math.h"
#include "isa/isa.h"

#include <hwy/highway.h>

#include <algorithm>
#include <limits>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace zyfa::emulator::HWY_NAMESPACE {

using isa::Inst;
using isa::Operand;
using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;
using u16 = std::uint16_t;
using i16 = std::int16_t;
using f32 = float;
using f64 = double;

struct alignas(64) Words {
  Lanes lane;
};

// Element types of the table that are no C++ type: what expressions see of them, and what results are made of. Inline
// floats are the source's own format where that has 16 bits, in the low half; fp32 elsewhere (LLVM
// getInlineEncodingV216 describes what the hardware does).
struct f16 {
  using Value = float;
  static Value of(u32 word) { return isa::f16_to_float(static_cast<std::uint16_t>(word)); }
};
struct bf16 {
  using Value = float;
  static Value of(u32 word) { return float_of(word << 16); }
};
// Two of them in a register, which expressions see as the register.
struct f16x2 {
  using Value = u32;
  static Value of(u32 word) { return word; }
};
struct bf16x2 : f16x2 {};
struct i16x2 : f16x2 {};

template <class T>
constexpr bool is_f16 = std::is_same_v<T, f16> || std::is_same_v<T, f16x2>;
template <class T>
constexpr bool is_bf16 = std::is_same_v<T, bf16> || std::is_same_v<T, bf16x2>;
template <class T>
constexpr bool is_half = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
template <class T>
constexpr bool is_table_type = is_half<T> || is_f16<T> || is_bf16<T> || std::is_same_v<T, i16x2>;

// An exact integer result held in the range of D.
template <class D>
HWY_INLINE i64 held_between(i64 exact) {
  constexpr i64 low = std::numeric_limits<D>::min();
  constexpr i64 high = std::numeric_limits<D>::max();
  return exact < low ? low : exact > high ? high : exact;
}

// What a row's expression computes for a result of type D.
template <class D>
struct ResultOf {
  using Type = D;
};
template <>
struct ResultOf<f16> {
  using Type = double;  // rounded once, when written
};

HWY_INLINE u32 flushed(u32 float_bits) {
  return (float_bits & 0x7f800000U) == 0 ? float_bits & 0x80000000U : float_bits;
}

// The low half alone matters.
HWY_INLINE u32 flushed_f16(u32 half) { return (half & 0x7c00U) == 0 ? half & 0xffff8000U : half; }

struct SourceModifiers {
  u32 keep = ~0U;  // |x| clears the sign, and comes before the negation
  u32 flip = 0;
  bool flush = false;
  bool flush_f16 = false;
  bool high = false;  // the upper half is meant

  bool any() const { return keep != ~0U || flip != 0 || flush || flush_f16 || high; }
  HWY_INLINE u32 apply(u32 x) const {
    const u32 half = high ? x >> 16 : x;
    const u32 value = flush_f16 ? flushed_f16(half) : flush ? flushed(half) : half;
    return (value & keep) ^ flip;
  }
};

HWY_INLINE f64 flushed(f64 x) { return magnitude_of(x) < 0x1p-1022 ? with_sign_of(0.0, x) : x; }

inline SourceModifiers source_modifiers(const Wave& wave, const Operand& operand, bool is_f32) {
  return {operand.abs ? 0x7fffffffU : ~0U, operand.neg ? 0x80000000U : 0U, is_f32 && wave.mode.flushes_f32_inputs()};
}
// The same for an element of 16 bits, which op_sel may take from the upper half.
inline SourceModifiers half_modifiers(const Wave& wave, const Operand& operand, bool is_f16, bool high) {
  return {.keep = operand.abs ? 0x7fffU : ~0U,
          .flip = operand.neg ? 0x8000U : 0U,
          .flush_f16 = is_f16 && wave.mode.flushes_f16_inputs(),
          .high = high};
}

// 64 words of a source operand: its register where that will do, else `buffer`, filled. `word` is the
// register of a wider operand; scalars have their value in `scalar`.
HWY_INLINE const u32* source_words(const Wave& wave, const Operand& operand, int word, u32 scalar,
                                   const SourceModifiers& modifiers, Lanes& buffer) {
  if (operand.kind == isa::OperandKind::vgpr || operand.kind == isa::OperandKind::agpr) {
    const Lanes& from = wave.lanes_of(operand, word);
    if (HWY_LIKELY(!modifiers.any())) return from.data();
    for (std::size_t lane = 0; lane < lanes; ++lane) buffer[lane] = modifiers.apply(from[lane]);
    return buffer.data();
  }
  const u32 value = modifiers.apply(scalar);
  for (std::size_t lane = 0; lane < lanes; ++lane) buffer[lane] = value;
  return buffer.data();
}

// The byte, half or whole that an SDWA selection takes, extended to 32 bits.
HWY_INLINE u32 selected_part(u32 word, int selection, bool sign_extends) {
  if (selection == isa::Modifiers::whole_dword) return word;
  const int width = selection < 4 ? 8 : 16;
  const int shift = selection < 4 ? 8 * selection : 16 * (selection - 4);
  const u32 top = word >> shift << (32 - width);
  return sign_extends ? static_cast<u32>(static_cast<i32>(top) >> (32 - width)) : top >> (32 - width);
}

// Argument `index` of the instruction as 64 values of type T. Source 0 (argument `dpp_index`) goes through
// DPP.
template <class T>
class Source {
 public:
  Source(const Wave& wave, const Inst& inst, int index, bool takes_dpp = false) {
    const Operand& operand = inst.args[static_cast<std::size_t>(index)];
    const bool high_half = index > 0 && (inst.mods.op_sel >> (index - 1) & 1) != 0;
    const SourceModifiers modifiers = is_half<T> ? half_modifiers(wave, operand, is_f16<T>, high_half)
                                                 : source_modifiers(wave, operand, std::is_same_v<T, float>);
    if constexpr (sizeof(T) == 2) shift_ = high_half ? 16 : 0;
    if (HWY_UNLIKELY(inst.form == isa::Form::sdwa && index > 0)) {
      take_part(wave, inst, index, modifiers);
      return;
    }
    for (int i = 0; i < words; ++i) {
      // The sign of an fp64 is in its high word.
      const SourceModifiers& of_word = words == 2 && i == 0 ? SourceModifiers{} : modifiers;
      word_[i] = source_words(wave, operand, i, scalar_word(wave, operand, i), of_word, buffer_[i].lane);
    }
    if (HWY_UNLIKELY(takes_dpp && inst.form == isa::Form::dpp)) take_from_other_lanes(wave, inst, operand, modifiers);
    if constexpr (std::is_same_v<T, f64>)
      if (HWY_UNLIKELY(wave.mode.flushes_f64_inputs())) flush_denormals();
  }
  Source(const Source&) = delete;

  HWY_INLINE auto operator[](std::size_t lane) const {
    if constexpr (is_table_type<T>)
      return T::of(word_[0][lane]);
    else if constexpr (words == 2)
      return std::bit_cast<T>(static_cast<u64>(word_[1][lane]) << 32 | word_[0][lane]);
    else if constexpr (sizeof(T) == 2)
      return static_cast<T>(word_[0][lane] >> shift_);
    else
      return std::bit_cast<T>(word_[0][lane]);
  }

  // A scalar register or constant as word i of the operand.
  static u32 scalar_word(const Wave& wave, const Operand& operand, int i) {
    if (operand.kind == isa::OperandKind::vgpr || operand.kind == isa::OperandKind::agpr) return 0;
    if (is_f16<T> && operand.kind == isa::OperandKind::real) return isa::float_to_f16(float_of(operand.value));
    if (is_bf16<T> && operand.kind == isa::OperandKind::real) return operand.value >> 16;
    if constexpr (words == 1) return scalar_source(wave, operand);
    if constexpr (std::is_same_v<T, f64>) return static_cast<u32>(scalar_source_f64(wave, operand) >> (32 * i));
    return static_cast<u32>(scalar_source64(wave, operand, std::is_signed_v<T>) >> (32 * i));
  }

 private:
  static constexpr int words = !is_table_type<T> && sizeof(T) == 8 ? 2 : 1;

  // A lane out of bounds reads zero, to which the modifiers still apply.
  void take_from_other_lanes(const Wave& wave, const Inst& inst, const Operand& operand,
                             const SourceModifiers& modifiers) {
    for (int i = 0; i < words; ++i) {
      permute_dpp(wave, inst, wave.lanes_of(operand, i), buffer_[i].lane);
      if (words == 1 || i == 1)
        for (u32& value : buffer_[i].lane) value = modifiers.apply(value);
      word_[i] = buffer_[i].lane.data();
    }
  }

  // SDWA: a part of the register, to which the modifiers apply afterwards.
  void take_part(const Wave& wave, const Inst& inst, int index, const SourceModifiers& modifiers) {
    const Operand& operand = inst.args[static_cast<std::size_t>(index)];
    const int slot = index - isa::first_source(isa::desc(inst.op).kind);
    const int selection = slot == 0 ? inst.mods.src0_sel : inst.mods.src1_sel;
    const bool sign_extends = inst.mods.sext >> slot & 1;
    Lanes& part = buffer_[0].lane;
    const u32* from = source_words(wave, operand, 0, scalar_word(wave, operand, 0), {}, part);
    for (std::size_t lane = 0; lane < lanes; ++lane)
      part[lane] = modifiers.apply(selected_part(from[lane], selection, sign_extends));
    word_[0] = part.data();
  }

  void flush_denormals() {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const u64 bits = bits_of(flushed((*this)[lane]));
      buffer_[0].lane[lane] = static_cast<u32>(bits);
      buffer_[1].lane[lane] = static_cast<u32>(bits >> 32);
    }
    word_[0] = buffer_[0].lane.data();
    word_[1] = buffer_[1].lane.data();
  }

  const u32* word_[words];
  Words buffer_[words];
  int shift_ = 0;  // 16 for a high half
};

// The place of a source that the row does not have.
template <>
class Source<void> {
 public:
  Source(const Wave&, const Inst&, int, bool = false) {}
  HWY_INLINE int operator[](std::size_t) const { return 0; }
};

}  // namespace zyfa::emulator::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
