// Conversions between fp32, fp16, bf16 and the formats of 8, 6 and 4 bits that the rows of gfx950.def name. Scales are
// the exponent field of a float, e stands for 2^(e - 127), and multiply what is decoded and divide what is encoded
// (CDNA4 ISA pseudo code of v_cvt_scalef32_*). 255 is an exponent like the others.
#pragma once

#include "isa/emulator/half_math.h"

namespace zyfa::emulator {

// Rows of isa::formats by AMD's names.
enum SmallFormat { fp8, bf8, fp6, bf6, fp4, half_float, brain_float };

template <SmallFormat F>
inline constexpr const isa::Format& small_format = isa::formats[F];
template <SmallFormat F>
inline constexpr auto small_values =
    isa::decoded_codes<std::size_t{1} << isa::formats[F].width_bits()>(isa::formats[F]);

// What exceeds the format's largest value becomes, as a magnitude.
template <SmallFormat F>
HWY_INLINE std::uint32_t overflow_code(bool saturates) {
  constexpr isa::Format f = small_format<F>;
  if constexpr (f.nan_kind == isa::NanKind::none) return f.max_finite();
  return saturates ? f.max_finite() : f.has_infinity ? f.exponent_mask() : f.sign_bit() - 1;
}
template <SmallFormat F>
HWY_INLINE std::uint32_t nan_code(std::uint32_t float_bits) {
  constexpr isa::Format f = small_format<F>;
  if constexpr (f.nan_kind == isa::NanKind::none) return f.max_finite();  // an assumption (isa/numeric.h)
  if constexpr (F == half_float) return 0x7e00;
  return f.canonical_nan != 0 ? f.canonical_nan : float_bits >> 16 | 0x40;
}
template <SmallFormat F>
HWY_INLINE std::uint32_t signed_code(float x, std::uint32_t magnitude_code, bool saturates) {
  constexpr isa::Format f = small_format<F>;
  const std::uint32_t magnitude = bits_of(x) & 0x7fffffffU;
  const std::uint32_t limit = overflow_code<F>(saturates && magnitude != 0x7f800000U);
  const std::uint32_t sign = bits_of(x) >> 31 << (f.exponent_bits + f.mantissa_bits);
  const std::uint32_t number = sign | (magnitude_code < limit ? magnitude_code : limit);
  return magnitude > 0x7f800000U ? nan_code<F>(bits_of(x)) : number;
}

template <SmallFormat F>
HWY_INLINE std::uint32_t nearest(float x) {
  return signed_code<F>(x, isa::rounded_magnitude(small_format<F>, bits_of(x) & 0x7fffffffU), false);
}

// Stochastic rounding: the top bits of the random number are added below the last place that a normal result keeps,
// and the sum is cut. A result below the normal range is cut to that precision before. The pseudo code of
// v_cvt_sr_fp8_f32 lets the sum wrap within the mantissa and rounds it once more; hardware (gfx1201, measured by AMD's
// simulator rocjitsu) carries into the exponent and cuts, as rounding must, and so does this.
template <SmallFormat F>
HWY_INLINE std::uint32_t stochastic(float x, std::uint32_t random, bool saturates) {
  constexpr isa::Format f = small_format<F>;
  constexpr int drop = 23 - f.mantissa_bits;
  constexpr std::uint32_t first_normal = static_cast<std::uint32_t>(128 - f.bias);
  const std::uint32_t magnitude = bits_of(x) & 0x7fffffffU;
  const std::uint32_t field = magnitude >> 23;
  const std::uint32_t exponent = field == 0 ? 1 : field;
  const std::uint32_t significand = (magnitude & 0x007fffffU) | (field == 0 ? 0 : 0x00800000U);
  const std::uint32_t missing = exponent >= first_normal ? 0 : first_normal - exponent;
  const std::uint32_t kept = significand >> (missing < 31 ? missing : 31);
  const std::uint32_t units = (kept + (random >> (32 - drop))) >> drop;
  const std::uint32_t base = exponent >= first_normal ? (exponent - first_normal) << f.mantissa_bits : 0;
  return signed_code<F>(x, base + units, saturates);
}

// The random number of the next element (v_prng_b32).
HWY_INLINE std::uint32_t next_random(std::uint32_t x) { return (x << 1) ^ (x >> 31 ? 197U : 0U); }

HWY_INLINE std::uint32_t pack_fp4(float low, float high, float scale) {
  return nearest<fp4>(unscaled(low, scale)) | nearest<fp4>(unscaled(high, scale)) << 4;
}
HWY_INLINE std::uint32_t pack_fp4_stochastic(float low, float high, std::uint32_t seed, float scale) {
  return stochastic<fp4>(unscaled(low, scale), seed, false) |
         stochastic<fp4>(unscaled(high, scale), next_random(seed), false) << 4;
}
HWY_INLINE std::uint32_t low_word(std::uint64_t pair) { return static_cast<std::uint32_t>(pair); }
HWY_INLINE std::uint32_t high_word(std::uint64_t pair) { return static_cast<std::uint32_t>(pair >> 32); }

// A code's value times the scale: exact in double, and as float but for overflow.
template <SmallFormat F>
HWY_INLINE double scaled(std::uint32_t code, float scale) {
  return static_cast<double>(small_values<F>[code]) * power_of_two(isa::float_to_e8m0(scale) - 127);
}
template <SmallFormat F>
HWY_INLINE std::uint32_t scaled_f32(std::uint32_t code, float scale) {
  return bits_of(static_cast<float>(scaled<F>(code, scale)));
}
template <SmallFormat F>
HWY_INLINE std::uint32_t scaled_bf16(std::uint32_t code, float scale) {
  return isa::float_to_bf16(static_cast<float>(scaled<F>(code, scale)));
}

// The two codes that start at bit 0.
template <SmallFormat F>
HWY_INLINE std::uint32_t first_code(std::uint32_t pair) {
  return pair & ((1U << small_format<F>.width_bits()) - 1);
}
template <SmallFormat F>
HWY_INLINE std::uint32_t second_code(std::uint32_t pair) {
  return first_code<F>(pair >> small_format<F>.width_bits());
}
template <SmallFormat F>
HWY_INLINE std::uint64_t scaled_f32_pair(std::uint32_t pair, float scale) {
  return std::uint64_t{scaled_f32<F>(second_code<F>(pair), scale)} << 32 | scaled_f32<F>(first_code<F>(pair), scale);
}
template <SmallFormat F>
HWY_INLINE std::uint32_t scaled_f16_pair(std::uint32_t pair, float scale, bool saturates) {
  return pack_halves(double_to_f16(scaled<F>(first_code<F>(pair), scale), saturates),
                     double_to_f16(scaled<F>(second_code<F>(pair), scale), saturates));
}
template <SmallFormat F>
HWY_INLINE std::uint32_t scaled_bf16_pair(std::uint32_t pair, float scale) {
  return pack_halves(scaled_bf16<F>(first_code<F>(pair), scale), scaled_bf16<F>(second_code<F>(pair), scale));
}

// 32 elements of 6 bits in 6 dwords, element i at bit 6 i.

HWY_INLINE std::uint32_t code_of_6(const std::uint32_t* words, int i) {
  const int bit = 6 * i, word = bit / 32, shift = bit % 32;
  const std::uint32_t upper = shift > 26 ? words[word + 1] << (32 - shift) : 0;
  return (words[word] >> shift | upper) & 63;
}
HWY_INLINE void add_code_of_6(std::uint32_t* words, int i, std::uint32_t code) {
  const int bit = 6 * i, word = bit / 32, shift = bit % 32;
  words[word] |= code << shift;
  if (shift > 26) words[word + 1] |= code >> (32 - shift);
}

struct F32Elements {
  const std::uint32_t* words;
  HWY_INLINE float operator()(int i) const { return float_of(words[i]); }
};
struct F16Elements {
  const std::uint32_t* words;
  HWY_INLINE float operator()(int i) const { return low_f16(words[i / 2] >> (16 * (i % 2))); }
};
struct Bf16Elements {
  const std::uint32_t* words;
  HWY_INLINE float operator()(int i) const { return low_bf16(words[i / 2] >> (16 * (i % 2))); }
};
// Even elements from one source, odd ones from the other.
struct Interleaved {
  const std::uint32_t *even, *odd;
  HWY_INLINE float operator()(int i) const { return float_of((i % 2 ? odd : even)[i / 2]); }
};

template <SmallFormat F, class Elements>
HWY_INLINE void pack_32(Elements element, float scale, std::uint32_t* r) {
  for (int i = 0; i < 32; ++i) add_code_of_6(r, i, nearest<F>(unscaled(element(i), scale)));
}
template <SmallFormat F, class Elements>
HWY_INLINE void pack_32_stochastic(Elements element, std::uint32_t seed, float scale, std::uint32_t* r) {
  for (int i = 0; i < 32; ++i, seed = next_random(seed))
    add_code_of_6(r, i, stochastic<F>(unscaled(element(i), scale), seed, false));
}
template <SmallFormat F>
HWY_INLINE void unpack_f32(const std::uint32_t* a, float scale, std::uint32_t* r) {
  for (int i = 0; i < 32; ++i) r[i] = scaled_f32<F>(code_of_6(a, i), scale);
}
template <SmallFormat F>
HWY_INLINE void unpack_f16(const std::uint32_t* a, float scale, bool saturates, std::uint32_t* r) {
  for (int i = 0; i < 32; ++i)
    r[i / 2] |= double_to_f16(scaled<F>(code_of_6(a, i), scale), saturates) << (16 * (i % 2));
}
template <SmallFormat F>
HWY_INLINE void unpack_bf16(const std::uint32_t* a, float scale, std::uint32_t* r) {
  for (int i = 0; i < 32; ++i) r[i / 2] |= scaled_bf16<F>(code_of_6(a, i), scale) << (16 * (i % 2));
}

}  // namespace zyfa::emulator
