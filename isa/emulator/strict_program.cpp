#include "isa/emulator/strict_program.h"

#include "isa/hazards.h"
#include "isa/kinds.h"

#include <algorithm>

namespace zyfa::emulator {
namespace {

using isa::Access;
using isa::Inst;
using isa::Kind;
using isa::Op;
using isa::OperandKind;

// Matrix instructions and lane swaps ignore EXEC (CDNA4 ISA pseudo code; emulator).
UsedLanes lanes_of(const Inst& inst) {
  switch (isa::desc(inst.op).kind) {
    case Kind::READ_FIRST_LANE:
      return UsedLanes::first_active;
    case Kind::READ_LANE:
    case Kind::WRITE_LANE:
      return UsedLanes::selected;
    case Kind::SWAP_LANES:
    case Kind::DS_READ_TR:
      return UsedLanes::all;
    default:
      return isa::is_mfma(inst) ? UsedLanes::all : UsedLanes::active;
  }
}

// Compilers build lane masks in loops from registers that they leave undefined: x | exec and x & ~exec settle the lanes
// that run, and nobody looks at the others.
bool settles_mask(const Inst& inst, const Access& a) {
  return (inst.op == Op::s_or_b64 || inst.op == Op::s_andn2_b64) && a.arg == 1 &&
         inst.args[2] == isa::Operand(isa::exec);
}

// A called function saves registers of its caller whether or not there is anything in them.
bool saves_register(const Inst& inst, const Access& a) {
  const isa::Desc& d = isa::desc(inst.op);
  return (d.kind == Kind::SCRATCH_STORE && a.arg == d.data) || (d.kind == Kind::WRITE_LANE && a.arg == 1);
}

Use use_of(const Inst& inst, const Access& a, bool has_calls) {
  const isa::Desc& d = isa::desc(inst.op);
  Use use{.first = a.first,
          .count = static_cast<std::uint8_t>(a.count),
          .is_vector = a.file != OperandKind::sgpr,
          .arg = a.arg};
  if (a.file == OperandKind::agpr) use.first = static_cast<std::uint16_t>(use.first + 256);
  use.lanes = lanes_of(inst);
  if (use.is_vector && a.arg >= 0 && isa::is_valu(inst) && inst.form != isa::Form::sdwa) {
    use.halves = isa::halves_touched(inst, a.arg);
    // The half or bytes that an instruction leaves as they are need not have been written.
    const bool accumulates = d.kind == Kind::VOP2_ACC;
    if (a.arg == 0 && use.halves != 3 && !accumulates) use.may_be_undefined = !a.write;
  }
  // Stores of bytes and halves leave the upper half of their data alone.
  const bool stores = d.cls == isa::Class::VmemStore || d.cls == isa::Class::LdsWrite;
  if (stores && a.arg >= 0 && d.args[static_cast<std::size_t>(a.arg)].type == isa::Type::bits && d.memory_bytes <= 2 &&
      use.is_vector)
    use.halves = 1;
  if (settles_mask(inst, a) || (has_calls && saves_register(inst, a))) use.may_be_undefined = true;
  if (a.arg == 0 && (inst.form == isa::Form::sdwa || d.kind == Kind::WRITE_LANE)) use.may_be_undefined = !a.write;
  return use;
}

Numbers numbers_of(const Inst& inst) {
  const isa::Desc& d = isa::desc(inst.op);
  // SDWA selects parts of registers that are not modelled here.
  if (inst.form == isa::Form::sdwa) return Numbers::none;
  switch (inst.op) {
    case Op::v_cvt_pk_fp8_f32:
    case Op::v_cvt_scalef32_pk_fp8_f32:
      return Numbers::fp8_pair;
    case Op::v_cvt_pk_bf8_f32:
      return Numbers::bf8_pair;
    case Op::v_cvt_pk_bf16_f32:
      return Numbers::bf16_pair;
    case Op::v_cvt_pk_f16_f32:
      return Numbers::f16_pair;
    default:
      break;
  }
  using isa::Type;
  const Type result = d.args[0].type;
  if (isa::is_mfma(inst)) return result == Type::f32 ? Numbers::matrix_f32 : Numbers::none;
  if (d.kind == Kind::PK_F32_2 || d.kind == Kind::PK_F32_3) return Numbers::packed_f32;
  if (d.kind == Kind::PK16_2 || d.kind == Kind::PK16_3)
    return result == Type::f16x2 ? Numbers::packed_f16 : Numbers::none;
  if (d.kind == Kind::MIX) return d.result_bits == 32 ? Numbers::f32 : Numbers::f16;
  // Not those made of codes of 8 bits and less, which bring NaN and infinity of their own.
  bool from_floats = false;
  for (const isa::Arg& a : d.args)
    from_floats |= a.role != isa::Role::write && (a.type == Type::f16 || a.type == Type::f32 || a.type == Type::f64 ||
                                                  a.type == Type::f16x2 || a.type == Type::bf16x2);
  const bool computes = (d.kind >= Kind::VOP1 && d.kind <= Kind::VOP3_3) || d.kind == Kind::HALVES2 ||
                        d.kind == Kind::HALVES3 || d.kind == Kind::DOT || isa::is_literal_fma(d.kind);
  if (!from_floats || !computes) return Numbers::none;
  return result == Type::f32   ? Numbers::f32
         : result == Type::f64 ? Numbers::f64
         : result == Type::f16 ? Numbers::f16
                               : Numbers::none;
}

}  // namespace

StrictProgram::StrictProgram(const isa::Program& program, const isa::Machine& machine, bool unaligned)
    : program_(program), machine_(machine), lds_granule_log2_(unaligned ? 0 : 2) {
  facts_.reserve(program.code.size());
  has_calls_ = std::ranges::any_of(program.code, [](const Inst& inst) { return isa::jumps(isa::desc(inst.op).kind); });
  for (const Inst& inst : program.code) {
    facts_.push_back(facts_of(inst));
    cover_reach(static_cast<std::uint32_t>(facts_.size() - 1));
    const isa::Desc& d = isa::desc(inst.op);
    const bool is_flat = isa::counter(inst) == isa::Counter::both;
    const bool is_lds = d.cls == isa::Class::LdsRead || d.cls == isa::Class::LdsWrite;
    if ((is_lds || is_flat) && d.memory_bytes % 4 != 0) lds_granule_log2_ = 0;
    has_lds_atomics_ |= (is_lds || is_flat) && isa::is_atomic(d.kind);
  }
}

Facts StrictProgram::facts_of(const Inst& inst) {
  const isa::Desc& d = isa::desc(inst.op);
  Facts f;
  f.use = static_cast<std::uint32_t>(uses_.size());
  const std::vector<Access> touched = isa::accesses(inst);
  for (const bool write : {false, true})
    for (const Access& a : touched) {
      if (a.write != write || a.first >= isa::first_hardware_register) continue;
      uses_.push_back(use_of(inst, a, has_calls_));
      ++(write ? f.writes : f.reads);
    }
  const bool branches_on_scc = inst.op == Op::s_cbranch_scc0 || inst.op == Op::s_cbranch_scc1;
  f.reads_scc = branches_on_scc || d.scc == isa::SccUse::reads || d.scc == isa::SccUse::updates;
  f.writes_scc = d.scc == isa::SccUse::writes || d.scc == isa::SccUse::updates;
  f.counter = isa::counter(inst);
  f.in_order = (f.counter == isa::Counter::vm || f.counter == isa::Counter::lgkm) && d.cls != isa::Class::Smem;
  f.is_lds_dma = isa::is_lds_dma(inst);
  f.numbers = numbers_of(inst);
  f.copies = (inst.op == Op::v_mov_b32 || inst.op == Op::v_cndmask_b32) &&
             (inst.form == isa::Form::e32 || inst.form == isa::Form::e64);
  for (const Access& a : touched)
    for (const Access& b : touched) f.result_overlaps_source |= a.write && !b.write && touch(a, b);
  f.wait_states = static_cast<std::uint8_t>(isa::wait_states(inst));
  f.reach = static_cast<std::uint8_t>(isa::wait_state_reach(inst, machine_));
  return f;
}

void StrictProgram::cover_reach(std::uint32_t index) {
  Facts& f = facts_[index];
  int covered = 0;
  for (std::uint32_t i = index; i > 0 && covered < f.reach; ++f.behind) covered += facts_[--i].wait_states;
  if (covered < f.reach) f.behind = never_covered;
}

}  // namespace zyfa::emulator
