// Floats of all widths from their definition, and AMD's conversions between them by the words of the mnemonic.
#include "tests/support/oracle_parts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace zyfa::tests {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

int width(const FloatFormat& f) { return 1 + f.exponent_bits + f.mantissa_bits; }
u32 sign_bit(const FloatFormat& f) { return 1U << (width(f) - 1); }
u32 largest(const FloatFormat& f) {
  if (f.has_infinity) return (((1U << f.exponent_bits) - 1) << f.mantissa_bits) - 1;
  return f.nan ? sign_bit(f) - 2 : sign_bit(f) - 1;
}
u32 too_large(const FloatFormat& f, bool saturate) { return largest(f) + (saturate || f.nan == 0 ? 0 : 1); }

// |value| is a multiple of the step of its binade, or NaN.
u32 code_of(const FloatFormat& f, double value, bool saturate) {
  if (std::isnan(value)) return f.nan ? f.nan : largest(f);
  const u32 sign = std::signbit(value) ? sign_bit(f) : 0;
  const double magnitude = std::fabs(value);
  if (std::isinf(value)) return sign | too_large(f, false);
  if (magnitude == 0) return sign;
  if (magnitude > decoded(f, largest(f))) return sign | too_large(f, saturate);
  const int exponent = std::max(std::ilogb(magnitude), 1 - f.bias);
  const auto steps = static_cast<u32>(std::ldexp(magnitude, f.mantissa_bits - exponent));
  return sign | (steps + (static_cast<u32>(exponent + f.bias - 1) << f.mantissa_bits));
}

double step_of(const FloatFormat& f, double value) {
  return std::ldexp(1.0, std::max(std::ilogb(value), 1 - f.bias) - f.mantissa_bits);
}

u32 prng(u32 x) { return (x << 1) ^ (x >= 0x80000000 ? 197 : 0); }

// The words of a mnemonic between underscores, from the third on: v_cvt_scalef32_sr_pk_fp4_f16 -> sr pk fp4 f16.
struct Words {
  std::string_view to, from;
  bool scaled = false, stochastic = false, pair = false;
};
Words words_of(std::string_view name) {
  Words w;
  w.scaled = name.starts_with("v_cvt_scalef32_");
  w.stochastic = name.find("_sr_") != name.npos;
  w.pair = name.find("_pk_") != name.npos;
  const std::size_t last = name.rfind('_');
  w.from = name.substr(last + 1);
  const std::size_t before = name.rfind('_', last - 1);
  w.to = name.substr(before + 1, last - before - 1);
  return w;
}
bool is_small(std::string_view format) {
  return format.starts_with("fp") || format.starts_with("bf8") || format == "bf6";
}

double over(double value, u64 scale) { return std::ldexp(value, 127 - static_cast<int>(scale >> 23 & 0xff)); }
double times(double value, u64 scale) { return std::ldexp(value, static_cast<int>(scale >> 23 & 0xff) - 127); }

// Codes of fp8 and bf8 that are NaN all decode to the same one.
constexpr u32 decoded_nan = 0xffc00000;

u32 float_code(double value) { return std::isnan(value) ? decoded_nan : std::bit_cast<u32>(static_cast<float>(value)); }
u32 wide_code(std::string_view to, double value, bool saturate) {
  if (to == "f32") return float_code(value);
  if (to == "bf16" && std::isnan(value)) return decoded_nan >> 16;
  return encoded(float_format(to), value, saturate);
}

u64 from_small(const Words& w, const LaneInput& in) {
  const FloatFormat from = float_format(w.from);
  const int bits = width(from), to_bits = w.to == "f32" ? 32 : 16;
  u64 result = 0;
  for (int i = 0; i < (w.pair ? 2 : 1); ++i) {
    const auto code = static_cast<u32>(in.s[0] >> bits * i) & ((1U << bits) - 1);
    result |= u64{wide_code(w.to, times(decoded(from, code), in.s[1]), in.bit && w.to == "f16")} << to_bits * i;
  }
  return result;
}

// Element i of the sources: a pair of floats are two sources, or one of two dwords where a seed needs the second.
double element(const Words& w, const LaneInput& in, int i) {
  if (w.from == "f32") {
    const u64 word = i == 0 ? in.s[0] : w.stochastic ? in.s[0] >> 32 : in.s[1];
    return std::bit_cast<float>(static_cast<u32>(word));
  }
  return decoded(float_format(w.from), static_cast<u32>(in.s[0] >> 16 * i) & 0xffff);
}

u64 to_small(const Words& w, const LaneInput& in) {
  const FloatFormat to = float_format(w.to);
  const bool two_sources = w.stochastic || (w.pair && w.from == "f32");
  auto random = static_cast<u32>(in.s[1]);
  u64 result = 0;
  for (int i = 0; i < (w.pair ? 2 : 1); ++i, random = prng(random)) {
    const double value = w.scaled ? over(element(w, in, i), in.s[two_sources ? 2 : 1]) : element(w, in, i);
    const bool saturate = in.bit && w.to != "bf16";
    const u32 code = w.stochastic ? encoded_stochastic(to, value, random, saturate) : encoded(to, value, saturate);
    result |= u64{code} << width(to) * i;
  }
  if (w.to == "bf16" && std::isnan(element(w, in, 0))) return (in.s[0] >> 16 & 0xffff) | 0x40;
  return result;
}

}  // namespace

FloatFormat float_format(std::string_view name) {
  if (name == "fp8") return {4, 3, 7, false, 0xff};
  if (name == "bf8") return {5, 2, 15, true, 0xfe};
  if (name == "fp6") return {2, 3, 1, false, 0};
  if (name == "bf6") return {3, 2, 3, false, 0};
  if (name == "fp4") return {2, 1, 1, false, 0};
  if (name == "bf16") return {8, 7, 127, true, 0x7fc0};
  return {5, 10, 15, true, 0x7e00};
}

double decoded(const FloatFormat& f, u32 code) {
  const u32 mantissa = code & ((1U << f.mantissa_bits) - 1);
  const u32 exponent = code >> f.mantissa_bits & ((1U << f.exponent_bits) - 1);
  const bool all_ones = exponent == (1U << f.exponent_bits) - 1;
  const bool nan = f.has_infinity ? all_ones && mantissa : f.nan && (code & (sign_bit(f) - 1)) == sign_bit(f) - 1;
  if (nan) return std::numeric_limits<double>::quiet_NaN();
  const double one = exponent ? std::ldexp(1.0, f.mantissa_bits) : 0;
  const double finite =
      std::ldexp(one + mantissa, std::max<int>(static_cast<int>(exponent), 1) - f.bias - f.mantissa_bits);
  const double magnitude = f.has_infinity && all_ones ? std::numeric_limits<double>::infinity() : finite;
  return code & sign_bit(f) ? -magnitude : magnitude;
}

u32 encoded(const FloatFormat& f, double value, bool saturate) {
  if (!std::isfinite(value) || value == 0) return code_of(f, value, saturate);
  const double step = step_of(f, value);
  return code_of(f, std::nearbyint(value / step) * step, saturate);
}

// The random number's top bits are a fraction of the step, the value's own is cut to as many bits.
u32 encoded_stochastic(const FloatFormat& f, double value, u32 random, bool saturate) {
  if (!std::isfinite(value) || value == 0) return code_of(f, value, saturate);
  const int bits = 23 - f.mantissa_bits;
  const double step = step_of(f, value);
  const double fraction = std::ldexp(static_cast<double>(random >> (32 - bits)), -bits);
  const double cut = std::floor(std::ldexp(std::fabs(value) / step, bits));
  return code_of(f, std::copysign(std::floor(std::ldexp(cut, -bits) + fraction) * step, value), saturate);
}

bool convert_lane(std::string_view mnemonic, const LaneInput& in, u64& result) {
  if (!mnemonic.starts_with("v_cvt_scalef32_") && !mnemonic.starts_with("v_cvt_sr_")) return false;
  const Words w = words_of(mnemonic);
  result = is_small(w.from) ? from_small(w, in) : to_small(w, in);
  return true;
}

}  // namespace zyfa::tests
