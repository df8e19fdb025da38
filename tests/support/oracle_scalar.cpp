#include "tests/support/oracle_parts.h"

#include <map>

namespace zyfa::tests {
namespace {

using isa::Inst;
using isa::Kind;
using isa::Type;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

struct Outcome {
  u64 result = 0;
  bool scc = false;
};
struct Input {
  u64 a = 0, b = 0, d = 0;
  bool scc = false;
  u32 a32() const { return static_cast<u32>(a); }
  u32 b32() const { return static_cast<u32>(b); }
  i64 sa() const { return static_cast<i32>(a); }
  i64 sb() const { return static_cast<i32>(b); }
  i64 sd() const { return static_cast<i32>(d); }
};
using ScalarOracle = std::function<Outcome(const Input&)>;

u32 low(i64 x) { return static_cast<u32>(x); }
u32 low(u64 x) { return static_cast<u32>(x); }
Outcome nonzero(u64 r) { return {r, r != 0}; }
bool is_i32(i64 x) { return x == static_cast<i32>(x); }

int count_bits(u64 x) {
  int n = 0;
  for (int i = 0; i < 64; ++i) n += static_cast<int>(x >> i & 1);
  return n;
}
u32 first_one(u64 x, int width) {
  for (int i = 0; i < width; ++i)
    if (x >> i & 1) return static_cast<u32>(i);
  return ~0U;
}
u32 first_one_from_top(u32 x) {
  for (int i = 0; i < 32; ++i)
    if (x >> (31 - i) & 1) return static_cast<u32>(i);
  return ~0U;
}
u32 reversed(u32 x) {
  u32 r = 0;
  for (int i = 0; i < 32; ++i) r |= (x >> i & 1) << (31 - i);
  return r;
}
ScalarOracle shifted_add(int shift) {
  return [shift](const Input& in) -> Outcome {
    const u64 sum = (u64{in.a32()} << shift) + in.b32();
    return {low(sum), sum > 0xffffffffU};
  };
}

// Where the field ends above the top bit, what lies beyond is the sign's (signed) or zero.
Outcome field(u64 x, int size, u64 control, bool is_signed) {
  const int offset = static_cast<int>(control % static_cast<u64>(size)), width = static_cast<int>(control >> 16 & 127);
  u64 r = 0;
  for (int i = 0; i < size; ++i) {
    // Bit i of the result comes from bit i of the field, or from the field's last bit if that has a sign.
    const int wanted = i < width ? i : is_signed ? width - 1 : -1;
    const int from = wanted < 0 ? -1 : wanted + offset < size ? wanted + offset : is_signed ? size - 1 : -1;
    if (from >= 0 && (x >> from & 1)) r |= u64{1} << i;
  }
  return nonzero(r);
}
// How many bits after the first are like it; -1 if all.
u32 run_from_top(u64 x, int width) {
  for (int i = 1; i < width; ++i)
    if ((x >> (width - 1 - i) & 1) != (x >> (width - 1) & 1)) return static_cast<u32>(i);
  return ~0U;
}
Outcome quads(u64 x, int width, bool one_bit_each) {
  u64 r = 0;
  for (int i = 0; i < width / 4; ++i)
    if (x >> (4 * i) & 15) r |= one_bit_each ? u64{1} << i : u64{15} << (4 * i);
  return nonzero(r);
}
u64 only32(u64 x) { return x & 0xffffffff; }

#define OUT(...) [](const Input& in) -> Outcome { return __VA_ARGS__; }
#define BITWISE(name, expression) \
  {"s_" name "_b32", OUT(nonzero(only32(expression)))}, { "s_" name "_b64", OUT(nonzero(expression)) }
#define COMPARE_K(name, op)                                                        \
  {"s_cmpk_" name "_i32", OUT({0, in.sa() op static_cast<std::int16_t>(in.b)})}, { \
    "s_cmpk_" name "_u32", OUT({0, in.a32() op in.b % 65536})                      \
  }

const std::map<std::string_view, ScalarOracle>& scalar_oracles() {
  static const std::map<std::string_view, ScalarOracle> table = {
      {"s_mov_b32",
       [](const Input& in) {
         return Outcome{in.a, in.scc};
       }},
      {"s_mov_b64",
       [](const Input& in) {
         return Outcome{in.a, in.scc};
       }},
      {"s_not_b32", [](const Input& in) { return nonzero(0xffffffffU ^ in.a32()); }},
      {"s_not_b64", [](const Input& in) { return nonzero(~u64{0} ^ in.a); }},
      {"s_brev_b32",
       [](const Input& in) {
         return Outcome{reversed(in.a32()), in.scc};
       }},
      {"s_bcnt1_i32_b32", [](const Input& in) { return nonzero(static_cast<u64>(count_bits(in.a32()))); }},
      {"s_bcnt1_i32_b64", [](const Input& in) { return nonzero(static_cast<u64>(count_bits(in.a))); }},
      {"s_ff1_i32_b32",
       [](const Input& in) {
         return Outcome{first_one(in.a32(), 32), in.scc};
       }},
      {"s_ff1_i32_b64",
       [](const Input& in) {
         return Outcome{first_one(in.a, 64), in.scc};
       }},
      {"s_flbit_i32_b32",
       [](const Input& in) {
         return Outcome{first_one_from_top(in.a32()), in.scc};
       }},
      {"s_sext_i32_i8",
       [](const Input& in) {
         return Outcome{low(i64{static_cast<std::int8_t>(in.a)}), in.scc};
       }},
      {"s_sext_i32_i16",
       [](const Input& in) {
         return Outcome{low(i64{static_cast<std::int16_t>(in.a)}), in.scc};
       }},
      {"s_abs_i32", [](const Input& in) { return nonzero(low(in.sa() < 0 ? -in.sa() : in.sa())); }},
      {"s_add_u32",
       [](const Input& in) {
         const u64 sum = u64{in.a32()} + in.b32();
         return Outcome{low(sum), sum >= 0x100000000U};
       }},
      {"s_addc_u32",
       [](const Input& in) {
         const u64 sum = u64{in.a32()} + in.b32() + (in.scc ? 1 : 0);
         return Outcome{low(sum), sum >= 0x100000000U};
       }},
      {"s_sub_u32",
       [](const Input& in) {
         return Outcome{low(i64{in.a32()} - i64{in.b32()}), in.b32() > in.a32()};
       }},
      {"s_subb_u32",
       [](const Input& in) {
         const i64 difference = i64{in.a32()} - i64{in.b32()} - (in.scc ? 1 : 0);
         return Outcome{low(difference), difference < 0};
       }},
      {"s_add_i32",
       [](const Input& in) {
         return Outcome{low(in.sa() + in.sb()), !is_i32(in.sa() + in.sb())};
       }},
      {"s_sub_i32",
       [](const Input& in) {
         return Outcome{low(in.sa() - in.sb()), !is_i32(in.sa() - in.sb())};
       }},
      {"s_min_i32",
       [](const Input& in) {
         return Outcome{low(std::min(in.sa(), in.sb())), in.sa() < in.sb()};
       }},
      {"s_min_u32",
       [](const Input& in) {
         return Outcome{std::min(in.a32(), in.b32()), in.a32() < in.b32()};
       }},
      {"s_max_i32",
       [](const Input& in) {
         return Outcome{low(std::max(in.sa(), in.sb())), in.sa() >= in.sb()};
       }},
      {"s_max_u32",
       [](const Input& in) {
         return Outcome{std::max(in.a32(), in.b32()), in.a32() >= in.b32()};
       }},
      {"s_cselect_b32",
       [](const Input& in) {
         return Outcome{in.scc ? in.a : in.b, in.scc};
       }},
      {"s_cselect_b64",
       [](const Input& in) {
         return Outcome{in.scc ? in.a : in.b, in.scc};
       }},
      {"s_and_b32", [](const Input& in) { return nonzero(in.a & in.b); }},
      {"s_and_b64", [](const Input& in) { return nonzero(in.a & in.b); }},
      {"s_or_b32", [](const Input& in) { return nonzero(in.a | in.b); }},
      {"s_or_b64", [](const Input& in) { return nonzero(in.a | in.b); }},
      {"s_xor_b32", [](const Input& in) { return nonzero(in.a ^ in.b); }},
      {"s_xor_b64", [](const Input& in) { return nonzero(in.a ^ in.b); }},
      {"s_andn2_b32", [](const Input& in) { return nonzero(in.a & (0xffffffffU ^ in.b)); }},
      {"s_andn2_b64", [](const Input& in) { return nonzero(in.a & ~in.b); }},
      {"s_orn2_b64", [](const Input& in) { return nonzero(in.a | ~in.b); }},
      {"s_lshl_b32", [](const Input& in) { return nonzero(low(in.a << (in.b % 32))); }},
      {"s_lshl_b64", [](const Input& in) { return nonzero(in.a << (in.b % 64)); }},
      {"s_lshr_b32", [](const Input& in) { return nonzero(in.a32() >> (in.b % 32)); }},
      {"s_lshr_b64", [](const Input& in) { return nonzero(in.a >> (in.b % 64)); }},
      {"s_ashr_i32", [](const Input& in) { return nonzero(low(in.sa() >> (in.b % 32))); }},
      {"s_ashr_i64", [](const Input& in) { return nonzero(static_cast<u64>(static_cast<i64>(in.a) >> (in.b % 64))); }},
      {"s_bfe_u32",
       [](const Input& in) {
         const u64 width = in.b >> 16 & 127;
         return nonzero(width >= 64 ? in.a32() >> (in.b % 32) : (in.a32() >> (in.b % 32)) & ((u64{1} << width) - 1));
       }},
      {"s_bfm_b32",
       [](const Input& in) {
         return Outcome{low(((u64{1} << (in.a % 32)) - 1) << (in.b % 32)), in.scc};
       }},
      {"s_mul_i32",
       [](const Input& in) {
         return Outcome{low(in.sa() * in.sb()), in.scc};
       }},
      {"s_mul_hi_u32",
       [](const Input& in) {
         return Outcome{u64{in.a32()} * in.b32() >> 32, in.scc};
       }},
      {"s_mul_hi_i32",
       [](const Input& in) {
         return Outcome{low(in.sa() * in.sb() >> 32), in.scc};
       }},
      {"s_lshl1_add_u32", shifted_add(1)},
      {"s_lshl2_add_u32", shifted_add(2)},
      {"s_lshl3_add_u32", shifted_add(3)},
      {"s_lshl4_add_u32", shifted_add(4)},
      {"s_pack_ll_b32_b16",
       [](const Input& in) {
         return Outcome{in.a % 65536 + 65536 * (in.b % 65536), in.scc};
       }},
      {"s_cmp_eq_i32",
       [](const Input& in) {
         return Outcome{0, in.sa() == in.sb()};
       }},
      {"s_cmp_lg_i32",
       [](const Input& in) {
         return Outcome{0, in.sa() != in.sb()};
       }},
      {"s_cmp_gt_i32",
       [](const Input& in) {
         return Outcome{0, in.sa() > in.sb()};
       }},
      {"s_cmp_ge_i32",
       [](const Input& in) {
         return Outcome{0, in.sa() >= in.sb()};
       }},
      {"s_cmp_lt_i32",
       [](const Input& in) {
         return Outcome{0, in.sa() < in.sb()};
       }},
      {"s_cmp_le_i32",
       [](const Input& in) {
         return Outcome{0, in.sa() <= in.sb()};
       }},
      {"s_cmp_eq_u32",
       [](const Input& in) {
         return Outcome{0, in.a32() == in.b32()};
       }},
      {"s_cmp_lg_u32",
       [](const Input& in) {
         return Outcome{0, in.a32() != in.b32()};
       }},
      {"s_cmp_gt_u32",
       [](const Input& in) {
         return Outcome{0, in.a32() > in.b32()};
       }},
      {"s_cmp_ge_u32",
       [](const Input& in) {
         return Outcome{0, in.a32() >= in.b32()};
       }},
      {"s_cmp_lt_u32",
       [](const Input& in) {
         return Outcome{0, in.a32() < in.b32()};
       }},
      {"s_cmp_le_u32",
       [](const Input& in) {
         return Outcome{0, in.a32() <= in.b32()};
       }},
      {"s_cmp_eq_u64",
       [](const Input& in) {
         return Outcome{0, in.a == in.b};
       }},
      {"s_cmp_lg_u64",
       [](const Input& in) {
         return Outcome{0, in.a != in.b};
       }},
      {"s_bitcmp0_b32",
       [](const Input& in) {
         return Outcome{0, (in.a >> (in.b % 32)) % 2 == 0};
       }},
      {"s_bitcmp1_b32",
       [](const Input& in) {
         return Outcome{0, (in.a >> (in.b % 32)) % 2 == 1};
       }},
      {"s_movk_i32",
       [](const Input& in) {
         return Outcome{in.a, in.scc};
       }},
      {"s_addk_i32",
       [](const Input& in) {
         return Outcome{low(in.sd() + in.sa()), !is_i32(in.sd() + in.sa())};
       }},
      {"s_mulk_i32",
       [](const Input& in) {
         return Outcome{low(in.sd() * in.sa()), in.scc};
       }},
      {"s_brev_b64", OUT({u64{reversed(static_cast<u32>(in.a))} << 32 | reversed(static_cast<u32>(in.a >> 32)), in.scc})},
      {"s_wqm_b32", OUT(quads(in.a32(), 32, false))},
      {"s_wqm_b64", OUT(quads(in.a, 64, false))},
      {"s_quadmask_b32", OUT(quads(in.a32(), 32, true))},
      {"s_quadmask_b64", OUT(quads(in.a, 64, true))},
      {"s_bitreplicate_b64_b32",
       [](const Input& in) {
         u64 r = 0;
         for (int i = 0; i < 64; ++i) r |= (in.a >> (i / 2) & 1) << i;
         return Outcome{r, in.scc};
       }},
      {"s_bcnt0_i32_b32", OUT(nonzero(static_cast<u64>(32 - count_bits(in.a32()))))},
      {"s_bcnt0_i32_b64", OUT(nonzero(static_cast<u64>(64 - count_bits(in.a))))},
      {"s_ff0_i32_b32", OUT({first_one(0xffffffffU ^ in.a32(), 32), in.scc})},
      {"s_ff0_i32_b64", OUT({first_one(~u64{0} ^ in.a, 64), in.scc})},
      {"s_flbit_i32_b64",
       [](const Input& in) {
         const u32 high = first_one_from_top(static_cast<u32>(in.a >> 32));
         const u32 low_one = first_one_from_top(static_cast<u32>(in.a));
         return Outcome{high != ~0U ? high : low_one != ~0U ? low_one + 32 : ~0U, in.scc};
       }},
      {"s_flbit_i32", OUT({run_from_top(in.a32(), 32), in.scc})},
      {"s_flbit_i32_i64", OUT({run_from_top(in.a, 64), in.scc})},
      {"s_cmov_b32", OUT({in.scc ? in.a : in.d, in.scc})},
      {"s_cmov_b64", OUT({in.scc ? in.a : in.d, in.scc})},
      {"s_cmovk_i32", OUT({in.scc ? in.a : in.d, in.scc})},
      {"s_bitset0_b32", OUT({(in.d | u64{1} << in.a % 32) - (u64{1} << in.a % 32), in.scc})},
      {"s_bitset0_b64", OUT({(in.d | u64{1} << in.a % 64) - (u64{1} << in.a % 64), in.scc})},
      {"s_bitset1_b32", OUT({in.d | u64{1} << in.a % 32, in.scc})},
      {"s_bitset1_b64", OUT({in.d | u64{1} << in.a % 64, in.scc})},
      {"s_orn2_b32", OUT(nonzero(only32(in.a | ~in.b)))},
      BITWISE("nand", ~(in.a & in.b)),
      BITWISE("nor", ~(in.a | in.b)),
      BITWISE("xnor", ~(in.a ^ in.b)),
      {"s_bfe_i32", OUT(field(in.a32(), 32, in.b, true))},
      {"s_bfe_u64", OUT(field(in.a, 64, in.b, false))},
      {"s_bfe_i64", OUT(field(in.a, 64, in.b, true))},
      {"s_bfm_b64", OUT({((u64{1} << in.a % 64) - 1) << in.b % 64, in.scc})},
      {"s_pack_lh_b32_b16", OUT({in.a % 65536 + (in.b32() / 65536 * u64{65536}), in.scc})},
      {"s_pack_hh_b32_b16", OUT({in.a32() / 65536 + (in.b32() / 65536 * u64{65536}), in.scc})},
      {"s_absdiff_i32",
       [](const Input& in) {
         const u32 difference = low(in.sa() - in.sb());
         return nonzero(difference > 0x80000000U ? u32{0} - difference : difference);
       }},
      {"s_bitcmp0_b64", OUT({0, (in.a >> in.b % 64) % 2 == 0})},
      {"s_bitcmp1_b64", OUT({0, (in.a >> in.b % 64) % 2 == 1})},
      COMPARE_K("eq", ==), COMPARE_K("lg", !=), COMPARE_K("gt", >), COMPARE_K("ge", >=), COMPARE_K("lt", <),
      COMPARE_K("le", <=),
      {"s_xor_saveexec_b64", OUT(nonzero(in.a ^ in.b))},
      {"s_andn2_saveexec_b64", OUT(nonzero(in.a & ~in.b))},
      {"s_orn2_saveexec_b64", OUT(nonzero(in.a | ~in.b))},
      {"s_nand_saveexec_b64", OUT(nonzero(~in.a | ~in.b))},
      {"s_nor_saveexec_b64", OUT(nonzero(~in.a & ~in.b))},
      {"s_xnor_saveexec_b64", OUT(nonzero(~in.a ^ in.b))},
      {"s_andn1_saveexec_b64", OUT(nonzero(in.b & ~in.a))},
      {"s_orn1_saveexec_b64", OUT(nonzero(in.b | ~in.a))},
      {"s_and_saveexec_b64", [](const Input& in) { return nonzero(in.a & in.b); }},
      {"s_or_saveexec_b64", [](const Input& in) { return nonzero(in.a | in.b); }},
  };
  return table;
}

void write(emulator::Wave& wave, const isa::Operand& to, int dwords, u64 value) {
  wave.scalar[to.value] = low(value);
  if (dwords == 2) wave.scalar[to.value + 1] = static_cast<u32>(value >> 32);
}

}  // namespace

u64 oracle_scalar(const emulator::Wave& wave, const isa::Operand& operand, Type type) {
  const bool wide = type == Type::u64 || type == Type::i64 || type == Type::f64;
  if (operand.kind == isa::OperandKind::sgpr) {
    const u64 low_word = wave.scalar[operand.value];
    return wide ? low_word | u64{wave.scalar[operand.value + 1]} << 32 : low_word;
  }
  if (!wide) return operand.value;
  if (operand.kind == isa::OperandKind::integer) return static_cast<u64>(i64{static_cast<i32>(operand.value)});
  if (operand.kind == isa::OperandKind::literal && type == Type::f64) return u64{operand.value} << 32;
  if (operand.kind == isa::OperandKind::literal)
    return type == Type::i64 ? static_cast<u64>(i64{static_cast<i32>(operand.value)}) : operand.value;
  // Bits of 0.5, 1, 2, 4, their negatives and 1 / (2 pi) as doubles.
  static const std::map<u32, u64> doubles = {
      {0x3f000000, 0x3fe0000000000000}, {0xbf000000, 0xbfe0000000000000}, {0x3f800000, 0x3ff0000000000000},
      {0xbf800000, 0xbff0000000000000}, {0x40000000, 0x4000000000000000}, {0xc0000000, 0xc000000000000000},
      {0x40800000, 0x4010000000000000}, {0xc0800000, 0xc010000000000000}, {0x3e22f983, 0x3fc45f306dc9c882}};
  return doubles.at(operand.value);
}

bool run_scalar_oracle(emulator::Wave& wave, const Inst& inst) {
  const isa::Desc& d = isa::desc(inst.op);
  if (run_mode_oracle(wave, inst, d.name)) return true;
  const auto found = scalar_oracles().find(d.name);
  if (found == scalar_oracles().end()) return false;
  Input in;
  in.scc = wave.scc;
  const bool compares = d.kind == Kind::SOPC || d.kind == Kind::SOPK_COMPARE;
  const int first = compares ? 0 : 1;
  const auto value = [&](int i) {
    const auto index = static_cast<std::size_t>(i);
    return d.args[index].dwords == 0 ? 0 : oracle_scalar(wave, inst.args[index], d.args[index].type);
  };
  in.a = d.kind == Kind::SOPK ? low(i64{static_cast<std::int16_t>(inst.args[1].value)}) : value(first);
  in.b = d.kind == Kind::SAVEEXEC ? oracle_scalar(wave, isa::exec, Type::u64) : value(first + 1);
  if (d.kind == Kind::SOPK_COMPARE) in.b = inst.args[1].value;
  if (d.kind == Kind::SOPK || d.kind == Kind::SOP1_ACC) in.d = oracle_scalar(wave, inst.args[0], d.args[0].type);
  const Outcome out = found->second(in);
  wave.scc = out.scc;
  if (compares) return true;
  if (d.kind == Kind::SAVEEXEC) {
    write(wave, isa::exec, 2, out.result);
    write(wave, inst.args[0], 2, in.b);
    return true;
  }
  write(wave, inst.args[0], d.args[0].dwords, out.result);
  return true;
}

}  // namespace zyfa::tests
