// Functions that the 16-bit rows of gfx950.def name in their expressions. Halves of type f16 are computed as floats or
// doubles wide enough for a second rounding to be innocuous, and rounded when written. As in lane_math.h: without
// branches, forced inline.
#pragma once

#include "isa/emulator/lane_math.h"

#include <cmath>
#include <limits>

namespace zyfa::emulator {

// Nearest even; `saturates` (MODE.FP16_OVFL) holds finite values at the largest finite one. Every NaN is 0x7e00.
HWY_INLINE std::uint32_t double_to_f16(double value, bool saturates) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t magnitude = bits & 0x7fffffffffffffffULL;
  // Below 2^-14 the adder rounds, against 2^28, whose last place is f16's smallest step, 2^-24.
  constexpr std::uint64_t magic = 0x41b0000000000000ULL;
  const double sum = std::bit_cast<double>(magnitude) + std::bit_cast<double>(magic);
  const std::uint64_t denormal = std::bit_cast<std::uint64_t>(sum) - magic;
  const std::uint64_t normal = ((magnitude + 0x1ffffffffffULL + (magnitude >> 42 & 1)) >> 42) - (1008ULL << 10);
  const std::uint64_t rounded = magnitude < 0x3f10000000000000ULL ? denormal : normal;
  const std::uint64_t infinity = 0x7ff0000000000000ULL;
  const std::uint64_t limit = saturates && magnitude < infinity ? 0x7bff : 0x7c00;
  const std::uint64_t code = (bits >> 48 & 0x8000) | (rounded < limit ? rounded : limit);
  return static_cast<std::uint32_t>(magnitude > infinity ? 0x7e00 : code);
}
HWY_INLINE float rounded_f16(float x) { return isa::f16_to_float(static_cast<std::uint16_t>(double_to_f16(x, false))); }

// The sum of a product of two halves and a half, rounded by double only where f16 can't see it: the product has 22
// bits, and what it adds to a half far above it never ends at a tie of 11 bits.
HWY_INLINE double fused_f16(double a, double b, double c) { return a * b + c; }
HWY_INLINE double scaled_f16(double x, std::int64_t exponent) {
  const std::int64_t above = exponent > -100 ? exponent : -100;
  return x * power_of_two(above < 100 ? above : 100);
}

// Toward zero, held at the limits, NaN to 0.
HWY_INLINE std::int32_t held_integer(float x, std::int32_t low, std::int32_t high) {
  const float number = x == x ? x : 0.0f;
  const float above = number > static_cast<float>(low) ? number : static_cast<float>(low);
  return static_cast<std::int32_t>(above < static_cast<float>(high) ? above : static_cast<float>(high));
}
// [-1, 1] and [0, 1] to the whole range, nearest even, NaN to 0 (measured on gfx1201 for fp16 sources).
HWY_INLINE std::int32_t to_snorm16(float x) {
  const float number = x == x ? x : 0.0f;
  const float in_range = number > 1.0f ? 1.0f : number < -1.0f ? -1.0f : number;
  const double steps = static_cast<double>(in_range) * 32767.0;
  return static_cast<std::int32_t>(steps + 0x1.8p52 - 0x1.8p52);
}
HWY_INLINE std::uint32_t to_unorm16(float x) {
  const float positive = x > 0.0f ? x : 0.0f;
  const double steps = static_cast<double>(positive < 1.0f ? positive : 1.0f) * 65535.0;
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(steps + 0x1.8p52 - 0x1.8p52));
}

template <class T>
HWY_INLINE std::uint32_t pack_halves(T low, T high) {
  return (static_cast<std::uint32_t>(low) & 0xffffU) | static_cast<std::uint32_t>(high) << 16;
}
// Toward zero, also beyond the largest half, which finite values never leave (v_cvt_pkrtz_f16_f32).
HWY_INLINE std::uint32_t truncated_f16(float x) {
  const std::uint32_t nearest = double_to_f16(x, false);
  const float back = isa::f16_to_float(static_cast<std::uint16_t>(nearest));
  return nearest - (magnitude_of(back) > magnitude_of(x) ? 1 : 0);
}

// Mantissa in [0.5, 1) and exponent of a half; 0, infinity and NaN are their own mantissa with exponent 0.
HWY_INLINE std::int32_t exponent_of_f16(float x) {
  const std::uint32_t field = bits_of(x) >> 23 & 0xff;
  return field == 0 || field == 0xff ? 0 : static_cast<std::int32_t>(field) - 126;
}
HWY_INLINE float mantissa_of_f16(float x) {
  const std::uint32_t field = bits_of(x) >> 23 & 0xff;
  const float normalised = float_of((bits_of(x) & 0x807fffffU) | 0x3f000000U);
  return field == 0 || field == 0xff ? x : normalised;
}

// The last step of a division, CDNA4 ISA pseudo code of v_div_fixup_f16: a is the quotient so far of c by b.
HWY_INLINE float fixed_quotient(float a, float b, float c) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float sign = float_of((bits_of(b) ^ bits_of(c)) & 0x80000000U);
  const bool is_invalid = (b == 0.0f && c == 0.0f) || (magnitude_of(b) == infinity && magnitude_of(c) == infinity);
  const bool is_infinite = b == 0.0f || magnitude_of(c) == infinity;
  const bool is_zero = magnitude_of(b) == infinity || c == 0.0f;
  const float special = is_infinite ? infinity : 0.0f;
  const float number = with_sign_of(is_infinite || is_zero ? special : magnitude_of(a), sign);
  const float valid = is_invalid ? std::numeric_limits<float>::quiet_NaN() : number;
  return b != b || c != c ? std::numeric_limits<float>::quiet_NaN() : valid;
}

// Dot products

HWY_INLINE float low_f16(std::uint32_t pair) { return isa::f16_to_float(static_cast<std::uint16_t>(pair)); }
HWY_INLINE float high_f16(std::uint32_t pair) { return isa::f16_to_float(static_cast<std::uint16_t>(pair >> 16)); }
HWY_INLINE float low_bf16(std::uint32_t pair) { return float_of(pair << 16); }
HWY_INLINE float high_bf16(std::uint32_t pair) { return float_of(pair & 0xffff0000U); }

// fp32 denormals count as zero whatever MODE says (LLVM SITargetLowering::performFMACombine on fdot2).
HWY_INLINE float without_denormal(float x) {
  return float_of((bits_of(x) & 0x7f800000U) == 0 ? bits_of(x) & 0x80000000U : bits_of(x));
}
// In the order of the pseudo code, each step rounded. Products of halves are exact.
HWY_INLINE float dot2_f16(std::uint32_t a, std::uint32_t b, float c) {
  const float first = without_denormal(fused_multiply_add(low_f16(a), low_f16(b), without_denormal(c)));
  return without_denormal(fused_multiply_add(high_f16(a), high_f16(b), first));
}
HWY_INLINE float dot2c_bf16(std::uint32_t a, std::uint32_t b, float c) {
  const float first = without_denormal(fused_multiply_add(low_bf16(a), low_bf16(b), without_denormal(c)));
  return without_denormal(fused_multiply_add(high_bf16(a), high_bf16(b), first));
}
// Here the accumulator comes last.
HWY_INLINE float dot2_bf16(std::uint32_t a, std::uint32_t b, float c) {
  const float first = without_denormal(low_bf16(a) * low_bf16(b));
  const float both = without_denormal(fused_multiply_add(high_bf16(a), high_bf16(b), first));
  return without_denormal(both + without_denormal(c));
}
// Exact; wrapped or saturated when written.
template <int bits>
HWY_INLINE std::int64_t dot_signed(std::uint32_t a, std::uint32_t b, std::int64_t c) {
  for (int i = 0; i < 32; i += bits)
    c += static_cast<std::int64_t>(static_cast<std::int32_t>(a << (32 - bits - i)) >> (32 - bits)) *
         (static_cast<std::int32_t>(b << (32 - bits - i)) >> (32 - bits));
  return c;
}
template <int bits>
HWY_INLINE std::int64_t dot_unsigned(std::uint32_t a, std::uint32_t b, std::int64_t c) {
  constexpr std::uint32_t mask = (1U << bits) - 1;
  for (int i = 0; i < 32; i += bits) c += static_cast<std::int64_t>(a >> i & mask) * (b >> i & mask);
  return c;
}

}  // namespace zyfa::emulator
