// Matrix instructions: for each (row, k) the lane and element that hold it, the other way round than the
// emulator goes, and a naive triple loop in double.
#include "tests/support/oracle.h"

#include <bit>
#include <cmath>
#include <limits>

namespace zyfa::tests {
namespace {

using emulator::Wave;
using isa::Inst;
using isa::Operand;
using isa::OperandKind;
using isa::Type;
using u32 = std::uint32_t;

// Without exponent bits: an integer in two's complement.
struct ElementType {
  int bits, exponent_bits, mantissa_bits, bias;
};
ElementType element_type(const Inst& inst, int index) {
  const isa::Desc& d = isa::desc(inst.op);
  switch (d.args[static_cast<std::size_t>(index)].type) {
    case Type::bf16:
      return {16, 8, 7, 127};
    case Type::f16:
      return {16, 5, 10, 15};
    case Type::e4m3:
      return {8, 4, 3, 7};
    case Type::f32:
      return {32, 8, 23, 127};
    case Type::i8:
      return {8, 0, 7, 0};
    default:
      break;
  }
  const ElementType formats[] = {{8, 4, 3, 7}, {8, 5, 2, 15}, {6, 2, 3, 1}, {6, 3, 2, 3}, {4, 2, 1, 1}};
  return formats[index == 1 ? inst.mods.cbsz : inst.mods.blgp];
}

double value_of(const ElementType& t, u32 code) {
  if (t.exponent_bits == 0) return static_cast<double>(code) - (code >> (t.bits - 1) & 1 ? std::ldexp(1.0, t.bits) : 0);
  const u32 mantissa = code & ((1U << t.mantissa_bits) - 1);
  const int exponent = static_cast<int>(code >> t.mantissa_bits & ((1U << t.exponent_bits) - 1));
  const double significand = mantissa + (exponent ? std::ldexp(1.0, t.mantissa_bits) : 0.0);
  const double magnitude = std::ldexp(significand, std::max(exponent, 1) - t.bias - t.mantissa_bits);
  return code >> (t.bits - 1) & 1 ? -magnitude : magnitude;
}

struct Place {
  int lane, element;
};
// Where element k of a row (or column) stands.
Place place(const isa::Desc& d, int bits, int row, int k) {
  if (bits == 32) return {32 * k + row, 0};
  if (d.kind == isa::Kind::MFMA) {
    const int run = d.k * d.m / 64;
    return {d.m * (k / run) + row, k % run};
  }
  if (bits < 8) return {d.m * (k / 32) + row, k % 32};
  const int half = d.k / 2;  // the two halves of 16 bytes are half of K apart
  return {d.m * (k % half / 16) + row, 16 * (k / half) + k % 16};
}

u32& word(Wave& wave, const Operand& operand, int r, int lane) {
  const std::size_t bank = operand.kind == OperandKind::agpr ? 256 : 0;
  return wave.vector[bank + operand.value + static_cast<std::size_t>(r)][static_cast<std::size_t>(lane)];
}

u32 read_code(Wave& wave, const Operand& operand, int bits, Place p) {
  u32 code = 0;
  for (int i = 0; i < bits; ++i) {
    const int at = p.element * bits + i;
    code |= (word(wave, operand, at / 32, p.lane) >> at % 32 & 1) << i;
  }
  return code;
}
void write_code(Wave& wave, const Operand& operand, int bits, Place p, u32 code) {
  for (int i = 0; i < bits; ++i) {
    const int at = p.element * bits + i;
    u32& w = word(wave, operand, at / 32, p.lane);
    w = (w & ~(1U << at % 32)) | (code >> i & 1) << at % 32;
  }
}

struct Accumulator {
  int r, lane;
};
Accumulator accumulator(const isa::Desc& d, int row, int column) {
  if (d.m == 32) return {4 * (row / 8) + row % 4, 32 * (row / 4 % 2) + column};
  return {row % 4, 16 * (row / 4) + column};
}

double scale(Wave& wave, const Inst& inst, int index, int row, int k) {
  if (isa::desc(inst.op).kind != isa::Kind::F8F6F4_SCALED) return 1.0;
  const Operand& operand = inst.args[static_cast<std::size_t>(index + 3)];
  const int high = inst.mods.op_sel_hi == isa::Modifiers::row_default ? 0 : inst.mods.op_sel_hi;
  const int byte = (inst.mods.op_sel >> (index - 1) & 1) + 2 * (high >> (index - 1) & 1);
  const int lane = isa::desc(inst.op).m * (k / 32) + row;
  const bool vector = operand.kind == OperandKind::vgpr || operand.kind == OperandKind::agpr;
  const u32 bits = vector ? word(wave, operand, 0, lane) : static_cast<u32>(oracle_scalar(wave, operand, Type::u32));
  const auto exponent = static_cast<int>(bits >> 8 * byte & 255);
  return exponent == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, exponent - 127);
}

bool is_integer(const Inst& inst) { return isa::desc(inst.op).args[0].type == Type::i32; }

double accumulated(const Inst& inst, u32 bits) {
  return is_integer(inst) ? static_cast<double>(static_cast<std::int32_t>(bits)) : std::bit_cast<float>(bits);
}

const Operand& c_operand(const Inst& inst) { return inst.args[isa::desc(inst.op).kind == isa::Kind::SMFMAC ? 0 : 3]; }

double c_value(Wave& wave, const Inst& inst, Accumulator at) {
  const Operand& c = c_operand(inst);
  return accumulated(inst, c.is_register() ? word(wave, c, at.r, at.lane) : c.value);
}

// The sparse A, row by row: of each 4 k two are stored, which two say the index bits; the stored ones of 32 k are the
// bytes of a lane. The index program never names a k twice.
std::vector<double> decoded_sparse(Wave& wave, const Inst& inst) {
  const isa::Desc& d = isa::desc(inst.op);
  std::vector<double> values(static_cast<std::size_t>(d.m) * d.k);
  for (int row = 0; row < d.m; ++row)
    for (int four = 0; four < d.k / 4; ++four)
      for (int which = 0; which < 2; ++which) {
        const int stored = 2 * four + which, lane = d.m * (stored / 16) + row;
        const int chosen = static_cast<int>(word(wave, inst.args[3], 0, lane) >> 2 * (stored % 16)) & 3;
        const ElementType t = element_type(inst, 1);
        values[static_cast<std::size_t>(row * d.k + 4 * four + chosen)] =
            value_of(t, read_code(wave, inst.args[1], t.bits, {lane, stored % 16}));
      }
  return values;
}

std::vector<double> decoded(Wave& wave, const Inst& inst, int index) {
  const isa::Desc& d = isa::desc(inst.op);
  if (d.kind == isa::Kind::SMFMAC && index == 1) return decoded_sparse(wave, inst);
  const ElementType t = element_type(inst, index);
  std::vector<double> values;
  for (int row = 0; row < d.m; ++row)
    for (int k = 0; k < d.k; ++k) {
      const u32 code = read_code(wave, inst.args[static_cast<std::size_t>(index)], t.bits, place(d, t.bits, row, k));
      values.push_back(value_of(t, code) * scale(wave, inst, index, row, k));
    }
  return values;
}

std::uint32_t small_integer_code(const ElementType& t, int value) {
  if (t.exponent_bits == 0) return static_cast<u32>(value) & ((1U << t.bits) - 1);
  for (u32 code = 0; code < (t.bits == 32 ? 1U : 1U << t.bits); ++code)
    if (value_of(t, code) == value) return code;
  return std::bit_cast<u32>(static_cast<float>(value));
}
u32 finite_code(const ElementType& t, Rng& rng) {
  const auto any = static_cast<u32>(rng());
  if (t.bits < 8 || t.exponent_bits == 0) return any % (1U << t.bits);
  // Exponents about the middle: finite, and sums that neither overflow nor drown all but one term.
  const u32 sign_and_mantissa = any & (1U << (t.bits - 1) | ((1U << t.mantissa_bits) - 1));
  const int low = std::max(0, t.bias - 6);
  return sign_and_mantissa | (static_cast<u32>(low) + (any >> 8) % 12) % (1U << t.exponent_bits) << t.mantissa_bits;
}

}  // namespace

void randomise_matrices(Wave& wave, const Inst& inst, bool integers, Rng& rng) {
  const isa::Desc& d = isa::desc(inst.op);
  for (const int index : {1, 2}) {
    const ElementType t = element_type(inst, index);
    const u32 codes[] = {small_integer_code(t, -2), small_integer_code(t, 0), small_integer_code(t, 1),
                         small_integer_code(t, 2)};
    const bool sparse = d.kind == isa::Kind::SMFMAC && index == 1;
    for (int row = 0; row < d.m; ++row)
      for (int k = 0; k < (sparse ? d.k / 2 : d.k); ++k) {
        u32 code = integers ? codes[rng() % 4] : finite_code(t, rng);
        if (t.bits == 8 && t.mantissa_bits == 3 && (code & 0x7f) == 0x7f) code = 0x7e;
        const Place at = sparse ? Place{d.m * (k / 16) + row, k % 16} : place(d, t.bits, row, k);
        write_code(wave, inst.args[static_cast<std::size_t>(index)], t.bits, at, code);
      }
  }
  // Of each 4 k of a sparse row two different ones are kept.
  if (d.kind == isa::Kind::SMFMAC)
    for (int lane = 0; lane < 64; ++lane) {
      u32 indices = 0;
      for (int i = 0; i < 8; ++i) {
        const u32 first = static_cast<u32>(rng() % 4);
        indices |= (first | ((first + 1 + static_cast<u32>(rng() % 3)) % 4) << 2) << 4 * i;
      }
      word(wave, inst.args[3], 0, lane) = indices;
    }
  std::normal_distribution<float> normal(0, 10);
  if (c_operand(inst).is_register())
    for (int row = 0; row < d.m; ++row)
      for (int column = 0; column < d.n; ++column) {
        const Accumulator at = accumulator(d, row, column);
        const float c = normal(rng);
        word(wave, c_operand(inst), at.r, at.lane) =
            is_integer(inst) ? static_cast<u32>(static_cast<int>(c)) : std::bit_cast<u32>(integers ? std::round(c) : c);
      }
  if (d.kind != isa::Kind::F8F6F4_SCALED) return;
  for (const int index : {4, 5})
    for (int lane = 0; lane < 64; ++lane) {
      u32 bytes = 0;
      for (int i = 0; i < 4; ++i)
        bytes = bytes << 8 | (integers ? 127 + static_cast<u32>(rng() % 3) : 121 + static_cast<u32>(rng() % 13));
      const Operand& operand = inst.args[static_cast<std::size_t>(index)];
      if (operand.kind == OperandKind::vgpr) word(wave, operand, 0, lane) = bytes;
      if (operand.kind == OperandKind::sgpr) wave.scalar[operand.value] = bytes;
    }
}

std::string matrix_difference(const Wave& before, const Wave& actual, const Inst& inst, bool exact) {
  const isa::Desc& d = isa::desc(inst.op);
  Wave source = before;
  Wave result = actual;
  const std::vector<double> a = decoded(source, inst, 1);
  const std::vector<double> b = decoded(source, inst, 2);
  for (int row = 0; row < d.m; ++row)
    for (int column = 0; column < d.n; ++column) {
      const Accumulator at = accumulator(d, row, column);
      double sum = c_value(source, inst, at);
      double magnitude = std::fabs(sum);
      for (int k = 0; k < d.k; ++k) {
        const double product =
            a[static_cast<std::size_t>(row * d.k + k)] * b[static_cast<std::size_t>(column * d.k + k)];
        sum += product;
        magnitude += std::fabs(product);
      }
      u32& got = word(result, inst.args[0], at.r, at.lane);
      const double bound =
          exact || is_integer(inst) ? 0.0 : (d.k + 4) * std::ldexp(magnitude, -24) + std::ldexp(1.0, -140);
      const double value = accumulated(inst, got);
      const bool both_nan = std::isnan(sum) && std::isnan(value);
      const bool both_overflow = !std::isfinite(value) && magnitude > std::numeric_limits<float>::max();
      if (!both_nan && !both_overflow && !(std::fabs(value - sum) <= bound))
        return fmt::format("D[{}][{}]: expected {} +- {}, got {}", row, column, sum, bound, value);
      got = word(source, inst.args[0], at.r, at.lane);
    }
  return difference(before, result, inst);
}

}  // namespace zyfa::tests
