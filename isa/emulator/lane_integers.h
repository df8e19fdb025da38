// Integer functions of the semantic expressions in gfx950.def beyond those of lane_math.h: signs, quads, bytes and
// saturation. The rules of lane_math.h hold.
#pragma once

#include <hwy/base.h>

#include <bit>
#include <cstdint>

namespace zyfa::emulator {

// Bits

HWY_INLINE std::uint64_t reverse_bits(std::uint64_t x) {
  x = ((x >> 1) & 0x5555555555555555U) | ((x & 0x5555555555555555U) << 1);
  x = ((x >> 2) & 0x3333333333333333U) | ((x & 0x3333333333333333U) << 2);
  x = ((x >> 4) & 0x0f0f0f0f0f0f0f0fU) | ((x & 0x0f0f0f0f0f0f0f0fU) << 4);
  return __builtin_bswap64(x);
}
HWY_INLINE std::uint32_t leading_zeros(std::uint64_t x) {
  return x == 0 ? ~0U : static_cast<std::uint32_t>(std::countl_zero(x));
}
// How many bits from the top are like the top one; all ones if all are.
HWY_INLINE std::uint32_t leading_signs(std::uint32_t x) {
  const std::uint32_t changes = x ^ (0 - (x >> 31));
  return changes == 0 ? ~0U : static_cast<std::uint32_t>(std::countl_zero(changes));
}
HWY_INLINE std::uint32_t leading_signs(std::uint64_t x) {
  const std::uint64_t changes = x ^ (0 - (x >> 63));
  return changes == 0 ? ~0U : static_cast<std::uint32_t>(std::countl_zero(changes));
}

// Bit 4 i says whether any of the bits 4 i .. 4 i + 3 is set.
template <class T>
HWY_INLINE T any_of_quads(T x) {
  constexpr T ones = static_cast<T>(0x1111111111111111U);
  return (x | x >> 1 | x >> 2 | x >> 3) & ones;
}
template <class T>
HWY_INLINE T whole_quads(T x) {
  return any_of_quads(x) * 15;
}
template <class T>
HWY_INLINE T quad_mask(T x) {
  const T any = any_of_quads(x);
  T mask = 0;
  for (unsigned i = 0; i < sizeof(T) * 2; ++i) mask |= (any >> (4 * i) & 1) << i;
  return mask;
}
HWY_INLINE std::uint64_t replicate_bits(std::uint32_t x) {
  std::uint64_t wide = x;
  wide = (wide | wide << 16) & 0x0000ffff0000ffffU;
  wide = (wide | wide << 8) & 0x00ff00ff00ff00ffU;
  wide = (wide | wide << 4) & 0x0f0f0f0f0f0f0f0fU;
  wide = (wide | wide << 2) & 0x3333333333333333U;
  wide = (wide | wide << 1) & 0x5555555555555555U;
  return wide | wide << 1;
}

HWY_INLINE std::uint64_t bit_field(std::uint64_t x, std::uint32_t offset, std::uint32_t width) {
  const std::uint64_t mask = width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (width & 63)) - 1;
  return (x >> offset) & mask;
}
// The field's highest bit is its sign. A field that reaches past the top is what the arithmetic shift leaves of it, and
// one without bits is 0.
HWY_INLINE std::uint32_t signed_bit_field(std::uint32_t x, std::uint32_t offset, std::uint32_t width) {
  const std::int32_t shifted = static_cast<std::int32_t>(x) >> offset;
  const std::uint32_t unused = width >= 32 ? 0 : 32 - width;
  const std::int32_t field =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(shifted) << (unused & 31)) >> (unused & 31);
  return width == 0 ? 0U : static_cast<std::uint32_t>(field);
}
HWY_INLINE std::uint64_t signed_bit_field(std::uint64_t x, std::uint32_t offset, std::uint32_t width) {
  const std::int64_t shifted = static_cast<std::int64_t>(x) >> offset;
  const std::uint32_t unused = width >= 64 ? 0 : 64 - width;
  const std::int64_t field =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(shifted) << (unused & 63)) >> (unused & 63);
  return width == 0 ? 0U : static_cast<std::uint64_t>(field);
}

// Halves and bytes

HWY_INLINE std::int32_t low_half(std::uint32_t x) { return static_cast<std::int16_t>(x); }
HWY_INLINE std::int32_t high_half(std::uint32_t x) { return static_cast<std::int16_t>(x >> 16); }

HWY_INLINE std::uint32_t byte_of(std::uint32_t x, int i) { return x >> (8 * i) & 0xff; }
HWY_INLINE std::uint32_t distance(std::uint32_t x, std::uint32_t y) { return x > y ? x - y : y - x; }

HWY_INLINE std::uint32_t difference_of_bytes(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum = 0;
  for (int i = 0; i < 4; ++i) sum += distance(byte_of(a, i), byte_of(b, i));
  return sum;
}
// Without the bytes at which the second source is zero.
HWY_INLINE std::uint32_t masked_difference_of_bytes(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum = 0;
  for (int i = 0; i < 4; ++i) sum += byte_of(b, i) == 0 ? 0 : distance(byte_of(a, i), byte_of(b, i));
  return sum;
}
HWY_INLINE std::uint32_t difference_of_halves(std::uint32_t a, std::uint32_t b) {
  return distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16);
}
// Means of bytes, rounded up where the byte of c is odd.
HWY_INLINE std::uint32_t average_bytes(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t result = 0;
  for (int i = 0; i < 4; ++i) result |= (byte_of(a, i) + byte_of(b, i) + (byte_of(c, i) & 1)) >> 1 << (8 * i);
  return result;
}

HWY_INLINE std::uint32_t saturate_i8(std::int32_t x) {
  return static_cast<std::uint32_t>(x < -128 ? -128 : x > 127 ? 127 : x) & 0xff;
}
HWY_INLINE std::uint32_t saturate_u16(std::uint32_t x) { return x > 0xffff ? 0xffff : x; }
HWY_INLINE std::uint32_t saturate_i16(std::int32_t x) {
  return static_cast<std::uint32_t>(x < -0x8000 ? -0x8000 : x > 0x7fff ? 0x7fff : x) & 0xffff;
}

// CDNA4 ISA pseudo code of v_med3_i32 and its like: what is left beside the maximum.
template <class T>
HWY_INLINE T middle_one(T a, T b, T c) {
  const T least_of_two = a < b ? a : b;
  const T most_of_two = a < b ? b : a;
  return c < least_of_two ? least_of_two : c > most_of_two ? most_of_two : c;
}

// The sign of the exact sum, which 64 bits may not hold.
HWY_INLINE bool sum_is_negative(std::int64_t a, std::int64_t b) {
  const auto r = static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  return ((a & b) | ((a ^ b) & r)) < 0;
}

}  // namespace zyfa::emulator
