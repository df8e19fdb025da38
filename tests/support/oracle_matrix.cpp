// Matrix instructions: for each (row, k) the lane and element that hold it, the other way round than the emulator goes,
// and a naive triple loop. Dense places are those of AMD's matrix instruction calculator (CDNA3), which gfx950 extends
// to larger k (gfx950.md 3); sparse ones are in the order of k of AMD's fpsan tests, which were run on an MI350.
#include "tests/support/oracle.h"

#include <bit>
#include <cmath>
#include <limits>

namespace zyfa::tests {
namespace {

using emulator::Wave;
using isa::Desc;
using isa::Inst;
using isa::Kind;
using isa::Operand;
using isa::OperandKind;
using isa::Type;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Without exponent bits: an integer in two's complement.
struct ElementType {
  int bits, exponent_bits, mantissa_bits, bias;
};
ElementType element_type(const Inst& inst, int index) {
  const Desc& d = isa::desc(inst.op);
  switch (d.args[static_cast<std::size_t>(index)].type) {
    case Type::bf16:
      return {16, 8, 7, 127};
    case Type::f16:
      return {16, 5, 10, 15};
    case Type::e4m3:
      return {8, 4, 3, 7};
    case Type::e5m2:
      return {8, 5, 2, 15};
    case Type::f32:
      return {32, 8, 23, 127};
    case Type::f64:
      return {64, 11, 52, 1023};
    case Type::i8:
      return {8, 0, 7, 0};
    case Type::i32:
      return {32, 0, 31, 0};
    default:
      break;
  }
  const ElementType formats[] = {{8, 4, 3, 7}, {8, 5, 2, 15}, {6, 2, 3, 1}, {6, 3, 2, 3}, {4, 2, 1, 1}};
  return formats[index == 1 ? inst.mods.cbsz : inst.mods.blgp];
}

double value_of(const ElementType& t, u64 code) {
  const bool negative = code >> (t.bits - 1) & 1;
  if (t.exponent_bits == 0) return static_cast<double>(code) - (negative ? std::ldexp(1.0, t.bits) : 0);
  const u64 mantissa = code & ((u64{1} << t.mantissa_bits) - 1);
  const int exponent = static_cast<int>(code >> t.mantissa_bits & ((1U << t.exponent_bits) - 1));
  const double significand = static_cast<double>(mantissa) + (exponent ? std::ldexp(1.0, t.mantissa_bits) : 0.0);
  const double magnitude = std::ldexp(significand, std::max(exponent, 1) - t.bias - t.mantissa_bits);
  return negative ? -magnitude : magnitude;
}

struct Place {
  int lane, element;
};

// Where element k of a row (or column) of a block of a dense A or B stands.
Place place(const Desc& d, int bits, int block, int row, int k) {
  if (bits == 64) return {16 * k + d.m * block + row, 0};
  if (d.blocks > 1) return {d.m * block + row, k};
  if (bits == 32) return {d.m * k + row, 0};
  if (d.kind == Kind::MFMA) {
    const int run = d.k * d.m / 64;
    return {d.m * (k / run) + row, k % run};
  }
  if (bits < 8) return {d.m * (k / 32) + row, k % 32};
  const int half = d.k / 2;  // the two halves of 16 bytes are half of K apart
  return {d.m * (k % half / 16) + row, 16 * (k / half) + k % 16};
}

// B of a sparse instruction: eight k in a row of a lane, then eight of the next lane group.
Place place_beside_sparse(const Desc& d, int column, int k) {
  const int stride = 8 * 64 / d.m;
  return {d.m * (k % stride / 8) + column, 8 * (k / stride) + k % 8};
}

// The sparse A: where the c-th kept element of a row stands, and which four bits of whose index register speak of the
// q-th four k of the row.
Place place_kept(const Desc& d, int bits, int row, int c) {
  if (bits == 16) {
    const int run = d.k * d.m / 128;
    return {d.m * (c / run) + row, c % run};
  }
  const bool large = d.k * d.m == 2048;
  if (!large) {
    const int half = d.k / 4;
    return {d.m * (c % half / 4) + row, 4 * (c / half) + c % 4};
  }
  if (d.m == 16) {
    const int group = 2 * (c >> 5 & 1) + (c >> 3 & 1), high = 2 * (c >> 2 & 1) + (c >> 4 & 1);
    return {16 * group + row, 4 * high + c % 4};
  }
  return {32 * (c >> 4 & 1) + row, 4 * (2 * (c >> 2 & 1) + (c >> 3 & 1)) + c % 4};
}
Place place_index(const Desc& d, int bits, int row, int q) {
  const bool large = d.k * d.m == (bits == 16 ? 1024 : 2048);
  if (bits == 16) {
    const int fours = large ? 4 : 2;
    return {d.m * (q / fours) + row, q % fours};
  }
  if (!large) {
    const int half = d.k / 8;
    return {d.m * (q % half / 2) + row, 2 * (q / half) + q % 2};
  }
  if (d.m == 16) return {16 * (2 * (q / 16) + q / 4 % 2) + row, 2 * (q / 8 % 2) + 4 * (q % 4 / 2) + q % 2};
  return {32 * (q / 8) + row, q % 2 + 2 * (q / 4 % 2) + 4 * (q / 2 % 2)};
}

// abid counts sets of index bits if cbsz is 0: four of 8 bits, two of 16, or one.
int first_index_bit(const Inst& inst) {
  const Desc& d = isa::desc(inst.op);
  const int kept_in_lane = d.k * d.m / 128;
  const int sets = 16 / kept_in_lane;
  return inst.mods.cbsz == 0 ? 2 * kept_in_lane * (inst.mods.abid % sets) : 0;
}

u32& word(Wave& wave, const Operand& operand, int r, int lane) {
  const std::size_t bank = operand.kind == OperandKind::agpr ? 256 : 0;
  return wave.vector[bank + operand.value + static_cast<std::size_t>(r)][static_cast<std::size_t>(lane)];
}

u64 read_code(Wave& wave, const Operand& operand, int bits, Place p) {
  u64 code = 0;
  for (int i = 0; i < bits; ++i) {
    const int at = p.element * bits + i;
    code |= static_cast<u64>(word(wave, operand, at / 32, p.lane) >> at % 32 & 1) << i;
  }
  return code;
}
void write_code(Wave& wave, const Operand& operand, int bits, Place p, u64 code) {
  for (int i = 0; i < bits; ++i) {
    const int at = p.element * bits + i;
    u32& w = word(wave, operand, at / 32, p.lane);
    w = (w & ~(1U << at % 32)) | static_cast<u32>(code >> i & 1) << at % 32;
  }
}

// C and D.
Place accumulator(const Desc& d, int block, int row, int column) {
  if (d.args[0].type == Type::f64)
    return d.m == 4 ? Place{16 * row + 4 * block + column, 0} : Place{16 * (row % 4) + column, row / 4};
  if (d.m == 32) return {32 * (row / 4 % 2) + column, 16 * block + 4 * (row / 8) + row % 4};
  if (d.m == 16) return {16 * (row / 4) + column, 4 * block + row % 4};
  return {4 * block + column, row};
}

double scale(Wave& wave, const Inst& inst, int index, int row, int k) {
  if (isa::desc(inst.op).kind != Kind::F8F6F4_SCALED) return 1.0;
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
bool is_double(const Inst& inst) { return isa::desc(inst.op).args[0].type == Type::f64; }

double accumulated(const Inst& inst, u64 bits) {
  if (is_double(inst)) return std::bit_cast<double>(bits);
  const auto low = static_cast<u32>(bits);
  return is_integer(inst) ? static_cast<double>(static_cast<std::int32_t>(low)) : std::bit_cast<float>(low);
}

const Operand& c_operand(const Inst& inst) { return inst.args[isa::desc(inst.op).kind == Kind::SMFMAC ? 0 : 3]; }

// blgp is three signs in FP64 instructions.
bool is_negated(const Inst& inst, int index) { return is_double(inst) && (inst.mods.blgp >> (index - 1) & 1); }

double c_value(Wave& wave, const Inst& inst, Place at) {
  const Operand& c = c_operand(inst);
  const u64 bits = c.is_register() ? read_code(wave, c, is_double(inst) ? 64 : 32, at)
                                   : oracle_scalar(wave, c, is_double(inst) ? Type::u64 : Type::u32);
  return is_negated(inst, 3) ? -accumulated(inst, bits) : accumulated(inst, bits);
}

// The sparse A, row by row: of each 4 k two are kept, which two say the index bits.
std::vector<double> decoded_sparse(Wave& wave, const Inst& inst) {
  const Desc& d = isa::desc(inst.op);
  const ElementType t = element_type(inst, 1);
  std::vector<double> values(static_cast<std::size_t>(d.m) * d.k);
  for (int row = 0; row < d.m; ++row)
    for (int q = 0; q < d.k / 4; ++q) {
      const Place index = place_index(d, t.bits, row, q);
      const u32 nibble = word(wave, inst.args[3], 0, index.lane) >> (first_index_bit(inst) + 4 * index.element);
      for (int which = 0; which < 2; ++which) {
        const int k = 4 * q + static_cast<int>(nibble >> 2 * which & 3);
        const Place kept = place_kept(d, t.bits, row, 2 * q + which);
        values[static_cast<std::size_t>(row * d.k + k)] = value_of(t, read_code(wave, inst.args[1], t.bits, kept));
      }
    }
  return values;
}

// The lane whose B the instruction takes for that of `lane` (blgp 0..7).
int lane_of_group(int blgp, int lane) {
  const int quarter[8][4] = {{0, 1, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}, {1, 2, 3, 0},
                             {0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}};
  return 16 * quarter[blgp][lane / 16] + lane % 16;
}

Place place_used(const Inst& inst, int index, int bits, int block, int row, int k) {
  const Desc& d = isa::desc(inst.op);
  if (d.kind == Kind::SMFMAC) return place_beside_sparse(d, row, k);
  if (d.kind != Kind::MFMA || is_double(inst)) return place(d, bits, block, row, k);
  if (index == 1) {
    const int size = 1 << inst.mods.cbsz;
    return place(d, bits, block / size * size + inst.mods.abid, row, k);
  }
  Place at = place(d, bits, block, row, k);
  at.lane = lane_of_group(inst.mods.blgp, at.lane);
  return at;
}

std::vector<double> decoded(Wave& wave, const Inst& inst, int index) {
  const Desc& d = isa::desc(inst.op);
  if (d.kind == Kind::SMFMAC && index == 1) return decoded_sparse(wave, inst);
  const ElementType t = element_type(inst, index);
  std::vector<double> values;
  for (int block = 0; block < d.blocks; ++block)
    for (int row = 0; row < d.m; ++row)
      for (int k = 0; k < d.k; ++k) {
        const Place at = place_used(inst, index, t.bits, block, row, k);
        const u64 code = read_code(wave, inst.args[static_cast<std::size_t>(index)], t.bits, at);
        const double value = value_of(t, code) * scale(wave, inst, index, row, k);
        values.push_back(is_negated(inst, index) ? -value : value);
      }
  return values;
}

u64 small_integer_code(const ElementType& t, int value) {
  if (t.exponent_bits == 0) return static_cast<u64>(value) & ((u64{1} << t.bits) - 1);
  for (u32 code = 0; code < (t.bits >= 32 ? 1U : 1U << t.bits); ++code)
    if (value_of(t, code) == value) return code;
  if (t.bits == 64) return std::bit_cast<u64>(static_cast<double>(value));
  return std::bit_cast<u32>(static_cast<float>(value));
}
u64 finite_code(const ElementType& t, Rng& rng) {
  const u64 any = rng();
  if (t.bits < 8 || t.exponent_bits == 0) return any & ((u64{1} << t.bits) - 1);
  // Exponents about the middle: finite, and sums that neither overflow nor drown all but one term.
  const u64 sign_and_mantissa = any & (u64{1} << (t.bits - 1) | ((u64{1} << t.mantissa_bits) - 1));
  const auto low = static_cast<u64>(std::max(0, t.bias - 6));
  const u64 exponent = (low + rng() % 12) % (u64{1} << t.exponent_bits);
  const u64 infinite = t.mantissa_bits == 3 ? ~u64{0} : (u64{1} << t.exponent_bits) - 1;
  return sign_and_mantissa | (exponent == infinite ? exponent - 1 : exponent) << t.mantissa_bits;
}

void randomise_source(Wave& wave, const Inst& inst, int index, bool integers, Rng& rng) {
  const Desc& d = isa::desc(inst.op);
  const ElementType t = element_type(inst, index);
  const u64 codes[] = {small_integer_code(t, -2), small_integer_code(t, 0), small_integer_code(t, 1),
                       small_integer_code(t, 2)};
  const bool sparse = d.kind == Kind::SMFMAC && index == 1;
  const int in_lane = d.m * d.k * d.blocks / (sparse ? 128 : 64);
  for (int lane = 0; lane < 64; ++lane)
    for (int element = 0; element < in_lane; ++element) {
      u64 code = integers ? codes[rng() % 4] : finite_code(t, rng);
      if (t.bits == 8 && t.mantissa_bits == 3 && (code & 0x7f) == 0x7f) code = 0x7e;
      write_code(wave, inst.args[static_cast<std::size_t>(index)], t.bits, {lane, element}, code);
    }
}

// Of each 4 k of a sparse row two different ones are kept.
void randomise_indices(Wave& wave, const Inst& inst, Rng& rng) {
  for (int lane = 0; lane < 64; ++lane) {
    u32 indices = 0;
    for (int i = 0; i < 8; ++i) {
      const u32 first = static_cast<u32>(rng() % 4);
      indices |= (first | ((first + 1 + static_cast<u32>(rng() % 3)) % 4) << 2) << 4 * i;
    }
    word(wave, inst.args[3], 0, lane) = indices;
  }
}

u64 accumulator_code(const Inst& inst, double c, bool integers) {
  if (is_integer(inst)) return static_cast<u32>(static_cast<int>(c));
  const double value = integers ? std::round(c) : c;
  return is_double(inst) ? std::bit_cast<u64>(value) : std::bit_cast<u32>(static_cast<float>(value));
}

}  // namespace

void randomise_matrices(Wave& wave, const Inst& inst, bool integers, Rng& rng) {
  const Desc& d = isa::desc(inst.op);
  for (const int index : {1, 2}) randomise_source(wave, inst, index, integers, rng);
  if (d.kind == Kind::SMFMAC) randomise_indices(wave, inst, rng);
  std::normal_distribution<double> normal(0, 10);
  const int bits = is_double(inst) ? 64 : 32;
  if (c_operand(inst).is_register())
    for (int lane = 0; lane < 64; ++lane)
      for (int element = 0; element < d.args[0].dwords * 32 / bits; ++element)
        write_code(wave, c_operand(inst), bits, {lane, element}, accumulator_code(inst, normal(rng), integers));
  if (d.kind != Kind::F8F6F4_SCALED) return;
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
  const Desc& d = isa::desc(inst.op);
  Wave source = before;
  Wave result = actual;
  const std::vector<double> a = decoded(source, inst, 1);
  const std::vector<double> b = decoded(source, inst, 2);
  const int bits = is_double(inst) ? 64 : 32;
  const double largest = is_double(inst) ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  for (int block = 0; block < d.blocks; ++block)
    for (int row = 0; row < d.m; ++row)
      for (int column = 0; column < d.n; ++column) {
        const Place at = accumulator(d, block, row, column);
        long double sum = c_value(source, inst, at);
        double magnitude = std::fabs(static_cast<double>(sum));
        for (int k = 0; k < d.k; ++k) {
          const auto a_at = static_cast<std::size_t>((block * d.m + row) * d.k + k);
          const auto b_at = static_cast<std::size_t>((block * d.n + column) * d.k + k);
          const long double product = static_cast<long double>(a[a_at]) * b[b_at];
          sum += product;
          magnitude += std::fabs(static_cast<double>(product));
        }
        const double rounding = std::ldexp(magnitude, is_double(inst) ? -53 : -24);
        const double bound = exact || is_integer(inst) ? 0.0 : (d.k + 4) * rounding + std::ldexp(1.0, -140);
        const double value = accumulated(inst, read_code(result, inst.args[0], bits, at));
        const bool both_nan = std::isnan(sum) && std::isnan(value);
        const bool both_overflow = !std::isfinite(value) && magnitude > largest;
        if (!both_nan && !both_overflow && !(std::fabs(static_cast<double>(value - sum)) <= bound))
          return fmt::format("block {}, D[{}][{}]: expected {} +- {}, got {}", block, row, column,
                             static_cast<double>(sum), bound, value);
        write_code(result, inst.args[0], bits, at, read_code(source, inst.args[0], bits, at));
      }
  return difference(before, result, inst);
}

}  // namespace zyfa::tests
