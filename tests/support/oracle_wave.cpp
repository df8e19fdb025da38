// The oracle's walk over lanes: sources, DPP, modifiers and EXEC, one lane at a time.
#include "tests/support/oracle_parts.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace zyfa::tests {
namespace {

using emulator::Wave;
using isa::Inst;
using isa::Kind;
using isa::Operand;
using isa::OperandKind;
using isa::Type;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

bool bit(u64 word, int i) { return bit_of(word, i); }
u32& vector_word(Wave& wave, const Operand& operand, int i, int lane) { return lane_word(wave, operand, i, lane); }
u32 vector_word(const Wave& wave, const Operand& operand, int i, int lane) { return lane_word(wave, operand, i, lane); }
bool is_vector(const Operand& operand) { return is_vector_operand(operand); }

// The lane that lane `to` reads, or -1. Written as the data moves: which lane's value arrives at `to`.
int dpp_from(u32 control, int to) {
  const auto in_same_row = [to](int from) { return from >= 0 && from / 16 == to / 16 ? from : -1; };
  const int n = static_cast<int>(control % 16);
  if (control <= 0xff) return to / 4 * 4 + static_cast<int>(control >> to % 4 * 2) % 4;
  if (control >= 0x101 && control <= 0x10f) return in_same_row(to + n);
  if (control >= 0x111 && control <= 0x11f) return in_same_row(to - n);
  if (control >= 0x121 && control <= 0x12f) return to / 16 * 16 + (to % 16 + 16 - n) % 16;
  if (control >= 0x150 && control <= 0x15f) return to / 16 * 16 + n;
  if (control == 0x130) return to == 63 ? -1 : to + 1;
  if (control == 0x134) return (to + 1) % 64;
  if (control == 0x138) return to - 1;
  if (control == 0x13c) return (to + 63) % 64;
  if (control == 0x140) return to ^ 15;
  if (control == 0x141) return to ^ 7;
  if (control == 0x142) return to < 16 ? -1 : to / 16 * 16 - 1;
  return to < 32 ? -1 : 31;
}

u32 with_modifiers(const Wave& wave, const Operand& operand, Type type, u32 x) {
  const bool denormal = (x & 0x7fffffff) < 0x00800000;
  if (type == Type::f32 && denormal && !bit(wave.mode.bits, 4)) x &= 0x80000000;
  if (operand.abs) x &= 0x7fffffff;
  if (operand.neg) x ^= 0x80000000;
  return x;
}

bool has_half_constants(Type type) {
  return isa::is_half_type(type) || type == Type::f16x2 || type == Type::bf16x2 || type == Type::i16x2;
}

// The byte or half of source 0 that op_sel picks.
u64 part_of(const Inst& inst, const isa::Desc& d, int index, u64 word) {
  if (d.part_bits == 0 || index != 1) return word;
  return d.part_bits == 8 ? word >> 8 * (inst.mods.op_sel % 4) & 0xff : word >> 16 * (inst.mods.op_sel % 2) & 0xffff;
}

u64 with_modifiers_f64(const Wave& wave, const Operand& operand, u64 x) {
  constexpr u64 sign = u64{1} << 63;
  if ((x & ~sign) < 0x0010000000000000 && !bit(wave.mode.bits, 6)) x &= sign;
  if (operand.abs) x &= ~sign;
  if (operand.neg) x ^= sign;
  return x;
}

// The part of a source that SDWA or op_sel picks, as the row's type sees it.
u32 picked(const Inst& inst, int slot, Type type, u32 x) {
  if (inst.form == isa::Form::sdwa) {
    const int selection = slot == 0 ? inst.mods.src0_sel : inst.mods.src1_sel;
    const bool extends = bit(inst.mods.sext, slot);
    const u32 byte = x >> selection % 4 * 8 & 255, half = selection == 5 ? x >> 16 : x & 65535;
    if (selection < 4) return extends && byte > 127 ? byte - 256 : byte;
    if (selection < 6) return extends && half > 32767 ? half - 65536 : half;
    return x;
  }
  if (!isa::is_16_bits(type)) return x;
  return bit(inst.mods.op_sel, slot) ? x >> 16 : x;
}

u64 source(const Wave& wave, const Inst& inst, int index, Type type, int lane, int slot) {
  const Operand& operand = inst.args[static_cast<std::size_t>(index)];
  const bool wide = type == Type::u64 || type == Type::i64 || type == Type::f64;
  const bool first_source = slot == 0;
  const auto finished = [&](u64 value) -> u64 {
    if (type == Type::f64) return with_modifiers_f64(wave, operand, value);
    if (wide) return value;
    const u32 part = picked(inst, slot, type, static_cast<u32>(value));
    if (type == Type::f16 || type == Type::bf16) return half_code(wave, operand, type, part, false);
    return isa::is_16_bits(type) ? part & 65535 : with_modifiers(wave, operand, type, part);
  };
  if (!is_vector(operand))
    return finished(has_half_constants(type) ? half_scalar(wave, operand, type) : oracle_scalar(wave, operand, type));
  bool zero = false;
  if (inst.form == isa::Form::dpp && first_source) {
    const int from = dpp_from(inst.mods.dpp_ctrl, lane);
    zero = from < 0 || !bit(wave.exec(), from);
    if (!zero) lane = from;
  }
  const u32 low = zero ? 0 : vector_word(wave, operand, 0, lane);
  return finished(wide ? low | u64{zero ? 0 : vector_word(wave, operand, 1, lane)} << 32 : low);
}

bool is_written(const Wave& wave, const Inst& inst, int lane) {
  if (!bit(wave.exec(), lane)) return false;
  if (inst.form != isa::Form::dpp) return true;
  if (!bit(inst.mods.dpp_row_mask, lane / 16) || !bit(inst.mods.dpp_bank_mask, lane % 16 / 4)) return false;
  const int from = dpp_from(inst.mods.dpp_ctrl, lane);
  return inst.mods.dpp_bound_ctrl || (from >= 0 && bit(wave.exec(), from));
}

u32 float_result(const Wave& wave, const Inst& inst, u32 x) {
  const bool flush = !bit(wave.mode.bits, 5);
  const auto flushed = [&](u32 y) { return flush && (y & 0x7fffffff) < 0x00800000 ? y & 0x80000000 : y; };
  x = (x & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : flushed(x);
  if (inst.mods.omod && flush && !wave.mode.ieee()) {
    const float factors[] = {1, 2, 4, 0.5};
    x = flushed(std::bit_cast<u32>(std::bit_cast<float>(x) * factors[inst.mods.omod]));
    if (x == 0x80000000) x = 0;
  }
  if (!inst.mods.clamp) return x;
  const auto value = std::bit_cast<float>(x);
  if (std::isnan(value)) return wave.mode.dx10_clamp() ? 0 : x;
  return value > 1 ? 0x3f800000 : value > 0 ? x : 0;
}

u64 double_result(const Wave& wave, const Inst& inst, u64 bits) {
  const bool flush = !bit(wave.mode.bits, 7);
  const auto flushed = [&](double y) {
    return flush && std::fpclassify(y) == FP_SUBNORMAL ? std::copysign(0.0, y) : y;
  };
  auto x = flushed(std::bit_cast<double>(bits));
  if (inst.mods.omod && flush && !wave.mode.ieee()) {
    const double factors[] = {1, 2, 4, 0.5};
    x = flushed(x * factors[inst.mods.omod]);
    if (x == 0) x = 0;
  }
  if (inst.mods.clamp && std::isnan(x) && wave.mode.dx10_clamp()) x = 0;
  if (inst.mods.clamp && !std::isnan(x)) x = x > 1 ? 1 : x > 0 ? x : 0;
  return std::isnan(x) ? 0x7ff8000000000000 : std::bit_cast<u64>(x);
}

// SDWA: `r` in its place, the rest of the register as dst_unused says.
u32 placed(const Inst& inst, u32 old, u32 r) {
  const int selection = inst.mods.dst_sel;
  if (inst.form != isa::Form::sdwa || selection == 6) return r;
  const int low_bit = selection < 4 ? 8 * selection : 16 * (selection % 2), bits = selection < 4 ? 8 : 16;
  u32 word = 0;
  for (int i = 0; i < 32; ++i) {
    const bool inside = i >= low_bit && i < low_bit + bits;
    bool value = inside && bit(r, i - low_bit);
    if (!inside && inst.mods.dst_unused == isa::DstUnused::preserve) value = bit(old, i);
    if (i >= low_bit + bits && inst.mods.dst_unused == isa::DstUnused::sign_extend) value = bit(r, bits - 1);
    word |= u32{value} << i;
  }
  return word;
}

// clamp of integers: the exact result, as AMD's pseudo code would give it without wrapping, held in range.
u64 integer_result(const Inst& inst, const LaneInput& in, u64 r) {
  if (!inst.mods.clamp) return r;
  const auto s = [&](int i) {
    return static_cast<std::int64_t>(static_cast<std::int32_t>(in.s[static_cast<std::size_t>(i)]));
  };
  const auto u = [&](int i) { return static_cast<std::int64_t>(in.s[static_cast<std::size_t>(i)]); };
  const auto s24 = [&](int i) {
    return static_cast<std::int64_t>(static_cast<std::int32_t>(in.s[static_cast<std::size_t>(i)] << 8)) / 256;
  };
  const auto held = [](std::int64_t x, std::int64_t low, std::int64_t high) {
    return static_cast<u32>(x < low ? low : x > high ? high : x);
  };
  constexpr std::int64_t u_max = 0xffffffff, s_min = -0x80000000LL, s_max = 0x7fffffff;
  const std::string_view name = isa::desc(inst.op).name;
  if (name == "v_add_u32") return held(u(0) + u(1), 0, u_max);
  if (name == "v_sub_u32") return held(u(0) - u(1), 0, u_max);
  if (name == "v_subrev_u32") return held(u(1) - u(0), 0, u_max);
  if (name == "v_add_i32") return held(s(0) + s(1), s_min, s_max);
  if (name == "v_sub_i32") return held(s(0) - s(1), s_min, s_max);
  if (name == "v_mad_u32_u24") return held(u(0) % 0x1000000 * (u(1) % 0x1000000) + u(2), 0, u_max);
  if (name == "v_mad_i32_i24") return held(s24(0) * s24(1) + s(2), s_min, s_max);
  const auto s16 = [&](int i) { return std::int64_t{static_cast<std::int16_t>(in.s[static_cast<std::size_t>(i)])}; };
  const auto held16 = [&](std::int64_t x, bool is_signed) {
    return u64{is_signed ? held(x, -32768, 32767) & 65535 : held(x, 0, 65535)};
  };
  if (name == "v_add_u16") return held16(u(0) + u(1), false);
  if (name == "v_sub_u16") return held16(u(0) - u(1), false);
  if (name == "v_subrev_u16") return held16(u(1) - u(0), false);
  if (name == "v_add_i16") return held16(s16(0) + s16(1), true);
  if (name == "v_sub_i16") return held16(s16(0) - s16(1), true);
  if (name == "v_mad_u16" || name == "v_mad_legacy_u16") return held16(u(0) * u(1) + u(2), false);
  if (name == "v_mad_i16" || name == "v_mad_legacy_i16") return held16(s16(0) * s16(1) + s16(2), true);
  if (name == "v_mad_u32_u16") return held(u(0) * u(1) + u(2), 0, u_max);
  if (name == "v_mad_i32_i16") return held(s16(0) * s16(1) + s(2), s_min, s_max);
  if (name.find("sad_") != name.npos) {
    // The sum of differences is what the row gives for a third source of 0, and below 2^32.
    LaneInput differences = in;
    differences.s[2] = 0;
    return held(static_cast<std::int64_t>((*find_lane_oracle(name))(differences)) + u(2), 0, u_max);
  }
  const Kind kind = isa::desc(inst.op).kind;
  const bool carries = kind == Kind::CARRY_OUT || kind == Kind::CARRY_IN;
  if (carries && bit(r, 32)) return (name.find("add") != name.npos ? u_max : 0) | (u64{1} << 32);
  return r;
}

struct Shape {
  int first_source = 1;
  int mask_written = -1;  // argument index
  int mask_read = -1;
};
Shape shape(Kind kind) {
  switch (kind) {
    case Kind::VOPC:
    case Kind::CMPX:
      return {1, 0, -1};
    case Kind::DIV_SCALE:
    case Kind::MAD_WIDE:
      return {2, 1, -1};
    case Kind::CARRY_OUT:
      return {2, 1, -1};
    case Kind::CARRY_IN:
      return {2, 1, 4};
    case Kind::SELECT:
      return {1, -1, 3};
    default:
      return {};
  }
}

LaneInput lane_input(const Wave& before, const Inst& inst, const isa::Desc& d, const Shape& s, int lane) {
  LaneInput in;
  in.lane = lane;
  in.bit = s.mask_read >= 0
               ? bit(before.scalar64(static_cast<int>(inst.args[static_cast<std::size_t>(s.mask_read)].value)), lane)
           : d.kind == Kind::DIV_FMAS ? bit(before.vcc(), lane)
                                      : bit(before.mode.bits, 23);
  in.table = inst.mods.bitop3;
  for (int i = 0; i < 3; ++i) {
    const int index = s.first_source + i;
    const isa::Arg a = d.args[static_cast<std::size_t>(index)];
    if (a.role == isa::Role::none || index == s.mask_read) break;
    in.s[static_cast<std::size_t>(i)] = part_of(inst, d, index, source(before, inst, index, a.type, lane, i));
  }
  if (is_vector(inst.args[0])) {
    in.d = vector_word(before, inst.args[0], 0, lane);
    if (d.args[0].type == Type::f32) in.d = with_modifiers(before, Operand{}, Type::f32, static_cast<u32>(in.d));
    if (d.args[0].type == Type::f64)
      in.d = with_modifiers_f64(before, Operand{}, in.d | u64{vector_word(before, inst.args[0], 1, lane)} << 32);
  }
  return in;
}

// The register with the result in the part of it that the row writes.
u64 merged(const Inst& inst, const isa::Desc& d, u32 old, u64 r) {
  const bool halves = (d.kind == Kind::HALVES2 || d.kind == Kind::HALVES3 || d.kind == Kind::BITOP3) &&
                      isa::is_half_type(d.args[0].type);
  if (halves || d.kind == Kind::HALF2 || d.kind == Kind::HALF3 || d.kind == Kind::PART_TO_HALF)
    return bit(inst.mods.op_sel, 3) ? old % 65536 + 65536 * r : (old >> 16 << 16) + r;
  if (d.kind != Kind::BYTE2 && d.kind != Kind::BYTE3) return r;
  const int shift = 8 * (inst.mods.op_sel >> 2);
  return (old & ~(u64{255} << shift)) | r << shift;
}

void run_lanes(Wave& wave, const Inst& inst, const isa::Desc& d, const LaneOracle* oracle) {
  const Wave before = wave;
  const Shape s = shape(d.kind);
  const LaneOracle* mask_oracle = find_lane_oracle(std::string(d.name) + " mask");
  u64 mask = 0;
  for (int lane = 0; lane < 64; ++lane) {
    if (!is_written(before, inst, lane)) continue;
    const LaneInput in = lane_input(before, inst, d, s, lane);
    u64 r = 0;
    if (!convert_lane(d.name, in, r)) r = integer_result(inst, in, (*oracle)(in));
    const bool compares = d.kind == Kind::VOPC || d.kind == Kind::CMPX;
    if (mask_oracle)
      mask |= ((*mask_oracle)(in)&1) << lane;
    else if (s.mask_written >= 0)
      mask |= (compares ? r & 1 : r >> 32 & 1) << lane;
    if (compares) continue;
    const u32 old = vector_word(before, inst.args[0], 0, lane);
    if (d.args[0].type == Type::f16 && d.kind != Kind::PART_TO_HALF) r = half_result(before, inst, static_cast<u32>(r));
    r = merged(inst, d, old, r);
    if (d.args[0].type == Type::f32) r = float_result(before, inst, static_cast<u32>(r));
    if (d.args[0].type == Type::f64) r = double_result(before, inst, r);
    vector_word(wave, inst.args[0], 0, lane) = placed(inst, old, static_cast<u32>(r));
    if (d.args[0].dwords == 2) vector_word(wave, inst.args[0], 1, lane) = static_cast<u32>(r >> 32);
  }
  if (s.mask_written >= 0)
    wave.set_scalar64(static_cast<int>(inst.args[static_cast<std::size_t>(s.mask_written)].value), mask);
  if (d.kind == Kind::CMPX) wave.set_scalar64(isa::exec.first, mask);
}

void run_packed(Wave& wave, const Inst& inst, const isa::Desc& d, const LaneOracle& oracle) {
  const Wave before = wave;
  const bool moves = d.kind == Kind::PK_MOVE;
  const int sources = d.kind == Kind::PK_F32_3 ? 3 : 2;
  const auto half_of = [&](int i, int half, int lane) -> u32 {
    Operand operand = inst.args[static_cast<std::size_t>(i + 1)];
    const u32 defaults = (1U << sources) - 1;
    const u32 high = inst.mods.op_sel_hi == isa::Modifiers::row_default ? defaults : inst.mods.op_sel_hi;
    const u32 chosen = moves || half == 0 ? inst.mods.op_sel : high;
    if (!moves) operand.neg = bit(half == 0 ? inst.mods.neg_lo : inst.mods.neg_hi, i);
    const int word = bit(chosen, i);
    u32 value = operand.value;
    if (is_vector(operand)) value = vector_word(before, operand, word, lane);
    if (operand.kind == OperandKind::sgpr) value = before.scalar[operand.value + static_cast<u32>(word)];
    return moves ? value : with_modifiers(before, operand, Type::f32, value);
  };
  for (int lane = 0; lane < 64; ++lane) {
    if (!bit(before.exec(), lane)) continue;
    for (int half = 0; half < 2; ++half) {
      LaneInput in;
      for (int i = 0; i < sources; ++i) in.s[static_cast<std::size_t>(i)] = half_of(moves ? half : i, half, lane);
      const auto r = static_cast<u32>(oracle(in));
      vector_word(wave, inst.args[0], half, lane) = moves ? r : float_result(before, inst, r);
    }
  }
}

bool run_exchange(Wave& wave, const Inst& inst, const isa::Desc& d) {
  const Wave before = wave;
  const auto select = [&](int i) {
    return static_cast<int>(oracle_scalar(before, inst.args[static_cast<std::size_t>(i)], Type::u32) % 64);
  };
  int first = 0;
  switch (d.kind) {
    case Kind::VNOP:
      return true;
    case Kind::READ_LANE:
      wave.scalar[inst.args[0].value] = vector_word(before, inst.args[1], 0, select(2));
      return true;
    case Kind::READ_FIRST_LANE:
      while (first < 63 && !bit(before.exec(), first)) ++first;
      if (before.exec() == 0) first = 0;
      wave.scalar[inst.args[0].value] = vector_word(before, inst.args[1], 0, first);
      return true;
    case Kind::WRITE_LANE:
      vector_word(wave, inst.args[0], 0, select(2)) = static_cast<u32>(oracle_scalar(before, inst.args[1], Type::u32));
      return true;
    case Kind::SWAP_LANES: {
      const int row = d.name == "v_permlane16_swap_b32" ? 16 : 32;
      for (int pass = 0; pass < 32 / row; ++pass)
        for (int lane = 0; lane < row; ++lane) {
          const int low = pass * 32 + lane;
          std::swap(vector_word(wave, inst.args[1], 0, low), vector_word(wave, inst.args[0], 0, low + row));
        }
      return true;
    }
    default:
      return false;
  }
}

}  // namespace

u32 float_result_of(const Wave& wave, const Inst& inst, u32 bits) { return float_result(wave, inst, bits); }
u32 float_source_of(const Wave& wave, const Operand& operand, u32 bits) {
  return with_modifiers(wave, operand, Type::f32, bits);
}

bool run_oracle(Wave& wave, const Inst& inst) {
  const isa::Desc& d = isa::desc(inst.op);
  if (run_scalar_oracle(wave, inst) || run_exchange(wave, inst, d)) return true;
  if (run_half_oracle(wave, inst)) return true;
  const LaneOracle* oracle = find_lane_oracle(d.name);
  LaneInput nothing;
  u64 ignored = 0;
  if (!oracle && !convert_lane(d.name, nothing, ignored)) return false;
  if (d.kind >= Kind::PK_F32_2 && d.kind <= Kind::PK_MOVE)
    run_packed(wave, inst, d, *oracle);
  else
    run_lanes(wave, inst, d, oracle);
  return true;
}

namespace {
// One code apart, or the least normal half and the zero that it is flushed to.
bool close_halves(u32 x, u32 y, bool flushes) {
  if (flushes && std::min(x, y) % 0x8000 == 0 && std::max(x, y) % 0x8000 == 0x0400) return true;
  return x - y == 1 || y - x == 1;
}
}  // namespace

std::string difference(const Wave& expected, const Wave& actual, const Inst& inst) {
  const bool is_float = isa::desc(inst.op).args[0].type == Type::f32;
  const bool is_half = isa::desc(inst.op).args[0].type == Type::f16;
  const int tolerance = tolerance_ulps(inst.op);
  const auto close = [&](std::size_t reg, u32 x, u32 y) {
    if (x == y) return true;
    const Operand& d = inst.args[0];
    const std::size_t first = d.value + (d.kind == OperandKind::agpr ? 256U : 0U);
    if (reg < first || reg >= first + d.count) return false;
    if (is_half) return tolerance > 0 && close_halves(x, y, !bit(expected.mode.bits, 7));
    if (!is_float) return false;
    if ((x & 0x7fffffff) > 0x7f800000 && (y & 0x7fffffff) > 0x7f800000) return true;
    if (tolerance == 0) return false;
    const u32 least_normal = 0x00800000;
    const bool flushes = !bit(expected.mode.bits, 5);
    if (flushes && ((x == 0 && y == least_normal) || (y == 0 && x == least_normal))) return true;
    return x >> 31 == y >> 31 &&
           std::abs(static_cast<int>(x & 0x7fffffff) - static_cast<int>(y & 0x7fffffff)) <= tolerance;
  };
  for (std::size_t r = 0; r < expected.vector.size(); ++r)
    for (std::size_t lane = 0; lane < 64; ++lane)
      if (!close(r, expected.vector[r][lane], actual.vector[r][lane]))
        return fmt::format("{}{} lane {}: expected {:#010x}, got {:#010x}", r < 256 ? 'v' : 'a', r % 256, lane,
                           expected.vector[r][lane], actual.vector[r][lane]);
  for (std::size_t i = 0; i < expected.scalar.size(); ++i)
    if (expected.scalar[i] != actual.scalar[i])
      return fmt::format("s{}: expected {:#010x}, got {:#010x}", i, expected.scalar[i], actual.scalar[i]);
  if (expected.scc != actual.scc) return fmt::format("scc: expected {}, got {}", expected.scc, actual.scc);
  return expected.mode.bits == actual.mode.bits && expected.pc == actual.pc ? "" : "mode or pc changed";
}

}  // namespace zyfa::tests
