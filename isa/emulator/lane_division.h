// v_div_scale, v_div_fmas and v_div_fixup, from which compilers build a correctly rounded division: scale denominator
// and numerator out of harm's way, approximate, scale back in the last step, put the special cases right. From the
// CDNA4 ISA pseudo code, with what docs/numerics.md says of its gaps.
#pragma once

#include "isa/emulator/lane_doubles.h"

#include <limits>

namespace zyfa::emulator {

template <class T>
struct DivisionLimits;
template <>
struct DivisionLimits<float> {
  static constexpr int large_quotient = 96, tiny_numerator = 23, power = 64, underflow = -150, special = 255;
  static constexpr float up = 0x1p64f, down = 0x1p-64f;
};
template <>
struct DivisionLimits<double> {
  static constexpr int large_quotient = 768, tiny_numerator = 53, power = 128, underflow = -1075, special = 2047;
  static constexpr double up = 0x1p128, down = 0x1p-128;
};

HWY_INLINE int exponent_field(float x) { return static_cast<int>(std::bit_cast<std::uint32_t>(x) >> 23 & 0xff); }
HWY_INLINE int exponent_field(double x) { return static_cast<int>(bits_of(x) >> 52 & 0x7ff); }
HWY_INLINE float float_magnitude(float x) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7fffffffU);
}
HWY_INLINE double float_magnitude(double x) { return magnitude_of(x); }

template <class T>
HWY_INLINE bool is_denormal(T x) {
  return x != T{0} && float_magnitude(x) < std::numeric_limits<T>::min();
}

// Which of the two is scaled, and by what.
enum class DivisionCase {
  none,
  undefined,
  large_quotient,
  denormal_denominator,
  tiny_both,
  large_denominator,
  tiny_quotient,
  tiny_numerator
};

template <class T>
HWY_INLINE DivisionCase division_case(T denominator, T numerator) {
  using L = DivisionLimits<T>;
  using enum DivisionCase;
  const bool undefined_one = denominator == T{0} || numerator == T{0};
  const bool large_one = exponent_field(numerator) - exponent_field(denominator) >= L::large_quotient;
  const bool denormal_one = is_denormal(denominator);
  const bool large_denominator_one = is_denormal(T{1} / denominator);
  const bool tiny_quotient_one = is_denormal(numerator / denominator);
  const bool tiny_numerator_one = exponent_field(numerator) <= L::tiny_numerator;
  const DivisionCase small = tiny_quotient_one ? tiny_quotient : tiny_numerator_one ? tiny_numerator : none;
  const DivisionCase large = tiny_quotient_one ? tiny_both : large_denominator;
  const DivisionCase number = denormal_one ? denormal_denominator : large_denominator_one ? large : small;
  return undefined_one ? undefined : large_one ? large_quotient : number;
}

// The source as the division's steps want it: `a` is the numerator or the denominator, whichever is to be scaled.
template <class T>
HWY_INLINE T division_source(T a, T denominator, T numerator) {
  using L = DivisionLimits<T>;
  using enum DivisionCase;
  const DivisionCase c = division_case(denominator, numerator);
  const bool is_denominator = a == denominator, is_numerator = a == numerator;
  const bool up = c == denormal_denominator || c == tiny_numerator || (c == large_quotient && is_denominator) ||
                  (c == tiny_quotient && is_numerator);
  const bool down = c == large_denominator || (c == tiny_both && is_denominator);
  const T scaled = up ? a * L::up : down ? a * L::down : a;
  return c == undefined ? std::numeric_limits<T>::quiet_NaN() : scaled;
}
template <class T>
HWY_INLINE bool division_is_scaled(T denominator, T numerator) {
  using enum DivisionCase;
  const DivisionCase c = division_case(denominator, numerator);
  return c == large_quotient || c == tiny_both || c == tiny_quotient;
}

// a * b + c, scaled back by 2^64 (fp64: 2^128) to the side to which c says that the quotient was moved away from, and
// rounded once. In double the product of floats is exact; the sum is rounded to odd, so that the rounding to float sees
// on which side of a tie it lies.
HWY_INLINE float division_step(float a, float b, float c, bool scaled) {
  const double product = static_cast<double>(a) * b;
  const double sum = product + c;
  const double back = sum - product;
  const double error = (product - (sum - back)) + (static_cast<double>(c) - back);
  const std::uint64_t bits = bits_of(sum);
  const std::uint64_t toward = (error > 0.0) == (sum > 0.0) ? bits + 1 : bits - 1;
  const bool inexact = error != 0.0 && error == error && (bits & 1) == 0 && exponent_field(sum) != 0x7ff;
  const double odd = double_of(inexact ? toward : bits);
  const double factor = !scaled ? 1.0 : exponent_field(c) > 127 ? 0x1p64 : 0x1p-64;
  return static_cast<float>(odd * factor);
}

// The exact sum of a * b and c less r, r being that sum rounded, as a double of the same sign.
inline double rest_of_sum(double a, double b, double c, double r) {
  int of_a = 0, of_b = 0, of_c = 0;
  const double ma = std::frexp(a, &of_a), mb = std::frexp(b, &of_b), mc = std::frexp(c, &of_c);
  const int e = of_a + of_b;
  const double product = ma * mb, low = __builtin_fma(ma, mb, -product);
  // Beyond this distance the smaller of the two is nothing but a sign.
  constexpr int far = 400;
  const int distance = of_c - e;
  const double addend = std::ldexp(mc, distance > far ? far : distance < -far ? -far : distance);
  const double rounded = distance > far ? addend : std::ldexp(r, -e);
  const double first = product - rounded;
  const double part = first - product;
  const double lost = (product - (first - part)) + (-rounded - part);
  return (first + addend) + (lost + low);
}
// As for fp32. Scaling up is exact. Scaling down may round to a denormal a second time, which goes wrong only if what
// was rounded first looks like a tie: then the rest decides.
inline double scaled_division_step(double a, double b, double c) {
  const double sum = __builtin_fma(a, b, c);
  if (exponent_field(c) > 1023) return sum * 0x1p128;
  // A sum that is too large before it is scaled down comes from a large product; c, below 2, only rounds.
  if (exponent_field(sum) == 0x7ff) return __builtin_fma(a * 0x1p-128, b, c * 0x1p-128);
  const double down = sum * 0x1p-128;
  const double off = sum - down * 0x1p128;         // exact
  if (magnitude_of(off) != 0x1p-947) return down;  // half of the least denormal
  const double rest = rest_of_sum(a, b, c, sum);
  if (off > 0.0 && rest > 0.0) return down + 0x1p-1074;
  if (off < 0.0 && rest < 0.0) return down - 0x1p-1074;
  return down;
}
HWY_INLINE double division_step(double a, double b, double c, bool scaled) {
  return scaled ? scaled_division_step(a, b, c) : __builtin_fma(a, b, c);
}

// The quotient's special cases; elsewhere its magnitude with the right sign.
template <class T>
HWY_INLINE T division_result(T quotient, T denominator, T numerator) {
  using L = DivisionLimits<T>;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const bool negative = std::signbit(denominator) != std::signbit(numerator);
  const T d = float_magnitude(denominator), n = float_magnitude(numerator);
  const bool nan = d != d || n != n || (d == T{0} && n == T{0}) || (d == infinity && n == infinity);
  const bool overflows = quotient != quotient;  // steps that met an infinity
  const bool infinite = d == T{0} || n == infinity;
  const bool zero =
      d == infinity || n == T{0} || exponent_field(numerator) - exponent_field(denominator) < L::underflow;
  const T magnitude = infinite ? infinity : zero ? T{0} : overflows ? infinity : float_magnitude(quotient);
  const T result = negative ? -magnitude : magnitude;
  return nan ? std::numeric_limits<T>::quiet_NaN() : result;
}

}  // namespace zyfa::emulator
