// The oracle's walk over lanes for rows whose operands are halves, parts or many registers.
#include "tests/support/oracle_parts.h"

#include <algorithm>
#include <array>
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
using i64 = std::int64_t;

const Operand& source(const Inst& inst, int i) { return inst.args[static_cast<std::size_t>(i + 1)]; }

// Source i's register in a lane, of a row with elements of `type`.
u32 word_of(const Wave& wave, const Inst& inst, int i, Type type, int lane) {
  const Operand& operand = source(inst, i);
  return is_vector_operand(operand) ? lane_word(wave, operand, 0, lane) : half_scalar(wave, operand, type);
}

bool high_taken(const Inst& inst, int i, int half) {
  return half == 0 ? bit_of(inst.mods.op_sel, i) : bit_of(isa::op_sel_hi(inst), i);
}

i64 held(i64 x, i64 low, i64 high) { return std::clamp(x, low, high); }

void run_packed_halves(Wave& wave, const Inst& inst, const isa::Desc& d) {
  const Wave before = wave;
  const Type type = d.args[1].type == Type::f16x2 ? Type::f16 : d.args[1].type == Type::i16x2 ? Type::i16 : Type::u16;
  const LaneOracle& oracle = *find_lane_oracle(d.name);
  for (int lane = 0; lane < 64; ++lane) {
    if (!bit_of(before.exec(), lane)) continue;
    u32 result = 0;
    for (int half = 0; half < 2; ++half) {
      LaneInput in;
      in.bit = bit_of(before.mode.bits, 23);
      for (int i = 0; i < (d.kind == Kind::PK16_3 ? 3 : 2); ++i) {
        Operand modified = source(inst, i);
        modified.neg = bit_of(half == 0 ? inst.mods.neg_lo : inst.mods.neg_hi, i);
        in.s[static_cast<std::size_t>(i)] =
            half_code(before, modified, type, word_of(before, inst, i, type, lane), high_taken(inst, i, half));
      }
      u64 r = oracle(in);
      if (type == Type::f16) r = half_result(before, inst, static_cast<u32>(r));
      if (type == Type::i16 && inst.mods.clamp) r = static_cast<u64>(held(static_cast<i64>(r), -32768, 32767));
      if (type == Type::u16 && inst.mods.clamp) r = static_cast<u64>(held(static_cast<i64>(r), 0, 65535));
      result |= static_cast<u32>(r & 0xffff) << 16 * half;
    }
    lane_word(wave, inst.args[0], 0, lane) = result;
  }
}

void run_dot(Wave& wave, const Inst& inst, const isa::Desc& d) {
  const Wave before = wave;
  const LaneOracle& oracle = *find_lane_oracle(d.name);
  for (int lane = 0; lane < 64; ++lane) {
    if (!bit_of(before.exec(), lane)) continue;
    LaneInput in;
    for (int i = 0; i < 3; ++i) {
      u32 word = word_of(before, inst, i, d.args[static_cast<std::size_t>(i + 1)].type, lane);
      if (bit_of(inst.mods.neg_lo, i)) word ^= 0x8000;
      if (bit_of(inst.mods.neg_hi, i)) word ^= 0x80000000;
      in.s[static_cast<std::size_t>(i)] = word;
    }
    u64 r = oracle(in);
    if (d.args[0].type == Type::f32) r = float_result_of(before, inst, static_cast<u32>(r));
    if (d.args[0].type == Type::i32 && inst.mods.clamp)
      r = static_cast<u64>(held(static_cast<i64>(r), -0x80000000LL, 0x7fffffff));
    if (d.args[0].type == Type::u32 && inst.mods.clamp) r = static_cast<u64>(held(static_cast<i64>(r), 0, 0xffffffff));
    lane_word(wave, inst.args[0], 0, lane) = static_cast<u32>(r);
  }
}

void write_part(Wave& wave, const Inst& inst, int lane, int first_bit, int bits, u32 value) {
  u32& word = lane_word(wave, inst.args[0], 0, lane);
  const u32 mask = bits == 32 ? ~0U : ((1U << bits) - 1) << first_bit;
  word = (word & ~mask) | (value << first_bit & mask);
}

void run_mix(Wave& wave, const Inst& inst, const isa::Desc& d) {
  const Wave before = wave;
  const LaneOracle& fma = *find_lane_oracle("v_fma_f32");
  for (int lane = 0; lane < 64; ++lane) {
    if (!bit_of(before.exec(), lane)) continue;
    LaneInput in;
    for (int i = 0; i < 3; ++i) {
      const bool half = bit_of(isa::op_sel_hi(inst), i);
      const u32 word = word_of(before, inst, i, half ? Type::f16 : Type::f32, lane);
      const u32 code = half ? half_code(before, source(inst, i), Type::f16, word, bit_of(inst.mods.op_sel, i)) : 0;
      in.s[static_cast<std::size_t>(i)] =
          half ? std::bit_cast<u32>(static_cast<float>(decoded(float_format("f16"), code)))
               : float_source_of(before, source(inst, i), word);
    }
    const auto sum = static_cast<u32>(fma(in));
    if (d.name == "v_fma_mix_f32") {
      write_part(wave, inst, lane, 0, 32, float_result_of(before, inst, sum));
      continue;
    }
    const u32 code = encoded(float_format("f16"), std::bit_cast<float>(sum), bit_of(before.mode.bits, 23));
    write_part(wave, inst, lane, d.name == "v_fma_mixhi_f16" ? 16 : 0, 16, half_result(before, inst, code));
  }
}

u32 stream_code(const std::array<u32, 32>& words, int bits, int index) {
  u32 code = 0;
  for (int i = 0; i < bits; ++i)
    code |= (words[static_cast<std::size_t>((bits * index + i) / 32)] >> (bits * index + i) % 32 & 1) << i;
  return code;
}
void add_stream_code(std::array<u32, 32>& words, int bits, int index, u32 code) {
  for (int i = 0; i < bits; ++i)
    words[static_cast<std::size_t>((bits * index + i) / 32)] |= (code >> i & 1) << (bits * index + i) % 32;
}
int width_of(std::string_view format) {
  return format == "f32"                       ? 32
         : format == "f16" || format == "bf16" ? 16
         : format == "fp4"                     ? 4
         : format.ends_with('6')               ? 6
                                               : 8;
}

// v_cvt_scalef32_[sr_]pk32_<to>_<from> and 2xpk16: 32 lanes' worth of the single conversion of the same name.
void run_wide(Wave& wave, const Inst& inst, const isa::Desc& d) {
  const Wave before = wave;
  const std::size_t last = d.name.rfind('_'), middle = d.name.rfind('_', last - 1);
  const std::string from(d.name.substr(last + 1)), to(d.name.substr(middle + 1, last - middle - 1));
  const bool seeded = d.kind == Kind::WIDE_SR, interleaved = d.kind == Kind::WIDE_PAIR;
  const std::string single = std::string("v_cvt_scalef32_") + (seeded ? "sr_" : "") + to + "_" + from;
  const auto scalar_or_lane = [&](int index, int lane) -> u32 {
    const Operand& operand = inst.args[static_cast<std::size_t>(index)];
    return is_vector_operand(operand) ? lane_word(before, operand, 0, lane)
                                      : static_cast<u32>(oracle_scalar(before, operand, Type::u32));
  };
  const int scale_index = seeded || interleaved ? 3 : 2;
  for (int lane = 0; lane < 64; ++lane) {
    if (!bit_of(before.exec(), lane)) continue;
    std::array<u32, 32> a{}, b{}, result{};
    for (int i = 0; i < inst.args[1].count; ++i)
      a[static_cast<std::size_t>(i)] = lane_word(before, inst.args[1], i, lane);
    for (int i = 0; interleaved && i < inst.args[2].count; ++i)
      b[static_cast<std::size_t>(i)] = lane_word(before, inst.args[2], i, lane);
    const u32 scale =
        float_source_of(before, inst.args[static_cast<std::size_t>(scale_index)], scalar_or_lane(scale_index, lane));
    u32 random = seeded ? scalar_or_lane(2, lane) : 0;
    for (int i = 0; i < 32; ++i, random = random << 1 ^ (random >> 31) * 197) {
      LaneInput in;
      in.bit = bit_of(before.mode.bits, 23);
      in.s[0] = interleaved ? (i % 2 ? b : a)[static_cast<std::size_t>(i / 2)] : stream_code(a, width_of(from), i);
      in.s[1] = seeded ? random : scale;
      in.s[2] = scale;
      u64 code = 0;
      convert_lane(single, in, code);
      add_stream_code(result, width_of(to), i, static_cast<u32>(code));
    }
    for (int i = 0; i < inst.args[0].count; ++i)
      lane_word(wave, inst.args[0], i, lane) = result[static_cast<std::size_t>(i)];
  }
}

}  // namespace

u32 half_scalar(const Wave& wave, const Operand& operand, Type type) {
  if (operand.kind == OperandKind::real) {
    const bool f16 = type == Type::f16 || type == Type::f16x2, bf16 = type == Type::bf16 || type == Type::bf16x2;
    if (bf16) return operand.value >> 16;
    if (f16) return encoded(float_format("f16"), std::bit_cast<float>(operand.value), false);
  }
  return static_cast<u32>(oracle_scalar(wave, operand, Type::u32));
}

u32 half_code(const Wave& wave, const Operand& operand, Type type, u32 word, bool high) {
  u32 code = (high ? word >> 16 : word) & 0xffff;
  const bool denormal = (code & 0x7c00) == 0;
  if (type == Type::f16 && denormal && !bit_of(wave.mode.bits, 6)) code &= 0x8000;
  if (operand.abs) code &= 0x7fff;
  if (operand.neg) code ^= 0x8000;
  return code;
}

u32 half_result(const Wave& wave, const Inst& inst, u32 code) {
  const FloatFormat f16 = float_format("f16");
  const bool flush = !bit_of(wave.mode.bits, 7);
  const auto flushed = [&](u32 x) { return flush && (x & 0x7fff) < 0x0400 ? x & 0x8000 : x; };
  code = flushed(code);
  if (inst.mods.omod && flush && !wave.mode.ieee()) {
    const double factors[] = {1, 2, 4, 0.5};
    code = flushed(encoded(f16, decoded(f16, code) * factors[inst.mods.omod], bit_of(wave.mode.bits, 23)));
    if (code == 0x8000) code = 0;
  }
  if (!inst.mods.clamp) return code;
  const double value = decoded(f16, code);
  if (std::isnan(value)) return wave.mode.dx10_clamp() ? 0 : code;
  return value > 1 ? 0x3c00 : value > 0 ? code : 0;
}

bool run_half_oracle(Wave& wave, const Inst& inst) {
  const isa::Desc& d = isa::desc(inst.op);
  switch (d.kind) {
    case Kind::PK16_2:
    case Kind::PK16_3:
      run_packed_halves(wave, inst, d);
      return true;
    case Kind::DOT:
      run_dot(wave, inst, d);
      return true;
    case Kind::MIX:
      run_mix(wave, inst, d);
      return true;
    case Kind::WIDE:
    case Kind::WIDE_SR:
    case Kind::WIDE_PAIR:
      run_wide(wave, inst, d);
      return true;
    default:
      return false;
  }
}

}  // namespace zyfa::tests
