#include "isa/emulator/execute.h"

#include "isa/emulator/execute_parts.h"

#include <bit>

namespace zyfa::emulator {
namespace {

using isa::Op;
using isa::OperandKind;

bool taken(Op op, [[maybe_unused]] bool scc, [[maybe_unused]] std::uint64_t vcc, [[maybe_unused]] std::uint64_t exec) {
  switch (op) {
#define BRANCH(name, condition) \
  case Op::name:                \
    return condition;
#include "isa/gfx950.def"
    default:
      throw Error("instruction {} of the table is no branch", static_cast<int>(op));
  }
}

std::uint64_t double_bits(std::uint32_t float_bits) {
  constexpr std::uint32_t inverse_two_pi = 0x3e22f983;
  if (float_bits == inverse_two_pi) return 0x3fc45f306dc9c882;
  return std::bit_cast<std::uint64_t>(static_cast<double>(std::bit_cast<float>(float_bits)));
}

std::uint64_t sign_extended(std::uint32_t value) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(value)));
}

}  // namespace

Execute find_execute(Op op) {
  for (const auto find : {find_scalar, find_vector, find_packed, find_convert})
    if (const Execute execute = find(op)) return execute;
  return find_matrix(op);
}

bool branch_taken(Op op, const Wave& wave) { return taken(op, wave.scc, wave.vcc(), wave.exec()); }

std::uint32_t scalar_source(const Wave& wave, const isa::Operand& operand) {
  return operand.kind == OperandKind::sgpr ? wave.scalar[operand.value] : operand.value;
}

std::uint64_t scalar_source64(const Wave& wave, const isa::Operand& operand, bool is_signed) {
  switch (operand.kind) {
    case OperandKind::sgpr:
      return wave.scalar64(static_cast<int>(operand.value));
    case OperandKind::real:
      return double_bits(operand.value);
    case OperandKind::literal:
      return is_signed ? sign_extended(operand.value) : operand.value;
    default:
      return sign_extended(operand.value);
  }
}

std::uint64_t scalar_source_f64(const Wave& wave, const isa::Operand& operand) {
  if (operand.kind == OperandKind::literal) return std::uint64_t{operand.value} << 32;
  return scalar_source64(wave, operand, true);
}

}  // namespace zyfa::emulator
