// How vector rows leave their results: rounded, modified, placed within the register, through EXEC. Compiled once per
// vector extension, like lane_access-inl.h.
#if defined(ZYFA_LANE_RESULTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ZYFA_LANE_RESULTS_INL_H
#undef ZYFA_LANE_RESULTS_INL_H
#else
#define ZYFA_LANE_RESULTS_INL_H
#endif

#include "isa/emulator/lane_access-inl.h"

HWY_BEFORE_NAMESPACE();
namespace zyfa::emulator::HWY_NAMESPACE {

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
