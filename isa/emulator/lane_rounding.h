// Bits, signs and rounding to integers of fp32 and fp64, for the semantic expressions in gfx950.def. The rules of
// lane_math.h hold.
#pragma once

#include <hwy/base.h>

#include <bit>
#include <cstdint>

namespace zyfa::emulator {

HWY_INLINE std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
HWY_INLINE float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }
HWY_INLINE std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }
HWY_INLINE double double_of(std::uint64_t bits) { return std::bit_cast<double>(bits); }

// Adding and taking away 2^23 rounds a magnitude below it to the nearest integer, ties to even; from there on
// every float is an integer, and NaN and infinity stay what they are.
HWY_INLINE float rounded_magnitude_of(float magnitude) {
  const float rounded = (magnitude + 8388608.0f) - 8388608.0f;
  return magnitude < 8388608.0f ? rounded : magnitude;
}
HWY_INLINE float with_sign_of(float magnitude, float sign) {
  return float_of((bits_of(magnitude) & 0x7fffffffU) | (bits_of(sign) & 0x80000000U));
}
HWY_INLINE float magnitude_of(float x) { return float_of(bits_of(x) & 0x7fffffffU); }

HWY_INLINE double magnitude_of(double x) { return double_of(bits_of(x) & ~(std::uint64_t{1} << 63)); }
HWY_INLINE double with_sign_of(double magnitude, double sign) {
  constexpr std::uint64_t top = std::uint64_t{1} << 63;
  return double_of((bits_of(magnitude) & ~top) | (bits_of(sign) & top));
}

// The same with 2^52.
HWY_INLINE double rounded_magnitude_of(double magnitude) {
  const double rounded = (magnitude + 0x1p52) - 0x1p52;
  return magnitude < 0x1p52 ? rounded : magnitude;
}

// Of float and double.
template <class F>
HWY_INLINE F round_even(F x) {
  return with_sign_of(rounded_magnitude_of(magnitude_of(x)), x);
}
template <class F>
HWY_INLINE F trunc_of(F x) {
  const F rounded = rounded_magnitude_of(magnitude_of(x));
  const F step = rounded > magnitude_of(x) ? F{1} : F{0};
  return with_sign_of(rounded - step, x);
}
// Zeros keep the sign of the argument, as with the C library's functions.
template <class F>
HWY_INLINE F floor_of(F x) {
  const F rounded = round_even(x);
  return rounded - (rounded > x ? F{1} : F{0});
}
template <class F>
HWY_INLINE F ceil_of(F x) {
  const F rounded = round_even(x);
  return with_sign_of(rounded + (rounded < x ? F{1} : F{0}), x);
}
template <class F>
HWY_INLINE F fract_of(F x) {
  return x - floor_of(x);
}

}  // namespace zyfa::emulator
