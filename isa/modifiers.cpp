#include "isa/modifiers.h"

#include "isa/text_tables.h"

#include <algorithm>

namespace zyfa::isa {
namespace {

// Rows with op_sel_hi.
bool is_packed(Kind k) {
  return (k >= Kind::PK_F32_2 && k <= Kind::PK_MOVE) || k == Kind::PK16_2 || k == Kind::PK16_3 || k == Kind::MIX;
}

// Which sources neg_lo and neg_hi may turn.
int negation_mask(const Desc& d) {
  switch (d.kind) {
    case Kind::PK_F32_2:
      return 3;
    case Kind::PK_F32_3:
      return 7;
    case Kind::PK16_2:
    case Kind::PK16_3:
      return d.args[1].type == Type::f16x2 ? (d.kind == Kind::PK16_2 ? 3 : 7) : 0;
    case Kind::DOT:
      return d.args[0].type == Type::f32 ? 3 : 0;
    default:
      return 0;
  }
}

bool computes_floats(const Desc& d) {
  return std::any_of(d.args.begin(), d.args.end(),
                     [](const Arg& a) { return a.type == Type::f32 || a.type == Type::f64 || a.type == Type::f16; });
}

// LLVM also takes clamp where the result can't leave the range or is no number (v_alignbit_b32, comparisons);
// the emulator gives it no meaning there, and neither do we.
bool takes_clamp(const Inst& inst, const Desc& d) {
  switch (d.kind) {
    case Kind::VOP1:
    case Kind::VOP2:
    case Kind::VOP2_ACC:
    case Kind::VOP3_2:
    case Kind::VOP3_3:
    case Kind::PACK_U8:
    case Kind::DIV_FMAS:
      if (computes_floats(d)) return true;
      break;
    case Kind::HALVES2:
    case Kind::HALVES3:
      if (d.args[0].type == Type::f16) return true;
      break;
    case Kind::PK16_2:
    case Kind::PK16_3:
      if (d.args[0].type == Type::f16x2) return true;
      break;
    case Kind::DOT:
    case Kind::MIX:
    case Kind::PK_F32_2:
    case Kind::PK_F32_3:
    case Kind::CARRY_OUT:
    case Kind::CARRY_IN:
      return true;
    case Kind::HALF2:
    case Kind::HALF3:
      break;
    default:
      return false;
  }
  return inst.op == Op::v_mul_i32_i24 || inst.op == Op::v_mul_u32_u24 || saturates(inst.op);
}

bool takes_output_modifier(const Inst& inst, const Desc& d) {
  const bool kind = d.kind == Kind::VOP1 || d.kind == Kind::VOP2 || d.kind == Kind::VOP2_ACC ||
                    d.kind == Kind::VOP3_2 || d.kind == Kind::VOP3_3 || d.kind == Kind::DIV_FMAS;
  if (inst.form == Form::sdwa && d.args[0].type != Type::f32) return false;
  const bool halves = (d.kind == Kind::HALVES2 || d.kind == Kind::HALVES3) && d.args[0].type == Type::f16;
  const bool refuses = inst.op == Op::v_cvt_pknorm_i16_f32 || inst.op == Op::v_cvt_pknorm_u16_f32 ||
                       inst.op == Op::v_cvt_rpi_i32_f32 || inst.op == Op::v_cvt_flr_i32_f32 ||
                       inst.op == Op::v_frexp_exp_i32_f32;
  return halves || (kind && computes_floats(d) && !refuses);
}

// blgp: the rows with several blocks, FP32 (lane groups of B) and FP64 (signs). LLVM takes cbsz, abid and blgp in every
// row; AMD documents no meaning for the others (matrix instruction calculator, CDNA3).
bool takes_lane_groups(const Desc& d) {
  const Type a = d.args[1].type;
  return d.blocks > 1 || a == Type::f32 || a == Type::f64;
}

// cbsz: A of one block, number abid, goes to 2^cbsz blocks. FP64 has blocks, but not this.
std::string check_broadcast(const Inst& inst, const Desc& d) {
  const Modifiers& mods = inst.mods;
  if (mods.abid > 15 || mods.cbsz > 7 || mods.blgp > 7)
    return fmt::format("cbsz {} or blgp {} is outside 0..7, or abid {} outside 0..15", mods.cbsz, mods.blgp, mods.abid);
  if (d.kind != Kind::MFMA) return {};
  const int blocks = d.args[1].type == Type::f64 ? 1 : d.blocks;
  if (1 << mods.cbsz > blocks) return fmt::format("cbsz {} broadcasts to more than {} blocks", mods.cbsz, blocks);
  if (mods.abid >= 1 << mods.cbsz)
    return fmt::format("abid {} is none of the {} blocks of cbsz {}", mods.abid, 1 << mods.cbsz, mods.cbsz);
  return {};
}

// The fields that the row takes, set back to their initial values. What then still differs is one too many.
Modifiers without_taken(const Inst& inst, const Desc& d) {
  Modifiers left = inst.mods;
  left.offset = 0;
  if (takes_clamp(inst, d)) left.clamp = false;
  if (takes_output_modifier(inst, d)) left.omod = 0;
  if (inst.form == Form::dpp) {
    left.dpp_ctrl = 0;
    left.dpp_row_mask = left.dpp_bank_mask = 0;
    left.dpp_bound_ctrl = false;
  }
  const bool buffer = d.kind >= Kind::BUFFER_LOAD && d.kind <= Kind::BUFFER_ATOMIC;
  if (d.pair_stride != 0) left.offset1 = 0;
  if (buffer) left.offen = left.idxen = false;
  if (d.kind >= Kind::BUFFER_LOAD && d.kind <= Kind::CACHE_INVALIDATE) left.sc0 = left.sc1 = false;
  if (d.kind >= Kind::BUFFER_LOAD && d.kind <= Kind::SCRATCH_STORE) left.nt = false;
  if (d.kind == Kind::BUFFER_LOAD) left.lds = false;
  if (d.kind == Kind::WAITCNT) left.vmcnt = left.expcnt = left.lgkmcnt = Modifiers::not_waited;
  left.op_sel &= static_cast<std::uint8_t>(~op_sel_mask(d));
  // The row's default is not written (inst.h).
  Inst plain = inst;
  plain.mods.op_sel_hi = Modifiers::row_default;
  const bool has_op_sel_hi = is_packed(d.kind) || d.kind == Kind::F8F6F4_SCALED;
  if (has_op_sel_hi && op_sel_hi(inst) <= op_sel_mask(d) && inst.mods.op_sel_hi != op_sel_hi(plain))
    left.op_sel_hi = Modifiers::row_default;
  left.neg_lo &= static_cast<std::uint8_t>(~negation_mask(d));
  left.neg_hi &= static_cast<std::uint8_t>(~negation_mask(d));
  if (d.kind == Kind::BITOP3) left.bitop3 = 0;
  if (d.kind == Kind::SMFMAC || d.blocks > 1) left.cbsz = left.abid = 0;
  if (d.kind == Kind::MFMA && takes_lane_groups(d)) left.blgp = 0;
  if (inst.form == Form::sdwa) {
    const int sources = d.args[static_cast<std::size_t>(first_source(d.kind) + 1)].role == Role::read ? 2 : 1;
    left.src0_sel = Modifiers::whole_dword;
    if (sources == 2 && d.kind != Kind::VOP1) left.src1_sel = Modifiers::whole_dword;
    for (int i = 0; i < sources; ++i)
      if (takes_sext(d, first_source(d.kind) + i)) left.sext &= static_cast<std::uint8_t>(~(1 << i));
    if (has_sdwa_result(d)) {
      left.dst_sel = Modifiers::whole_dword;
      left.dst_unused = DstUnused::pad;
    }
  }
  if (d.kind == Kind::F8F6F4 || d.kind == Kind::F8F6F4_SCALED) left.cbsz = left.blgp = 0;
  return left;
}

}  // namespace

bool takes_source_modifiers(const Desc& d, int index) {
  const Arg& a = d.args[static_cast<std::size_t>(index)];
  // A selection picks bits, which it may take for fp32 on the way.
  if (d.kind == Kind::SELECT) return a.role == Role::read && a.type == Type::u32;
  const bool is_float = a.type == Type::f32 || a.type == Type::f64 || a.type == Type::f16 || a.type == Type::bf16;
  const bool kind = (d.kind >= Kind::VOP1 && d.kind <= Kind::CMPX) || d.kind == Kind::MIX;
  return a.role == Role::read && is_float && kind;
}
bool takes_abs(const Desc& d, int index) { return takes_source_modifiers(d, index) && d.kind != Kind::DIV_SCALE; }

bool takes_sext(const Desc& d, int index) {
  const Arg& a = d.args[static_cast<std::size_t>(index)];
  const bool is_integer = a.type == Type::u32 || a.type == Type::i32 || a.type == Type::u16 || a.type == Type::i16;
  const bool is_comparison = d.kind == Kind::VOPC || d.kind == Kind::CMPX;
  return a.role == Role::read && is_integer && d.kind != Kind::SELECT && (is_comparison || has_sdwa_result(d));
}

bool has_signs_in_blgp(const Desc& d) { return d.kind == Kind::MFMA && d.args[1].type == Type::f64; }

std::string check_modifiers(const Inst& inst) {
  const Desc& d = desc(inst.op);
  const Modifiers& mods = inst.mods;
  if (without_taken(inst, d) != Modifiers{}) return "has a modifier that the instruction does not take";
  if (mods.omod > 3) return fmt::format("output modifier {} is outside 0..3", mods.omod);
  if (mods.dst_sel > Modifiers::whole_dword || mods.src0_sel > Modifiers::whole_dword ||
      mods.src1_sel > Modifiers::whole_dword)
    return "an SDWA select is outside 0..6";
  if (mods.dpp_row_mask > 15 || mods.dpp_bank_mask > 15) return "a DPP mask has more than 4 bits";
  const bool has_formats = d.kind == Kind::F8F6F4 || d.kind == Kind::F8F6F4_SCALED;
  if (has_formats && (mods.cbsz > 4 || mods.blgp > 4))
    return fmt::format("cbsz {} or blgp {} is none of the formats 0..4", mods.cbsz, mods.blgp);
  if (!has_formats)
    if (std::string problem = check_broadcast(inst, d); !problem.empty()) return problem;
  if (mods.lds && (d.memory_bytes < 4 || d.memory_bytes == 8)) return "LDS-DMA moves 1, 3 or 4 dwords per lane";
  for (const WaitField& wait : wait_fields)
    if (mods.*wait.field != Modifiers::not_waited && mods.*wait.field >= wait.highest)
      return fmt::format("{}({}) is outside 0..{}", wait.name, mods.*wait.field, wait.highest - 1);
  return {};
}

}  // namespace zyfa::isa
