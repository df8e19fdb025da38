#include "tests/support/random_inst.h"

#include "isa/modifiers.h"
#include "isa/text_tables.h"

namespace zyfa::tests {
namespace {

using namespace zyfa::isa;

// 0..n-1. std::uniform_int_distribution would differ between standard libraries.
std::uint32_t below(std::uint32_t n, Rng& rng) { return static_cast<std::uint32_t>(rng() % n); }
std::uint8_t byte_below(std::uint32_t n, Rng& rng) { return static_cast<std::uint8_t>(below(n, rng)); }
bool one_in(std::uint32_t n, Rng& rng) { return below(n, rng) == 0; }

bool is_memory(Kind k) { return k >= Kind::DS_READ; }
bool is_buffer(Kind k) { return k >= Kind::BUFFER_LOAD && k <= Kind::BUFFER_ATOMIC; }
bool is_global(Kind k) { return k >= Kind::GLOBAL_LOAD && k <= Kind::GLOBAL_ATOMIC; }
bool is_scratch(Kind k) { return k == Kind::SCRATCH_LOAD || k == Kind::SCRATCH_STORE; }
bool is_scalar_load(Kind k) { return k == Kind::SMEM_LOAD || k == Kind::SMEM_BUFFER_LOAD; }
bool is_matrix(Kind k) { return k >= Kind::MFMA && k <= Kind::F8F6F4_SCALED; }

Operand random_vector(OperandKind file, int count, Rng& rng) {
  const std::uint32_t step = count > 1 ? 2 : 1;
  return {file, below((256 - static_cast<std::uint32_t>(count)) / step + 1, rng) * step, count};
}

Operand vector_or_accumulator(int count, Rng& rng) {
  return random_vector(one_in(3, rng) ? OperandKind::agpr : OperandKind::vgpr, count, rng);
}

Operand random_scalar(int count, Rng& rng) {
  if (count <= 2 && one_in(4, rng)) {
    const SpecialRegister& special = special_registers[below(special_registers.size(), rng)];
    if (special.count == count) return {OperandKind::sgpr, special.first, count};
  }
  const std::uint32_t step = count > 2 ? 4 : static_cast<std::uint32_t>(count);
  const std::uint32_t last = allocatable_scalar_registers - static_cast<std::uint32_t>(count);
  return {OperandKind::sgpr, below(last / step + 1, rng) * step, count};
}

Operand random_constant(Rng& rng) {
  switch (below(3, rng)) {
    case 0:
      return Operand::constant(static_cast<int>(below(81, rng)) - 16);
    case 1:
      return Operand::constant(inline_floats[below(inline_floats.size(), rng)]);
    default:
      return Operand::constant(static_cast<std::uint32_t>(rng()));
  }
}

Operand scalar_argument(const Desc& d, int index, const Arg& a, Rng& rng) {
  switch (d.kind) {
    case Kind::BRANCH:
      return {OperandKind::integer, below(0x10000, rng)};
    case Kind::SOPP_COUNT:
      return {OperandKind::integer, below(128, rng)};
    case Kind::SOPK:
    case Kind::SOPK_COMPARE:
      return index == 1 ? Operand(OperandKind::literal, below(0x10000, rng)) : random_scalar(1, rng);
    case Kind::GET_PC:
    case Kind::SET_PC:
    case Kind::CALL:
      return random_scalar(2, rng);
    case Kind::GET_REG:
    case Kind::SET_REG:
    case Kind::SET_REG_LITERAL:
      if (index == hardware_field_argument(d.kind)) return {OperandKind::integer, below(0x10000, rng)};
      return d.kind == Kind::SET_REG_LITERAL ? random_constant(rng) : random_scalar(1, rng);
    case Kind::INDEX_ON:
    case Kind::INDEX_OPERANDS:
      if (a.dwords == 0) return {OperandKind::integer, below(16, rng)};
      break;
    case Kind::SMEM_LOAD:
    case Kind::SMEM_BUFFER_LOAD:
      if (index != 2) return random_scalar(a.dwords, rng);
      if (one_in(3, rng)) return random_scalar(1, rng);
      return {OperandKind::literal, below(1 << 21, rng) - (1u << 20)};
    default:
      break;
  }
  if (a.role == Role::read && one_in(3, rng)) return random_constant(rng);
  return random_scalar(a.dwords, rng);
}

Operand memory_argument(const Inst& inst, const Desc& d, int index, const Arg& a, Rng& rng) {
  if (is_buffer(d.kind)) {
    if (index == 0) return is_lds_dma(inst) ? Operand{} : vector_or_accumulator(a.dwords, rng);
    if (index == 2) return random_scalar(4, rng);
    if (index == 3) return one_in(3, rng) ? random_constant(rng) : random_scalar(1, rng);
    const int addresses = inst.mods.offen + inst.mods.idxen;
    return addresses ? random_vector(OperandKind::vgpr, addresses, rng) : Operand{};
  }
  if (index == d.base) return one_in(2, rng) ? Operand{} : random_scalar(is_scratch(d.kind) ? 1 : 2, rng);
  if (is_scratch(d.kind) && index == d.address && one_in(2, rng)) return {};
  if (index != d.address) return vector_or_accumulator(a.dwords, rng);
  // A global address is 64 bits alone and 32 beside a scalar base, which a random guess gets right often
  // enough.
  return random_vector(OperandKind::vgpr, is_global(d.kind) && one_in(2, rng) ? 1 : a.dwords, rng);
}

Operand matrix_argument(const Inst& inst, int index, const Arg& a, Rng& rng) {
  const bool sparse = desc(inst.op).kind == Kind::SMFMAC;
  if (index >= 4 || (sparse && index == 3)) return random_vector(OperandKind::vgpr, 1, rng);
  if (a.type == Type::f8f6f4) {
    // LLVM's disassembler reads 8 registers before it looks at the format, so that it fails on narrower
    // sources at the very end of the file, which the assembler takes.
    Operand source = vector_or_accumulator(8, rng);
    source.count = a.dwords;
    return source;
  }
  if (index != 3) return vector_or_accumulator(a.dwords, rng);
  if (one_in(3, rng)) return random_constant(rng);
  return one_in(2, rng) ? inst.args[0] : random_vector(inst.args[0].kind, a.dwords, rng);
}

Operand vector_argument(const Inst& inst, const Desc& d, int index, const Arg& a, Rng& rng) {
  const bool compares = d.kind == Kind::VOPC || d.kind == Kind::CMPX;
  const bool takes_vcc = inst.form == Form::e32 || inst.form == Form::dpp || (inst.form == Form::sdwa && !compares);
  if (a.type == Type::mask) return takes_vcc ? Operand(vcc) : random_scalar(2, rng);
  if (d.kind == Kind::VOP2_MK || d.kind == Kind::VOP2_AK) {
    if (index == (d.kind == Kind::VOP2_MK ? 2 : 3)) return {OperandKind::literal, static_cast<std::uint32_t>(rng())};
    if (index != 1 && a.role == Role::read) return random_vector(OperandKind::vgpr, 1, rng);
  }
  if (d.kind == Kind::ACC_WRITE && index == 0) return random_vector(OperandKind::agpr, 1, rng);
  if (d.kind == Kind::ACC_READ && index == 1) return random_vector(OperandKind::agpr, 1, rng);
  const bool reads_lane = d.kind == Kind::READ_LANE || d.kind == Kind::READ_FIRST_LANE;
  if (reads_lane && index == 0) return random_scalar(1, rng);
  if (a.role != Role::read) return random_vector(OperandKind::vgpr, a.dwords, rng);
  Operand operand;
  if (inst.form == Form::dpp || (reads_lane && index == 1) || one_in(2, rng))
    operand = random_vector(OperandKind::vgpr, a.dwords, rng);
  else
    operand = one_in(2, rng) ? random_scalar(a.dwords, rng) : random_constant(rng);
  if (d.kind == Kind::WRITE_LANE && operand.kind == OperandKind::vgpr) operand = random_scalar(1, rng);
  if (inst.form != Form::e32 && takes_source_modifiers(d, index)) {
    operand.neg = one_in(4, rng);
    operand.abs = takes_abs(d, index) && one_in(4, rng);
  }
  return operand;
}

void choose_dpp(Modifiers& mods, Rng& rng) {
  const std::uint32_t choice = below(dpp_controls.size() + 1, rng);
  if (choice == dpp_controls.size()) {
    mods.dpp_ctrl = static_cast<std::uint16_t>(below(last_quad_permutation + 1, rng));
  } else {
    const DppControl& control = dpp_controls[choice];
    mods.dpp_ctrl = static_cast<std::uint16_t>(control.code + below(control.high - control.low + 1u, rng));
  }
  mods.dpp_row_mask = byte_below(16, rng);
  mods.dpp_bank_mask = byte_below(16, rng);
  mods.dpp_bound_ctrl = one_in(2, rng);
}

void choose_sdwa(Modifiers& mods, const Desc& d, Rng& rng) {
  mods.src0_sel = byte_below(7, rng);
  if (d.kind != Kind::VOP1) mods.src1_sel = byte_below(7, rng);
  const int first = first_source(d.kind);
  for (int i = 0; i < 2; ++i)
    if (takes_sext(d, first + i) && one_in(3, rng)) mods.sext |= static_cast<std::uint8_t>(1 << i);
  if (!has_sdwa_result(d)) return;
  mods.dst_sel = byte_below(7, rng);
  mods.dst_unused = static_cast<DstUnused>(below(3, rng));
}

void choose_packed(Inst& inst, const Desc& d, Rng& rng) {
  Modifiers& mods = inst.mods;
  const std::uint32_t combinations = op_sel_mask(d) + 1u;
  const std::uint8_t row_default = op_sel_hi(inst);
  mods.op_sel = byte_below(combinations, rng);
  mods.op_sel_hi = byte_below(combinations, rng);
  if (mods.op_sel_hi == row_default) mods.op_sel_hi = Modifiers::row_default;
  const bool turns_halves = (d.kind == Kind::PK16_2 || d.kind == Kind::PK16_3) && d.args[0].type == Type::f16x2;
  if (d.kind != Kind::PK_F32_2 && d.kind != Kind::PK_F32_3 && !turns_halves) return;
  mods.neg_lo = byte_below(combinations, rng);
  mods.neg_hi = byte_below(combinations, rng);
}

void choose_memory(Modifiers& mods, const Desc& d, Rng& rng) {
  const Kind kind = d.kind;
  const bool lds = kind >= Kind::DS_READ && kind <= Kind::DS_SWIZZLE;
  if (kind < Kind::CACHE_WRITE_BACK && one_in(2, rng)) {
    mods.offset = static_cast<std::int32_t>(below(d.pair_stride ? 0x100 : lds ? 0x10000 : 0x1000, rng));
    if ((is_global(kind) || is_scratch(kind)) && one_in(2, rng)) mods.offset = -1 - mods.offset;
  }
  if (d.pair_stride) mods.offset1 = byte_below(256, rng);
  if (lds) return;
  mods.sc0 = one_in(3, rng);
  mods.sc1 = one_in(3, rng);
  mods.nt = kind < Kind::CACHE_WRITE_BACK && one_in(3, rng);
  if (!is_buffer(kind)) return;
  mods.offen = one_in(2, rng);
  mods.idxen = one_in(2, rng);
  mods.lds = kind == Kind::BUFFER_LOAD && one_in(3, rng);
}

void choose_modifiers(Inst& inst, const Desc& d, Rng& rng) {
  Modifiers& mods = inst.mods;
  if (inst.form == Form::dpp) return choose_dpp(mods, rng);
  if (inst.form == Form::sdwa) choose_sdwa(mods, d, rng);
  if (is_memory(d.kind)) return choose_memory(mods, d, rng);
  if (d.kind == Kind::WAITCNT) {
    for (const WaitField& wait : wait_fields)
      if (one_in(2, rng)) mods.*wait.field = byte_below(wait.highest, rng);
    return;
  }
  if (is_matrix(d.kind)) {
    const bool plain = d.kind == Kind::MFMA || d.kind == Kind::SMFMAC;
    mods.cbsz = byte_below(d.kind == Kind::MFMA && d.blocks == 1 ? 1 : plain ? 8 : 5, rng);
    if (d.kind != Kind::SMFMAC) mods.blgp = byte_below(plain ? 8 : 5, rng);
    if (plain) mods.abid = byte_below(d.kind == Kind::SMFMAC ? 16u : 1u << mods.cbsz, rng);
    const Type a = d.args[1].type;
    if (d.kind == Kind::MFMA && d.blocks == 1 && a != Type::f32 && a != Type::f64) mods.blgp = 0;
    if (d.kind == Kind::F8F6F4_SCALED) choose_packed(inst, d, rng);
    return;
  }
  const bool halves = d.kind == Kind::PK16_2 || d.kind == Kind::PK16_3 || d.kind == Kind::MIX;
  if ((d.kind >= Kind::PK_F32_2 && d.kind <= Kind::PK_MOVE) || halves)
    choose_packed(inst, d, rng);
  else
    mods.op_sel = byte_below(16, rng) & op_sel_mask(d);
  if (d.kind == Kind::BITOP3) mods.bitop3 = byte_below(256, rng);
  if (d.kind == Kind::DOT && d.args[0].type == Type::f32 && one_in(2, rng)) mods.neg_lo = byte_below(4, rng);
  if (d.kind < Kind::VOP1 || d.kind > Kind::PK_F32_3 || inst.form == Form::e32) return;
  mods.clamp = one_in(4, rng);
  if (one_in(4, rng)) mods.omod = byte_below(4, rng);
}

Inst guess(Op op, Rng& rng) {
  const Desc& d = desc(op);
  Inst inst{.op = op};
  constexpr Form forms[] = {Form::e32, Form::e64, Form::dpp, Form::sdwa};
  if (has_short_form(d.kind)) inst.form = forms[below(4, rng)];
  choose_modifiers(inst, d, rng);
  for (int i = 0; i < max_args; ++i) {
    const Arg a = arg(inst, i);
    Operand& operand = inst.args[static_cast<std::size_t>(i)];
    if (a.role == Role::none) continue;
    if (d.kind <= Kind::SMEM_CACHE)
      operand = scalar_argument(d, i, a, rng);
    else if (is_memory(d.kind))
      operand = memory_argument(inst, d, i, a, rng);
    else if (is_matrix(d.kind))
      operand = matrix_argument(inst, i, a, rng);
    else
      operand = vector_argument(inst, d, i, a, rng);
  }
  if (is_scalar_load(d.kind) && inst.args[2].kind == OperandKind::sgpr && one_in(2, rng))
    inst.mods.offset = static_cast<std::int32_t>(below(1 << 21, rng)) - (1 << 20);
  return inst;
}

}  // namespace

isa::Inst random_inst(isa::Op op, Rng& rng) {
  constexpr int attempts = 10000;  // the worst rows need some tens on average
  std::string problem;
  for (int i = 0; i < attempts; ++i) {
    const Inst inst = guess(op, rng);
    problem = validate(inst);
    if (problem.empty()) return inst;
  }
  throw Error("no valid random {} in {} attempts; the last: {}", desc(op).name, attempts, problem);
}

}  // namespace zyfa::tests
