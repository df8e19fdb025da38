// The lane oracle's rows of 16 bits and of bytes, and the other integer rows that are not one operation of C.
#include "tests/support/oracle.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace zyfa::tests {
namespace {

using In = LaneInput;
using u64 = std::uint64_t;
using i64 = std::int64_t;

i64 s16(u64 x) { return static_cast<std::int16_t>(x); }
i64 s32(u64 x) { return static_cast<std::int32_t>(x); }
u64 low16(i64 x) { return static_cast<std::uint16_t>(x); }
u64 low16(u64 x) { return static_cast<std::uint16_t>(x); }
u64 low32(i64 x) { return static_cast<std::uint32_t>(x); }
u64 low32(u64 x) { return static_cast<std::uint32_t>(x); }
i64 s24(u64 x) { return (static_cast<i64>(x & 0xffffff) ^ 0x800000) - 0x800000; }

i64 piece(u64 x, int width, int i) { return static_cast<i64>(x >> (width * i) & ((u64{1} << width) - 1)); }
u64 sum_of_differences(const In& in, int width, bool masked) {
  u64 sum = 0;
  for (int i = 0; i < 32 / width; ++i)
    if (!masked || piece(in.s[1], width, i) != 0)
      sum += static_cast<u64>(std::abs(piece(in.s[0], width, i) - piece(in.s[1], width, i)));
  return sum;
}
u64 means(const In& in) {
  u64 r = 0;
  for (int i = 3; i >= 0; --i)
    r = r * 256 + static_cast<u64>((piece(in.s[0], 8, i) + piece(in.s[1], 8, i) + piece(in.s[2], 8, i) % 2) / 2);
  return r;
}
u64 held(i64 x, i64 low, i64 high) { return static_cast<u64>(std::clamp(x, low, high)); }
template <class T>
T middle(T a, T b, T c) {
  std::array<T, 3> all = {a, b, c};
  std::sort(all.begin(), all.end());
  return all[1];
}
u64 scan(u64 x, bool from_top, bool for_change) {
  const auto at = [&](int i) { return x >> (from_top ? 31 - i : i) & 1; };
  for (int i = for_change ? 1 : 0; i < 32; ++i)
    if (at(i) != (for_change ? at(0) : 0)) return static_cast<u64>(i);
  return 0xffffffff;
}
// The truth table of v_bitop3 arrives in `table`, bit by bit.
u64 looked_up(const In& in) {
  u64 r = 0;
  for (int i = 0; i < 32; ++i) {
    const u64 index = (in.s[0] >> i & 1) * 4 + (in.s[1] >> i & 1) * 2 + (in.s[2] >> i & 1);
    r |= (u64{in.table} >> index & 1) << i;
  }
  return r;
}
u64 signed_field(u64 x, u64 offset, u64 width) {
  if (width == 0) return 0;
  i64 r = s32(x) >> offset;
  const i64 span = i64{1} << width;
  r &= span - 1;
  return low32(r >= span / 2 ? r - span : r);
}
__extension__ using i128 = __int128;
u64 sign_of_sum(const In& in) {
  const i128 exact = static_cast<i128>(s32(in.s[0]) * s32(in.s[1])) + static_cast<i64>(in.s[2]);
  return static_cast<u64>(exact >> 64) & 1;
}
u64 carry_of_sum(const In& in) { return low32(in.s[0]) * low32(in.s[1]) > ~in.s[2] ? 1 : 0; }

#define LANE(expression) [](const In& in) -> u64 { return expression; }
#define THREE(name, expression)                                                                                    \
  {"v_" name "_u16", LANE(([&](u64 a, u64 b, u64 c) { return low16(expression); })(in.s[0], in.s[1], in.s[2]))}, { \
    "v_" name "_i16",                                                                                              \
        LANE(([&](i64 a, i64 b, i64 c) { return low16(expression); })(s16(in.s[0]), s16(in.s[1]), s16(in.s[2])))   \
  }
#define TWO(name, expression)                                                                             \
  {"v_" name "_u16", LANE(([&](u64 a, u64 b) { return low16(expression); })(in.s[0], in.s[1]))}, {        \
    "v_" name "_i16", LANE(([&](i64 a, i64 b) { return low16(expression); })(s16(in.s[0]), s16(in.s[1]))) \
  }

}  // namespace

const LaneOracles& narrow_oracles() {
  static const LaneOracles table = {
      TWO("add", a + b),
      TWO("sub", a - b),
      TWO("subrev", b - a),
      TWO("min", std::min(a, b)),
      TWO("max", std::max(a, b)),
      {"v_mul_lo_u16", LANE(low16(in.s[0] * in.s[1]))},
      {"v_lshlrev_b16", LANE(low16(in.s[1] << in.s[0] % 16))},
      {"v_lshrrev_b16", LANE(in.s[1] >> in.s[0] % 16)},
      {"v_ashrrev_i16", LANE(low16(s16(in.s[1]) >> in.s[0] % 16))},
      THREE("mad", a * b + c),
      THREE("mad_legacy", a * b + c),
      THREE("min3", std::min({a, b, c})),
      THREE("max3", std::max({a, b, c})),
      THREE("med3", middle(a, b, c)),
      {"v_mad_u32_u16", LANE(low32(in.s[0] * in.s[1] + in.s[2]))},
      {"v_mad_i32_i16", LANE(low32(s16(in.s[0]) * s16(in.s[1]) + s32(in.s[2])))},
      {"v_mad_u64_u32", LANE(low32(in.s[0]) * low32(in.s[1]) + in.s[2])},
      {"v_mad_u64_u32 mask", carry_of_sum},
      {"v_mad_i64_i32", LANE(static_cast<u64>(s32(in.s[0]) * s32(in.s[1])) + in.s[2])},
      {"v_mad_i64_i32 mask", sign_of_sum},
      {"v_bitop3_b32", looked_up},
      {"v_bitop3_b16", LANE(low16(looked_up(in)))},
      {"v_sat_pk_u8_i16", LANE(held(s16(in.s[0]), 0, 255) | held(s16(in.s[0] >> 16), 0, 255) << 8)},
      {"v_ashr_pk_i8_i32", LANE((held(s32(in.s[0]) >> in.s[2] % 32, -128, 127) & 255) |
                                (held(s32(in.s[1]) >> in.s[2] % 32, -128, 127) & 255) << 8)},
      {"v_cvt_pk_u16_u32", LANE(std::min(in.s[0], u64{65535}) | std::min(in.s[1], u64{65535}) << 16)},
      {"v_cvt_pk_i16_i32",
       LANE(low16(held(s32(in.s[0]), -32768, 32767)) | low16(held(s32(in.s[1]), -32768, 32767)) << 16)},
      {"v_sad_u8", LANE(low32(sum_of_differences(in, 8, false) + in.s[2]))},
      {"v_sad_hi_u8", LANE(low32(sum_of_differences(in, 8, false) * 65536 + in.s[2]))},
      {"v_msad_u8", LANE(low32(sum_of_differences(in, 8, true) + in.s[2]))},
      {"v_sad_u16", LANE(low32(sum_of_differences(in, 16, false) + in.s[2]))},
      {"v_sad_u32", LANE(low32(sum_of_differences(in, 32, false) + in.s[2]))},
      {"v_lerp_u8", means},
      {"v_min3_i32", LANE(low32(std::min({s32(in.s[0]), s32(in.s[1]), s32(in.s[2])})))},
      {"v_med3_i32", LANE(low32(middle(s32(in.s[0]), s32(in.s[1]), s32(in.s[2]))))},
      {"v_med3_u32", LANE(middle(in.s[0], in.s[1], in.s[2]))},
      {"v_bfe_i32", LANE(signed_field(in.s[0], in.s[1] % 32, in.s[2] % 32))},
      {"v_bfm_b32", LANE(low32(((u64{1} << in.s[0] % 32) - 1) << in.s[1] % 32))},
      {"v_bcnt_u32_b32", LANE(low32(static_cast<u64>(__builtin_popcountll(in.s[0])) + in.s[1]))},
      {"v_alignbyte_b32", LANE(low32((in.s[0] << 32 | in.s[1]) >> 8 * (in.s[2] % 4)))},
      {"v_ashrrev_i64", LANE(static_cast<u64>(static_cast<i64>(in.s[1]) >> in.s[0] % 64))},
      {"v_ffbh_u32", LANE(scan(in.s[0], true, false))},
      {"v_ffbh_i32", LANE(scan(in.s[0], true, true))},
      {"v_ffbl_b32", LANE(scan(in.s[0], false, false))},
      {"v_prng_b32", LANE(low32(in.s[0] * 2) ^ (in.s[0] >> 31) * 197)},
      {"v_xnor_b32", LANE(low32(~(in.s[0] ^ in.s[1])))},
      {"v_mul_hi_i32_i24", LANE(low32(s24(in.s[0]) * s24(in.s[1]) >> 32))},
      {"v_mul_hi_u32_u24", LANE((in.s[0] % 0x1000000) * (in.s[1] % 0x1000000) >> 32)},
      {"v_subrev_co_u32", LANE(low32(in.s[1] - in.s[0]) | u64{in.s[0] > in.s[1]} << 32)},
      {"v_subbrev_co_u32", LANE(low32(in.s[1] - in.s[0] - in.bit) | u64{in.s[0] + in.bit > in.s[1]} << 32)},
  };
  return table;
}

}  // namespace zyfa::tests
