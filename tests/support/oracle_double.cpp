// The lane oracle's rows of fp64, the steps of division and the other floating-point rows with a story.
#include "tests/support/exact_double.h"
#include "tests/support/oracle.h"
#include "tests/support/oracle_trigonometry.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace zyfa::tests {
namespace {

using In = LaneInput;
using u64 = std::uint64_t;
using i64 = std::int64_t;

float f32(u64 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x)); }
double f64(u64 x) { return std::bit_cast<double>(x); }
u64 to_bits(float x) { return std::bit_cast<std::uint32_t>(x); }
u64 to_bits(double x) { return std::isnan(x) ? 0x7ff8000000000000 : std::bit_cast<u64>(x); }
i64 s32(u64 x) { return static_cast<std::int32_t>(x); }
constexpr u64 one = 0x3ff0000000000000, top = u64{1} << 63;

bool below(double a, double b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); }
template <class T>
T number_if_any(T a, T b, bool wants_lower) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  return below(a, b) == wants_lower ? a : b;
}
float nan_if_any(float a, float b, bool wants_lower) {
  return std::isunordered(a, b) ? std::numeric_limits<float>::quiet_NaN() : number_if_any(a, b, wants_lower);
}
u64 three(const In& in, bool wants_lower) {
  return to_bits(nan_if_any(nan_if_any(f32(in.s[0]), f32(in.s[1]), wants_lower), f32(in.s[2]), wants_lower));
}

u64 to_integer(double x, double lowest, double highest) {
  if (std::isnan(x)) return 0;
  return static_cast<std::uint32_t>(static_cast<i64>(std::clamp(std::trunc(x), lowest, highest)));
}
u64 to_i32(double x) { return to_integer(x, -2147483648.0, 2147483647.0); }

// One turn in quarters, of which the nearest is taken off exactly.
u64 turned(float x, int ahead) {
  if (!std::isfinite(x)) return to_bits(std::numeric_limits<float>::quiet_NaN());
  const double quarters = 4.0 * std::remainder(static_cast<double>(x), 1.0);
  const double nearest = std::nearbyint(quarters);
  const double angle = (quarters - nearest) * 1.57079632679489661923;
  switch ((static_cast<int>(nearest) + ahead + 8) % 4) {
    case 0:
      return to_bits(static_cast<float>(std::sin(angle)));
    case 1:
      return to_bits(static_cast<float>(std::cos(angle)));
    case 2:
      return to_bits(static_cast<float>(-std::sin(angle)));
    default:
      return to_bits(static_cast<float>(-std::cos(angle)));
  }
}

template <class T>
int exponent_of(T x) {
  int e = 0;
  std::frexp(x, &e);
  return e;
}
template <class T>
u64 frexp_exponent(T x) {
  return std::isfinite(x) ? static_cast<std::uint32_t>(exponent_of(x)) : 0;
}
template <class T>
u64 frexp_mantissa(T x) {
  int e = 0;
  return to_bits(std::isfinite(x) ? std::frexp(x, &e) : x);
}

// The exponent as AMD's pseudo code means it: the field.
int field(float x) { return static_cast<int>(to_bits(x) >> 23 & 255); }
int field(double x) { return static_cast<int>(std::bit_cast<u64>(x) >> 52 & 2047); }

struct Scale {
  int numerator = 0, denominator = 0;  // powers of two
  bool back = false;
};
// V_DIV_SCALE, case by case. `1 / denominator` is read as of the row's type, and a denominator that is too large is
// scaled down (docs/numerics.md).
template <class T>
Scale scale_of(T d, T n) {
  const bool is_float = sizeof(T) == 4;
  const int power = is_float ? 64 : 128;
  if (field(n) - field(d) >= (is_float ? 96 : 768)) return {0, power, true};
  if (std::fpclassify(d) == FP_SUBNORMAL) return {power, power, false};
  const bool large = std::fpclassify(T{1} / d) == FP_SUBNORMAL, tiny = std::fpclassify(n / d) == FP_SUBNORMAL;
  if (large && tiny) return {0, -power, true};
  if (large) return {-power, -power, false};
  if (tiny) return {power, 0, true};
  if (field(n) <= (is_float ? 23 : 53)) return {power, power, false};
  return {};
}
template <class T>
u64 scaled(T x, T d, T n) {
  if (n == 0 || d == 0) return to_bits(std::numeric_limits<T>::quiet_NaN());
  const Scale s = scale_of(d, n);
  if (s.numerator == s.denominator) return to_bits(std::ldexp(x, s.numerator));
  return to_bits(std::ldexp(x, x == d && s.denominator != 0   ? s.denominator
                               : x == n && s.denominator == 0 ? s.numerator
                                                              : 0));
}
template <class T>
u64 scales_back(T d, T n) {
  return n != 0 && d != 0 && scale_of(d, n).back;
}

u64 last_step_f32(const In& in) {
  const int power = !in.bit ? 0 : field(f32(in.s[2])) > 127 ? 64 : -64;
  return exact_fma_f32(f32(in.s[0]), f32(in.s[1]), f32(in.s[2]), power);
}
u64 last_step_f64(const In& in) {
  return exact_fma(in.s[0], in.s[1], in.s[2], !in.bit ? 0 : field(f64(in.s[2])) > 1023 ? 128 : -128);
}

template <class T>
u64 fixed_up(T q, T d, T n) {
  const bool negative = std::signbit(d) != std::signbit(n);
  constexpr T infinity = std::numeric_limits<T>::infinity();
  T r = std::fabs(q);
  if (std::isnan(n) || std::isnan(d) || (d == 0 && n == 0) || (std::isinf(d) && std::isinf(n)))
    return to_bits(std::numeric_limits<T>::quiet_NaN());
  if (d == 0 || std::isinf(n))
    r = infinity;
  else if (std::isinf(d) || n == 0 || field(n) - field(d) < (sizeof(T) == 4 ? -150 : -1075))
    r = 0;
  else if (std::isnan(q))
    r = infinity;  // measured on gfx11, docs/numerics.md
  return to_bits(negative ? -r : r);
}

#define LANE(expression) [](const In& in) -> u64 { return expression; }
#define A f64(in.s[0])
#define B f64(in.s[1])
#define C f64(in.s[2])
#define AF f32(in.s[0])
#define BF f32(in.s[1])
#define CF f32(in.s[2])

}  // namespace

const LaneOracles& double_oracles() {
  static const LaneOracles table = {
      {"v_add_f64", LANE(exact_fma(in.s[0], one, in.s[1]))},
      {"v_mul_f64", LANE(exact_fma(in.s[0], in.s[1], (in.s[0] ^ in.s[1]) & top))},
      {"v_fma_f64", LANE(exact_fma(in.s[0], in.s[1], in.s[2]))},
      {"v_fmac_f64", LANE(exact_fma(in.s[0], in.s[1], in.d))},
      {"v_min_f64", LANE(to_bits(number_if_any(A, B, true)))},
      {"v_max_f64", LANE(to_bits(number_if_any(A, B, false)))},
      {"v_ldexp_f64", LANE(to_bits(std::ldexp(A, static_cast<int>(std::clamp<i64>(s32(in.s[1]), -5000, 5000)))))},
      {"v_trig_preop_f64", LANE(to_bits(two_over_pi_bits(A, static_cast<std::uint32_t>(in.s[1]))))},
      {"v_floor_f64", LANE(to_bits(std::floor(A)))},
      {"v_ceil_f64", LANE(to_bits(std::ceil(A)))},
      {"v_trunc_f64", LANE(to_bits(std::trunc(A)))},
      {"v_rndne_f64", LANE(to_bits(std::nearbyint(A)))},
      {"v_fract_f64", LANE(to_bits(A - std::floor(A)))},
      {"v_rcp_f64", LANE(to_bits(1.0 / A))},
      {"v_rsq_f64", LANE(to_bits(1.0 / std::sqrt(A)))},
      {"v_sqrt_f64", LANE(to_bits(std::sqrt(A)))},
      {"v_frexp_exp_i32_f64", LANE(frexp_exponent(A))},
      {"v_frexp_mant_f64", LANE(frexp_mantissa(A))},
      {"v_frexp_exp_i32_f32", LANE(frexp_exponent(AF))},
      {"v_frexp_mant_f32", LANE(frexp_mantissa(AF))},
      {"v_cvt_f32_f64", LANE(to_bits(static_cast<float>(A)))},
      {"v_cvt_f64_f32", LANE(to_bits(static_cast<double>(AF)))},
      {"v_cvt_f64_i32", LANE(to_bits(static_cast<double>(s32(in.s[0]))))},
      {"v_cvt_f64_u32", LANE(to_bits(static_cast<double>(in.s[0])))},
      {"v_cvt_i32_f64", LANE(to_i32(A))},
      {"v_cvt_u32_f64", LANE(to_integer(A, 0, 4294967295.0))},
      {"v_cvt_rpi_i32_f32", LANE(to_i32(std::floor(AF + 0.5f)))},
      {"v_cvt_flr_i32_f32", LANE(to_i32(std::floor(AF)))},
      {"v_cvt_off_f32_i4", LANE(to_bits(static_cast<float>((static_cast<int>(in.s[0] % 16) ^ 8) - 8) / 16))},
      {"v_cvt_f32_ubyte0", LANE(to_bits(static_cast<float>(in.s[0] % 256)))},
      {"v_cvt_f32_ubyte1", LANE(to_bits(static_cast<float>(in.s[0] / 256 % 256)))},
      {"v_cvt_f32_ubyte2", LANE(to_bits(static_cast<float>(in.s[0] / 65536 % 256)))},
      {"v_cvt_f32_ubyte3", LANE(to_bits(static_cast<float>(in.s[0] / 16777216)))},
      {"v_exp_legacy_f32", LANE(to_bits(static_cast<float>(std::exp2(static_cast<double>(AF)))))},
      {"v_log_legacy_f32", LANE(to_bits(static_cast<float>(std::log2(static_cast<double>(AF)))))},
      {"v_sin_f32", LANE(turned(AF, 0))},
      {"v_cos_f32", LANE(turned(AF, 1))},
      {"v_mul_legacy_f32", LANE(to_bits(AF == 0 || BF == 0 ? 0.0f : AF * BF))},
      {"v_minimum3_f32", LANE(three(in, true))},
      {"v_maximum3_f32", LANE(three(in, false))},
      {"v_fmamk_f32", LANE(exact_fma_f32(AF, BF, CF))},
      {"v_fmaak_f32", LANE(exact_fma_f32(AF, BF, CF))},
      {"v_div_scale_f32", LANE(scaled(AF, BF, CF))},
      {"v_div_scale_f32 mask", LANE(scales_back(BF, CF))},
      {"v_div_scale_f64", LANE(scaled(A, B, C))},
      {"v_div_scale_f64 mask", LANE(scales_back(B, C))},
      {"v_div_fmas_f32", last_step_f32},
      {"v_div_fmas_f64", last_step_f64},
      {"v_div_fixup_f32", LANE(fixed_up(AF, BF, CF))},
      {"v_div_fixup_f64", LANE(fixed_up(A, B, C))},
  };
  return table;
}

}  // namespace zyfa::tests
