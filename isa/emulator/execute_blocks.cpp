// MFMA rows with several blocks or FP64: small matrices that nobody's time goes into, so one plain reading of the
// layouts for all of them. The order of the sums is that of execute_matrix.cpp: from C on, k ascending, one rounding a
// step, unless the machine sums otherwise; like there, machines may flush denormals of fp16, bf16 and fp32.
#include "isa/emulator/execute_parts.h"
#include "isa/emulator/matrix_models.h"
#include "isa/isa.h"
#include "isa/matrix_layout.h"
#include "isa/numeric.h"

#include <cmath>
#include <limits>
#include <vector>

namespace zyfa::emulator {
namespace {

using isa::Desc;
using isa::Inst;
using isa::Operand;
using isa::Type;

int bits_of(Type type) {
  switch (type) {
    case Type::i8:
      return 8;
    case Type::f16:
    case Type::bf16:
      return 16;
    case Type::f64:
      return 64;
    default:
      return 32;
  }
}

std::uint64_t read_bits(const Wave& wave, const Operand& operand, int bits, int lane, int element) {
  const auto l = static_cast<std::size_t>(lane);
  if (bits == 64)
    return wave.lanes_of(operand, 2 * element)[l] |
           static_cast<std::uint64_t>(wave.lanes_of(operand, 2 * element + 1)[l]) << 32;
  const int first = element * bits;
  return wave.lanes_of(operand, first / 32)[l] >> first % 32 & (~0U >> (32 - bits));
}

// T is what the row accumulates in: float, double, or 32 bits that wrap.
template <class T>
T value_of(Type type, std::uint64_t code) {
  const auto word = static_cast<std::uint32_t>(code);
  switch (type) {
    case Type::i8:
      return static_cast<T>(static_cast<std::int8_t>(code));
    case Type::f16:
      return static_cast<T>(isa::f16_to_float(static_cast<std::uint16_t>(code)));
    case Type::bf16:
      return static_cast<T>(isa::bf16_to_float(static_cast<std::uint16_t>(code)));
    case Type::f64:
      return static_cast<T>(std::bit_cast<double>(code));
    case Type::i32:
      return static_cast<T>(word);
    default:
      return static_cast<T>(std::bit_cast<float>(word));
  }
}

template <class T>
T flushed(const Wave& wave, Type type, T value) {
  if constexpr (std::is_same_v<T, float>)
    if (wave.numerics.mfma_denormals == isa::MfmaDenormals::flushed)
      return without_denormal(value, type == Type::f16 ? 0x1p-14f : 0x1p-126f);
  return value;
}

std::uint64_t code_of(float value) { return std::bit_cast<std::uint32_t>(std::isnan(value) ? NAN : value); }
std::uint64_t code_of(double value) {
  return std::bit_cast<std::uint64_t>(std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value);
}
std::uint64_t code_of(std::uint32_t value) { return value; }

template <class T>
T multiply_add(T a, T b, T c) {
  if constexpr (std::is_integral_v<T>)
    return a * b + c;
  else
    return std::fma(a, b, c);
}

// A or B as [block][row][k], after the broadcast of A's blocks (cbsz, abid) or the rearrangement of B's lanes (blgp).
template <class T>
std::vector<T> source(const Wave& wave, const Inst& inst, int argument) {
  const Desc& d = isa::desc(inst.op);
  const Type type = d.args[static_cast<std::size_t>(argument)].type;
  const bool is_a = argument == 1, has_signs = type == Type::f64;
  const bool negate = has_signs && (inst.mods.blgp >> (argument - 1) & 1);
  const int elements = d.k * d.m * d.blocks / 64;
  std::vector<T> values;
  for (int block = 0; block < d.blocks; ++block)
    for (int row = 0; row < d.m; ++row)
      for (int k = 0; k < d.k; ++k) {
        const int from = is_a ? (block >> inst.mods.cbsz << inst.mods.cbsz) + inst.mods.abid : block;
        const int lane = isa::matrix_source_lane(d.m, d.blocks, k / elements, from, row);
        const int rearranged = is_a || has_signs ? lane : isa::lane_group_source(inst.mods.blgp, lane);
        const Operand& operand = inst.args[static_cast<std::size_t>(argument)];
        const T value =
            flushed(wave, type, value_of<T>(type, read_bits(wave, operand, bits_of(type), rearranged, k % elements)));
        values.push_back(negate ? -value : value);
      }
  return values;
}

template <class T>
T accumulator(const Wave& wave, const Inst& inst, isa::AccumulatorPlace place) {
  const Type type = isa::desc(inst.op).args[3].type;
  const Operand& c = inst.args[3];
  const bool is_vector = c.kind == isa::OperandKind::vgpr || c.kind == isa::OperandKind::agpr;
  const std::uint64_t code = is_vector           ? read_bits(wave, c, bits_of(type), place.lane, place.element)
                             : type == Type::f64 ? scalar_source64(wave, c, true)
                                                 : scalar_source(wave, c);
  const T value = flushed(wave, type, value_of<T>(type, code));
  return type == Type::f64 && (inst.mods.blgp & 4) ? -value : value;
}

template <class T>
void multiply(Wave& wave, const Inst& inst) {
  const Desc& d = isa::desc(inst.op);
  constexpr bool is_double = sizeof(T) == 8;
  const std::vector<T> a = source<T>(wave, inst, 1), b = source<T>(wave, inst, 2);
  struct Result {
    isa::AccumulatorPlace place;
    std::uint64_t code;
  };
  std::vector<Result> results;  // D may be C, A or B
  for (int block = 0; block < d.blocks; ++block)
    for (int row = 0; row < d.m; ++row)
      for (int column = 0; column < d.n; ++column) {
        const isa::AccumulatorPlace place = isa::accumulator_place(d.m, d.blocks, is_double, block, row, column);
        T sum = accumulator<T>(wave, inst, place);
        const auto a_row = static_cast<std::size_t>((block * d.m + row) * d.k);
        const auto b_row = static_cast<std::size_t>((block * d.n + column) * d.k);
        if constexpr (std::is_same_v<T, float>)
          sum = modelled_sum(wave.numerics.mfma_accumulation, {&a[a_row], &b[b_row], 1, 1, d.k, 8}, sum);
        else
          for (std::size_t k = 0; k < d.k; ++k) sum = multiply_add(a[a_row + k], b[b_row + k], sum);
        results.push_back({place, code_of(flushed(wave, Type::f32, sum))});
      }
  constexpr int words = sizeof(T) / 4;
  for (const Result& result : results)
    for (int i = 0; i < words; ++i)
      wave.lanes_of(inst.args[0], words * result.place.element + i)[static_cast<std::size_t>(result.place.lane)] =
          static_cast<std::uint32_t>(result.code >> (32 * i));
}

}  // namespace

void execute_blocks(Wave& wave, const Inst& inst) {
  switch (isa::desc(inst.op).args[0].type) {
    case Type::f64:
      return multiply<double>(wave, inst);
    case Type::i32:
      return multiply<std::uint32_t>(wave, inst);
    default:
      return multiply<float>(wave, inst);
  }
}

}  // namespace zyfa::emulator
