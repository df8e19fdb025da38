// One lane's result by mnemonic, from AMD's CDNA4 ISA pseudo code. Floats are computed in double, which holds
// the product of two floats exactly and rounds sums and quotients innocuously (53 >= 2 * 24 + 2 bits).
#include "tests/support/oracle.h"
#include "tests/support/oracle_parts.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace zyfa::tests {
namespace {

using In = LaneInput;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

float f(u64 bits) { return std::bit_cast<float>(static_cast<u32>(bits)); }
u64 bits(double x) { return std::bit_cast<u32>(static_cast<float>(x)); }
u64 bits_of_float(float x) { return std::bit_cast<u32>(x); }
u32 low(u64 x) { return static_cast<u32>(x); }
u32 low(i64 x) { return static_cast<u32>(x); }
i64 s32(u64 x) { return static_cast<i32>(x); }
i64 s24(u64 x) { return (static_cast<i64>(x & 0xffffff) ^ 0x800000) - 0x800000; }

// a * b + c rounded once: the product is exact, and the sum is rounded to odd so that the rounding to float
// that follows sees on which side of a tie the exact value lies.
u64 fused(float a, float b, float c) {
  const double product = static_cast<double>(a) * b;
  double sum = product + c;
  const double back = sum - product;
  const double error = (product - (sum - back)) + (c - back);
  auto word = std::bit_cast<u64>(sum);
  if (std::isfinite(sum) && error != 0 && word % 2 == 0) {
    const bool away = (error > 0) == (sum > 0);
    word = away ? word + 1 : word - 1;
    sum = std::bit_cast<double>(word);
  }
  return bits(sum);
}

u64 clamped_integer(float x, double lowest, double highest) {
  if (std::isnan(x)) return 0;
  return low(static_cast<i64>(std::clamp(std::trunc(static_cast<double>(x)), lowest, highest)));
}
u64 rounded_byte(float x) {
  return std::isnan(x) ? 0 : static_cast<u64>(std::clamp(std::nearbyint(static_cast<double>(x)), 0.0, 255.0));
}

// Nearest code of an 8-bit float by search, ties to the even code. `overflow` is the code at which overflow
// begins (the code that would come after the largest finite one).
u64 nearest_code(double x, int mantissa_bits, int bias, u32 overflow, bool saturate, u32 nan) {
  if (std::isnan(x)) return nan;
  const u32 sign = std::signbit(x) ? 0x80 : 0;
  const auto value = [&](u32 code) {
    const int exponent = static_cast<int>(code >> mantissa_bits);
    const u32 fraction = code & ((1U << mantissa_bits) - 1);
    const u32 one = exponent ? 1U << mantissa_bits : 0;
    return std::ldexp(fraction + one, std::max(exponent, 1) - bias - mantissa_bits);
  };
  const double magnitude = std::min(std::fabs(x), value(overflow));
  u32 best = 0;
  for (u32 code = 1; code <= overflow; ++code) {
    const double distance = std::fabs(value(code) - magnitude), best_distance = std::fabs(value(best) - magnitude);
    if (distance < best_distance || (distance == best_distance && code % 2 == 0)) best = code;
  }
  if (std::isinf(x)) return sign | overflow;
  return sign | (best == overflow && saturate ? overflow - 1 : best);
}
u64 e4m3_float(u64 code) {
  const int exponent = static_cast<int>(code >> 3 & 15);
  const double fraction = static_cast<double>(code & 7) + (exponent ? 8 : 0);
  if ((code & 0x7f) == 0x7f) return 0xffc00000;  // isa/numeric.h says where that is from
  return bits(std::ldexp(code & 0x80 ? -fraction : fraction, std::max(exponent, 1) - 7 - 3));
}
u64 fp8(double x, bool saturate) { return nearest_code(x, 3, 7, 0x7f, saturate, 0xff); }
u64 bf8(double x, bool saturate) { return nearest_code(x, 2, 15, 0x7c, saturate, 0xfe); }
double over_scale(float x, u64 scale) {
  return std::ldexp(static_cast<double>(x), 127 - static_cast<int>(scale >> 23 & 0xff));
}
u64 bf16(float x) {
  const u64 word = bits_of_float(x);
  if (std::isnan(x)) return word >> 16 | 0x40;
  if (std::isinf(x) || x == 0) return word >> 16;
  int exponent = 0;
  std::frexp(x, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent - 8, -133));
  return bits(std::nearbyint(x / unit) * unit) >> 16;
}

u64 permuted(const In& in) {
  u64 result = 0;
  for (int i = 0; i < 4; ++i) {
    const u64 selector = in.s[2] >> (8 * i) & 0xff;
    const u64 data = in.s[0] << 32 | low(in.s[1]);
    u64 byte = 0xff;
    if (selector < 8) byte = data >> (8 * selector) & 0xff;
    if (selector >= 8 && selector <= 11) byte = data >> (16 * (selector - 8) + 15) & 1 ? 0xff : 0;
    if (selector == 12) byte = 0;
    result |= byte << (8 * i);
  }
  return result;
}
u64 set_bits(u64 x) { return static_cast<u64>(__builtin_popcountll(x)); }
u64 below(int lane) { return (u64{1} << lane) - 1; }
u64 saturated_byte(i64 x) { return static_cast<u64>(std::clamp<i64>(x, 0, 255)); }

#define LANE(expression) [](const In& in) -> u64 { return expression; }
#define A f(in.s[0])
#define B f(in.s[1])
#define C f(in.s[2])

// clang-format off
const LaneOracles& lane_oracles() {
  static const LaneOracles table = {
      {"v_mov_b32", LANE(in.s[0])},
      {"v_mov_b64", LANE(in.s[0])},
      {"v_accvgpr_read_b32", LANE(in.s[0])},
      {"v_accvgpr_write_b32", LANE(in.s[0])},
      {"v_not_b32", LANE(low(~in.s[0]))},
      {"v_bfrev_b32", [](const In& in) { u64 r = 0; for (int i = 0; i < 32; ++i) r = 2 * r + (in.s[0] >> i & 1); return r; }},
      {"v_cvt_f32_i32", LANE(bits(static_cast<double>(s32(in.s[0]))))},
      {"v_cvt_f32_u32", LANE(bits(static_cast<double>(low(in.s[0]))))},
      {"v_cvt_u32_f32", LANE(clamped_integer(A, 0, 4294967295.0))},
      {"v_cvt_i32_f32", LANE(clamped_integer(A, -2147483648.0, 2147483647.0))},
      {"v_cvt_pk_f32_fp8", LANE(e4m3_float(in.s[0]) | e4m3_float(in.s[0] >> 8) << 32)},
      {"v_floor_f32", LANE(bits(std::floor(A)))},
      {"v_ceil_f32", LANE(bits(std::ceil(A)))},
      {"v_trunc_f32", LANE(bits(std::trunc(A)))},
      {"v_rndne_f32", LANE(bits(std::nearbyint(A)))},
      {"v_fract_f32", LANE(bits(static_cast<double>(A) - std::floor(A)))},
      {"v_exp_f32", LANE(bits(std::exp2(static_cast<double>(A))))},
      {"v_log_f32", LANE(bits(std::log2(static_cast<double>(A))))},
      {"v_rcp_f32", LANE(bits(1.0 / A))},
      {"v_rcp_iflag_f32", LANE(bits(1.0 / A))},
      {"v_rsq_f32", LANE(bits(1.0 / std::sqrt(static_cast<double>(A))))},
      {"v_sqrt_f32", LANE(bits(std::sqrt(static_cast<double>(A))))},
      {"v_add_f32", LANE(bits(static_cast<double>(A) + B))},
      {"v_sub_f32", LANE(bits(static_cast<double>(A) - B))},
      {"v_subrev_f32", LANE(bits(static_cast<double>(B) - A))},
      {"v_mul_f32", LANE(bits(static_cast<double>(A) * B))},
      {"v_min_f32", LANE(bits_of_float(least(A, B)))},
      {"v_max_f32", LANE(bits_of_float(most(A, B)))},
      {"v_add_u32", LANE(low(in.s[0] + in.s[1]))},
      {"v_sub_u32", LANE(low(in.s[0] - in.s[1]))},
      {"v_subrev_u32", LANE(low(in.s[1] - in.s[0]))},
      {"v_mul_i32_i24", LANE(low(s24(in.s[0]) * s24(in.s[1])))},
      {"v_mul_u32_u24", LANE(low((in.s[0] % 0x1000000) * (in.s[1] % 0x1000000)))},
      {"v_min_i32", LANE(low(std::min(s32(in.s[0]), s32(in.s[1]))))},
      {"v_max_i32", LANE(low(std::max(s32(in.s[0]), s32(in.s[1]))))},
      {"v_min_u32", LANE(std::min(low(in.s[0]), low(in.s[1])))},
      {"v_max_u32", LANE(std::max(low(in.s[0]), low(in.s[1])))},
      {"v_and_b32", LANE(in.s[0] & in.s[1])},
      {"v_or_b32", LANE(in.s[0] | in.s[1])},
      {"v_xor_b32", LANE(in.s[0] ^ in.s[1])},
      {"v_lshlrev_b32", LANE(low(in.s[1] << (in.s[0] % 32)))},
      {"v_lshrrev_b32", LANE(low(in.s[1]) >> (in.s[0] % 32))},
      {"v_ashrrev_i32", LANE(low(s32(in.s[1]) >> (in.s[0] % 32)))},
      {"v_fmac_f32", LANE(fused(A, B, f(in.d)))},
      {"v_cndmask_b32", LANE(in.bit ? in.s[1] : in.s[0])},
      {"v_add_co_u32", LANE(in.s[0] + in.s[1])},
      {"v_addc_co_u32", LANE(in.s[0] + in.s[1] + in.bit)},
      {"v_sub_co_u32", LANE(low(in.s[0] - in.s[1]) | u64{in.s[1] > in.s[0]} << 32)},
      {"v_subb_co_u32", LANE(low(in.s[0] - in.s[1] - in.bit) | u64{in.s[1] + in.bit > in.s[0]} << 32)},
      {"v_mul_lo_u32", LANE(low(in.s[0] * in.s[1]))},
      {"v_mul_hi_u32", LANE(in.s[0] * in.s[1] >> 32)},
      {"v_mul_hi_i32", LANE(low(s32(in.s[0]) * s32(in.s[1]) >> 32))},
      {"v_ldexp_f32", LANE(bits(std::ldexp(static_cast<double>(A), static_cast<int>(std::clamp<i64>(s32(in.s[1]), -400, 400)))))},
      {"v_lshlrev_b64", LANE(in.s[1] << (in.s[0] % 64))},
      {"v_lshrrev_b64", LANE(in.s[1] >> (in.s[0] % 64))},
      {"v_mbcnt_lo_u32_b32", LANE(low(set_bits(in.s[0] & below(in.lane) & 0xffffffff) + in.s[1]))},
      {"v_mbcnt_hi_u32_b32", LANE(low(set_bits(in.s[0] & below(in.lane) >> 32) + in.s[1]))},
      {"v_add_i32", LANE(low(s32(in.s[0]) + s32(in.s[1])))},
      {"v_sub_i32", LANE(low(s32(in.s[0]) - s32(in.s[1])))},
      {"v_cvt_pk_bf16_f32", LANE(bf16(A) | bf16(B) << 16)},
      {"v_fma_f32", LANE(fused(A, B, C))},
      {"v_pk_fma_f32", LANE(fused(A, B, C))},
      {"v_pk_mul_f32", LANE(bits(static_cast<double>(A) * B))},
      {"v_pk_add_f32", LANE(bits(static_cast<double>(A) + B))},
      {"v_pk_mov_b32", LANE(in.s[0])},
      {"v_min3_f32", LANE(bits_of_float(least(least(A, B), C)))},
      {"v_max3_f32", LANE(bits_of_float(most(most(A, B), C)))},
      {"v_med3_f32", LANE(bits_of_float(middle(A, B, C)))},
      {"v_max3_i32", LANE(low(std::max({s32(in.s[0]), s32(in.s[1]), s32(in.s[2])})))},
      {"v_max3_u32", LANE(std::max({low(in.s[0]), low(in.s[1]), low(in.s[2])}))},
      {"v_min3_u32", LANE(std::min({low(in.s[0]), low(in.s[1]), low(in.s[2])}))},
      {"v_bfe_u32", LANE((low(in.s[0]) >> in.s[1] % 32) & ((u64{1} << in.s[2] % 32) - 1))},
      {"v_bfi_b32", LANE((in.s[0] & in.s[1]) | (low(~in.s[0]) & in.s[2]))},
      {"v_perm_b32", permuted},
      {"v_alignbit_b32", LANE(low((in.s[0] << 32 | in.s[1]) >> in.s[2] % 32))},
      {"v_and_or_b32", LANE((in.s[0] & in.s[1]) | in.s[2])},
      {"v_or3_b32", LANE(in.s[0] | in.s[1] | in.s[2])},
      {"v_xad_u32", LANE(low((in.s[0] ^ in.s[1]) + in.s[2]))},
      {"v_add3_u32", LANE(low(in.s[0] + in.s[1] + in.s[2]))},
      {"v_lshl_add_u32", LANE(low((in.s[0] << in.s[1] % 32) + in.s[2]))},
      {"v_add_lshl_u32", LANE(low((in.s[0] + in.s[1]) << in.s[2] % 32))},
      {"v_lshl_or_b32", LANE(low(in.s[0] << in.s[1] % 32) | in.s[2])},
      {"v_mad_u32_u24", LANE(low((in.s[0] % 0x1000000) * (in.s[1] % 0x1000000) + in.s[2]))},
      {"v_mad_i32_i24", LANE(low(s24(in.s[0]) * s24(in.s[1]) + s32(in.s[2])))},
      {"v_lshl_add_u64", LANE((in.s[0] << in.s[1] % 8) + in.s[2])},
      {"v_cvt_pk_u8_f32", LANE((in.s[2] & ~(u64{255} << 8 * (in.s[1] % 4))) | rounded_byte(A) << 8 * (in.s[1] % 4))},
      {"v_cvt_pk_fp8_f32", LANE(fp8(A, in.bit) | fp8(B, in.bit) << 8)},
      {"v_cvt_pk_bf8_f32", LANE(bf8(A, in.bit) | bf8(B, in.bit) << 8)},
      {"v_cvt_scalef32_pk_fp8_f32", LANE(fp8(over_scale(A, in.s[2]), in.bit) | fp8(over_scale(B, in.s[2]), in.bit) << 8)},
      {"v_ashr_pk_u8_i32", LANE(saturated_byte(s32(in.s[0]) >> in.s[2] % 32) | saturated_byte(s32(in.s[1]) >> in.s[2] % 32) << 8)},
  };
  return table;
}
// clang-format on

}  // namespace

const LaneOracle* find_lane_oracle(std::string_view mnemonic) {
  for (const LaneOracles* table : {&lane_oracles(), &compare_oracles(), &double_oracles(), &narrow_oracles()})
    if (const auto found = table->find(mnemonic); found != table->end()) return &found->second;
  return find_half_lane_oracle(mnemonic);
}

int tolerance_ulps(isa::Op op) {
  switch (op) {
    case isa::Op::v_exp_f32:
    case isa::Op::v_log_f32:
    case isa::Op::v_exp_legacy_f32:
    case isa::Op::v_log_legacy_f32:
    case isa::Op::v_sin_f32:
    case isa::Op::v_cos_f32:
    case isa::Op::v_rsq_f32:
    case isa::Op::v_exp_f16:
    case isa::Op::v_log_f16:
    case isa::Op::v_rsq_f16:
      return 1;
    default:
      return 0;
  }
}

}  // namespace zyfa::tests
