// What the semantic expressions of gfx950.def call, as plain functions of one lane. The emulator inlines them
// into flat loops over 64 lanes that are compiled once per vector extension, hence two rules: no branch and
// no library call that stands in the way of vectorisation, and no operation whose result could differ between
// extensions (every one of these is correctly rounded or integer arithmetic).
#pragma once

#include "isa/emulator/lane_division.h"
#include "isa/emulator/lane_integers.h"
#include "isa/emulator/lane_trigonometry.h"
#include "isa/numeric.h"

#include <hwy/base.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace zyfa::emulator {

// Bits

HWY_INLINE std::uint32_t reverse_bits(std::uint32_t x) {
  x = ((x >> 1) & 0x55555555U) | ((x & 0x55555555U) << 1);
  x = ((x >> 2) & 0x33333333U) | ((x & 0x33333333U) << 2);
  x = ((x >> 4) & 0x0f0f0f0fU) | ((x & 0x0f0f0f0fU) << 4);
  x = ((x >> 8) & 0x00ff00ffU) | ((x & 0x00ff00ffU) << 8);
  return (x >> 16) | (x << 16);
}
HWY_INLINE std::uint32_t popcount(std::uint32_t x) { return static_cast<std::uint32_t>(std::popcount(x)); }
HWY_INLINE std::uint32_t popcount(std::uint64_t x) { return static_cast<std::uint32_t>(std::popcount(x)); }

// Position of the lowest set bit, or of the highest counted from the top; all ones if there is none.
HWY_INLINE std::uint32_t find_first_one(std::uint32_t x) {
  return x == 0 ? ~0U : static_cast<std::uint32_t>(std::countr_zero(x));
}
HWY_INLINE std::uint32_t find_first_one(std::uint64_t x) {
  return x == 0 ? ~0U : static_cast<std::uint32_t>(std::countr_zero(x));
}
HWY_INLINE std::uint32_t leading_zeros(std::uint32_t x) {
  return x == 0 ? ~0U : static_cast<std::uint32_t>(std::countl_zero(x));
}

HWY_INLINE std::uint32_t sign_extend(std::uint32_t x, int width_bits) {
  const int shift = 32 - width_bits;
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(x << shift) >> shift);
}
// A field of 32 bits or more is all that is left above `offset` (the pseudo code's 1 << width is not cut to
// 32 bits).
HWY_INLINE std::uint32_t bit_field(std::uint32_t x, std::uint32_t offset, std::uint32_t width) {
  const std::uint32_t mask = width >= 32 ? ~0U : (1U << (width & 31)) - 1;
  return (x >> offset) & mask;
}
HWY_INLINE std::uint32_t align_bits(std::uint32_t high, std::uint32_t low, std::uint32_t shift) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(high) << 32 | low) >> shift);
}
// Bits 0 .. n - 1; n may lie outside 0..32.
HWY_INLINE std::uint32_t lanes_below(int n) {
  const std::uint32_t some = (1U << (n & 31)) - 1;
  return n <= 0 ? 0U : n >= 32 ? ~0U : some;
}

// v_perm_b32: selectors 0-3 take a byte of `low`, 4-7 one of `high`, 8-11 the sign of byte 1, 3, 5 or 7 in
// all bits, 12 is 0x00 and 13 upwards 0xff (CDNA4 ISA pseudo code).
HWY_INLINE std::uint32_t permute_bytes(std::uint32_t high, std::uint32_t low, std::uint32_t selectors) {
  const std::uint64_t data = static_cast<std::uint64_t>(high) << 32 | low;
  std::uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t selector = (selectors >> (8 * i)) & 0xff;
    const auto byte = static_cast<std::uint32_t>(data >> (8 * (selector & 7))) & 0xff;
    const auto sign = static_cast<std::uint32_t>(data >> (16 * (selector & 3) + 15)) & 1;
    const std::uint32_t signs = sign * 0xff;
    const std::uint32_t upper = selector >= 13 ? 0xff : selector == 12 ? 0 : signs;
    result |= (selector < 8 ? byte : upper) << (8 * i);
  }
  return result;
}
HWY_INLINE std::uint32_t insert_byte(std::uint32_t word, std::uint32_t index, std::uint32_t byte) {
  return (word & ~(0xffU << (8 * index))) | (byte << (8 * index));
}

// Integer arithmetic. Arguments of 64
// bits occur where a row's expression is evaluated exactly to saturate its result (clamp).

HWY_INLINE std::int32_t wrapping_add(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}
HWY_INLINE std::int64_t wrapping_add(std::int64_t a, std::int64_t b) { return a + b; }
HWY_INLINE std::int32_t wrapping_sub(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b));
}
HWY_INLINE std::int64_t wrapping_sub(std::int64_t a, std::int64_t b) { return a - b; }

HWY_INLINE std::int32_t low_24_bits_signed(std::uint32_t x) { return static_cast<std::int32_t>(x << 8) >> 8; }
HWY_INLINE std::int64_t mul_i24(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(low_24_bits_signed(static_cast<std::uint32_t>(a))) *
         low_24_bits_signed(static_cast<std::uint32_t>(b));
}
HWY_INLINE std::int32_t mul_i24(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(low_24_bits_signed(a)) *
                                   static_cast<std::uint32_t>(low_24_bits_signed(b)));
}
HWY_INLINE std::int32_t mul_i24(std::int32_t a, std::int32_t b) {
  return mul_i24(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b));
}
HWY_INLINE std::uint32_t mul_high(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(a) * b) >> 32);
}
HWY_INLINE std::int32_t mul_high(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>((static_cast<std::int64_t>(a) * b) >> 32);
}
template <class T>
HWY_INLINE T larger(T a, T b) {
  return a > b ? a : b;
}
template <class T>
HWY_INLINE T smaller(T a, T b) {
  return a < b ? a : b;
}
HWY_INLINE std::uint32_t absolute(std::uint32_t x) { return x >> 31 ? 0 - x : x; }
HWY_INLINE std::uint32_t saturate_u8(std::int32_t x) {
  return static_cast<std::uint32_t>(x < 0 ? 0 : x > 255 ? 255 : x);
}

// Next SCC of the scalar additions.
HWY_INLINE bool carry_out(std::uint32_t a, std::uint32_t b, bool carry) {
  return (static_cast<std::uint64_t>(a) + b + carry) >> 32 != 0;
}
HWY_INLINE bool borrow_out(std::uint32_t a, std::uint32_t b, bool borrow) {
  return static_cast<std::uint64_t>(b) + borrow > a;
}
HWY_INLINE bool add_overflows(std::uint32_t a, std::uint32_t b) { return (~(a ^ b) & (a ^ (a + b))) >> 31 != 0; }
HWY_INLINE bool sub_overflows(std::uint32_t a, std::uint32_t b) { return ((a ^ b) & (a ^ (a - b))) >> 31 != 0; }
HWY_INLINE bool shifted_add_carries(std::uint32_t a, int shift, std::uint32_t b) {
  return ((static_cast<std::uint64_t>(a) << shift) + b) >> 32 != 0;
}

// Floating point

// Rounded once. The builtin, not std::fma, so that inlined into a function compiled for an extension with FMA
// it is that instruction; elsewhere it is the C library's, slow but equal.
HWY_INLINE float fused_multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
HWY_INLINE float square_root(float x) { return std::sqrt(x); }

// IEEE 754-2008 minNum and maxNum, -0 below +0. The pseudo code's quieting of a signalling NaN under
// MODE.IEEE is not modelled: NaN is ignored beside a number whether it signals or not.
HWY_INLINE float min_num(float a, float b) {
  const float same = float_of(bits_of(a) | bits_of(b));
  const float smaller_one = a < b ? a : b;
  const float number = a == b ? same : smaller_one;
  const float not_a = a != a ? b : number;
  return b != b ? a : not_a;
}
HWY_INLINE float max_num(float a, float b) {
  const float same = float_of(bits_of(a) & bits_of(b));
  const float larger_one = a > b ? a : b;
  const float number = a == b ? same : larger_one;
  const float not_a = a != a ? b : number;
  return b != b ? a : not_a;
}
// CDNA4 ISA pseudo code of v_med3_f32: the minimum if there is a NaN, else what is left beside the maximum.
HWY_INLINE float median(float a, float b, float c) {
  const float most = max_num(max_num(a, b), c);
  const float least = min_num(min_num(a, b), c);
  const float a_not_most = most == b ? max_num(a, c) : max_num(a, b);
  const float middle = most == a ? max_num(b, c) : a_not_most;
  const bool has_nan = (a != a) | (b != b) | (c != c);
  return has_nan ? least : middle;
}

// Toward zero, out of range to the nearest limit, NaN to 0 (gfx950.md 4).
HWY_INLINE std::uint32_t float_to_u32(float x) {
  const float positive = x > 0.0f ? x : 0.0f;
  const float in_range = positive < 4294967040.0f ? positive : 4294967040.0f;
  return positive >= 4294967296.0f ? ~0U : static_cast<std::uint32_t>(static_cast<std::int64_t>(in_range));
}
HWY_INLINE std::int32_t float_to_i32(float x) {
  const float number = x == x ? x : 0.0f;
  const float above = number > -2147483648.0f ? number : -2147483648.0f;
  const float in_range = above < 2147483520.0f ? above : 2147483520.0f;
  return number >= 2147483648.0f ? 0x7fffffff : static_cast<std::int32_t>(in_range);
}
// Nearest even, 0..255, NaN to 0: gfx950.md 4, unconfirmed on gfx950.
HWY_INLINE std::uint32_t float_to_u8(float x) {
  const float positive = x > 0.0f ? x : 0.0f;
  const float in_range = positive < 255.0f ? positive : 255.0f;
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(rounded_magnitude_of(in_range)));
}

HWY_INLINE double power_of_two(std::int64_t exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}
// x * 2^exponent rounded once: in double the product is exact, as |x| is 2^-149 at least and 2^128 at most.
HWY_INLINE float scale_by_power(float x, std::int32_t exponent) {
  const std::int32_t above = exponent > -300 ? exponent : -300;
  const std::int32_t in_range = above < 300 ? above : 300;
  return static_cast<float>(static_cast<double>(x) * power_of_two(in_range));
}

// 2^x within 1 ulp, exact at integers, denormal results rounded once. x = n + f with n the nearest integer;
// 2^f - 1 is a polynomial (Chebyshev interpolation of (2^f - 1) / f on [-0.5, 0.5], error 2^-28), and 2^n two
// factors so that a denormal result is rounded in the last multiplication only.
HWY_INLINE float exp2_of(float x) {
  const float above = x < -152.0f ? -152.0f : x;
  const float in_range = above > 129.0f ? 129.0f : above;
  const float magic = 12582912.0f;  // 1.5 * 2^23: its last place is 1
  const float shifted = in_range + magic;
  const float f = in_range - (shifted - magic);
  float p = 0.000154531629f;
  p = fused_multiply_add(p, f, 0.00133908637f);
  p = fused_multiply_add(p, f, 0.00961808256f);
  p = fused_multiply_add(p, f, 0.0555035711f);
  p = fused_multiply_add(p, f, 0.240226508f);
  p = fused_multiply_add(p, f, 0.693147188f);
  p = fused_multiply_add(p, f, 1.0f);
  // The integer n stands in the low bits of `shifted`; for NaN it is rubbish, which NaN survives.
  const auto n = static_cast<std::int32_t>(bits_of(shifted) - bits_of(magic));
  const std::int32_t half = n >> 1;
  const float first = float_of(static_cast<std::uint32_t>(half + 127) << 23);
  const float second = float_of(static_cast<std::uint32_t>(n - half + 127) << 23);
  return p * first * second;
}

// log2(x) within 1 ulp, exact at powers of two, denormal arguments included; 0 gives -inf, negative numbers
// NaN. x = m 2^e with m in [sqrt(1/2), sqrt(2)); log2(m) = 2/ln(2) artanh(s), s = (m - 1) / (m + 1), as a
// series in double.
HWY_INLINE float log2_of(float x) {
  const bool is_denormal = bits_of(x) < 0x00800000U;
  const float scaled = x * 33554432.0f;  // 2^25
  const std::uint32_t bits = bits_of(is_denormal ? scaled : x);
  const std::uint32_t above_root_half = bits - 0x3f3504f3U;
  const std::int32_t exponent = static_cast<std::int32_t>(above_root_half) >> 23;
  const double m = float_of((above_root_half & 0x007fffffU) + 0x3f3504f3U);
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double series = 1.0 / 15;
  series = series * z + 1.0 / 13;
  series = series * z + 1.0 / 11;
  series = series * z + 1.0 / 9;
  series = series * z + 1.0 / 7;
  series = series * z + 1.0 / 5;
  series = series * z + 1.0 / 3;
  series = series * z + 1.0;
  const double whole = static_cast<double>(exponent - (is_denormal ? 25 : 0));
  const auto finite = static_cast<float>(whole + s * series * 2.8853900817779268);
  const float infinity = float_of(0x7f800000U);
  const float nan = float_of(0x7fc00000U);
  const float not_infinite = x == infinity ? infinity : finite;
  const float positive = x > 0.0f ? not_infinite : nan;
  return x == 0.0f ? -infinity : positive;
}

// Conversions that pack

using isa::float_to_bf16;

HWY_INLINE std::uint32_t pack_fp8(float low, float high, bool fp16_ovfl) {
  const isa::Overflow overflow = fp16_ovfl ? isa::Overflow::saturate : isa::Overflow::to_nan;
  return isa::float_to_e4m3(low, overflow) | static_cast<std::uint32_t>(isa::float_to_e4m3(high, overflow)) << 8;
}
// The low two bytes as floats, the first in the low half.
HWY_INLINE std::uint64_t unpack_fp8(std::uint32_t pair) {
  const std::uint32_t low = bits_of(isa::e4m3_to_float(static_cast<std::uint8_t>(pair)));
  const std::uint32_t high = bits_of(isa::e4m3_to_float(static_cast<std::uint8_t>(pair >> 8)));
  return std::uint64_t{high} << 32 | low;
}
HWY_INLINE std::uint64_t unpack_bf8(std::uint32_t pair) {
  const std::uint32_t low = bits_of(isa::e5m2_to_float(static_cast<std::uint8_t>(pair)));
  const std::uint32_t high = bits_of(isa::e5m2_to_float(static_cast<std::uint8_t>(pair >> 8)));
  return std::uint64_t{high} << 32 | low;
}
HWY_INLINE std::uint32_t pack_bf8(float low, float high, bool fp16_ovfl) {
  const isa::Overflow overflow = fp16_ovfl ? isa::Overflow::saturate : isa::Overflow::to_nan;
  return isa::float_to_e5m2(low, overflow) | static_cast<std::uint32_t>(isa::float_to_e5m2(high, overflow)) << 8;
}
// x / 2^(e - 127), e the exponent field of `scale` (gfx950.md 4). Finite quotients are held within +-2^100,
// far beyond either FP8 format, so that none turns into an infinity, which saturation would not catch; those
// below the smallest float give a zero, as they would unrounded.
HWY_INLINE float unscaled(float x, float scale) {
  const std::int64_t e = isa::float_to_e8m0(scale);
  const double quotient = static_cast<double>(x) * power_of_two(127 - e);
  const double below = quotient > 0x1p100 ? 0x1p100 : quotient;
  const double in_range = below < -0x1p100 ? -0x1p100 : below;
  return magnitude_of(x) == float_of(0x7f800000U) ? x : static_cast<float>(in_range);
}
HWY_INLINE std::uint32_t pack_fp8_scaled(float low, float high, float scale, bool fp16_ovfl) {
  return pack_fp8(unscaled(low, scale), unscaled(high, scale), fp16_ovfl);
}

}  // namespace zyfa::emulator
