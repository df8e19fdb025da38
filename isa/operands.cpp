// Whether an instruction's operands can be encoded: derived from the table and the encoding rules of the row kinds.

#include "isa/constants.h"
#include "isa/kinds.h"
#include "isa/modifiers.h"

#include <utility>

namespace zyfa::isa {
namespace {

// Which register files the argument may come from.
struct Files {
  bool vgpr = false, agpr = false, sgpr = false, constant = false;
};

Files files(const Desc& d, int index, bool writes) {
  const Kind k = d.kind;
  if (k == Kind::SOPK || k == Kind::SOPK_COMPARE) return {.sgpr = index == 0, .constant = index == 1};
  const bool is_number = d.args[static_cast<std::size_t>(index)].dwords == 0;
  if (is_scalar_kind(k) && is_number && !is_smem_load(k)) return {.constant = true};
  if (uses_pc(k) || k == Kind::SET_REG) return {.sgpr = true};
  if (is_scalar_kind(k)) return {.sgpr = true, .constant = !writes && !(is_smem_load(k) && index == 1)};
  if (k == Kind::ACC_READ) return {.vgpr = index == 0, .agpr = index == 1};
  if (k == Kind::ACC_WRITE) return {.vgpr = index == 1, .agpr = index == 0, .sgpr = index == 1, .constant = index == 1};
  if (is_matrix_kind(k)) {
    if (index >= 4 || (k == Kind::SMFMAC && index == 3)) return {.vgpr = true};  // scales, indices
    return {.vgpr = true, .agpr = true, .constant = index == 3};
  }
  if (is_buffer_kind(k)) {
    if (index == 0) return {.vgpr = true, .agpr = true};
    if (index == 1) return {.vgpr = true};
    return {.sgpr = true, .constant = index == 3};
  }
  if (is_lds_kind(k) || is_vmem_kind(k)) {
    if (index == d.base) return {.sgpr = true};
    return {.vgpr = true, .agpr = index != d.address};
  }
  const Type type = d.args[static_cast<std::size_t>(index)].type;
  if (k == Kind::READ_LANE || k == Kind::READ_FIRST_LANE) {
    if (index == 0) return {.sgpr = true};
    if (index == 1) return {.vgpr = true};
    return {.sgpr = true, .constant = true};
  }
  if (k == Kind::SWAP_LANES) return {.vgpr = true};
  // Sources of many registers, and the pair of v_cvt_scalef32_sr_pk_fp4_f32 (LLVM's register classes).
  const bool is_wide = k >= Kind::WIDE && k <= Kind::WIDE_PAIR;
  if ((is_wide && type == Type::bits) || (k == Kind::BYTE3 && type == Type::u64)) return {.vgpr = true};
  if (type == Type::mask) return {.sgpr = true};
  if (writes) return {.vgpr = true};
  if (k == Kind::WRITE_LANE) return {.sgpr = true, .constant = true};
  if (is_literal_fma(k)) {
    if (index == literal_argument(k)) return {.constant = true};
    if (index != 1) return {.vgpr = true};
  }
  return {.vgpr = true, .sgpr = true, .constant = true};
}

// The ISA's alignment of register tuples: scalar pairs even, wider ones by four; vector tuples even (gfx90a and later).
// LLVM lets the three registers of ds_read_b96_tr_b6 start anywhere.
int alignment(const Desc& d, const Operand& operand) {
  if (operand.count == 1 || (d.kind == Kind::DS_READ_TR && operand.count == 3)) return 1;
  if (operand.kind == OperandKind::sgpr) return operand.count == 2 ? 2 : 4;
  return 2;
}

// CDNA4 ISA 5.1: s0..s101, then pairs (flat_scratch, xnack_mask, vcc), trap registers, m0, a hole, exec.
bool exists(const Operand& scalar) {
  const std::uint32_t first = scalar.value, end = scalar.value + scalar.count;
  if (end <= allocatable_scalar_registers) return true;
  if (first >= shared_base.first)
    return scalar.count == 2 && (first == shared_base.first || first == private_base.first);
  if (first < allocatable_scalar_registers) return false;
  if (first < 108) return scalar.count <= 2;
  if (first < m0.first) return end <= m0.first;
  return scalar.count == 1 ? first != 125 : first == exec.first && scalar.count == 2;
}

// Places where LLVM's register classes leave out m0 or exec.
bool writes_reserved_register(const Desc& d, int index, const Operand& scalar) {
  const bool is_m0 = scalar.value == m0.first, is_exec = scalar.value >= exec.first;
  switch (d.kind) {
    case Kind::SMEM_LOAD:
    case Kind::SMEM_BUFFER_LOAD:
    case Kind::SMEM_TIME:
      return index == 0 && (is_m0 || is_exec);
    case Kind::READ_LANE:
    case Kind::READ_FIRST_LANE:
      return index == 0 && is_m0;
    case Kind::GLOBAL_LOAD:
    case Kind::GLOBAL_LOAD_LDS:
    case Kind::GLOBAL_STORE:
    case Kind::GLOBAL_ATOMIC:
    case Kind::SCRATCH_LOAD:
    case Kind::SCRATCH_STORE:
      return is_exec;
    default:
      return false;
  }
}

std::string check_operand(const Desc& d, int index, const Operand& operand, const Arg& arg) {
  const Files allowed = files(d, index, arg.role == Role::write || arg.role == Role::update);
  const bool fits = (operand.kind == OperandKind::vgpr && allowed.vgpr) ||
                    (operand.kind == OperandKind::agpr && allowed.agpr) ||
                    (operand.kind == OperandKind::sgpr && allowed.sgpr) || (operand.is_constant() && allowed.constant);
  if (!fits) return fmt::format("argument {} is of a kind that the instruction does not take there", index);
  if ((operand.neg || operand.abs) && !takes_source_modifiers(d, index))
    return fmt::format("argument {} is no floating-point source and takes no neg or abs", index);
  if (operand.abs && !takes_abs(d, index)) return fmt::format("argument {} takes no abs", index);
  if (!operand.is_register()) return check_constant(d, index, operand);
  if (operand.count != arg.dwords)
    return fmt::format("argument {} has {} registers, the instruction takes {}", index, operand.count, arg.dwords);
  const std::uint32_t limit = operand.kind == OperandKind::sgpr ? scalar_registers : 256;
  if (operand.value + operand.count > limit) return fmt::format("argument {} is past the last register", index);
  if (operand.kind == OperandKind::sgpr && !exists(operand))
    return fmt::format("argument {} is not a register: encodings 102 and up name single special registers", index);
  if (operand.kind == OperandKind::sgpr && writes_reserved_register(d, index, operand))
    return fmt::format("argument {} can not be m0 or exec here", index);
  const bool is_aperture = operand.kind == OperandKind::sgpr && operand.value >= shared_base.first;
  if (is_aperture && (arg.role != Role::read || d.kind > Kind::SOPC))
    return fmt::format("argument {} can not be an aperture, which 64-bit scalar instructions read", index);
  if (!is_aperture && operand.value % static_cast<std::uint32_t>(alignment(d, operand)) != 0)
    return fmt::format("argument {} starts at register {}, which is not a multiple of {}", index, operand.value,
                       alignment(d, operand));
  return {};
}

bool same_range(const Operand& x, const Operand& y) { return x.value == y.value && x.count == y.count; }

// CDNA4 ISA 6.2.1: a vector instruction reads at most one scalar register (pair) and no literal beside it; VOP3 has no
// room for a literal. m0 as a lane select does not count.
std::string check_constant_bus(const Inst& inst, const Desc& d) {
  static const Operand vcc_read = vcc;
  const Operand* scalar = d.kind == Kind::DIV_FMAS ? &vcc_read : nullptr;
  bool literal = false;
  for (int i = 0; i < max_args; ++i) {
    const Operand& operand = inst.args[static_cast<std::size_t>(i)];
    const Role role = d.args[static_cast<std::size_t>(i)].role;
    if (role != Role::read && role != Role::update) continue;
    if (operand.kind == OperandKind::literal) literal = true;
    if (operand.kind != OperandKind::sgpr) continue;
    if (d.kind == Kind::WRITE_LANE && i == 2 && operand.value == m0.first) continue;
    if (scalar && !same_range(*scalar, operand)) return "reads two different scalar registers";
    scalar = &operand;
  }
  if (literal && scalar) return "reads a literal and a scalar register";
  if (literal && inst.form != Form::e32 && !is_literal_fma(d.kind)) return "VOP3 takes no literal constant";
  return {};
}

// Scalar formats and literal FMAs have one dword for a literal, which several sources may name.
std::string check_scalar_literals(const Inst& inst) {
  const Operand* literal = nullptr;
  for (const Operand& operand : inst.args) {
    if (operand.kind != OperandKind::literal) continue;
    if (literal && literal->value != operand.value) return "reads two different literals";
    literal = &operand;
  }
  return {};
}

// Accumulation registers must serve C and D alike, and the matrix unit reads C while it writes D: one of more than four
// registers is D itself or apart from it (LLVM AMDGPUAsmParser, validateMFMA,
// which lets f8f6f4 through; the hardware's reason is the same there).
std::string check_accumulator(const Inst& inst) {
  const Operand& d = inst.args[0];
  const Operand& c = inst.args[static_cast<std::size_t>(accumulator_argument(inst))];
  if (!c.is_register()) return {};
  if (c.kind != d.kind) return "C and D are in different register files";
  const bool overlap = c.value < d.value + d.count && d.value < c.value + c.count;
  if (d.count > 4 && overlap && c.value != d.value) return "C overlaps D in part";
  return {};
}

bool has_source_modifiers(const Inst& inst) {
  for (const Operand& operand : inst.args)
    if (operand.neg || operand.abs) return true;
  return inst.mods.clamp || inst.mods.omod || inst.mods.op_sel;
}

// DPP reaches vector registers only, and 64 bits only by broadcast within a row.
std::string check_dpp(const Inst& inst, const Desc& d) {
  if (d.kind == Kind::VOPC || d.kind == Kind::CMPX || d.kind == Kind::SWAP_LANES) return "has no DPP form";
  for (int i = 0; i < max_args; ++i) {
    const Arg& a = d.args[static_cast<std::size_t>(i)];
    if (a.role == Role::read && a.type != Type::mask &&
        inst.args[static_cast<std::size_t>(i)].kind != OperandKind::vgpr)
      return "DPP takes vector registers as sources";
  }
  const int control = inst.mods.dpp_ctrl;
  const bool row_broadcast = control >= 0x150 && control <= 0x15f;
  const bool is_wide = d.args[0].dwords == 2 || (d.args[1].dwords == 2 && d.args[1].type != Type::mask);
  if (is_wide && !row_broadcast) return "64-bit DPP takes row_newbcast only";
  const bool shift = control > 0x100 && control < 0x130 && control % 16 != 0;
  const bool wave = control >= 0x130 && control < 0x140 && control % 4 == 0;
  const bool whole = control >= 0x140 && control <= 0x143;
  if (control > 0xff && !shift && !wave && !whole && !row_broadcast)
    return fmt::format("{:#x} is no DPP control", control);
  return inst.mods.clamp || inst.mods.omod ? "DPP takes no clamp or output modifier" : "";
}

bool converts_from_small_floats(const Desc& d) {
  return d.name == "v_cvt_f32_fp8" || d.name == "v_cvt_f32_bf8" || d.name == "v_cvt_pk_f32_fp8" ||
         d.name == "v_cvt_pk_f32_bf8";
}

// SDWA has sources of one register, vector or scalar. Comparisons may write any scalar pair.
std::string check_sdwa(const Inst& inst, const Desc& d) {
  if (!has_sdwa(d)) return "has no SDWA form";
  for (int i = 0; i < max_args; ++i)
    if (d.args[static_cast<std::size_t>(i)].role == Role::read && inst.args[static_cast<std::size_t>(i)].is_constant())
      return "SDWA takes no constants";
  return {};
}

std::string check_form(const Inst& inst, const Desc& d) {
  const bool has_forms = has_short_form(d.kind);
  if (has_forms == (inst.form == Form::natural))
    return has_forms ? "needs an encoding: e32, e64, dpp or sdwa" : "has one encoding only";
  if (inst.form == Form::natural || inst.form == Form::e64) return {};
  if (inst.form == Form::dpp || inst.form == Form::sdwa) {
    const std::string problem = inst.form == Form::dpp ? check_dpp(inst, d) : check_sdwa(inst, d);
    if (!problem.empty()) return problem;
  } else {
    if (has_source_modifiers(inst)) return "e32 has no modifiers";
    const int second = first_source(d.kind) + 1;
    if (d.kind != Kind::VOP1 && d.kind != Kind::SWAP_LANES &&
        inst.args[static_cast<std::size_t>(second)].kind != OperandKind::vgpr)
      return "e32 takes a vector register as its second source";
  }
  for (int i = 0; i < max_args; ++i)
    if (d.args[static_cast<std::size_t>(i)].type == Type::mask && !(i == 0 && inst.form == Form::sdwa) &&
        inst.args[static_cast<std::size_t>(i)] != Operand(vcc))
      return "e32, dpp and sdwa take vcc as the lane mask";
  return {};
}

std::string check_offset(const Inst& inst, const Desc& d) {
  struct Range {
    std::int64_t low, high;
  };
  const bool scalar_register_offset = is_smem_load(d.kind) && inst.args[2].kind == OperandKind::sgpr;
  const Range range = d.pair_stride != 0                                  ? Range{0, 255}
                      : is_lds_kind(d.kind)                               ? Range{0, 65535}
                      : is_flat_kind(d.kind)                              ? Range{0, 4095}
                      : is_buffer_kind(d.kind)                            ? Range{0, 4095}
                      : is_global_kind(d.kind) || is_scratch_kind(d.kind) ? Range{-4096, 4095}
                      : scalar_register_offset ? Range{d.kind == Kind::SMEM_LOAD ? -(1 << 20) : 0, (1 << 20) - 1}
                                               : Range{0, 0};
  // Fast Fourier and rotation patterns of ds_swizzle_b32, and bits that mean nothing.
  if (d.kind == Kind::DS_SWIZZLE && inst.mods.offset >= 0x8000 && (inst.mods.offset & 0xff00) != 0x8000)
    return fmt::format("offset {:#x} is no bit mask (below 0x8000) or quad pattern (0x80..)", inst.mods.offset);
  // Of the encodings that do the same, text knows the one with fewest bits.
  const auto pattern = static_cast<std::uint32_t>(inst.mods.offset);
  if (d.kind == Kind::DS_SWIZZLE && pattern < 0x8000 &&
      ((pattern & pattern >> 5 & 31) != 0 || (pattern >> 10 & ~pattern & 31) != 0))
    return fmt::format("offset {:#x} is a bit mask with redundant bits", inst.mods.offset);
  if (inst.mods.offset >= range.low && inst.mods.offset <= range.high) return {};
  return fmt::format("offset {} is outside {}..{}", inst.mods.offset, range.low, range.high);
}

// The place of an absent address: `off` in buffer and global instructions, and the data of an LDS-DMA load.
bool may_be_absent(const Inst& inst, const Desc& d, int index) {
  if (is_buffer_kind(d.kind)) return index == 1 && !inst.mods.offen && !inst.mods.idxen;
  return index == d.base || (is_scratch_kind(d.kind) && index == d.address);
}

// What the argument must look like here: global addresses are 64 bits, or 32 beside a scalar base; buffer addressing by
// index and offset takes two registers; a scalar offset may be one register.
Arg effective_arg(const Inst& inst, const Desc& d, int index) {
  Arg a = arg(inst, index);
  if (is_smem_load(d.kind) && index == 2) a.dwords = 1;
  if (is_global_kind(d.kind) && index == d.address &&
      inst.args[static_cast<std::size_t>(d.base)].kind != OperandKind::none)
    a.dwords = 1;
  if (is_buffer_kind(d.kind) && index == 1) {
    if (inst.mods.offen && inst.mods.idxen) a.dwords = 2;
    if (!inst.mods.offen && !inst.mods.idxen) a = {};
  }
  return a;
}

// All vector data of a memory instruction is in one file: the encoding has one bit for it (gfx90a and later).
std::string check_data_files(const Inst& inst, const Desc& d) {
  const Operand* data = nullptr;
  for (int i = 0; i < max_args; ++i) {
    const Operand& operand = inst.args[static_cast<std::size_t>(i)];
    if (i == d.address || (operand.kind != OperandKind::vgpr && operand.kind != OperandKind::agpr)) continue;
    if (data && data->kind != operand.kind) return "its data are in different register files";
    data = &operand;
  }
  // LLVM's assembler lacks some of these and its disassembler drops sc1 in others.
  const bool is_global = d.kind == Kind::GLOBAL_ATOMIC || d.kind == Kind::FLAT_ATOMIC;
  const bool is_float =
      d.args[0].type == Type::f32 || d.args[0].type == Type::f64 || d.name.find("pk_add") != std::string_view::npos;
  if (is_global && is_float && inst.args[0].kind == OperandKind::agpr)
    return "floating-point atomics return into architected vector registers only";
  return {};
}

}  // namespace

bool has_short_form(Kind k) {
  return k == Kind::VOP1 || k == Kind::VOP2 || k == Kind::VOP2_ACC || k == Kind::VOPC || k == Kind::CMPX ||
         k == Kind::CARRY_OUT || k == Kind::CARRY_IN || k == Kind::SELECT || k == Kind::SWAP_LANES;
}

bool has_sdwa_result(const Desc& d) {
  return d.kind != Kind::VOPC && d.kind != Kind::CMPX && !converts_from_small_floats(d);
}

bool has_sdwa(const Desc& d) {
  if (!has_short_form(d.kind) || d.kind == Kind::VOP2_ACC || d.kind == Kind::SWAP_LANES) return false;
  if (converts_from_small_floats(d)) return true;
  for (const Arg& a : d.args)
    if (a.dwords == 2 && a.type != Type::mask) return false;
  return true;
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
  if (d.kind == Kind::MIX)
    for (int i = 0; i < 3; ++i)
      if (inst.args[static_cast<std::size_t>(i + 1)].is_constant() && ((op_sel_hi(inst) | inst.mods.op_sel) >> i & 1))
        return "takes a constant as fp32 only";
  if (is_vector_alu_kind(d.kind)) {
    if (std::string problem = check_form(inst, d); !problem.empty()) return problem;
    if (std::string problem = check_constant_bus(inst, d); !problem.empty()) return problem;
  } else if (inst.form != Form::natural) {
    return "has one encoding only";
  }
  if (is_scalar_kind(d.kind) || is_literal_fma(d.kind))
    if (std::string problem = check_scalar_literals(inst); !problem.empty()) return problem;
  if (is_matrix_kind(d.kind))
    if (std::string problem = check_accumulator(inst); !problem.empty()) return problem;
  if (is_lds_kind(d.kind) || is_vmem_kind(d.kind))
    if (std::string problem = check_data_files(inst, d); !problem.empty()) return problem;
  if (std::string problem = check_modifiers(inst); !problem.empty()) return problem;
  return check_offset(inst, d);
}

}  // namespace zyfa::isa
