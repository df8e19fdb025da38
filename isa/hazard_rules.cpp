// Rules follow LLVM's GCNHazardRecognizer for gfx950 unless docs/hazards.md says otherwise. Their numbers
// stand in machine.def.

#include "isa/hazard_rules.h"

namespace zyfa::isa {
namespace {

// Which instructions.

bool is_sgemm(const Inst& i) { return is_mfma(i) && desc(i.op).args[1].type == Type::f32; }
bool is_dgemm(const Inst& i) { return is_mfma(i) && desc(i.op).args[1].type == Type::f64; }
bool is_fma64(const Inst& i) { return i.op == Op::v_fma_f64 || i.op == Op::v_fmac_f64; }
bool is_sgemm_or_dgemm(const Inst& i) { return is_sgemm(i) || is_dgemm(i); }
bool is_xdl(const Inst& i) { return is_mfma(i) && !is_sgemm_or_dgemm(i); }
bool is_lds(const Inst& i) { return desc(i.op).cls == Class::LdsRead || desc(i.op).cls == Class::LdsWrite; }
bool is_salu(const Inst& i) { return desc(i.op).cls == Class::Salu; }
bool is_trans(const Inst& i) { return desc(i.op).cls == Class::Trans; }
// May keep the old value of lanes, so the destination counts as read (LLVM's operand `old`).
bool is_dpp(const Inst& i) { return i.form == Form::dpp; }
bool is_swap(const Inst& i) { return desc(i.op).kind == Kind::SWAP_LANES; }
bool is_div_fmas(const Inst& i) { return desc(i.op).kind == Kind::DIV_FMAS; }
bool sets_hardware_register(const Inst& i) {
  return names_hardware_register(desc(i.op).kind) && desc(i.op).kind != Kind::GET_REG;
}
bool uses_hardware_register(const Inst& i) { return names_hardware_register(desc(i.op).kind); }
bool is_any(const Inst&) { return true; }

// LLVM counts matrix instructions and LDS-DMA loads among the vector ALU's.
bool is_valu_like(const Inst& i) { return is_valu(i) || is_mfma(i) || is_lds_dma(i); }
bool is_valu_like_not_trans(const Inst& i) { return is_valu_like(i) && !is_trans(i); }
bool is_memory(const Inst& i) { return is_vmem(i) || is_lds(i); }
bool is_valu_or_memory(const Inst& i) { return is_valu(i) || is_memory(i); }

bool reads_lane(const Inst& i) {
  return desc(i.op).kind == Kind::READ_LANE || desc(i.op).kind == Kind::READ_FIRST_LANE;
}
bool accesses_lane(const Inst& i) { return reads_lane(i) || desc(i.op).kind == Kind::WRITE_LANE; }

// Results that must be moved into place within the destination register: conversions to FP8 and their like
// whichever half they write, op_sel's destination bit elsewhere, and SDWA that writes less than a dword.
bool writes_part(const Inst& i) {
  const Desc& d = desc(i.op);
  if (i.form == Form::sdwa) return i.mods.dst_sel != Modifiers::whole_dword;
  if ((d.kind == Kind::HALF2 || d.kind == Kind::HALF3) && !is_16_bits(d.args[1].type)) return true;
  if (d.kind == Kind::BYTE2 || d.kind == Kind::BYTE3 || d.kind == Kind::PART_TO_HALF) return true;
  return is_valu(i) && d.cls != Class::ValuPacked && (i.mods.op_sel & 8) != 0;
}
bool is_packed_by_halves(const Inst& i) {
  const Kind k = desc(i.op).kind;
  const bool packed = k == Kind::PK16_2 || k == Kind::PK16_3 || k == Kind::DOT || k == Kind::MIX;
  return (packed || desc(i.op).cls == Class::ValuPacked) && (op_sel_hi(i) & 1) != 0;
}
bool is_dot(const Inst& i) { return desc(i.op).cls == Class::Dot; }

// More than 64 bits of data. A scalar offset register costs a buffer store a cycle in which its data is safe.
bool is_wide_store(const Inst& i) {
  const Desc& d = desc(i.op);
  return d.cls == Class::VmemStore && d.data >= 0 && arg(i, d.data).dwords > 2;
}
bool has_scalar_offset(const Inst& i) {
  const Kind k = desc(i.op).kind;
  return (k == Kind::BUFFER_STORE || k == Kind::BUFFER_ATOMIC) && i.args[3].kind == OperandKind::sgpr;
}
bool is_wide_store_without_offset(const Inst& i) { return is_wide_store(i) && !has_scalar_offset(i); }

// Which of their operands.

bool in_vector_file(const Access& a) { return a.file != OperandKind::sgpr; }
bool is_exec(const Access& a) {
  return a.file == OperandKind::sgpr && a.first + a.count > exec.first && a.first < exec.first + 2;
}
bool is_m0(const Access& a) {
  return a.file == OperandKind::sgpr && a.first <= m0.first && m0.first < a.first + a.count;
}

bool vgpr_write(const Inst&, const Access& a) { return a.write && in_vector_file(a); }
bool vgpr_read(const Inst&, const Access& a) { return !a.write && in_vector_file(a); }
bool sgpr_write(const Inst&, const Access& a) { return a.write && !in_vector_file(a); }
bool sgpr_read(const Inst&, const Access& a) { return !a.write && !in_vector_file(a); }
bool named_sgpr_read(const Inst& i, const Access& a) { return sgpr_read(i, a) && a.arg >= 0; }
bool vgpr_access(const Inst&, const Access& a) { return in_vector_file(a); }
bool exec_write(const Inst&, const Access& a) { return a.write && is_exec(a); }
bool exec_read(const Inst&, const Access& a) { return !a.write && is_exec(a); }
bool is_vcc(const Access& a) {
  return a.file == OperandKind::sgpr && a.first < vcc.first + 2 && vcc.first < a.first + a.count;
}
bool vcc_write(const Inst&, const Access& a) { return a.write && is_vcc(a); }
bool vcc_read(const Inst&, const Access& a) { return !a.write && is_vcc(a); }
bool m0_write(const Inst&, const Access& a) { return a.write && is_m0(a); }
bool m0_read(const Inst&, const Access& a) { return !a.write && is_m0(a); }
bool hardware_register(const Inst&, const Access& a) {
  return a.first >= first_hardware_register && !in_vector_file(a);
}
bool matrix_c(const Inst& i, const Access& a) { return is_mfma(i) && !a.write && a.arg == accumulator_argument(i); }
bool matrix_source(const Inst& i, const Access& a) { return vgpr_read(i, a) && a.arg != accumulator_argument(i); }
bool lane_select(const Inst& i, const Access& a) {
  const Kind k = desc(i.op).kind;
  return (k == Kind::READ_LANE || k == Kind::WRITE_LANE) && sgpr_read(i, a) && a.arg == 2;
}
// Everything but the accumulator.
bool dot_factor(const Inst& i, const Access& a) {
  const int accumulator = desc(i.op).kind == Kind::DOT ? 3 : 0;
  return vgpr_read(i, a) && a.arg != accumulator;
}
bool store_data(const Inst& i, const Access& a) { return vgpr_read(i, a) && a.arg == desc(i.op).data; }

using M = Machine;
using enum Meet;

// clang-format off
constexpr Rule rules[] = {
  // name                                        producer              consumer                                    required
  {"XDL result read by VALU or memory",          is_xdl, vgpr_write,   is_valu_or_memory, vgpr_read,      overlap, &M::xdl_write_to_read},
  {"XDL result overwritten by VALU or memory",   is_xdl, vgpr_write,   is_valu_or_memory, vgpr_write,     overlap, &M::xdl_write_to_write},
  {"XDL result as matrix source A, B or scale",  is_xdl, vgpr_write,   is_mfma, matrix_source,            overlap, &M::xdl_write_to_matrix_source},
  {"XDL result in part of an XDL's C",           is_xdl, vgpr_write,   is_xdl, matrix_c,                  part,    &M::xdl_write_to_part_of_xdl_c},
  {"XDL result in part of an FP32 or FP64 MFMA's C", is_xdl, vgpr_write, is_sgemm_or_dgemm, matrix_c,     part,    &M::xdl_write_to_part_of_sgemm_c},
  {"XDL result as C of another opcode",          is_xdl, vgpr_write,   is_mfma, matrix_c,    same_but_other_op,    &M::xdl_write_to_c_of_other_op},
  {"matrix result as C of the same opcode",      is_mfma, vgpr_write,  is_mfma, matrix_c,                 same,    &M::matrix_write_to_same_c},
  {"FP32 MFMA result used by VALU or memory",    is_sgemm, vgpr_write, is_valu_or_memory, vgpr_access,    overlap, &M::sgemm_write_to_access},
  {"FP32 MFMA result as matrix source",          is_sgemm, vgpr_write, is_mfma, matrix_source,            overlap, &M::sgemm_write_to_matrix_source},
  {"FP32 MFMA result in part of another FP32 or FP64 MFMA's C", is_sgemm, vgpr_write, is_sgemm_or_dgemm, matrix_c, part, &M::sgemm_write_to_part_of_sgemm_c},
  {"FP32 MFMA result as C of another FP32 opcode", is_sgemm, vgpr_write, is_sgemm, matrix_c, same_but_other_op,    &M::sgemm_write_to_c_of_other_op},
  {"FP32 MFMA result as C of an XDL",            is_sgemm, vgpr_write, is_xdl, matrix_c,     same_but_other_op,    &M::matrix_write_to_same_c},
  {"FP64 MFMA result read by VALU", is_dgemm, vgpr_write, is_valu, vgpr_read,         overlap, &M::dgemm_write_to_valu_read},
  {"FP64 MFMA result as matrix source",          is_dgemm, vgpr_write, is_mfma, matrix_source,            overlap, &M::dgemm_write_to_valu_read},
  {"FP64 MFMA result read by memory",            is_dgemm, vgpr_write, is_memory, vgpr_read,              overlap, &M::dgemm_write_to_memory_read},
  {"FP64 MFMA result overwritten by VALU or memory", is_dgemm, vgpr_write, is_valu_or_memory, vgpr_write, overlap, &M::dgemm_write_to_write},
  {"FP64 MFMA result in part of an FP32 or FP64 MFMA's C", is_dgemm, vgpr_write, is_sgemm_or_dgemm, matrix_c, part, &M::dgemm_write_to_part_of_c},
  {"FP64 MFMA result as C of the same opcode",   is_dgemm, vgpr_write, is_dgemm, matrix_c,                same,    &M::dgemm_write_to_same_c},
  // Any two of them: EXEC stands for the operands that need not meet.
  {"FP64 MFMA before an FP64 fma",                is_dgemm, exec_read,   is_fma64, exec_read,                   overlap, &M::dgemm_to_fma64},
  {"C of an XDL overwritten by VALU or memory",  is_xdl, matrix_c,     is_valu_or_memory, vgpr_write,     overlap, &M::xdl_c_to_write},
  {"VALU result read by a matrix instruction",   is_valu, vgpr_write,  is_mfma, vgpr_read,                overlap, &M::valu_write_to_matrix_read},
  {"EXEC written by VALU before a matrix instruction", is_valu, exec_write, is_mfma, exec_read,           overlap, &M::valu_exec_to_matrix},
  {"transcendental result read by another VALU", is_trans, vgpr_write, is_valu_like_not_trans, vgpr_read, overlap, &M::trans_write_to_valu_read},
  {"partly written register used by VALU",       writes_part, vgpr_write, is_valu_like, vgpr_access,      overlap, &M::partial_write_to_valu},
  {"packed result used by VALU",                 is_packed_by_halves, vgpr_write, is_valu_like, vgpr_access, overlap, &M::packed_write_to_valu},
  {"dot product read by another instruction",    is_dot, vgpr_write,   is_valu_or_memory, vgpr_read, other_op,    &M::dot_write_to_read},
  {"dot product as factor of the next",          is_dot, vgpr_write,   is_dot, dot_factor,                same_op, &M::dot_write_to_factor},
  {"dot product overwritten by another instruction", is_dot, vgpr_write, is_valu_or_memory, vgpr_write, other_op, &M::dot_write_to_write},
  {"VALU result swapped between lanes",          is_valu, vgpr_write,  is_swap, vgpr_read,                overlap, &M::valu_write_to_swap},
  {"EXEC written by VALU before a lane swap",    is_valu, exec_write,  is_swap, exec_read,                overlap, &M::valu_exec_to_swap},
  {"vector register used by a DPP instruction",  is_any, vgpr_write,   is_dpp, vgpr_access,               overlap, &M::vgpr_write_to_dpp_read},
  {"EXEC written by VALU before DPP",            is_valu, exec_write,  is_dpp, exec_read,                 overlap, &M::valu_exec_to_dpp},
  {"scalar register of VALU read by VMEM",       is_valu, sgpr_write,  is_vmem, sgpr_read,                overlap, &M::valu_sgpr_to_vmem},
  {"scalar register of VALU read by VALU",       is_valu, sgpr_write,  is_valu_like, named_sgpr_read,     overlap, &M::valu_sgpr_to_valu},
  {"VCC of VALU read by v_div_fmas",             is_valu, vcc_write,   is_div_fmas, vcc_read,             overlap, &M::valu_vcc_to_div_fmas},
  {"scalar register of VALU selects a lane",     is_valu, sgpr_write,  accesses_lane, lane_select,        overlap, &M::valu_sgpr_to_lane_select},
  {"VALU result read from one lane",             is_valu, vgpr_write,  reads_lane, vgpr_read,             overlap, &M::valu_vgpr_to_read_lane},
  {"EXEC written by VALU before a lane access",  is_valu, exec_write,  accesses_lane, exec_read,          overlap, &M::valu_exec_to_lane_access},
  {"M0 written before LDS-DMA",                  is_salu, m0_write,    is_lds_dma, m0_read,               overlap, &M::salu_m0_to_lds_dma},
  {"hardware register set before it is used",    sets_hardware_register, hardware_register, uses_hardware_register, hardware_register, overlap, &M::hardware_register_set_to_use},
  {"data of a wide store overwritten by VALU",   is_wide_store_without_offset, store_data, is_valu_like, vgpr_write, overlap, &M::store_data_to_valu_write},
  {"data of a wide store with scalar offset overwritten by VALU", is_wide_store, store_data, is_valu_like, vgpr_write, overlap, &M::offset_store_data_to_valu_write},
};
// clang-format on

}  // namespace

std::span<const Rule> wait_state_rules() { return rules; }

}  // namespace zyfa::isa
