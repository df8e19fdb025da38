#include "isa/constants.h"

#include "isa/kinds.h"
#include "isa/modifiers.h"

namespace zyfa::isa {
namespace {

// Inline floats of 16-bit types, which a literal may not look like.
bool is_inline_half_float(Type type, std::uint32_t bits) {
  const bool f16 = type == Type::f16 || type == Type::f16x2, bf16 = type == Type::bf16 || type == Type::bf16x2;
  constexpr std::uint32_t f16_codes[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
  for (std::size_t i = 0; i < inline_floats.size(); ++i)
    if ((f16 && bits == f16_codes[i]) || (bf16 && bits == inline_floats[i] >> 16)) return true;
  return false;
}

// Of 32 bits, what Operand::constant makes. A literal stands for other bits where the type is wider or narrower: it is
// the high half of an fp64, and of 16 bits only the low ones count. So there the float pattern of an inline constant
// may be a literal, and the literals that LLVM's assembler would turn into inline constants are the others.
bool is_canonical(const Operand& operand, Type type) {
  const Operand plain = Operand::constant(operand.value);
  // LLVM 22 prints the fp16 pattern for the encoding of an inline float and reads it back as a literal.
  if (operand.kind == OperandKind::real && (type == Type::u16 || type == Type::i16)) return false;
  if (operand.kind != OperandKind::literal) return operand.kind == plain.kind;
  // Of an unsigned 64-bit type the literal's upper half is zero, so it is not the inline -1 that it looks like.
  if (type == Type::u64 && static_cast<std::int32_t>(operand.value) < 0) return true;
  if (plain.kind == OperandKind::integer || is_inline_half_float(type, operand.value)) return false;
  if (is_half_type(type)) {
    const auto number = static_cast<std::int16_t>(operand.value);
    return operand.value <= 0xffff && (number < -16 || number > 64);
  }
  if (type == Type::f64) {
    for (const std::uint32_t inline_float : inline_floats)
      if (inline_float != inline_floats.back() && operand.value == double_high_half(inline_float)) return false;
    return true;
  }
  return type == Type::u64 || type == Type::i64 || plain.kind == OperandKind::literal;
}

}  // namespace

std::string check_constant(const Desc& d, int index, const Operand& operand) {
  const auto number = static_cast<std::int32_t>(operand.value);
  if (is_smem_load(d.kind)) {
    if (operand.kind != OperandKind::literal) return "a scalar memory offset is a literal or a register";
    const std::int32_t limit = 1 << 20;
    const std::int32_t low = d.kind == Kind::SMEM_BUFFER_LOAD ? 0 : -limit;
    return number >= low && number < limit ? "" : fmt::format("offset {} is outside {}..{}", number, low, limit - 1);
  }
  if ((d.kind == Kind::SOPK || d.kind == Kind::SOPK_COMPARE) && index == 1) {
    if (operand.kind != OperandKind::literal) return "the immediate is a literal of 16 bits";
    return operand.value <= 0xffff ? "" : fmt::format("the immediate {:#x} has more than 16 bits", operand.value);
  }
  if (d.kind == Kind::SOPP_COUNT || d.kind == Kind::BRANCH) {
    if (operand.kind != OperandKind::integer) return "takes an integer";
    return operand.value <= 0xffff ? "" : fmt::format("the number {} has more than 16 bits", operand.value);
  }
  if (d.kind >= Kind::GET_REG && d.kind <= Kind::INDEX_OPERANDS &&
      (!names_hardware_register(d.kind) || index == hardware_field_argument(d.kind)) &&
      d.args[static_cast<std::size_t>(index)].dwords == 0) {
    const std::uint32_t most = names_hardware_register(d.kind) ? 0xffff : 15;
    if (operand.kind != OperandKind::integer) return "takes an integer";
    return operand.value <= most ? "" : fmt::format("the number {:#x} is outside 0..{:#x}", operand.value, most);
  }
  // LLVM 22 prints the bits of an inline float as the float here, and reads it as another number.
  if (d.kind == Kind::SET_REG_LITERAL && index == 1 && operand.kind == OperandKind::real)
    return "takes no inline float";
  if (is_literal_fma(d.kind) && index == literal_argument(d.kind))
    return operand.kind == OperandKind::literal ? "" : fmt::format("argument {} is a literal", index);
  if (!is_canonical(operand, d.args[static_cast<std::size_t>(index)].type))
    return fmt::format("argument {} is not a constant in its one canonical form", index);
  // Only the scalar formats and the short vector ones have a dword for a literal (check_constant_bus).
  if (operand.kind == OperandKind::literal && !is_scalar_kind(d.kind) && !has_short_form(d.kind) &&
      !is_literal_fma(d.kind))
    return fmt::format("argument {} is a literal, which this encoding has no room for", index);
  return {};
}

}  // namespace zyfa::isa
