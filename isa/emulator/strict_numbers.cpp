#include "isa/emulator/strict_numbers.h"

#include "isa/emulator/execute_parts.h"
#include "isa/matrix_layout.h"
#include "isa/numeric.h"

#include <algorithm>
#include <bit>

namespace zyfa::emulator {
namespace {

using isa::Inst;
using isa::Operand;
using isa::OperandKind;
using isa::Type;

constexpr std::uint32_t exponent_bits = 0x7f800000;

std::size_t vector_index(const Operand& operand) {
  return operand.value + (operand.kind == OperandKind::agpr ? 256u : 0u);
}
bool is_vector(const Operand& operand) {
  return operand.kind == OperandKind::vgpr || operand.kind == OperandKind::agpr;
}

bool has_non_finite(const Lanes& lanes_of) {
  std::uint32_t found = 0;
  for (const std::uint32_t bits : lanes_of) found |= (bits & exponent_bits) == exponent_bits ? 1u : 0u;
  return found != 0;
}

// clang-format off
#define MFMA(name, CD, A, B, M, N, K, blocks, passes) static_assert(blocks * M * N / 64 <= largest_matrix_result);
#include "isa/gfx950.def"
// clang-format on

// Numbers of a lane's result.
int parts(const Inst& inst, Numbers numbers) {
  if (numbers == Numbers::matrix_f32) return inst.args[0].count;
  return numbers == Numbers::f32 || numbers == Numbers::f64 || numbers == Numbers::f16 ? 1 : 2;
}

// Bits of a matrix source's element; 0 for formats that have neither NaN nor infinity.
int element_bits(const Inst& inst, int arg, Type& type) {
  type = isa::desc(inst.op).args[static_cast<std::size_t>(arg)].type;
  if (type == Type::e4m3 || type == Type::e5m2) return 8;
  if (type != Type::f8f6f4) return type == Type::f32 ? 32 : 16;
  const auto format = static_cast<isa::MatrixFormat>(arg == 1 ? inst.mods.cbsz : inst.mods.blgp);
  type = format == isa::MatrixFormat::e4m3 ? Type::e4m3 : Type::f8f6f4;
  return isa::format_bits(format) == 8 ? 8 : 0;
}

}  // namespace

StrictNumbers::Sort StrictNumbers::sort_f32(std::uint32_t bits) {
  if ((bits & exponent_bits) != exponent_bits) return Sort::finite;
  return (bits & 0x7fffff) == 0 ? Sort::infinite : Sort::nan;
}
// e4m3 has one NaN and no infinity, e5m2 both (OCP 8-bit floating point).
StrictNumbers::Sort StrictNumbers::sort_fp8(std::uint32_t byte) {
  return (byte & 0x7f) == 0x7f ? Sort::nan : Sort::finite;
}
StrictNumbers::Sort StrictNumbers::sort_bf8(std::uint32_t byte) {
  return (byte & 0x7f) < 0x7c ? Sort::finite : (byte & 0x7f) == 0x7c ? Sort::infinite : Sort::nan;
}

StrictNumbers::Sort StrictNumbers::sort_f64(std::uint64_t bits) {
  constexpr std::uint64_t infinity = 0x7ff0000000000000, magnitude = ~std::uint64_t{0} >> 1;
  return (bits & magnitude) < infinity ? Sort::finite : (bits & magnitude) == infinity ? Sort::infinite : Sort::nan;
}
StrictNumbers::Sort StrictNumbers::sort_f16(std::uint32_t half) {
  return (half & 0x7fff) < 0x7c00 ? Sort::finite : (half & 0x7fff) == 0x7c00 ? Sort::infinite : Sort::nan;
}

void StrictNumbers::Inputs::add(Sort sort) {
  has_nan |= sort == Sort::nan;
  has_infinity |= sort == Sort::infinite;
}
template <class Number>
void StrictNumbers::Inputs::add(Sort sort, Number number) {
  add(sort);
  if (count < numbers.size()) numbers[count++] = fmt::format("{}", number);
}
void StrictNumbers::Inputs::add_f32(std::uint32_t bits) { add(sort_f32(bits), std::bit_cast<float>(bits)); }
void StrictNumbers::Inputs::add_f16(std::uint32_t half) {
  add(sort_f16(half), isa::f16_to_float(static_cast<std::uint16_t>(half)));
}

void StrictNumbers::before(const Wave& wave, std::uint32_t index) {
  if (!program_.facts(index).result_overlaps_source) return;
  const Operand& result = program_.inst(index).args[0];
  std::copy_n(&wave.lanes_of(result), result.count, old_.begin());
}

void StrictNumbers::after(const Wave& wave, std::uint32_t index) {
  const Facts& facts = program_.facts(index);
  const Inst& inst = program_.inst(index);
  const bool is_f32 = facts.numbers <= Numbers::matrix_f32;
  for (int part = 0; part < parts(inst, facts.numbers); ++part)
    if (!is_f32 || has_non_finite(wave.lanes_of(inst.args[0], part))) look(wave, index, part);
}

StrictNumbers::Sort StrictNumbers::result_sort(const Wave& wave, const Inst& inst, Numbers numbers, int part,
                                               std::size_t lane) {
  const auto word = [&](int reg) { return wave.lanes_of(inst.args[0], reg)[lane]; };
  const std::uint32_t written = word(0) >> (isa::halves_touched(inst, 0) == 2 ? 16 : 0);
  switch (numbers) {
    case Numbers::f64:
      return sort_f64(word(0) | std::uint64_t{word(1)} << 32);
    case Numbers::f16:
      return sort_f16(written);
    case Numbers::packed_f16:
    case Numbers::f16_pair:
      return sort_f16(word(0) >> 16 * part);
    case Numbers::bf16_pair:
      return sort_f32(part ? word(0) & 0xffff0000 : word(0) << 16);
    case Numbers::fp8_pair:
      return sort_fp8(written >> 8 * part & 0xff);
    case Numbers::bf8_pair:
      return sort_bf8(written >> 8 * part & 0xff);
    default:
      return sort_f32(word(part));
  }
}

// One number of every lane's result.
void StrictNumbers::look(const Wave& wave, std::uint32_t index, int part) {
  const Numbers numbers = program_.facts(index).numbers;
  const Inst& inst = program_.inst(index);
  const bool is_matrix = numbers == Numbers::matrix_f32;
  const std::uint64_t exec = is_matrix ? ~std::uint64_t{0} : wave.exec();
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    if (!(exec >> lane & 1)) continue;
    const Sort sort = result_sort(wave, inst, numbers, part, lane);
    if (sort == Sort::finite) continue;
    judge(wave, index, lane, sort,
          is_matrix ? matrix_inputs(wave, inst, part, lane) : lane_inputs(wave, inst, numbers, part, lane));
  }
}

const Lanes& StrictNumbers::old_register(const Wave& wave, const Inst& inst, std::size_t reg) const {
  const std::size_t first = vector_index(inst.args[0]);
  const bool is_saved =
      reg >= first && reg < first + inst.args[0].count && reg - first < old_.size() &&
      program_.facts(static_cast<std::uint32_t>(&inst - program_.program().code.data())).result_overlaps_source;
  return is_saved ? old_[reg - first] : wave.vector[reg];
}

// Part `part` of a source of one or two registers.
std::uint32_t StrictNumbers::source_word(const Wave& wave, const Inst& inst, int arg, int part,
                                         std::size_t lane) const {
  const Operand& operand = inst.args[static_cast<std::size_t>(arg)];
  const auto offset = static_cast<std::uint32_t>(part);
  if (is_vector(operand)) return old_register(wave, inst, vector_index(operand) + offset)[lane];
  return operand.kind == OperandKind::sgpr ? wave.scalar[operand.value + offset] : operand.value;
}

// With DPP the first source comes from other lanes, so all of them count.
void StrictNumbers::add_source(const Wave& wave, const Inst& inst, int arg, int part, std::size_t lane,
                               Inputs& inputs) const {
  inputs.add_f32(source_word(wave, inst, arg, part, lane));
  if (arg == 1 && inst.form == isa::Form::dpp)
    for (std::size_t other = 0; other < lanes; ++other) inputs.add(sort_f32(source_word(wave, inst, arg, part, other)));
}

void StrictNumbers::add_half(const Wave& wave, const Inst& inst, int arg, bool high, std::size_t lane,
                             Inputs& inputs) const {
  if (inst.args[static_cast<std::size_t>(arg)].kind == OperandKind::real) return;
  inputs.add_f16(source_word(wave, inst, arg, 0, lane) >> (high ? 16 : 0));
  if (arg == 1 && inst.form == isa::Form::dpp)
    for (std::size_t other = 0; other < lanes; ++other) inputs.add(sort_f16(source_word(wave, inst, arg, 0, other)));
}

// What an argument of any floating-point type has to do with part `part` of the result.
void StrictNumbers::add_operand(const Wave& wave, const Inst& inst, int arg, int part, std::size_t lane,
                                Inputs& inputs) const {
  const isa::Desc& d = isa::desc(inst.op);
  const Operand& operand = inst.args[static_cast<std::size_t>(arg)];
  const int halves = isa::halves_touched(inst, arg);
  const bool second = arg > 0 && (part ? isa::op_sel_hi(inst) : inst.mods.op_sel) >> (arg - 1) & 1;
  switch (d.args[static_cast<std::size_t>(arg)].type) {
    case Type::f32:
      if (d.kind == isa::Kind::MIX && halves != 3) return add_half(wave, inst, arg, halves == 2, lane, inputs);
      return add_source(wave, inst, arg, (d.kind == isa::Kind::PK_F32_2 || d.kind == isa::Kind::PK_F32_3) && second,
                        lane, inputs);
    case Type::f64: {
      const std::uint64_t bits = is_vector(operand) ? source_word(wave, inst, arg, 0, lane) |
                                                          std::uint64_t{source_word(wave, inst, arg, 1, lane)} << 32
                                                    : scalar_source_f64(wave, operand);
      inputs.add(sort_f64(bits), std::bit_cast<double>(bits));
      if (arg == 1 && inst.form == isa::Form::dpp)
        for (std::size_t other = 0; other < lanes; ++other)
          inputs.add(sort_f64(std::uint64_t{source_word(wave, inst, arg, 1, other)} << 32 |
                              source_word(wave, inst, arg, 0, other)));
      return;
    }
    case Type::f16:
      return add_half(wave, inst, arg, halves == 2, lane, inputs);
    case Type::f16x2:
      if (d.kind == isa::Kind::PK16_2 || d.kind == isa::Kind::PK16_3)
        return add_half(wave, inst, arg, second, lane, inputs);
      add_half(wave, inst, arg, false, lane, inputs);
      return add_half(wave, inst, arg, true, lane, inputs);
    case Type::bf16x2: {
      const std::uint32_t pair = source_word(wave, inst, arg, 0, lane);
      if (operand.kind == OperandKind::real) return;
      inputs.add_f32(pair << 16);
      return inputs.add_f32(pair & 0xffff0000);
    }
    default:
      return;
  }
}

// `part`: the half of a packed result, or the source of a pair.
StrictNumbers::Inputs StrictNumbers::lane_inputs(const Wave& wave, const Inst& inst, Numbers numbers, int part,
                                                 std::size_t lane) const {
  Inputs inputs;
  const isa::Desc& d = isa::desc(inst.op);
  if (numbers >= Numbers::fp8_pair) {
    add_source(wave, inst, 1 + part, 0, lane, inputs);
    if (d.kind == isa::Kind::HALF3) add_source(wave, inst, 3, 0, lane, inputs);
    return inputs;
  }
  for (int arg = 0; arg < isa::max_args; ++arg) {
    const isa::Role role = d.args[static_cast<std::size_t>(arg)].role;
    // What a half result leaves of its register is no input.
    const bool keeps = arg == 0 && d.kind != isa::Kind::VOP2_ACC;
    if (role == isa::Role::read || (role == isa::Role::update && !keeps))
      add_operand(wave, inst, arg, part, lane, inputs);
  }
  return inputs;
}

// Element (row, column) of D is made of A's row, B's column and that element of C. With several blocks that is the row
// and column of all of them, and with lanes of B rearranged (blgp) all columns: too much, so that NaN from another
// block excuses a birth.
StrictNumbers::Inputs StrictNumbers::matrix_inputs(const Wave& wave, const Inst& inst, int reg,
                                                   std::size_t lane) const {
  Inputs inputs;
  const isa::Desc& d = isa::desc(inst.op);
  const int width = d.m;
  const int row =
      width == 4 ? reg : isa::accumulator_row(width, static_cast<int>(lane) / width, reg % (width * width / 64));
  add_matrix_source(wave, inst, 1, row, inputs);
  const bool rearranged = d.kind == isa::Kind::MFMA && inst.mods.blgp != 0;
  for (int column = rearranged ? 0 : static_cast<int>(lane) % width; column < width; column += rearranged ? 1 : width)
    add_matrix_source(wave, inst, 2, column, inputs);
  const int c = isa::accumulator_argument(inst);
  inputs.add(sort_f32(source_word(wave, inst, c, is_vector(inst.args[static_cast<std::size_t>(c)]) ? reg : 0, lane)));
  for (int scale = 4; scale < 6; ++scale)
    if (inst.args[static_cast<std::size_t>(scale)].kind != OperandKind::none)
      for (std::size_t other = 0; other < lanes; ++other)
        for (int byte = 0; byte < 4; ++byte)
          if ((source_word(wave, inst, scale, 0, other) >> (8 * byte) & 0xff) == 0xff) inputs.add(Sort::nan);
  return inputs;
}

void StrictNumbers::add_matrix_source(const Wave& wave, const Inst& inst, int arg, int row, Inputs& inputs) const {
  const Operand& operand = inst.args[static_cast<std::size_t>(arg)];
  const auto width = static_cast<std::size_t>(isa::desc(inst.op).m);
  Type type{};
  const int bits = element_bits(inst, arg, type);
  if (bits == 0 || !is_vector(operand)) return;
  for (int r = 0; r < operand.count; ++r)
    for (auto lane = static_cast<std::size_t>(row); lane < lanes; lane += width) {
      const std::uint32_t word = source_word(wave, inst, arg, r, lane);
      for (int shift = 0; shift < 32; shift += bits) {
        const std::uint32_t element = word >> shift;
        if (type == Type::e4m3) inputs.add(sort_fp8(element & 0xff));
        if (type == Type::f8f6f4 || type == Type::e5m2) inputs.add(sort_bf8(element & 0xff));
        if (type == Type::f32) inputs.add(sort_f32(element));
        if (type == Type::bf16) inputs.add(sort_f32(element << 16));
        // Half precision's exponent and mantissa, moved to where single precision has them.
        if (type == Type::f16 && (element & 0x7c00) == 0x7c00)
          inputs.add((element & 0x3ff) ? Sort::nan : Sort::infinite);
      }
    }
}

// log2(0) = -infinity is exact and means an empty row's LSE (docs/strict.md).
void StrictNumbers::judge(const Wave& wave, std::uint32_t index, std::size_t lane, Sort result, const Inputs& inputs) {
  if (inputs.has_nan || (result == Sort::infinite && inputs.has_infinity)) return;
  const Inst& inst = program_.inst(index);
  const std::uint32_t exponent = inst.op == isa::Op::v_log_f32 ? exponent_bits : 0x7c00;
  if ((inst.op == isa::Op::v_log_f32 || inst.op == isa::Op::v_log_f16) && result == Sort::infinite &&
      (source_word(wave, inst, 1, 0, lane) & exponent) == 0)
    return;
  const StrictRule rule = result == Sort::nan ? StrictRule::nan_born : StrictRule::infinity_born;
  const Party at{index, wave.id, {}};
  if (!log_.is_new(rule, at, {})) return;
  std::string made_of;
  for (std::size_t i = 0; i < inputs.count; ++i) made_of += (i == 0 ? "" : ", ") + inputs.numbers[i];
  log_.add(rule, at, {},
           fmt::format("lane {} becomes {} from {}", lane, result == Sort::nan ? "NaN" : "infinite",
                       inputs.count == 0 ? "the elements of its row and column" : made_of));
}

}  // namespace zyfa::emulator
