// What an instruction touches, and whether its operands can be encoded: derived from the table and the encoding rules of
// the row kinds.

#include "isa/isa.h"

#include <utility>

namespace zyfa::isa {
namespace {

bool is_vector_alu_kind(Kind k) { return k >= Kind::VOP1 && k <= Kind::PK_MOVE; }
bool is_packed_kind(Kind k) { return k >= Kind::PK_F32_2 && k <= Kind::PK_MOVE; }
bool is_matrix_kind(Kind k) { return k >= Kind::MFMA && k <= Kind::F8F6F4_SCALED; }
bool is_lds_kind(Kind k) { return k >= Kind::DS_READ && k <= Kind::DS_WRITE; }
bool is_vmem_kind(Kind k) { return k >= Kind::BUFFER_LOAD && k <= Kind::GLOBAL_STORE; }
bool is_scalar_kind(Kind k) { return k <= Kind::SMEM_LOAD; }
bool has_short_form(Kind k) {
  return k == Kind::VOP1 || k == Kind::VOP2 || k == Kind::VOP2_ACC || k == Kind::VOPC || k == Kind::CARRY_OUT ||
         k == Kind::CARRY_IN || k == Kind::SELECT || k == Kind::SWAP_LANES;
}

// Which register files the argument may come from.
struct Files {
  bool vgpr = false, agpr = false, sgpr = false, constant = false;
};

Files files(const Desc& d, int index, bool writes) {
  const Kind k = d.kind;
  if (is_scalar_kind(k)) return {.sgpr = true, .constant = !writes && !(k == Kind::SMEM_LOAD && index == 1)};
  if (k == Kind::ACC_READ) return {.vgpr = index == 0, .agpr = index == 1};
  if (k == Kind::ACC_WRITE) return {.vgpr = index == 1, .agpr = index == 0, .constant = index == 1};
  if (is_matrix_kind(k)) {
    if (index >= 4) return {.vgpr = true, .sgpr = true, .constant = true};  // scales
    return {.vgpr = true, .agpr = true, .constant = index == 3};
  }
  if (k == Kind::BUFFER_LOAD || k == Kind::BUFFER_STORE) {
    if (index == 0) return {.vgpr = true, .agpr = true};
    if (index == 1) return {.vgpr = true};
    return {.sgpr = true, .constant = index == 3};
  }
  if (k == Kind::GLOBAL_LOAD || k == Kind::GLOBAL_STORE) {
    const bool data = index == (k == Kind::GLOBAL_LOAD ? 0 : 1);
    if (index == 2) return {.sgpr = true};
    return {.vgpr = true, .agpr = data};
  }
  if (is_lds_kind(k)) {
    const bool data = index == (k == Kind::DS_WRITE ? 1 : 0);
    return {.vgpr = true, .agpr = data};
  }
  const Type type = d.args[static_cast<std::size_t>(index)].type;
  if (k == Kind::READ_LANE || k == Kind::READ_FIRST_LANE) {
    if (index == 0) return {.sgpr = true};
    if (index == 1) return {.vgpr = true};
    return {.sgpr = true, .constant = true};
  }
  if (k == Kind::SWAP_LANES) return {.vgpr = true};
  if (type == Type::mask) return {.sgpr = true};
  if (writes) return {.vgpr = true};
  if (k == Kind::WRITE_LANE) return {.sgpr = true, .constant = true};
  return {.vgpr = true, .sgpr = true, .constant = true};
}

// The ISA's alignment of register tuples: scalar pairs even, wider ones by four; vector tuples even (gfx90a and later).
int alignment(const Operand& operand) {
  if (operand.count == 1) return 1;
  if (operand.kind == OperandKind::sgpr) return operand.count == 2 ? 2 : 4;
  return 2;
}

std::string check_operand(const Desc& d, int index, const Operand& operand, const Arg& arg) {
  const Files allowed = files(d, index, arg.role == Role::write || arg.role == Role::update);
  const bool fits = (operand.kind == OperandKind::vgpr && allowed.vgpr) ||
                    (operand.kind == OperandKind::agpr && allowed.agpr) ||
                    (operand.kind == OperandKind::sgpr && allowed.sgpr) ||
                    (operand.is_constant() && allowed.constant);
  if (!fits) return fmt::format("argument {} is of a kind that the instruction does not take there", index);
  if (!operand.is_register()) return {};
  if (operand.count != arg.dwords)
    return fmt::format("argument {} has {} registers, the instruction takes {}", index, operand.count, arg.dwords);
  const std::uint32_t limit = operand.kind == OperandKind::sgpr ? scalar_registers : 256;
  if (operand.value + operand.count > limit) return fmt::format("argument {} is past the last register", index);
  if (operand.value % static_cast<std::uint32_t>(alignment(operand)) != 0)
    return fmt::format("argument {} starts at register {}, which is not a multiple of {}", index, operand.value,
                       alignment(operand));
  return {};
}

// CDNA4 ISA 6.2.1: a vector instruction reads at most one scalar register (pair) and no literal beside it; VOP3 has no
// room for a literal.
std::string check_constant_bus(const Inst& inst, const Desc& d) {
  const Operand* scalar = nullptr;
  bool literal = false;
  for (int i = 0; i < max_args; ++i) {
    const Operand& operand = inst.args[static_cast<std::size_t>(i)];
    const Role role = d.args[static_cast<std::size_t>(i)].role;
    if (role != Role::read && role != Role::update) continue;
    if (operand.kind == OperandKind::literal) literal = true;
    if (operand.kind != OperandKind::sgpr) continue;
    if (scalar && scalar->value != operand.value) return "reads two different scalar registers";
    scalar = &operand;
  }
  if (literal && scalar) return "reads a literal and a scalar register";
  if (literal && inst.form != Form::e32) return "VOP3 takes no literal constant";
  return {};
}

bool has_source_modifiers(const Inst& inst) {
  for (const Operand& operand : inst.args)
    if (operand.neg || operand.abs) return true;
  return inst.mods.clamp || inst.mods.omod || inst.mods.op_sel;
}

std::string check_form(const Inst& inst, const Desc& d) {
  const bool has_forms = has_short_form(d.kind);
  if (has_forms == (inst.form == Form::natural))
    return has_forms ? "needs an encoding: e32, e64, dpp or sdwa" : "has one encoding only";
  if (inst.form != Form::e32) return {};
  if (has_source_modifiers(inst)) return "e32 has no modifiers";
  const int second = d.kind == Kind::CARRY_OUT || d.kind == Kind::CARRY_IN ? 3 : 2;
  if (d.kind != Kind::VOP1 && d.kind != Kind::SWAP_LANES &&
      inst.args[static_cast<std::size_t>(second)].kind != OperandKind::vgpr)
    return "e32 takes a vector register as its second source";
  for (int i = 0; i < max_args; ++i)
    if (d.args[static_cast<std::size_t>(i)].type == Type::mask && inst.args[static_cast<std::size_t>(i)] != Operand(vcc))
      return "e32 takes vcc as its lane mask";
  return {};
}

std::string check_offset(const Inst& inst, const Desc& d) {
  struct Range {
    std::int64_t low, high;
  };
  const Range range = is_lds_kind(d.kind)                                               ? Range{0, 65535}
                      : d.kind == Kind::BUFFER_LOAD || d.kind == Kind::BUFFER_STORE     ? Range{0, 4095}
                      : d.kind == Kind::GLOBAL_LOAD || d.kind == Kind::GLOBAL_STORE     ? Range{-4096, 4095}
                                                                                        : Range{0, 0};
  if (inst.mods.offset >= range.low && inst.mods.offset <= range.high) return {};
  return fmt::format("offset {} is outside {}..{}", inst.mods.offset, range.low, range.high);
}

// The place of an absent address: `off` in buffer and global instructions, and the data of an LDS-DMA load.
bool may_be_absent(const Inst& inst, const Desc& d, int index) {
  if (d.kind == Kind::BUFFER_LOAD || d.kind == Kind::BUFFER_STORE)
    return index == 1 && !inst.mods.offen && !inst.mods.idxen;
  return (d.kind == Kind::GLOBAL_LOAD || d.kind == Kind::GLOBAL_STORE) && index == 2;
}

// What the argument must look like here: global addresses are 64 bits, or 32 beside a scalar base; buffer addressing by
// index and offset takes two registers.
Arg effective_arg(const Inst& inst, const Desc& d, int index) {
  Arg a = arg(inst, index);
  const int address = d.kind == Kind::GLOBAL_LOAD ? 1 : 0;
  if ((d.kind == Kind::GLOBAL_LOAD || d.kind == Kind::GLOBAL_STORE) && index == address &&
      inst.args[2].kind != OperandKind::none)
    a.dwords = 1;
  if ((d.kind == Kind::BUFFER_LOAD || d.kind == Kind::BUFFER_STORE) && index == 1 && inst.mods.offen && inst.mods.idxen)
    a.dwords = 2;
  return a;
}

void add_implicit(const Inst& inst, const Desc& d, std::vector<Access>& list) {
  const auto touch = [&list](S<2> r, bool write) {
    list.push_back({OperandKind::sgpr, r.first, 2, write, -1});
  };
  if (is_vector_alu_kind(d.kind) || is_matrix_kind(d.kind) || is_lds_kind(d.kind) || is_vmem_kind(d.kind))
    touch(exec, false);
  if (d.kind == Kind::SAVEEXEC) {
    touch(exec, false);
    touch(exec, true);
  }
  if (inst.op == Op::s_cbranch_vccz || inst.op == Op::s_cbranch_vccnz) touch(vcc, false);
  if (inst.op == Op::s_cbranch_execz || inst.op == Op::s_cbranch_execnz) touch(exec, false);
  if (is_lds_dma(inst)) list.push_back({OperandKind::sgpr, m0.first, 1, false, -1});
}

}  // namespace

std::vector<Access> accesses(const Inst& inst) {
  std::vector<Access> list;
  const Desc& d = desc(inst.op);
  for (int i = 0; i < max_args; ++i) {
    const Operand& operand = inst.args[static_cast<std::size_t>(i)];
    const Role role = d.args[static_cast<std::size_t>(i)].role;
    if (!operand.is_register() || role == Role::none) continue;
    const auto first = static_cast<std::uint16_t>(operand.value);
    const auto index = static_cast<std::int8_t>(i);
    if (role != Role::write) list.push_back({operand.kind, first, operand.count, false, index});
    if (role != Role::read) list.push_back({operand.kind, first, operand.count, true, index});
  }
  add_implicit(inst, d, list);
  return list;
}

std::string validate(const Inst& inst) {
  const Desc& d = desc(inst.op);
  for (int i = 0; i < max_args; ++i) {
    const Operand& operand = inst.args[static_cast<std::size_t>(i)];
    const Arg a = effective_arg(inst, d, i);
    if (a.role == Role::none) {
      if (operand.kind != OperandKind::none) return fmt::format("argument {} is one too many", i);
      continue;
    }
    if (operand.kind == OperandKind::none) {
      if (may_be_absent(inst, d, i)) continue;
      return fmt::format("argument {} is missing", i);
    }
    if (operand.kind == OperandKind::label) {
      if (d.kind != Kind::BRANCH) return fmt::format("argument {} is a label", i);
      continue;
    }
    if (std::string problem = check_operand(d, i, operand, a); !problem.empty()) return problem;
  }
  if (is_vector_alu_kind(d.kind) && d.kind != Kind::VNOP) {
    if (std::string problem = check_form(inst, d); !problem.empty()) return problem;
    if (d.kind != Kind::WRITE_LANE && d.kind != Kind::READ_LANE)
      if (std::string problem = check_constant_bus(inst, d); !problem.empty()) return problem;
  }
  if (is_packed_kind(d.kind) && inst.mods.clamp && d.kind == Kind::PK_MOVE) return "v_pk_mov_b32 does not clamp";
  return check_offset(inst, d);
}

}  // namespace zyfa::isa
