// Floating-point functions of the semantic expressions in gfx950.def that lane_math.h has for fp32, for fp64; those
// that both types have beyond it; and the steps of division. The rules of lane_math.h hold.
#pragma once

#include "isa/emulator/lane_rounding.h"

#include <hwy/base.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace zyfa::emulator {

HWY_INLINE double fused_multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
HWY_INLINE double square_root(double x) { return std::sqrt(x); }

// minNum and maxNum, as in lane_math.h.
HWY_INLINE double min_num(double a, double b) {
  const double same = double_of(bits_of(a) | bits_of(b));
  const double number = a == b ? same : a < b ? a : b;
  const double not_a = a != a ? b : number;
  return b != b ? a : not_a;
}
HWY_INLINE double max_num(double a, double b) {
  const double same = double_of(bits_of(a) & bits_of(b));
  const double number = a == b ? same : a > b ? a : b;
  const double not_a = a != a ? b : number;
  return b != b ? a : not_a;
}
// IEEE 754-2019 minimum and maximum: NaN if there is one.
HWY_INLINE float minimum(float a, float b) {
  const float same = std::bit_cast<float>(std::bit_cast<std::uint32_t>(a) | std::bit_cast<std::uint32_t>(b));
  return a != a || b != b ? a + b : a == b ? same : a < b ? a : b;
}
HWY_INLINE float maximum(float a, float b) {
  const float same = std::bit_cast<float>(std::bit_cast<std::uint32_t>(a) & std::bit_cast<std::uint32_t>(b));
  return a != a || b != b ? a + b : a == b ? same : a > b ? a : b;
}

// Conversions toward zero, out of range to the nearest limit, NaN to 0 (gfx950.md 4).
HWY_INLINE std::int32_t float_to_i32(double x) {
  const double number = x == x ? x : 0.0;
  const double above = number > -2147483648.0 ? number : -2147483648.0;
  return static_cast<std::int32_t>(above < 2147483647.0 ? above : 2147483647.0);
}
HWY_INLINE std::uint32_t float_to_u32(double x) {
  const double positive = x > 0.0 ? x : 0.0;
  return static_cast<std::uint32_t>(static_cast<std::int64_t>(positive < 4294967295.0 ? positive : 4294967295.0));
}

// x * 2^exponent rounded once. Two exact factors bring a result that stays normal where it belongs; one that becomes
// denormal is rounded by the last factor alone, because the ones before it leave it normal.
HWY_INLINE double scale_by_power(double x, std::int32_t exponent) {
  const auto power = [](std::int64_t e) { return double_of(static_cast<std::uint64_t>(e + 1023) << 52); };
  const std::int32_t above = exponent > -2200 ? exponent : -2200;
  const std::int32_t n = above < 2200 ? above : 2200;
  // Denormals are made normal first.
  const double normal = x * 0x1p64;
  const double start = magnitude_of(x) < 0x1p-1022 ? normal : x;
  std::int32_t left = magnitude_of(x) < 0x1p-1022 ? n - 64 : n;
  const auto field = static_cast<std::int32_t>(bits_of(start) >> 52 & 0x7ff);
  // The exponent that the result would have without rounding decides how much may be done exactly.
  const std::int32_t lowest = 1 - field;
  const std::int32_t exact = left < lowest ? lowest : left;
  left -= exact;
  const std::int32_t first = exact / 3, second = first, third = exact - 2 * first;
  const std::int32_t last = left < -1022 ? -1022 : left;
  const double scaled = start * power(first) * power(second) * power(third) * power(last);
  return field == 0 || field == 0x7ff ? x : scaled;
}

// Exponent and mantissa as C's frexp has them: x = mantissa * 2^exponent with the mantissa in [0.5, 1). The pseudo code
// reads the bare field; that zero has exponent 0 and denormals are normalised is what LLVM's expansion of frexp needs.
HWY_INLINE std::int32_t exponent_of(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const float normal = std::bit_cast<float>(bits & 0x7fffffffU) * 16777216.0f;  // 2^24
  const auto field = static_cast<std::int32_t>(bits >> 23 & 0xff);
  const auto field_of_denormal = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(normal) >> 23) - 24;
  const std::int32_t exponent = (field == 0 ? field_of_denormal : field) - 126;
  return (bits & 0x7fffffffU) == 0 || field == 0xff ? 0 : exponent;
}
HWY_INLINE float mantissa_of(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const float normal = x * 16777216.0f;
  const std::uint32_t used = (bits & 0x7f800000U) == 0 ? std::bit_cast<std::uint32_t>(normal) : bits;
  const float mantissa = std::bit_cast<float>((used & 0x807fffffU) | 0x3f000000U);
  return (bits & 0x7fffffffU) == 0 || (bits & 0x7f800000U) == 0x7f800000U ? x : mantissa;
}
HWY_INLINE std::int32_t exponent_of(double x) {
  const std::uint64_t bits = bits_of(magnitude_of(x));
  const auto field = static_cast<std::int32_t>(bits >> 52);
  const auto field_of_denormal = static_cast<std::int32_t>(bits_of(magnitude_of(x) * 0x1p64) >> 52) - 64;
  const std::int32_t exponent = (field == 0 ? field_of_denormal : field) - 1022;
  return bits == 0 || field == 0x7ff ? 0 : exponent;
}
HWY_INLINE double mantissa_of(double x) {
  const std::uint64_t bits = bits_of(x);
  const std::uint64_t field = bits >> 52 & 0x7ff;
  const std::uint64_t used = field == 0 ? bits_of(x * 0x1p64) : bits;
  const double mantissa = double_of((used & 0x800fffffffffffffU) | 0x3fe0000000000000U);
  return (bits << 1) == 0 || field == 0x7ff ? x : mantissa;
}

// v_cmp_class: `classes` has a bit for each of signalling NaN, quiet NaN, -infinity, -normal, -denormal, -0, and from
// +0 on the same upwards.
HWY_INLINE bool is_of_class(std::uint64_t magnitude, bool negative, int fraction_bits, std::uint64_t exponent_mask,
                            std::uint32_t classes) {
  const std::uint64_t quiet = std::uint64_t{1} << (fraction_bits - 1);
  const std::uint64_t fraction = magnitude & ((quiet << 1) - 1);
  const std::uint64_t exponent = magnitude >> fraction_bits;
  const std::uint32_t nan = (fraction & quiet) != 0 ? 1 : 0;
  const std::uint32_t infinite = negative ? 2 : 9, normal = negative ? 3 : 8;
  const std::uint32_t denormal = negative ? 4 : 7, zero = negative ? 5 : 6;
  const std::uint32_t high = fraction != 0 ? nan : infinite;
  const std::uint32_t low = fraction != 0 ? denormal : zero;
  const std::uint32_t bit = exponent == exponent_mask ? high : exponent != 0 ? normal : low;
  return (classes >> bit & 1) != 0;
}
HWY_INLINE bool is_of_class(float x, std::uint32_t classes) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  return is_of_class(bits & 0x7fffffffU, bits >> 31 != 0, 23, 0xff, classes);
}
HWY_INLINE bool is_of_class(double x, std::uint32_t classes) {
  return is_of_class(bits_of(magnitude_of(x)), bits_of(x) >> 63 != 0, 52, 0x7ff, classes);
}

// sin and cos of 2 pi x: the quarter turn is taken off exactly, the rest is a Taylor series in double, whose last term
// is below 2^-60 of the first. What the hardware does beyond +-256 turns is not modelled.
HWY_INLINE float wave_of_turns(double turns, double quarter_turns_ahead) {
  const double quarters = (turns - round_even(turns)) * 4.0;
  const double nearest = round_even(quarters);
  const double x = (quarters - nearest) * 1.5707963267948966;
  const double z = x * x;
  double sine = -1.0 / 1307674368000.0;
  sine = sine * z + 1.0 / 6227020800.0;
  sine = sine * z - 1.0 / 39916800.0;
  sine = sine * z + 1.0 / 362880.0;
  sine = sine * z - 1.0 / 5040.0;
  sine = sine * z + 1.0 / 120.0;
  sine = sine * z - 1.0 / 6.0;
  sine = x + x * z * sine;
  double cosine = 1.0 / 20922789888000.0;
  cosine = cosine * z - 1.0 / 87178291200.0;
  cosine = cosine * z + 1.0 / 479001600.0;
  cosine = cosine * z - 1.0 / 3628800.0;
  cosine = cosine * z + 1.0 / 40320.0;
  cosine = cosine * z - 1.0 / 720.0;
  cosine = cosine * z + 1.0 / 24.0;
  cosine = cosine * z - 0.5;
  cosine = 1.0 + z * cosine;
  // 0 to 3: which quarter; even ones take the sine, those from 2 on change its sign.
  const double quarter = nearest + quarter_turns_ahead;
  const double in_turn = quarter - 4.0 * floor_of(quarter * 0.25);
  const double value = in_turn == 1.0 || in_turn == 3.0 ? cosine : sine;
  return static_cast<float>(in_turn >= 2.0 ? -value : value);
}
HWY_INLINE float sine_of_turns(float x) { return wave_of_turns(x, 0.0); }
HWY_INLINE float cosine_of_turns(float x) { return wave_of_turns(x, 1.0); }

}  // namespace zyfa::emulator
