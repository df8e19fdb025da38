// One lane's result of the rows with 16-bit sources or results, from AMD's CDNA4 ISA pseudo code. Sources of 16 bits
// are their codes; fp16 is computed in double, which holds every product and sum exactly or rounds it innocuously.
#include "tests/support/oracle_parts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

namespace zyfa::tests {
namespace {

using In = LaneInput;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

const FloatFormat f16 = float_format("f16");

double h(u64 code) { return decoded(f16, static_cast<u32>(code) & 0xffff); }
float f(u64 bits) { return std::bit_cast<float>(static_cast<u32>(bits)); }
u64 f_bits(double x) { return std::bit_cast<u32>(static_cast<float>(x)); }
i64 s16(u64 x) { return static_cast<std::int16_t>(x); }
i64 s32(u64 x) { return static_cast<std::int32_t>(x); }
u64 u16(i64 x) { return static_cast<u64>(x) & 0xffff; }

double propagating(double a, double b, bool larger) {
  if (std::isnan(a) || std::isnan(b)) return std::nan("");
  return larger ? most(a, b) : least(a, b);
}

u64 held(double x, double low, double high) {
  return std::isnan(x) ? 0 : static_cast<u64>(static_cast<i64>(std::clamp(std::trunc(x), low, high)));
}
u64 norm(double x, double low, double steps) {
  return std::isnan(x) ? 0
                       : static_cast<u64>(static_cast<i64>(std::nearbyint(std::clamp(x, low, 1.0) * steps))) & 0xffff;
}
u64 pair(u64 low, u64 high) { return (low & 0xffff) | (high & 0xffff) << 16; }

// The pseudo code copies; gfx1201 makes a NaN quiet (rocjitsu), and so does IEEE mode everywhere.
u64 quiet(u64 code) { return (code & 0x7fff) > 0x7c00 ? code | 0x200 : code; }

// Toward zero: the nearest code, or the one before it.
u64 cut_f16(float x) {
  if (!std::isfinite(x)) return encoded(f16, x, false);
  const u32 near = encoded(f16, x, true);
  return std::fabs(h(near)) > std::fabs(x) ? near - 1 : near;
}

double fixed_up(double quotient, double b, double c) {
  const double sign = std::signbit(b) != std::signbit(c) ? -1 : 1;
  if (std::isnan(b) || std::isnan(c)) return std::nan("");
  if ((b == 0 && c == 0) || (std::isinf(b) && std::isinf(c))) return std::nan("");
  if (b == 0 || std::isinf(c)) return sign * HUGE_VAL;
  if (std::isinf(b) || c == 0) return sign * 0.0;
  return std::copysign(quotient, sign);
}

double two_steps(double a, double b, double c) { return h(encoded(f16, a * b, false)) + c; }

double mantissa(double x) {
  int exponent = 0;
  return x == 0 || !std::isfinite(x) ? x : std::frexp(x, &exponent);
}
u64 exponent(double x) {
  int result = 0;
  if (x != 0 && std::isfinite(x)) std::frexp(x, &result);
  return static_cast<u64>(static_cast<i64>(result)) & 0xffff;
}

double flushed(double x) { return std::fabs(x) < 0x1p-126 ? std::copysign(0.0, x) : x; }
double single(double x) { return flushed(static_cast<float>(x)); }
// Sums of a float and an exact product, rounded to odd before they are rounded to float.
double sum(double a, double b) {
  double s = a + b;
  const double back = s - a, error = (a - (s - back)) + (b - back);
  auto word = std::bit_cast<u64>(s);
  if (std::isfinite(s) && error != 0 && word % 2 == 0)
    s = std::bit_cast<double>((error > 0) == (s > 0) ? word + 1 : word - 1);
  return single(s);
}
double part(const In& in, int source, int half, bool brain) {
  const u64 code = in.s[static_cast<std::size_t>(source)] >> 16 * half & 0xffff;
  return brain ? static_cast<double>(f(code << 16)) : h(code);
}
u64 dot2(const In& in, bool brain, float c) {
  const double first = sum(flushed(c), part(in, 0, 0, brain) * part(in, 1, 0, brain));
  return f_bits(sum(first, part(in, 0, 1, brain) * part(in, 1, 1, brain)));
}
u64 dot2_late(const In& in) {
  const double first = single(part(in, 0, 0, true) * part(in, 1, 0, true));
  return f_bits(sum(sum(first, part(in, 0, 1, true) * part(in, 1, 1, true)), flushed(f(in.s[2]))));
}
u64 dot(const In& in, int bits, bool is_signed, i64 c) {
  for (int i = 0; i < 32 / bits; ++i) {
    const auto element = [&](int source) {
      const i64 code = static_cast<i64>(in.s[static_cast<std::size_t>(source)] >> bits * i) & ((i64{1} << bits) - 1);
      return is_signed && code >> (bits - 1) ? code - (i64{1} << bits) : code;
    };
    c += element(0) * element(1);
  }
  return static_cast<u64>(c);
}

#define LANE(expression) []([[maybe_unused]] const In& in) -> u64 { return expression; }
#define HALF(expression) [](const In& in) -> u64 { return encoded(f16, expression, in.bit); }
#define A h(in.s[0])
#define B h(in.s[1])
#define C h(in.s[2])
// clang-format off
const std::map<std::string_view, LaneOracle>& half_oracles() {
  static const std::map<std::string_view, LaneOracle> table = {
      {"v_cvt_f16_f32", HALF(f(in.s[0]))},
      {"v_cvt_f32_f16", LANE(f_bits(A))},
      {"v_cvt_f32_bf16", LANE(in.s[0] << 16)},
      {"v_cvt_f16_u16", HALF(static_cast<double>(in.s[0]))},
      {"v_cvt_f16_i16", HALF(static_cast<double>(s16(in.s[0])))},
      {"v_cvt_u16_f16", LANE(held(A, 0, 65535))},
      {"v_cvt_i16_f16", LANE(held(A, -32768, 32767) & 0xffff)},
      {"v_cvt_norm_i16_f16", LANE(norm(A, -1, 32767))},
      {"v_cvt_norm_u16_f16", LANE(norm(A, 0, 65535))},
      {"v_cvt_f32_fp8", LANE(f_bits(decoded(float_format("fp8"), in.s[0] & 255)))},
      {"v_cvt_f32_bf8", LANE(f_bits(decoded(float_format("bf8"), in.s[0] & 255)))},
      {"v_cvt_pk_f32_bf8", [](const In& in) -> u64 {
         u64 r = 0;
         for (int i = 0; i < 2; ++i) {
           const double x = decoded(float_format("bf8"), in.s[0] >> 8 * i & 255);
           r |= (std::isnan(x) ? u64{0xffc00000} : f_bits(x)) << 32 * i;
         }
         return r; }},
      {"v_floor_f16", HALF(std::floor(A))},
      {"v_ceil_f16", HALF(std::ceil(A))},
      {"v_trunc_f16", HALF(std::trunc(A))},
      {"v_rndne_f16", HALF(std::nearbyint(A))},
      {"v_fract_f16", HALF(A - std::floor(A))},
      {"v_frexp_mant_f16", HALF(mantissa(A))},
      {"v_frexp_exp_i16_f16", LANE(exponent(A))},
      {"v_exp_f16", HALF(std::exp2(A))},
      {"v_log_f16", HALF(std::log2(A))},
      {"v_rcp_f16", HALF(1 / A)},
      {"v_rsq_f16", HALF(1 / std::sqrt(A))},
      {"v_sqrt_f16", HALF(std::sqrt(A))},
      {"v_add_f16", HALF(A + B)},
      {"v_sub_f16", HALF(A - B)},
      {"v_subrev_f16", HALF(B - A)},
      {"v_mul_f16", HALF(A * B)},
      {"v_min_f16", HALF(least(A, B))},
      {"v_max_f16", HALF(most(A, B))},
      {"v_ldexp_f16", HALF(std::ldexp(A, static_cast<int>(std::clamp<i64>(s16(in.s[1]), -200, 200))))},
      {"v_dot2c_f32_f16", LANE(dot2(in, false, f(in.d)))},
      {"v_dot2c_f32_bf16", LANE(dot2(in, true, f(in.d)))},
      {"v_dot2c_i32_i16", LANE(dot(in, 16, true, s32(in.d)) & 0xffffffff)},
      {"v_dot4c_i32_i8", LANE(dot(in, 8, true, s32(in.d)) & 0xffffffff)},
      {"v_dot8c_i32_i4", LANE(dot(in, 4, true, s32(in.d)) & 0xffffffff)},
      {"v_dot2_f32_f16", LANE(dot2(in, false, f(in.s[2])))},
      {"v_dot2_f32_bf16", LANE(dot2_late(in))},
      {"v_dot2_i32_i16", LANE(dot(in, 16, true, s32(in.s[2])))},
      {"v_dot2_u32_u16", LANE(dot(in, 16, false, static_cast<i64>(in.s[2])))},
      {"v_dot4_i32_i8", LANE(dot(in, 8, true, s32(in.s[2])))},
      {"v_dot4_u32_u8", LANE(dot(in, 8, false, static_cast<i64>(in.s[2])))},
      {"v_dot8_i32_i4", LANE(dot(in, 4, true, s32(in.s[2])))},
      {"v_dot8_u32_u4", LANE(dot(in, 4, false, static_cast<i64>(in.s[2])))},
      {"v_cvt_pk_f16_f32", LANE(pair(encoded(f16, f(in.s[0]), false), encoded(f16, f(in.s[1]), false)))},
      {"v_cvt_pkrtz_f16_f32", LANE(pair(cut_f16(f(in.s[0])), cut_f16(f(in.s[1]))))},
      {"v_cvt_pknorm_i16_f32", LANE(pair(norm(f(in.s[0]), -1, 32767), norm(f(in.s[1]), -1, 32767)))},
      {"v_cvt_pknorm_u16_f32", LANE(pair(norm(f(in.s[0]), 0, 65535), norm(f(in.s[1]), 0, 65535)))},
      {"v_cvt_pknorm_i16_f16", LANE(pair(norm(A, -1, 32767), norm(B, -1, 32767)))},
      {"v_cvt_pknorm_u16_f16", LANE(pair(norm(A, 0, 65535), norm(B, 0, 65535)))},
      {"v_pack_b32_f16", LANE(pair(quiet(in.s[0]), quiet(in.s[1])))},
      {"v_fma_f16", HALF(std::fma(A, B, C))},
      {"v_mad_f16", HALF(two_steps(A, B, C))},
      {"v_div_fixup_f16", HALF(fixed_up(A, B, C))},
      {"v_min3_f16", HALF(least(least(A, B), C))},
      {"v_max3_f16", HALF(most(most(A, B), C))},
      {"v_med3_f16", HALF(middle(A, B, C))},
      {"v_pk_fma_f16", HALF(std::fma(A, B, C))},
      {"v_pk_add_f16", HALF(A + B)},
      {"v_pk_mul_f16", HALF(A * B)},
      {"v_pk_min_f16", HALF(least(A, B))},
      {"v_pk_max_f16", HALF(most(A, B))},
      {"v_pk_minimum3_f16", HALF(propagating(propagating(A, B, false), C, false))},
      {"v_pk_maximum3_f16", HALF(propagating(propagating(A, B, true), C, true))},
      {"v_pk_add_i16", LANE(static_cast<u64>(s16(in.s[0]) + s16(in.s[1])))},
      {"v_pk_sub_i16", LANE(static_cast<u64>(s16(in.s[0]) - s16(in.s[1])))},
      {"v_pk_min_i16", LANE(u16(std::min(s16(in.s[0]), s16(in.s[1]))))},
      {"v_pk_max_i16", LANE(u16(std::max(s16(in.s[0]), s16(in.s[1]))))},
      {"v_pk_mad_i16", LANE(static_cast<u64>(s16(in.s[0]) * s16(in.s[1]) + s16(in.s[2])))},
      {"v_pk_ashrrev_i16", LANE(u16(s16(in.s[1]) >> in.s[0] % 16))},
      {"v_pk_add_u16", LANE(in.s[0] + in.s[1])},
      {"v_pk_sub_u16", LANE(in.s[0] - in.s[1])},
      {"v_pk_mul_lo_u16", LANE(in.s[0] * in.s[1] & 0xffff)},
      {"v_pk_min_u16", LANE(std::min(in.s[0], in.s[1]))},
      {"v_pk_max_u16", LANE(std::max(in.s[0], in.s[1]))},
      {"v_pk_mad_u16", LANE(in.s[0] * in.s[1] + in.s[2])},
      {"v_pk_lshlrev_b16", LANE(in.s[1] << in.s[0] % 16 & 0xffff)},
      {"v_pk_lshrrev_b16", LANE(in.s[1] >> in.s[0] % 16)},
      {"v_cmp_f_f16", LANE(0)}, {"v_cmp_tru_f16", LANE(1)},
      {"v_cmp_eq_f16", LANE(A == B)}, {"v_cmp_lg_f16", LANE(!std::isunordered(A, B) && A != B)},
      {"v_cmp_gt_f16", LANE(A > B)}, {"v_cmp_ge_f16", LANE(A >= B)}, {"v_cmp_lt_f16", LANE(A < B)},
      {"v_cmp_le_f16", LANE(A <= B)}, {"v_cmp_neq_f16", LANE(A != B)},
      {"v_cmp_nlg_f16", LANE(std::isunordered(A, B) || A == B)},
      {"v_cmp_nge_f16", LANE(std::isunordered(A, B) || A < B)}, {"v_cmp_ngt_f16", LANE(std::isunordered(A, B) || A <= B)},
      {"v_cmp_nle_f16", LANE(std::isunordered(A, B) || A > B)}, {"v_cmp_nlt_f16", LANE(std::isunordered(A, B) || A >= B)},
      {"v_cmp_u_f16", LANE(std::isunordered(A, B))}, {"v_cmp_o_f16", LANE(!std::isunordered(A, B))},
  };
  return table;
}
// clang-format on

}  // namespace

// v_cmpx compares as v_cmp does.
const LaneOracle* find_half_lane_oracle(std::string_view mnemonic) {
  const std::string name =
      mnemonic.starts_with("v_cmpx_") ? "v_cmp_" + std::string(mnemonic.substr(7)) : std::string(mnemonic);
  const auto found = half_oracles().find(name);
  return found == half_oracles().end() ? nullptr : &found->second;
}

}  // namespace zyfa::tests
