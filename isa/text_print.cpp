// Instructions to text, as LLVM's disassembler spells them.

#include "isa/isa.h"
#include "isa/modifiers.h"
#include "isa/text.h"
#include "isa/text_control.h"
#include "isa/text_swizzle.h"
#include "isa/text_tables.h"

#include <iterator>

namespace zyfa::isa {
namespace {

std::string range(std::string_view file, std::uint32_t first, int count) {
  if (count == 1) return fmt::format("{}{}", file, first);
  return fmt::format("{}[{}:{}]", file, first, first + static_cast<std::uint32_t>(count) - 1);
}

std::string scalar_registers_text(const Operand& operand) {
  for (const SpecialRegister& special : special_registers)
    if (special.first == operand.value && special.count == operand.count) return std::string(special.name);
  if (operand.value >= first_trap_register && operand.value < first_trap_register + trap_registers)
    return range("ttmp", operand.value - first_trap_register, operand.count);
  return range("s", operand.value, operand.count);
}

// 1 / (2 pi) is written with the digits of the type that the hardware expands it to.
std::string real_text(std::uint32_t bits, bool is_64_bits) {
  if (bits == inline_floats.back()) return is_64_bits ? "0.15915494309189532" : "0.15915494";
  return fmt::format("{:.1f}", std::bit_cast<float>(bits));
}

std::string bare_text(const Operand& operand, bool is_64_bits) {
  switch (operand.kind) {
    case OperandKind::none:
      return "off";
    case OperandKind::vgpr:
      return range("v", operand.value, operand.count);
    case OperandKind::agpr:
      return range("a", operand.value, operand.count);
    case OperandKind::sgpr:
      return scalar_registers_text(operand);
    case OperandKind::integer:
      return fmt::format("{}", static_cast<std::int32_t>(operand.value));
    case OperandKind::real:
      return real_text(operand.value, is_64_bits);
    case OperandKind::literal:
      return fmt::format("{:#x}", operand.value);
    case OperandKind::label:
      return fmt::format("L{}", operand.value);
  }
  return {};
}

std::string operand_text(const Operand& operand, bool is_64_bits) {
  std::string text = bare_text(operand, is_64_bits);
  if (operand.abs) text = "|" + text + "|";
  if (!operand.neg) return text;
  // -1 is a constant of its own, so that a negated 1 must look different.
  return operand.is_constant() && !operand.abs ? "neg(" + text + ")" : "-" + text;
}

std::string signed_hex(std::int32_t number) {
  const auto bits = static_cast<std::uint32_t>(number);
  return number < 0 ? fmt::format("-{:#x}", 0u - bits) : fmt::format("{:#x}", bits);
}

bool is_smem(const Desc& d) { return d.cls == Class::Smem; }

std::string argument_text(const Inst& inst, const Desc& d, int index, const Program* program) {
  const Operand& operand = inst.args[static_cast<std::size_t>(index)];
  if (operand.kind == OperandKind::label && program) {
    const auto named = program->labels.find(operand.value);
    if (named != program->labels.end()) return named->second;
  }
  if (is_smem(d) && operand.kind == OperandKind::literal) return signed_hex(static_cast<std::int32_t>(operand.value));
  // LLVM writes the numbers of SOPP as it writes constants: decimal as far as an inline constant goes.
  if (d.kind == Kind::SOPP_COUNT && operand.kind == OperandKind::integer && operand.value > 64)
    return fmt::format("{:#x}", operand.value);
  const Arg& a = d.args[static_cast<std::size_t>(index)];
  if (operand.kind == OperandKind::integer && a.dwords == 0) {
    if (names_hardware_register(d.kind) && index == hardware_field_argument(d.kind))
      return print_hardware_field(operand.value);
    if (d.kind == Kind::INDEX_ON || d.kind == Kind::INDEX_OPERANDS) return print_indexed_operands(operand.value);
  }
  const std::string text = operand_text(operand, a.type == Type::u64 || a.type == Type::i64 || a.type == Type::f64);
  const int source = index - first_source(d.kind);
  return source >= 0 && (inst.mods.sext >> source & 1) ? "sext(" + text + ")" : text;
}

std::string bit_list(std::string_view name, int bits, int length) {
  std::string text = fmt::format(" {}:[", name);
  for (int i = 0; i < length; ++i) text += fmt::format("{}{}", i ? "," : "", (bits >> i) & 1);
  return text + "]";
}

std::string lists_text(const Inst& inst, const Desc& d) {
  std::string text;
  for (const BitList& list : bit_lists) {
    int bits = inst.mods.*list.field;
    bool written = bits != 0;
    if (list.field == &Modifiers::op_sel_hi) {
      bits = op_sel_hi(inst);
      Inst unmodified = inst;
      unmodified.mods.op_sel_hi = Modifiers::row_default;
      written = d.kind == Kind::F8F6F4_SCALED || bits != op_sel_hi(unmodified);
    }
    // The destination's bit is the last entry, whatever the number of sources.
    if (lists_destination_third(d)) bits = (bits & 3) | ((bits & 8) >> 1);
    if (written) text += bit_list(list.name, bits, op_sel_entries(d));
  }
  return text;
}

std::string dpp_text(const Modifiers& mods) {
  std::string text;
  if (mods.dpp_ctrl <= last_quad_permutation) {
    const int c = mods.dpp_ctrl;
    text = fmt::format(" quad_perm:[{},{},{},{}]", c & 3, (c >> 2) & 3, (c >> 4) & 3, (c >> 6) & 3);
  }
  for (const DppControl& control : dpp_controls) {
    const int step = mods.dpp_ctrl - control.code;
    if (step < 0 || step > control.high - control.low) continue;
    text = fmt::format(" {}", control.name);
    if (control.high) text += fmt::format(":{}", step + control.low);
  }
  text += fmt::format(" row_mask:{:#x} bank_mask:{:#x}", mods.dpp_row_mask, mods.dpp_bank_mask);
  return mods.dpp_bound_ctrl ? text + " bound_ctrl:1" : text;
}

// Decimal up to 10, hexadecimal beyond.
std::string number_text(int number) { return number <= 10 ? fmt::format("{}", number) : fmt::format("{:#x}", number); }

std::string sdwa_text(const Inst& inst, const Desc& d) {
  const Modifiers& mods = inst.mods;
  std::string text;
  if (has_sdwa_result(d))
    text = fmt::format(" dst_sel:{} dst_unused:{}", sdwa_selections.at(mods.dst_sel),
                       sdwa_rests.at(static_cast<std::size_t>(mods.dst_unused)));
  text += fmt::format(" src0_sel:{}", sdwa_selections.at(mods.src0_sel));
  if (d.kind != Kind::VOP1) text += fmt::format(" src1_sel:{}", sdwa_selections.at(mods.src1_sel));
  return text;
}

std::string wait_text(const Modifiers& mods) {
  std::string text, none;
  for (const WaitField& wait : wait_fields) {
    none += fmt::format(" {}({})", wait.name, wait.highest);
    if (mods.*wait.field != Modifiers::not_waited) text += fmt::format(" {}({})", wait.name, mods.*wait.field);
  }
  return text.empty() ? none : text;
}

std::string offset_text(const Modifiers& mods, const Desc& d) {
  if (d.pair_stride != 0) {
    std::string text = mods.offset ? fmt::format(" offset0:{}", mods.offset) : "";
    return mods.offset1 ? text + fmt::format(" offset1:{}", mods.offset1) : text;
  }
  if (mods.offset == 0) return {};
  if (d.kind == Kind::DS_SWIZZLE) return " offset:" + print_swizzle(static_cast<std::uint32_t>(mods.offset));
  return is_smem(d) ? " offset:" + signed_hex(mods.offset) : fmt::format(" offset:{}", mods.offset);
}

// In LLVM's order. Rows have few of these, never ones whose order among kinds could differ.
std::string modifiers_text(const Inst& inst, const Desc& d) {
  const Modifiers& mods = inst.mods;
  if (d.kind == Kind::WAITCNT) return wait_text(mods);
  std::string text;
  for (const Flag& flag : address_flags)
    if (mods.*flag.field) text += fmt::format(" {}", flag.name);
  text += offset_text(mods, d);
  for (const Flag& flag : memory_flags)
    if (mods.*flag.field) text += fmt::format(" {}", flag.name);
  if (d.kind == Kind::BITOP3 && mods.bitop3) text += " bitop3:" + number_text(mods.bitop3);
  text += lists_text(inst, d);
  if (mods.clamp) text += " clamp";
  if (mods.omod) text += fmt::format(" {}", output_modifiers[mods.omod & 3]);
  for (const Field& field : matrix_fields) {
    if (!(mods.*field.field)) continue;
    if (has_signs_in_blgp(d) && field.field == &Modifiers::blgp)
      text += bit_list("neg", mods.blgp, 3);
    else
      text += fmt::format(" {}:{}", field.name, mods.*field.field);
  }
  if (inst.form == Form::dpp) text += dpp_text(mods);
  if (inst.form == Form::sdwa) text += sdwa_text(inst, d);
  return text;
}

std::string text_of(const Inst& inst, const Program* program) {
  const Desc& d = desc(inst.op);
  std::string text = fmt::format("{}{}", d.name, form_suffixes[static_cast<std::size_t>(inst.form)]);
  std::string_view separator = " ";
  for (int i = first_argument(inst); i < max_args && d.args[static_cast<std::size_t>(i)].role != Role::none; ++i) {
    text += separator;
    text += argument_text(inst, d, i, program);
    separator = ", ";
  }
  return text + modifiers_text(inst, d);
}

// Where labels stand: the named ones and the targets of branches.
std::map<std::uint32_t, std::string> label_lines(const Program& program) {
  std::map<std::uint32_t, std::string> lines = program.labels;
  for (const Inst& inst : program.code)
    for (const Operand& operand : inst.args)
      if (operand.kind == OperandKind::label) lines.emplace(operand.value, bare_text(operand, false));
  return lines;
}

}  // namespace

std::string print(const Inst& inst) { return text_of(inst, nullptr); }
std::string print(const Inst& inst, const Program& program) { return text_of(inst, &program); }
std::string print(const Operand& operand) { return operand_text(operand, false); }

std::string print(const Program& program) {
  std::string text;
  const auto lines = label_lines(program);
  auto label = lines.begin();
  const auto print_label = [&](std::size_t index) {
    if (label == lines.end() || label->first != index) return;
    text += label->second + ":\n";
    ++label;
  };
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    print_label(i);
    text += "  " + print(program.code[i], program) + "\n";
  }
  print_label(program.code.size());
  if (label != lines.end())
    throw Error("label {} stands at instruction {}, past the end of the program ({} instructions)", label->second,
                label->first, program.code.size());
  return text;
}

}  // namespace zyfa::isa
