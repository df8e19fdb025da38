// The number formats of gfx950's matrix operands and conversions, and the two ways between them and float.
//
// `formats` states each format once; decode() and encode() follow it for any of them. The typed functions
// (e4m3_to_float, float_to_bf16, ...) are the same conversions made fast for inner loops, and the tests hold
// them equal to the generic ones. They expect the host's default rounding mode (nearest even), as all C++
// here does.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace zyfa::isa {

// Which codes are NaN: none, only the one with every exponent and mantissa bit set, or (as in IEEE 754) every
// code with all exponent bits set and a mantissa that is not zero.
enum class NanKind { none, all_ones, ieee };

// What encode() makes of a finite value that rounds beyond the largest finite one. `to_nan` gives infinity in
// a format that has it, else NaN, else the largest value. `saturate` is MODE.FP16_OVFL = 1 (gfx950.md 4). An
// infinite input is not an overflow: it gives what `to_nan` gives under either.
enum class Overflow { to_nan, saturate };

// Toward zero never overflows: finite values stop at the largest finite one (IEEE 754, 7.4).
enum class Rounding { nearest_even, toward_zero };

struct Format {
  std::string_view name;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool has_infinity;
  NanKind nan_kind;
  // The code that every NaN becomes. 0: a NaN keeps its sign and the top of its payload, and is made quiet.
  std::uint32_t canonical_nan;

  constexpr int width_bits() const { return 1 + exponent_bits + mantissa_bits; }
  constexpr std::uint32_t sign_bit() const { return 1U << (exponent_bits + mantissa_bits); }
  constexpr std::uint32_t exponent_mask() const { return sign_bit() - (1U << mantissa_bits); }
  constexpr std::uint32_t mantissa_mask() const { return (1U << mantissa_bits) - 1; }

  // Code of the largest finite value.
  constexpr std::uint32_t max_finite() const {
    if (nan_kind == NanKind::ieee) return exponent_mask() - 1;
    return nan_kind == NanKind::all_ones ? sign_bit() - 2 : sign_bit() - 1;
  }
  constexpr bool is_nan(std::uint32_t code) const {
    const std::uint32_t magnitude = code & (sign_bit() - 1);
    return nan_kind == NanKind::ieee ? magnitude > exponent_mask()
                                     : nan_kind == NanKind::all_ones && magnitude == sign_bit() - 1;
  }
  constexpr bool is_infinity(std::uint32_t code) const {
    return has_infinity && (code & (sign_bit() - 1)) == exponent_mask();
  }
};

// Rows 0-4 are in the order of the MFMA field cbsz/blgp (gfx950.md 3). E4M3 and E5M2 are OCP's (OFP8), E2M3,
// E3M2 and E2M1 those of OCP MX 1.0. The canonical NaN codes were measured on gfx1201 (AMD's simulator
// rocjitsu; its authors note that the ISA manual would keep the sign); gfx950.md 4 adopts 0xff for gfx950,
// 0xfe follows from it.
// clang-format off
inline constexpr std::array<Format, 7> formats{{
  // name   exponent mantissa bias  infinity NaN                canonical NaN
  {"e4m3",  4,       3,       7,    false,   NanKind::all_ones, 0xff},
  {"e5m2",  5,       2,       15,   true,    NanKind::ieee,     0xfe},
  {"e2m3",  2,       3,       1,    false,   NanKind::none,     0},
  {"e3m2",  3,       2,       3,    false,   NanKind::none,     0},
  {"e2m1",  2,       1,       1,    false,   NanKind::none,     0},
  {"f16",   5,       10,      15,   true,    NanKind::ieee,     0},
  {"bf16",  8,       7,       127,  true,    NanKind::ieee,     0},
}};
// clang-format on
inline constexpr const Format& e4m3_format = formats[0];
inline constexpr const Format& e5m2_format = formats[1];
inline constexpr const Format& e2m3_format = formats[2];
inline constexpr const Format& e3m2_format = formats[3];
inline constexpr const Format& e2m1_format = formats[4];
inline constexpr const Format& f16_format = formats[5];
inline constexpr const Format& bf16_format = formats[6];

// The value of a code; bits above the format's width are ignored. Always exact. NaN comes out quiet:
// 0xffc00000 for the 8-bit formats (measured on gfx1201, as above), else with the code's sign and payload.
constexpr float decode(const Format& format, std::uint32_t code) {
  const std::uint32_t mantissa = code & format.mantissa_mask();
  const std::uint32_t exponent = (code & format.exponent_mask()) >> format.mantissa_bits;
  const std::uint32_t sign = (code & format.sign_bit()) != 0 ? 0x80000000U : 0;
  if (format.is_nan(code)) {
    if (format.canonical_nan != 0) return std::bit_cast<float>(0xffc00000U);
    return std::bit_cast<float>(sign | 0x7fc00000U | (mantissa << (23 - format.mantissa_bits)));
  }
  if (format.is_infinity(code)) return std::bit_cast<float>(sign | 0x7f800000U);
  // In double, because 2^-133, the least bf16, is not a normal float that could serve as factor.
  const std::uint32_t significand = exponent == 0 ? mantissa : mantissa | (1U << format.mantissa_bits);
  const int scale = static_cast<int>(exponent == 0 ? 1 : exponent) - format.bias - format.mantissa_bits;
  const double unit = std::bit_cast<double>(static_cast<std::uint64_t>(scale + 1023) << 52);
  const float magnitude = static_cast<float>(significand * unit);
  return sign != 0 ? -magnitude : magnitude;
}

// The code of a value, rounded once; denormals are produced, never flushed, and -0 keeps its sign. In a
// format without NaN, NaN gives the largest positive value (an assumption: gfx950.md does not say what the
// machine does).
std::uint32_t encode(const Format& format, float value, Overflow overflow = Overflow::to_nan,
                     Rounding rounding = Rounding::nearest_even);

// Element `index` of a packed little-endian stream: `width_bits` (1-32) bits from bit index * width_bits on,
// which may cross into the next dword (FP6). Throws if the element does not lie within `dwords`.
std::uint32_t packed_code(std::span<const std::uint32_t> dwords, int width_bits, std::size_t index);
void set_packed_code(std::span<std::uint32_t> dwords, int width_bits, std::size_t index, std::uint32_t code);

// Decodes elements 0 .. values.size() - 1 of a packed stream. Throws if `dwords` holds fewer.
void unpack(const Format& format, std::span<const std::uint32_t> dwords, std::span<float> values);

// Codes 0 .. Size - 1 decoded.
template <std::size_t Size>
constexpr std::array<float, Size> decoded_codes(const Format& format) {
  std::array<float, Size> values{};
  for (std::size_t code = 0; code < Size; ++code) values[code] = decode(format, static_cast<std::uint32_t>(code));
  return values;
}
inline constexpr std::array<float, 256> e4m3_table = decoded_codes<256>(e4m3_format);
inline constexpr std::array<float, 256> e5m2_table = decoded_codes<256>(e5m2_format);

inline std::span<const float, 256> e4m3_values() { return e4m3_table; }
inline std::span<const float, 256> e5m2_values() { return e5m2_table; }
inline float e4m3_to_float(std::uint8_t code) { return e4m3_table[code]; }
inline float e5m2_to_float(std::uint8_t code) { return e5m2_table[code]; }

// A float's magnitude bits rounded to nearest even in a format with a smaller exponent range; the result may
// lie beyond the format's largest value, which the caller settles. Without branches: below the smallest
// normal value the float adder does the rounding, against a power of two whose last place is the format's
// smallest step.
constexpr std::uint32_t rounded_magnitude(const Format& format, std::uint32_t magnitude) {
  const int shift = 23 - format.mantissa_bits;
  const std::uint32_t first_normal = static_cast<std::uint32_t>(128 - format.bias) << 23;
  const std::uint32_t magic = static_cast<std::uint32_t>(151 - format.bias - format.mantissa_bits) << 23;
  const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(magic);
  const std::uint32_t denormal = std::bit_cast<std::uint32_t>(sum) - magic;
  const std::uint32_t half_less_odd = (1U << (shift - 1)) - 1 + ((magnitude >> shift) & 1);
  const std::uint32_t rebias = static_cast<std::uint32_t>(127 - format.bias) << format.mantissa_bits;
  const std::uint32_t normal = ((magnitude + half_less_odd) >> shift) - rebias;
  return magnitude < first_normal ? denormal : normal;
}

// v_cvt_pk_fp8_f32, one half (gfx950.md 4). 464 lies midway between 448 (0x7e, even) and the NaN code, so it
// still rounds to 448; anything greater is an overflow: 0x7f with the sign, or 0x7e with the sign when
// saturating. Infinity gives 0x7f with the sign either way; every NaN gives 0xff.
inline std::uint8_t float_to_e4m3(float value, Overflow overflow = Overflow::to_nan) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t rounded = rounded_magnitude(e4m3_format, magnitude);
  const std::uint32_t limit = overflow == Overflow::saturate && magnitude != 0x7f800000U ? 0x7e : 0x7f;
  const std::uint32_t code = ((bits >> 24) & 0x80U) | (rounded < limit ? rounded : limit);
  return static_cast<std::uint8_t>(magnitude > 0x7f800000U ? 0xff : code);
}

// v_cvt_pk_bf8_f32, one half: 61,440 and above overflow, to infinity (0x7c) or, saturating, to 57,344 (0x7b).
inline std::uint8_t float_to_e5m2(float value, Overflow overflow = Overflow::to_nan) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t rounded = rounded_magnitude(e5m2_format, magnitude);
  const std::uint32_t limit = overflow == Overflow::saturate && magnitude != 0x7f800000U ? 0x7b : 0x7c;
  const std::uint32_t code = ((bits >> 24) & 0x80U) | (rounded < limit ? rounded : limit);
  return static_cast<std::uint8_t>(magnitude > 0x7f800000U ? 0xfe : code);
}

// A plain shift, as kernels do it too, so that even a signalling NaN keeps its bits.
inline float bf16_to_float(std::uint16_t code) { return std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16); }

// v_cvt_pk_bf16_f32, one half: nearest even, overflow to infinity, NaN made quiet with sign and payload kept.
inline std::uint16_t float_to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40U;
  return static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded);
}

// v_cvt_f32_f16 with denormals kept (the default MODE); NaN is made quiet.
inline float f16_to_float(std::uint16_t code) {
  const std::uint32_t shifted = (code & 0x7fffU) << 13;
  const std::uint32_t normal = shifted + (112U << 23);
  // 2^-14 * (1 + mantissa) - 2^-14 is exact, and stays out of the float denormals that a host may flush.
  const float denormal = std::bit_cast<float>(shifted | (113U << 23)) - std::bit_cast<float>(113U << 23);
  std::uint32_t magnitude = shifted < (1U << 23) ? std::bit_cast<std::uint32_t>(denormal) : normal;
  if (shifted >= (31U << 23)) magnitude = shifted | 0x7f800000U | (shifted > (31U << 23) ? 0x00400000U : 0);
  return std::bit_cast<float>(magnitude | (static_cast<std::uint32_t>(code & 0x8000U) << 16));
}

// v_cvt_f16_f32 in its default MODE: nearest even, 65,520 and above to infinity, NaN quiet with its payload's
// top.
inline std::uint16_t float_to_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t rounded = rounded_magnitude(f16_format, magnitude);
  const std::uint32_t limited = rounded < 0x7c00U ? rounded : 0x7c00U;
  const std::uint32_t quiet = 0x7e00U | ((magnitude >> 13) & 0x3ffU);
  const std::uint32_t code = magnitude > 0x7f800000U ? quiet : limited;
  return static_cast<std::uint16_t>(((bits >> 16) & 0x8000U) | code);
}

// E8M0, the scale of a block of 32 elements (OCP MX 1.0): 2^(scale - 127), 255 is NaN. It has neither sign
// nor zero nor mantissa, which is why it is not a row of `formats`.
constexpr float e8m0_to_float(std::uint8_t scale) {
  // 2^-127 is a float denormal: its bits are those of half the smallest normal value.
  if (scale == 0) return std::bit_cast<float>(0x00400000U);
  return std::bit_cast<float>(scale == 255 ? 0x7fc00000U : static_cast<std::uint32_t>(scale) << 23);
}

// The exponent field of a float, all that v_cvt_scalef32_* look at in their scale operand (gfx950.md 4): sign
// and mantissa are ignored. Infinity and NaN give 255.
constexpr std::uint8_t float_to_e8m0(float scale) {
  return static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(scale) >> 23);
}

}  // namespace zyfa::isa
