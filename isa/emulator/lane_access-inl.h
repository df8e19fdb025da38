// How vector rows get at their operands: sources with modifiers and DPP as 64 words in a row, results through
// EXEC. Compiled once per vector extension (HWY_NAMESPACE); every loop runs over all 64 lanes without a
// branch.
#if defined(ZYFA_LANE_ACCESS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ZYFA_LANE_ACCESS_INL_H
#undef ZYFA_LANE_ACCESS_INL_H
#else
#define ZYFA_LANE_ACCESS_INL_H
#endif

#include "isa/emulator/convert_math.h"
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

// DPP: source 0 comes from another lane (gfx9 DPP control field; LLVM AMDGPU DppCtrl)

inline constexpr int out_of_bounds = -1;

inline int dpp_source_lane(u32 control, int lane) {
  const int row = lane & ~15;
  const int in_row = lane & 15;
  const int count = static_cast<int>(control & 15);
  if (control < 0x100) return (lane & ~3) + static_cast<int>(control >> (2 * (lane & 3)) & 3);  // quad_perm
  switch (control) {
    case 0x130:
      return lane < 63 ? lane + 1 : out_of_bounds;  // wave_shl:1
    case 0x134:
      return (lane + 1) & 63;  // wave_rol:1
    case 0x138:
      return lane - 1;  // wave_shr:1, lane 0 out of bounds
    case 0x13c:
      return (lane - 1) & 63;  // wave_ror:1
    case 0x140:
      return row + 15 - in_row;  // row_mirror
    case 0x141:
      return (lane & ~7) + 7 - (lane & 7);  // row_half_mirror
    case 0x142:
      return row == 0 ? out_of_bounds : row - 1;  // row_bcast:15
    case 0x143:
      return lane < 32 ? out_of_bounds : 31;  // row_bcast:31
    default:
      break;
  }
  switch (control >> 4) {
    case 0x10:
      return in_row + count < 16 ? lane + count : out_of_bounds;  // row_shl
    case 0x11:
      return in_row >= count ? lane - count : out_of_bounds;  // row_shr
    case 0x12:
      return row + ((in_row - count) & 15);  // row_ror
    case 0x15:
      return row + count;  // row_newbcast
    default:
      throw Error("DPP control {:#x} is not one of gfx950", control);
  }
}

// The lane read, or out_of_bounds; a lane that EXEC disables is not read either.
inline int dpp_valid_lane(const Wave& wave, const Inst& inst, int lane) {
  const int from = dpp_source_lane(inst.mods.dpp_ctrl, lane);
  return from >= 0 && (wave.exec() >> from & 1) ? from : out_of_bounds;
}

inline void permute_dpp(const Wave& wave, const Inst& inst, const Lanes& from, Lanes& to) {
  for (int lane = 0; lane < lanes; ++lane) {
    const int source = dpp_valid_lane(wave, inst, lane);
    to[static_cast<std::size_t>(lane)] = source < 0 ? 0 : from[static_cast<std::size_t>(source)];
  }
}

// Lanes that the instruction writes: EXEC, and under DPP the enabled rows and banks (bank = lane / 4 % 4)
// without the lanes that read out of bounds, unless bound_ctrl lets those read zero.
inline u64 written_lanes(const Wave& wave, const Inst& inst) {
  u64 mask = wave.exec();
  if (HWY_LIKELY(inst.form != isa::Form::dpp)) return mask;
  for (int lane = 0; lane < lanes; ++lane) {
    const bool enabled = (inst.mods.dpp_row_mask >> (lane / 16) & 1) && (inst.mods.dpp_bank_mask >> (lane / 4 % 4) & 1);
    const bool readable = inst.mods.dpp_bound_ctrl || dpp_valid_lane(wave, inst, lane) >= 0;
    if (!enabled || !readable) mask &= ~(u64{1} << lane);
  }
  return mask;
}

// Sources

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

// Results

HWY_INLINE void write_masked(Lanes& to, const Lanes& from, u64 mask) {
  if (HWY_LIKELY(mask == ~u64{0})) {
    to = from;
    return;
  }
  for (std::size_t half = 0; half < lanes; half += 32) {
    const auto bits = static_cast<u32>(mask >> half);
    for (std::size_t i = 0; i < 32; ++i) {
      const u32 keep = (bits >> i & 1) - 1;
      to[half + i] = (to[half + i] & keep) | (from[half + i] & ~keep);
    }
  }
}

// Lane i's bit from the lowest bit of byte i. The product moves the bits of 8 bytes to the top byte.
HWY_INLINE u64 lane_mask(const std::array<std::uint8_t, lanes>& bit) {
  u64 mask = 0;
  for (int i = 0; i < 8; ++i) {
    u64 eight = 0;
    for (int j = 0; j < 8; ++j) eight |= static_cast<u64>(bit[static_cast<std::size_t>(8 * i + j)]) << (8 * j);
    mask |= (eight * 0x0102040810204080U >> 56) << (8 * i);
  }
  return mask;
}

// Every NaN result is this one: payloads differ between hosts, and AMD documents none.
HWY_INLINE u32 canonical(float x) { return x == x ? bits_of(x) : 0x7fc00000U; }
HWY_INLINE f64 canonical(f64 x) { return x == x ? x : double_of(0x7ff8000000000000U); }

// Output modifiers of a float result. omod does nothing under MODE.IEEE or with denormal results enabled, and
// loses the sign of zero (LLVM SIFoldOperands, which folds multiplications into omod only then). clamp turns
// NaN into 0 under MODE.DX10_CLAMP.
inline void modify_result(const Wave& wave, const Inst& inst, Lanes& result) {
  const bool flush = wave.mode.flushes_f32_results();
  const bool scales = inst.mods.omod != 0 && flush && !wave.mode.ieee();
  if (HWY_LIKELY(!flush && !inst.mods.clamp)) return;
  const float factor = inst.mods.omod == 3 ? 0.5f : inst.mods.omod == 2 ? 4.0f : 2.0f;
  for (u32& bits : result) {
    u32 value = flush ? flushed(bits) : bits;
    if (scales) value = flushed(canonical(float_of(value) * factor));
    if (scales && value == 0x80000000U) value = 0;
    const float x = float_of(value);
    if (inst.mods.clamp && !(x != x && !wave.mode.dx10_clamp())) value = bits_of(x > 0.0f ? std::min(x, 1.0f) : 0.0f);
    bits = value;
  }
}

// The same for an fp64 result.
inline void modify_result(const Wave& wave, const Inst& inst, Lanes& low, Lanes& high) {
  const bool flush = wave.mode.flushes_f64_results();
  const bool scales = inst.mods.omod != 0 && flush && !wave.mode.ieee();
  if (HWY_LIKELY(!flush && !inst.mods.clamp)) return;
  const f64 factor = inst.mods.omod == 3 ? 0.5 : inst.mods.omod == 2 ? 4.0 : 2.0;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    f64 x = double_of(static_cast<u64>(high[lane]) << 32 | low[lane]);
    if (flush) x = flushed(x);
    if (scales) x = flushed(canonical(x * factor)) + 0.0;
    if (inst.mods.clamp && !(x != x && !wave.mode.dx10_clamp())) x = x > 0.0 ? std::min(x, 1.0) : 0.0;
    const u64 bits = bits_of(x);
    low[lane] = static_cast<u32>(bits);
    high[lane] = static_cast<u32>(bits >> 32);
  }
}

// SDWA: the result in its place within the destination register.
inline void place_part(const Wave& wave, const Inst& inst, Lanes& result) {
  const int selection = inst.mods.dst_sel;
  if (selection == isa::Modifiers::whole_dword) return;
  const int width = selection < 4 ? 8 : 16;
  const int shift = selection < 4 ? 8 * selection : 16 * (selection - 4);
  const u32 mask = (1U << width) - 1;
  const Lanes& old = wave.lanes_of(inst.args[0]);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const u32 part = result[lane] & mask;
    const u32 extended = selected_part(part, width == 8 ? 0 : 4, true) << shift;
    switch (inst.mods.dst_unused) {
      case isa::DstUnused::pad:
        result[lane] = part << shift;
        break;
      case isa::DstUnused::sign_extend:
        result[lane] = extended;
        break;
      case isa::DstUnused::preserve:
        result[lane] = (old[lane] & ~(mask << shift)) | part << shift;
        break;
    }
  }
}

// The same for a result of 16 bits. MODE.FP16_OVFL holds what overflows at the largest finite value.
inline u32 f16_result(const Wave& wave, const Inst& inst, double value) {
  const bool saturates = wave.mode.fp16_ovfl();
  const bool flush = wave.mode.flushes_f16_results();
  u32 half = double_to_f16(value, saturates);
  if (flush) half = flushed_f16(half);
  if (inst.mods.omod != 0 && flush && !wave.mode.ieee()) {
    const double factor = inst.mods.omod == 3 ? 0.5 : inst.mods.omod == 2 ? 4.0 : 2.0;
    half = flushed_f16(double_to_f16(isa::f16_to_float(static_cast<std::uint16_t>(half)) * factor, saturates));
    if (half == 0x8000U) half = 0;
  }
  const float x = isa::f16_to_float(static_cast<std::uint16_t>(half));
  if (inst.mods.clamp && !(x != x && !wave.mode.dx10_clamp())) half = x > 0.0f ? std::min(half, 0x3c00U) : 0;
  return half;
}

// One half of the destination in the lanes of `mask`; the other half keeps what it has.
inline void write_half(Lanes& to, const Lanes& halves, bool high, u64 mask) {
  Words merged;
  const u32 kept = high ? 0x0000ffffU : 0xffff0000U;
  for (std::size_t i = 0; i < lanes; ++i) merged.lane[i] = (to[i] & kept) | halves[i] << (high ? 16 : 0);
  write_masked(to, merged.lane, mask);
}

template <class D>
class Result {
 public:
  static constexpr int words = sizeof(D) == 8 ? 2 : 1;

  HWY_INLINE void set(std::size_t lane, D value) {
    if constexpr (std::is_same_v<D, float>) {
      word_[0].lane[lane] = canonical(value);
    } else if constexpr (std::is_same_v<D, f64>) {
      const u64 bits = bits_of(canonical(value));
      word_[0].lane[lane] = static_cast<u32>(bits);
      word_[1].lane[lane] = static_cast<u32>(bits >> 32);
    } else if constexpr (sizeof(D) == 2) {
      word_[0].lane[lane] = static_cast<u16>(value);
    } else {
      word_[0].lane[lane] = static_cast<u32>(value);
      if constexpr (words == 2) word_[1].lane[lane] = static_cast<u32>(static_cast<u64>(value) >> 32);
    }
  }
  void write(Wave& wave, const Inst& inst) {
    if constexpr (std::is_same_v<D, float>) modify_result(wave, inst, word_[0].lane);
    if constexpr (std::is_same_v<D, f64>) modify_result(wave, inst, word_[0].lane, word_[1].lane);
    if (HWY_UNLIKELY(inst.form == isa::Form::sdwa)) place_part(wave, inst, word_[0].lane);
    const u64 mask = written_lanes(wave, inst);
    for (int i = 0; i < words; ++i) write_masked(wave.lanes_of(inst.args[0], i), word_[i].lane, mask);
  }

 private:
  Words word_[words];
};
// VOP1 and VOP2 clear the upper half of the destination (LLVM zeroesHigh16BitsOfDest, gfx9), later encodings keep it.
template <>
class Result<f16> {
 public:
  HWY_INLINE void set(std::size_t lane, double value) { value_[lane] = value; }
  const Lanes& finished(const Wave& wave, const Inst& inst) {
    for (std::size_t i = 0; i < lanes; ++i) half_.lane[i] = f16_result(wave, inst, value_[i]);
    return half_.lane;
  }
  void write(Wave& wave, const Inst& inst) {
    finished(wave, inst);
    if (HWY_UNLIKELY(inst.form == isa::Form::sdwa)) place_part(wave, inst, half_.lane);
    write_masked(wave.lanes_of(inst.args[0]), half_.lane, written_lanes(wave, inst));
  }

 private:
  alignas(64) std::array<double, lanes> value_;
  Words half_;
};

}  // namespace zyfa::emulator::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
