#include "tests/support/hazard_pairs.h"

#include "isa/isa.h"
#include "isa/regs.h"
#include "tests/support/make_inst.h"

namespace zyfa {
namespace {

using namespace isa;

const Operand zero = number(0);
const Operand mode_field(OperandKind::integer, HardwareField{mode_register, 0, 4}.code());

struct Side {
  Inst inst;
  std::string_view mir;
};

Side side(Op op, Form form, std::initializer_list<Operand> args, std::string_view mir, Modifiers mods = {}) {
  return {make(op, form, args, mods), mir};
}

using enum Op;
using enum Form;

// clang-format off
// Matrix instructions that write v[0:15] or v[0:3] and read C from v[32:47] or v[32:35].
const Side xdl16 = side(v_mfma_f32_32x32x64_f8f6f4, natural, {v(0, 16), v(16, 8), v(24, 8), v(32, 16)},
  "early-clobber $v[0:15] = V_MFMA_F32_32X32X64_F8F6F4_f8_f8_vgprcd_e64 $v[16:23], $v[24:31], $v[32:47], 0, 0, implicit $mode, implicit $exec");
const Side xdl16_scaled = side(v_mfma_scale_f32_32x32x64_f8f6f4, natural, {v(0, 16), v(16, 8), v(24, 8), v(32, 16), v(60), v(61)},
  "early-clobber $v[0:15] = V_MFMA_SCALE_F32_32X32X64_F8F6F4_f8_f8_vgprcd_e64 $v[16:23], $v[24:31], $v[32:47], 0, 0, $vgpr60, $vgpr61, 0, 0, implicit $mode, implicit $exec");
const Side xdl8_fp4 = side(v_mfma_f32_32x32x64_f8f6f4, natural, {v(0, 16), v(16, 4), v(24, 4), v(32, 16)},
  "early-clobber $v[0:15] = V_MFMA_F32_32X32X64_F8F6F4_f4_f4_vgprcd_e64 $v[16:19], $v[24:27], $v[32:47], 4, 4, implicit $mode, implicit $exec", {.cbsz = 4, .blgp = 4});
const Side xdl8_fp8 = side(v_mfma_f32_16x16x128_f8f6f4, natural, {v(0, 4), v(16, 8), v(24, 8), v(32, 4)},
  "early-clobber $v[0:3] = V_MFMA_F32_16X16X128_F8F6F4_f8_f8_vgprcd_e64 $v[16:23], $v[24:31], $v[32:35], 0, 0, implicit $mode, implicit $exec");
const Side xdl8 = side(v_mfma_f32_32x32x16_bf16, natural, {v(0, 16), v(16, 4), v(20, 4), v(32, 16)},
  "early-clobber $v[0:15] = V_MFMA_F32_32X32X16_BF16_vgprcd_e64 $v[16:19], $v[20:23], $v[32:47], 0, 0, 0, implicit $mode, implicit $exec");
const Side xdl4 = side(v_mfma_f32_16x16x32_bf16, natural, {v(0, 4), v(16, 4), v(20, 4), v(32, 4)},
  "early-clobber $v[0:3] = V_MFMA_F32_16X16X32_BF16_vgprcd_e64 $v[16:19], $v[20:23], $v[32:35], 0, 0, 0, implicit $mode, implicit $exec");
const Side xdl8_agpr = side(v_mfma_f32_32x32x16_bf16, natural, {a(0, 16), v(16, 4), v(20, 4), a(32, 16)},
  "early-clobber $a[0:15] = V_MFMA_F32_32X32X16_BF16_e64 $v[16:19], $v[20:23], $a[32:47], 0, 0, 0, implicit $mode, implicit $exec");
const Side sparse4 = side(v_smfmac_f32_16x16x128_fp8_fp8, natural, {v(0, 4), v(16, 4), v(24, 8), v(60)},
  "$v[0:3] = V_SMFMAC_F32_16X16X128_FP8_FP8_e64 $v[16:19], $v[24:31], $vgpr60, 0, 0, $v[0:3], implicit $mode, implicit $exec");
const Side sparse_reads_index = side(v_smfmac_f32_16x16x128_fp8_fp8, natural, {v(64, 4), v(16, 4), v(24, 8), v(0)},
  "$v[64:67] = V_SMFMAC_F32_16X16X128_FP8_FP8_e64 $v[16:19], $v[24:31], $vgpr0, 0, 0, $v[64:67], implicit $mode, implicit $exec");
const Side sparse_reads_part_c = side(v_smfmac_f32_16x16x128_fp8_fp8, natural, {v(2, 4), v(16, 4), v(24, 8), v(60)},
  "$v[2:5] = V_SMFMAC_F32_16X16X128_FP8_FP8_e64 $v[16:19], $v[24:31], $vgpr60, 0, 0, $v[2:5], implicit $mode, implicit $exec");
const Side integer8 = side(v_mfma_i32_32x32x32_i8, natural, {v(0, 16), v(16, 4), v(20, 4), v(32, 16)},
  "early-clobber $v[0:15] = V_MFMA_I32_32X32X32_I8_vgprcd_e64 $v[16:19], $v[20:23], $v[32:47], 0, 0, 0, implicit $mode, implicit $exec");
const Side sgemm16 = side(v_mfma_f32_32x32x2_f32, natural, {v(0, 16), v(16), v(20), v(32, 16)},
  "early-clobber $v[0:15] = V_MFMA_F32_32X32X2F32_vgprcd_e64 $vgpr16, $vgpr20, $v[32:47], 0, 0, 0, implicit $mode, implicit $exec");
const Side sgemm8 = side(v_mfma_f32_16x16x4_f32, natural, {v(0, 4), v(16), v(20), v(32, 4)},
  "early-clobber $v[0:3] = V_MFMA_F32_16X16X4F32_vgprcd_e64 $vgpr16, $vgpr20, $v[32:35], 0, 0, 0, implicit $mode, implicit $exec");
const Side sgemm2 = side(v_mfma_f32_4x4x1_16b_f32, natural, {v(0, 4), v(16), v(20), v(32, 4)},
  "$v[0:3] = V_MFMA_F32_4X4X1F32_vgprcd_e64 $vgpr16, $vgpr20, $v[32:35], 0, 0, 0, implicit $mode, implicit $exec");
const Side xdl2 = side(v_mfma_f32_4x4x4_16b_f16, natural, {v(0, 4), v(16, 2), v(20, 2), v(32, 4)},
  "$v[0:3] = V_MFMA_F32_4X4X4F16_vgprcd_e64 $v[16:17], $v[20:21], $v[32:35], 0, 0, 0, implicit $mode, implicit $exec");
const Side xdl16_blocks = side(v_mfma_i32_32x32x4_2b_i8, natural, {v(0, 32), v(64), v(68), v(96, 32)},
  "early-clobber $v[0:31] = V_MFMA_I32_32X32X4I8_vgprcd_e64 $vgpr64, $vgpr68, $v[96:127], 0, 0, 0, implicit $mode, implicit $exec");
const Side sparse8 = side(v_smfmac_f32_32x32x16_bf16, natural, {v(0, 16), v(16, 2), v(24, 4), v(60)},
  "$v[0:15] = V_SMFMAC_F32_32X32X16_BF16_e64 $v[16:17], $v[24:27], $vgpr60, 0, 0, $v[0:15], implicit $mode, implicit $exec");
const Side dgemm16 = side(v_mfma_f64_16x16x4_f64, natural, {v(0, 8), v(16, 2), v(20, 2), v(32, 8)},
  "early-clobber $v[0:7] = V_MFMA_F64_16X16X4F64_vgprcd_e64 $v[16:17], $v[20:21], $v[32:39], 0, 0, 0, implicit $mode, implicit $exec");
const Side dgemm4 = side(v_mfma_f64_4x4x4_4b_f64, natural, {v(0, 2), v(16, 2), v(20, 2), v(32, 2)},
  "$v[0:1] = V_MFMA_F64_4X4X4F64_vgprcd_e64 $v[16:17], $v[20:21], $v[32:33], 0, 0, 0, implicit $mode, implicit $exec");

// Readers and writers of v0..v3.
const Side add_reads = side(v_add_f32, e32, {v(60), v(0), v(61)}, "$vgpr60 = V_ADD_F32_e32 $vgpr0, $vgpr61, implicit $mode, implicit $exec");
const Side exp_reads = side(v_exp_f32, e32, {v(60), v(3)}, "$vgpr60 = V_EXP_F32_e32 $vgpr3, implicit $mode, implicit $exec");
const Side pk_add_reads = side(v_pk_add_f32, natural, {v(60, 2), v(2, 2), v(62, 2)},
  "$v[60:61] = V_PK_ADD_F32 8, $v[2:3], 8, $v[62:63], 0, 0, 0, 0, 0, implicit $mode, implicit $exec");
const Side mov_writes_v0 = side(v_mov_b32, e32, {v(0), zero}, "$vgpr0 = V_MOV_B32_e32 0, implicit $exec");
const Side store_reads_v0 = side(global_store_dword, natural, {v(60, 2), v(0), off}, "GLOBAL_STORE_DWORD $v[60:61], $vgpr0, 0, 0, implicit $exec");
const Side load_writes_v0 = side(global_load_dword, natural, {v(0), v(60, 2), off}, "$vgpr0 = GLOBAL_LOAD_DWORD $v[60:61], 0, 0, implicit $exec");
const Side mov_writes = side(v_mov_b32, e32, {v(3), zero}, "$vgpr3 = V_MOV_B32_e32 0, implicit $exec");
const Side acc_reads = side(v_accvgpr_read_b32, natural, {v(60), a(3)}, "$vgpr60 = V_ACCVGPR_READ_B32_e64 $agpr3, implicit $exec");
const Side acc_writes = side(v_accvgpr_write_b32, natural, {a(3), v(60)}, "$agpr3 = V_ACCVGPR_WRITE_B32_e64 $vgpr60, implicit $exec");
const Side store_reads = side(buffer_store_dwordx4, natural, {v(0, 4), v(60), s(8, 4), zero},
  "BUFFER_STORE_DWORDX4_OFFEN_exact $v[0:3], $vgpr60, $s[8:11], 0, 0, 0, 0, implicit $exec", {.offen = true});
const Side ds_write_reads = side(ds_write_b128, natural, {v(60), v(0, 4)}, "DS_WRITE_B128_gfx9 $vgpr60, $v[0:3], 0, 0, implicit $exec");
const Side ds_read_writes = side(ds_read_b32, natural, {v(3), v(60)}, "$vgpr3 = DS_READ_B32_gfx9 $vgpr60, 0, 0, implicit $exec");
const Side load_writes = side(global_load_dword, natural, {v(3), v(60, 2), off}, "$vgpr3 = GLOBAL_LOAD_DWORD $v[60:61], 0, 0, implicit $exec");

// Matrix instructions that read what the others wrote.
const Side reads_a = side(v_mfma_f32_32x32x16_bf16, natural, {v(64, 16), v(0, 4), v(20, 4), v(80, 16)},
  "early-clobber $v[64:79] = V_MFMA_F32_32X32X16_BF16_vgprcd_e64 $v[0:3], $v[20:23], $v[80:95], 0, 0, 0, implicit $mode, implicit $exec");
const Side reads_scale = side(v_mfma_scale_f32_32x32x64_f8f6f4, natural, {v(64, 16), v(96, 8), v(104, 8), v(80, 16), v(0), v(61)},
  "early-clobber $v[64:79] = V_MFMA_SCALE_F32_32X32X64_F8F6F4_f8_f8_vgprcd_e64 $v[96:103], $v[104:111], $v[80:95], 0, 0, $vgpr0, $vgpr61, 0, 0, implicit $mode, implicit $exec");
const Side reads_part_c = side(v_mfma_f32_16x16x32_bf16, natural, {v(64, 4), v(96, 4), v(100, 4), v(2, 4)},
  "early-clobber $v[64:67] = V_MFMA_F32_16X16X32_BF16_vgprcd_e64 $v[96:99], $v[100:103], $v[2:5], 0, 0, 0, implicit $mode, implicit $exec");
const Side reads_part_c_sgemm = side(v_mfma_f32_32x32x2_f32, natural, {v(64, 16), v(96), v(100), v(2, 16)},
  "early-clobber $v[64:79] = V_MFMA_F32_32X32X2F32_vgprcd_e64 $vgpr96, $vgpr100, $v[2:17], 0, 0, 0, implicit $mode, implicit $exec");
const Side reads_same_c_f16 = side(v_mfma_f32_32x32x16_f16, natural, {v(64, 16), v(96, 4), v(100, 4), v(0, 16)},
  "early-clobber $v[64:79] = V_MFMA_F32_32X32X16_F16_vgprcd_e64 $v[96:99], $v[100:103], $v[0:15], 0, 0, 0, implicit $mode, implicit $exec");
const Side dgemm_reads_a = side(v_mfma_f64_4x4x4_4b_f64, natural, {v(64, 2), v(0, 2), v(20, 2), v(80, 2)},
  "$v[64:65] = V_MFMA_F64_4X4X4F64_vgprcd_e64 $v[0:1], $v[20:21], $v[80:81], 0, 0, 0, implicit $mode, implicit $exec");
const Side dgemm_reads_part_c = side(v_mfma_f64_16x16x4_f64, natural, {v(64, 8), v(96, 2), v(100, 2), v(0, 8)},
  "early-clobber $v[64:71] = V_MFMA_F64_16X16X4F64_vgprcd_e64 $v[96:97], $v[100:101], $v[0:7], 0, 0, 0, implicit $mode, implicit $exec");
const Side dgemm4_reads_c = side(v_mfma_f64_4x4x4_4b_f64, natural, {v(64, 2), v(96, 2), v(100, 2), v(0, 2)},
  "$v[64:65] = V_MFMA_F64_4X4X4F64_vgprcd_e64 $v[96:97], $v[100:101], $v[0:1], 0, 0, 0, implicit $mode, implicit $exec");
const Side sgemm2_reads_c = side(v_mfma_f32_4x4x1_16b_f32, natural, {v(64, 4), v(96), v(100), v(0, 4)},
  "$v[64:67] = V_MFMA_F32_4X4X1F32_vgprcd_e64 $vgpr96, $vgpr100, $v[0:3], 0, 0, 0, implicit $mode, implicit $exec");
const Side sgemm8_reads_c = side(v_mfma_f32_16x16x4_f32, natural, {v(64, 4), v(96), v(100), v(0, 4)},
  "early-clobber $v[64:67] = V_MFMA_F32_16X16X4F32_vgprcd_e64 $vgpr96, $vgpr100, $v[0:3], 0, 0, 0, implicit $mode, implicit $exec");
const Side xdl2_reads_c = side(v_mfma_f32_4x4x4_16b_f16, natural, {v(64, 4), v(96, 2), v(100, 2), v(0, 4)},
  "$v[64:67] = V_MFMA_F32_4X4X4F16_vgprcd_e64 $v[96:97], $v[100:101], $v[0:3], 0, 0, 0, implicit $mode, implicit $exec");
const Side writes_c = side(v_mov_b32, e32, {v(34), zero}, "$vgpr34 = V_MOV_B32_e32 0, implicit $exec");

// Vector ALU producers.
const Side mov_v0 = side(v_mov_b32, e32, {v(0), zero}, "$vgpr0 = V_MOV_B32_e32 0, implicit $exec");
const Side exp_v0 = side(v_exp_f32, e32, {v(0), v(61)}, "$vgpr0 = V_EXP_F32_e32 $vgpr61, implicit $mode, implicit $exec");
const Side fp8_high = side(v_cvt_pk_fp8_f32, natural, {v(0), v(60), v(61)},
  "$vgpr0 = V_CVT_PK_FP8_F32_e64 8, $vgpr60, 0, $vgpr61, $vgpr0, 0, implicit $mode, implicit $exec", {.op_sel = 8});
const Side fp8_low = side(v_cvt_pk_fp8_f32, natural, {v(0), v(60), v(61)},
  "$vgpr0 = V_CVT_PK_FP8_F32_e64 0, $vgpr60, 0, $vgpr61, $vgpr0, 0, implicit $mode, implicit $exec");
const Side pk_mul = side(v_pk_mul_f32, natural, {v(0, 2), v(60, 2), v(62, 2)},
  "$v[0:1] = V_PK_MUL_F32 8, $v[60:61], 8, $v[62:63], 0, 0, 0, 0, 0, implicit $mode, implicit $exec");
const Side scalef32_high = side(v_cvt_scalef32_pk_fp8_f32, natural, {v(0), v(60), v(61), v(62)},
  "$vgpr0 = V_CVT_SCALEF32_PK_FP8_F32_e64 8, $vgpr60, 0, $vgpr61, 0, $vgpr62, $vgpr0, 0, implicit $mode, implicit $exec", {.op_sel = 8});
const Side first_lane = side(v_readfirstlane_b32, natural, {s(4), v(61)}, "$sgpr4 = V_READFIRSTLANE_B32 $vgpr61, implicit $exec");
const Side cmp_vcc = side(v_cmp_lt_f32, e32, {Operand(vcc), v(60), v(61)},
  "V_CMP_LT_F32_e32 $vgpr60, $vgpr61, implicit-def $vcc, implicit $mode, implicit $exec");
const Side cmp_exec = side(v_cmp_lt_f32, e64, {Operand(exec), v(60), v(61)},
  "$exec = V_CMP_LT_F32_e64 0, $vgpr60, 0, $vgpr61, 0, implicit $mode, implicit $exec");
const Side cmpx_exec = side(v_cmp_lt_f32, e64, {Operand(exec), v(60), v(61)},
  "$exec = V_CMPX_LT_F32_e64 0, $vgpr60, 0, $vgpr61, 0, implicit-def $exec, implicit $mode, implicit $exec");

const Side dot_v0 = side(v_dot2_f32_f16, natural, {v(0), v(60), v(61), v(62)},
  "$vgpr0 = V_DOT2_F32_F16 8, $vgpr60, 8, $vgpr61, 8, $vgpr62, 0, 0, 0, 0, 0, implicit $mode, implicit $exec");
const Side dot_reads_a = side(v_dot2_f32_f16, natural, {v(60), v(0), v(61), v(62)},
  "$vgpr60 = V_DOT2_F32_F16 8, $vgpr0, 8, $vgpr61, 8, $vgpr62, 0, 0, 0, 0, 0, implicit $mode, implicit $exec");
const Side dot4_v0 = side(v_dot4_i32_i8, natural, {v(0), v(60), v(61), v(62)},
  "$vgpr0 = V_DOT4_I32_I8 8, $vgpr60, 8, $vgpr61, 8, $vgpr62, 0, 0, 0, implicit $exec");
const Side fp4_byte = side(v_cvt_scalef32_pk_fp4_f32, natural, {v(0), v(60), v(61), v(62)},
  "$vgpr0 = V_CVT_SCALEF32_PK_FP4_F32_e64 0, $vgpr60, 0, $vgpr61, 4, $vgpr62, $vgpr0, 0, implicit $mode, implicit $exec", {.op_sel = 4});
const Side fma_high = side(v_fma_f16, natural, {v(0), v(60), v(61), v(62)},
  "$vgpr0 = V_FMA_F16_gfx9_e64 8, $vgpr60, 0, $vgpr61, 0, $vgpr62, 0, 0, 0, implicit $mode, implicit $exec", {.op_sel = 8});
const Side pk_add_half = side(v_pk_add_f16, natural, {v(0), v(60), v(61)},
  "$vgpr0 = V_PK_ADD_F16 8, $vgpr60, 8, $vgpr61, 0, 0, 0, 0, 0, implicit $mode, implicit $exec");
const Side cmpx_vcc_exec = side(v_cmpx_lt_u32, e32, {Operand(vcc), v(60), v(61)},
  "V_CMPX_LT_U32_e32 $vgpr60, $vgpr61, implicit-def $vcc, implicit-def $exec, implicit $exec");
const Side div_scale_vcc = side(v_div_scale_f32, natural, {v(70), Operand(vcc), v(60), v(61), v(60)},
  "$vgpr70, $vcc = V_DIV_SCALE_F32_e64 0, $vgpr60, 0, $vgpr61, 0, $vgpr60, 0, 0, implicit $mode, implicit $exec");
const Side rcp_f64 = side(v_rcp_f64, e32, {v(0, 2), v(60, 2)}, "$v[0:1] = V_RCP_F64_e32 $v[60:61], implicit $mode, implicit $exec");
const Side sdwa_byte = side(v_add_u32, sdwa, {v(0), v(60), v(61)},
  "$vgpr0 = V_ADD_U32_sdwa 0, $vgpr60, 0, $vgpr61, 0, 1, 0, 6, 6, implicit $exec", {.dst_sel = 1});
const Side add_i16_high = side(v_add_i16, natural, {v(0), v(60), v(61)},
  "$vgpr0 = V_ADD_I16_e64 8, $vgpr60, 0, $vgpr61, 0, 0, implicit $exec", {.op_sel = 8});

// Their consumers.
const Side fma64_elsewhere = side(v_fma_f64, natural, {v(200, 2), v(202, 2), v(204, 2), v(206, 2)},
  "$v[200:201] = V_FMA_F64_e64 0, $v[202:203], 0, $v[204:205], 0, $v[206:207], 0, 0, implicit $mode, implicit $exec");
const Side div_fmas = side(v_div_fmas_f32, natural, {v(60), v(61), v(62), v(63)},
  "$vgpr60 = V_DIV_FMAS_F32_e64 0, $vgpr61, 0, $vgpr62, 0, $vgpr63, 0, 0, implicit $vcc, implicit $mode, implicit $exec");
const Side sdwa_reads = side(v_add_u32, sdwa, {v(60), v(0), v(61)},
  "$vgpr60 = V_ADD_U32_sdwa 0, $vgpr0, 0, $vgpr61, 0, 6, 0, 0, 6, implicit $exec", {.src0_sel = 0});
const Side fma_reads = side(v_fma_f32, natural, {v(60), v(61), v(62), v(0)},
  "$vgpr60 = V_FMA_F32_e64 0, $vgpr61, 0, $vgpr62, 0, $vgpr0, 0, 0, implicit $mode, implicit $exec");
const Side writes_v0 = side(v_mov_b32, e32, {v(0), v(60)}, "$vgpr0 = V_MOV_B32_e32 $vgpr60, implicit $exec");
const Side swap_32 = side(v_permlane32_swap_b32, e32, {v(60), v(0)},
  "$vgpr60, $vgpr0 = V_PERMLANE32_SWAP_B32_e32 $vgpr60, $vgpr0, implicit $exec");
const Side dpp_reads = side(v_add_f32, dpp, {v(60), v(0), v(61)},
  "$vgpr60 = V_ADD_F32_dpp $vgpr60, 0, $vgpr0, 0, $vgpr61, 273, 15, 15, 0, implicit $mode, implicit $exec",
  {.dpp_row_mask = 15, .dpp_bank_mask = 15, .dpp_ctrl = 273});
const Side dpp_other = side(v_add_f32, dpp, {v(60), v(62), v(61)},
  "$vgpr60 = V_ADD_F32_dpp $vgpr60, 0, $vgpr62, 0, $vgpr61, 273, 15, 15, 0, implicit $mode, implicit $exec",
  {.dpp_row_mask = 15, .dpp_bank_mask = 15, .dpp_ctrl = 273});
const Side mfma_other = side(v_mfma_f32_16x16x32_bf16, natural, {v(64, 4), v(96, 4), v(100, 4), v(80, 4)},
  "early-clobber $v[64:67] = V_MFMA_F32_16X16X32_BF16_vgprcd_e64 $v[96:99], $v[100:103], $v[80:83], 0, 0, 0, implicit $mode, implicit $exec");
const Side load_s4 = side(buffer_load_dword, natural, {v(70), v(71), s(4, 4), zero},
  "$vgpr70 = BUFFER_LOAD_DWORD_OFFEN $vgpr71, $s[4:7], 0, 0, 0, 0, implicit $exec", {.offen = true});
const Side load_soffset = side(buffer_load_dword, natural, {v(70), v(71), s(8, 4), s(4)},
  "$vgpr70 = BUFFER_LOAD_DWORD_OFFEN $vgpr71, $s[8:11], $sgpr4, 0, 0, 0, implicit $exec", {.offen = true});
const Side global_s4 = side(global_load_dword, natural, {v(70), v(71), s(4, 2)},
  "$vgpr70 = GLOBAL_LOAD_DWORD_SADDR $s[4:5], $vgpr71, 0, 0, implicit $exec");
const Side index_on = side(s_set_gpr_idx_on, natural, {s(4), Operand(OperandKind::integer, 8)},
  "S_SET_GPR_IDX_ON $sgpr4, 8, implicit-def $m0, implicit-def $mode, implicit $m0, implicit $mode");
const Side lds_dma = side(buffer_load_dwordx4, natural, {off, v(0), s(8, 4), zero},
  "BUFFER_LOAD_DWORDX4_LDS_OFFEN $vgpr0, $s[8:11], 0, 0, 0, 0, implicit $exec, implicit $m0", {.offen = true, .lds = true});
const Side add_s4 = side(v_add_f32, e32, {v(60), s(4), v(61)}, "$vgpr60 = V_ADD_F32_e32 $sgpr4, $vgpr61, implicit $mode, implicit $exec");
const Side select_vcc = side(v_cndmask_b32, e32, {v(62), v(63), v(64), Operand(vcc)},
  "$vgpr62 = V_CNDMASK_B32_e32 $vgpr63, $vgpr64, implicit $vcc, implicit $exec");
const Side readlane_select = side(v_readlane_b32, natural, {s(20), v(60), s(4)}, "$sgpr20 = V_READLANE_B32 $vgpr60, $sgpr4, implicit $exec");
const Side writelane_select = side(v_writelane_b32, natural, {v(60), zero, s(4)}, "$vgpr60 = V_WRITELANE_B32 0, $sgpr4, $vgpr60, implicit $exec");
const Side first_lane_v0 = side(v_readfirstlane_b32, natural, {s(20), v(0)}, "$sgpr20 = V_READFIRSTLANE_B32 $vgpr0, implicit $exec");
const Side first_lane_other = side(v_readfirstlane_b32, natural, {s(20), v(80)}, "$sgpr20 = V_READFIRSTLANE_B32 $vgpr80, implicit $exec");
const Side mov_m0 = side(s_mov_b32, natural, {Operand(m0), zero}, "$m0 = S_MOV_B32 0");
const Side store_x4 = side(buffer_store_dwordx4, natural, {v(0, 4), v(61), s(8, 4), zero},
  "BUFFER_STORE_DWORDX4_OFFEN_exact $v[0:3], $vgpr61, $s[8:11], 0, 0, 0, 0, implicit $exec", {.offen = true});
const Side swap_x2 = side(global_atomic_cmpswap_x2, natural, {Operand{}, v(40, 2), v(0, 4), Operand{}},
  "GLOBAL_ATOMIC_CMPSWAP_X2 $v[40:41], $v[0:3], 0, 0, implicit $exec");
const Side swap_x2_returns = side(global_atomic_cmpswap_x2, natural, {v(50, 2), v(40, 2), v(0, 4), Operand{}},
  "$v[50:51] = GLOBAL_ATOMIC_CMPSWAP_X2_RTN $v[40:41], $v[0:3], 0, 1, implicit $exec", {.sc0 = true});
const Side buffer_swap_x2 = side(buffer_atomic_cmpswap_x2, natural, {v(0, 4), Operand{}, s(8, 4), zero},
  "BUFFER_ATOMIC_CMPSWAP_X2_OFFSET $v[0:3], $s[8:11], 0, 0, 0, implicit $exec");
const Side flat_x4 = side(flat_store_dwordx4, natural, {v(40, 2), v(0, 4)},
  "FLAT_STORE_DWORDX4 $v[40:41], $v[0:3], 0, 0, implicit $exec, implicit $flat_scr");
const Side scratch_x4 = side(scratch_store_dwordx4, natural, {v(40), v(0, 4), Operand{}},
  "SCRATCH_STORE_DWORDX4 $v[0:3], $vgpr40, 0, 0, implicit $exec, implicit $flat_scr");
const Side store_x4_offset = side(buffer_store_dwordx4, natural, {v(0, 4), v(61), s(8, 4), s(4)},
  "BUFFER_STORE_DWORDX4_OFFEN_exact $v[0:3], $vgpr61, $s[8:11], $sgpr4, 0, 0, 0, implicit $exec", {.offen = true});
const Side store_x3 = side(global_store_dwordx3, natural, {v(62, 2), v(0, 3), off},
  "GLOBAL_STORE_DWORDX3 $v[62:63], $v[0:2], 0, 0, implicit $exec");
const Side set_mode = side(s_setreg_b32, natural, {mode_field, s(4)}, "S_SETREG_B32 $sgpr4, 6145, implicit-def $mode, implicit $mode");
const Side set_mode_literal = side(s_setreg_imm32_b32, natural, {mode_field, zero}, "S_SETREG_IMM32_B32 0, 6145, implicit-def $mode, implicit $mode");
const Side get_mode = side(s_getreg_b32, natural, {s(70), mode_field}, "$sgpr70 = S_GETREG_B32 6145, implicit $mode");
const Side smem_first = side(s_load_dword, natural, {s(20), s(4, 2), no_offset}, "$sgpr20 = S_LOAD_DWORD_IMM $s[4:5], 0, 0");
const Side smem_overwrites = side(s_load_dwordx2, natural, {s(4, 2), s(6, 2), no_offset}, "$s[4:5] = S_LOAD_DWORDX2_IMM $s[6:7], 0, 0");
const Side vmem_first = side(global_load_dword, natural, {v(70), v(60, 2), off}, "$vgpr70 = GLOBAL_LOAD_DWORD $v[60:61], 0, 0, implicit $exec");
const Side vmem_overwrites = side(global_load_dword, natural, {v(60), v(62, 2), off}, "$vgpr60 = GLOBAL_LOAD_DWORD $v[62:63], 0, 0, implicit $exec");

// clang-format on
struct Row {
  std::string_view rule;
  int required;
  const Side& producer;
  const Side& consumer;
};

}  // namespace

std::vector<HazardPair> hazard_pairs() {
  // clang-format off
  const Row rows[] = {
    {"XDL result read by VALU or memory", 20, xdl16, add_reads},
    {"XDL result read by VALU or memory", 20, xdl16_scaled, pk_add_reads},
    {"XDL result read by VALU or memory", 12, xdl8_fp4, exp_reads},
    {"XDL result read by VALU or memory", 12, xdl8_fp8, store_reads},
    {"XDL result read by VALU or memory", 12, xdl8, ds_write_reads},
    {"XDL result read by VALU or memory", 12, xdl8_agpr, acc_reads},
    {"XDL result read by VALU or memory", 8, xdl4, add_reads},
    {"XDL result overwritten by VALU or memory", 20, xdl16, mov_writes},
    {"XDL result overwritten by VALU or memory", 12, xdl8, ds_read_writes},
    {"XDL result overwritten by VALU or memory", 12, xdl8_agpr, acc_writes},
    {"XDL result overwritten by VALU or memory", 8, xdl4, load_writes},
    {"XDL result as matrix source A, B or scale", 20, xdl16, reads_a},
    {"XDL result as matrix source A, B or scale", 12, xdl8, reads_scale},
    {"XDL result as matrix source A, B or scale", 8, xdl4, reads_a},
    {"XDL result read by VALU or memory", 8, sparse4, add_reads},
    {"XDL result read by VALU or memory", 12, integer8, add_reads},
    {"XDL result as matrix source A, B or scale", 20, xdl16, sparse_reads_index},
    {"XDL result as matrix source A, B or scale", 8, sparse4, sparse_reads_index},
    {"XDL result in part of an XDL's C", 6, sparse4, sparse_reads_part_c},
    {"VALU result read by a matrix instruction", 2, mov_v0, sparse_reads_index},
    {"XDL result in part of an XDL's C", 18, xdl16, reads_part_c},
    {"XDL result in part of an XDL's C", 10, xdl8, reads_part_c},
    {"XDL result in part of an XDL's C", 6, xdl4, reads_part_c},
    {"XDL result in part of an FP32 or FP64 MFMA's C", 18, xdl16, reads_part_c_sgemm},
    {"XDL result in part of an FP32 or FP64 MFMA's C", 10, xdl8, reads_part_c_sgemm},
    {"XDL result as C of another opcode", 10, xdl8, reads_same_c_f16},
    {"FP32 MFMA result used by VALU or memory", 18, sgemm16, add_reads},
    {"FP32 MFMA result used by VALU or memory", 18, sgemm16, load_writes},
    {"FP32 MFMA result as matrix source", 18, sgemm16, reads_a},
    {"FP32 MFMA result in part of another FP32 or FP64 MFMA's C", 16, sgemm16, reads_part_c_sgemm},
    {"C of an XDL overwritten by VALU or memory", 15, xdl16, writes_c},
    {"C of an XDL overwritten by VALU or memory", 7, xdl8, writes_c},
    {"C of an XDL overwritten by VALU or memory", 3, xdl4, writes_c},
    {"XDL result read by VALU or memory", 5, xdl2, add_reads},
    {"XDL result read by VALU or memory", 20, xdl16_blocks, add_reads},
    {"XDL result read by VALU or memory", 12, sparse8, store_reads},
    {"XDL result overwritten by VALU or memory", 5, xdl2, load_writes},
    {"XDL result as matrix source A, B or scale", 5, xdl2, reads_a},
    {"XDL result in part of an XDL's C", 4, xdl2, reads_part_c},
    {"XDL result in part of an FP32 or FP64 MFMA's C", 3, xdl2, dgemm_reads_part_c},
    {"XDL result in part of an FP32 or FP64 MFMA's C", 18, xdl16, dgemm4_reads_c},
    {"matrix result as C of the same opcode", 2, xdl2, xdl2_reads_c},
    {"matrix result as C of the same opcode", 2, sgemm2, sgemm2_reads_c},
    {"C of an XDL overwritten by VALU or memory", 1, xdl2, writes_c},
    {"FP32 MFMA result used by VALU or memory", 4, sgemm2, add_reads},
    {"FP32 MFMA result used by VALU or memory", 10, sgemm8, mov_writes},
    {"FP32 MFMA result as matrix source", 10, sgemm8, reads_a},
    {"FP32 MFMA result in part of another FP32 or FP64 MFMA's C", 8, sgemm8, dgemm_reads_part_c},
    {"FP32 MFMA result in part of another FP32 or FP64 MFMA's C", 2, sgemm2, reads_part_c_sgemm},
    {"FP32 MFMA result as C of another FP32 opcode", 8, sgemm8, sgemm2_reads_c},
    {"FP32 MFMA result as C of another FP32 opcode", 2, sgemm2, sgemm8_reads_c},
    {"FP32 MFMA result as C of an XDL", 2, sgemm2, xdl2_reads_c},
    {"FP64 MFMA result read by VALU", 19, dgemm16, add_reads},
    {"FP64 MFMA result read by VALU", 6, dgemm4, add_reads},
    {"FP64 MFMA result as matrix source", 19, dgemm16, reads_a},
    {"FP64 MFMA result as matrix source", 6, dgemm4, dgemm_reads_a},
    {"FP64 MFMA result read by memory", 18, dgemm16, store_reads},
    {"FP64 MFMA result read by memory", 9, dgemm4, store_reads_v0},
    {"FP64 MFMA result overwritten by VALU or memory", 11, dgemm16, mov_writes},
    {"FP64 MFMA result overwritten by VALU or memory", 6, dgemm4, mov_writes_v0},
    {"FP64 MFMA result overwritten by VALU or memory", 6, dgemm4, load_writes_v0},
    {"FP64 MFMA result in part of an FP32 or FP64 MFMA's C", 17, dgemm16, sgemm2_reads_c},
    {"FP64 MFMA result in part of an FP32 or FP64 MFMA's C", 17, dgemm16, dgemm4_reads_c},
    {"FP64 MFMA result in part of an FP32 or FP64 MFMA's C", 4, dgemm4, dgemm_reads_part_c},
    {"FP64 MFMA before an FP64 fma", 2, dgemm16, fma64_elsewhere},
    {"FP64 MFMA before an FP64 fma", 2, dgemm4, fma64_elsewhere},
    {"FP64 MFMA result as C of the same opcode", 4, dgemm4, dgemm4_reads_c},
    {"VALU result read by a matrix instruction", 2, mov_v0, reads_a},
    {"VALU result read by a matrix instruction", 2, exp_v0, reads_scale},
    {"EXEC written by VALU before a matrix instruction", 4, cmpx_exec, mfma_other},
    {"transcendental result read by another VALU", 1, exp_v0, add_reads},
    {"transcendental result read by another VALU", 1, exp_v0, lds_dma},
    {"partly written register used by VALU", 1, fp8_high, fma_reads},
    {"partly written register used by VALU", 1, fp8_high, writes_v0},
    {"partly written register used by VALU", 1, fp8_high, fp8_low},
    {"partly written register used by VALU", 1, scalef32_high, add_reads},
    {"partly written register used by VALU", 1, fp8_low, fp8_high},
    {"partly written register used by VALU", 1, fma_high, fma_reads},
    {"partly written register used by VALU", 1, fp4_byte, fma_reads},
    {"partly written register used by VALU", 1, sdwa_byte, add_reads},
    {"partly written register used by VALU", 1, sdwa_byte, sdwa_reads},
    {"partly written register used by VALU", 1, add_i16_high, fma_reads},
    {"transcendental result read by another VALU", 1, rcp_f64, add_reads},
    {"packed result used by VALU", 1, pk_mul, add_reads},
    {"packed result used by VALU", 1, pk_add_half, add_reads},
    {"dot product read by another instruction", 3, dot_v0, add_reads},
    {"dot product read by another instruction", 3, dot4_v0, dot_reads_a},
    {"dot product as factor of the next", 3, dot_v0, dot_reads_a},
    {"dot product overwritten by another instruction", 3, dot_v0, writes_v0},
    {"VALU result swapped between lanes", 2, mov_v0, swap_32},
    {"EXEC written by VALU before a lane swap", 4, cmpx_exec, swap_32},
    {"vector register used by a DPP instruction", 2, mov_v0, dpp_reads},
    {"EXEC written by VALU before DPP", 5, cmp_exec, dpp_other},
    {"EXEC written by VALU before DPP", 5, cmpx_vcc_exec, dpp_other},
    {"scalar register of VALU read by VMEM", 5, first_lane, load_s4},
    {"scalar register of VALU read by VMEM", 5, first_lane, load_soffset},
    {"scalar register of VALU read by VMEM", 5, first_lane, global_s4},
    {"scalar register of VALU read by VALU", 2, first_lane, add_s4},
    {"scalar register of VALU read by VALU", 2, cmp_vcc, select_vcc},
    {"VCC of VALU read by v_div_fmas", 4, cmp_vcc, div_fmas},
    {"VCC of VALU read by v_div_fmas", 4, div_scale_vcc, div_fmas},
    {"scalar register of VALU selects a lane", 4, first_lane, readlane_select},
    {"scalar register of VALU selects a lane", 4, first_lane, writelane_select},
    {"VALU result read from one lane", 1, mov_v0, first_lane_v0},
    {"EXEC written by VALU before a lane access", 4, cmp_exec, first_lane_other},
    {"M0 written before LDS-DMA", 1, mov_m0, lds_dma},
    {"hardware register set before it is used", 2, set_mode, get_mode},
    {"hardware register set before it is used", 2, set_mode_literal, set_mode},
    {"M0 written before LDS-DMA", 1, index_on, lds_dma},
    {"data of a wide store overwritten by VALU", 2, store_x4, writes_v0},
    {"data of a wide store overwritten by VALU", 2, store_x3, writes_v0},
    {"data of a wide store overwritten by VALU", 2, swap_x2, writes_v0},
    {"data of a wide store overwritten by VALU", 2, swap_x2_returns, writes_v0},
    {"data of a wide store overwritten by VALU", 2, buffer_swap_x2, writes_v0},
    {"data of a wide store overwritten by VALU", 2, flat_x4, writes_v0},
    {"data of a wide store overwritten by VALU", 2, scratch_x4, writes_v0},
    {"data of a wide store with scalar offset overwritten by VALU", 1, store_x4_offset, writes_v0},
    {"memory clause that cannot be replayed", 1, smem_first, smem_overwrites},
    {"memory clause that cannot be replayed", 1, vmem_first, vmem_overwrites},
  };
  // clang-format on
  std::vector<HazardPair> pairs;
  for (const Row& r : rows)
    pairs.push_back({r.rule, r.required, r.producer.inst, r.producer.mir, r.consumer.inst, r.consumer.mir});
  return pairs;
}

}  // namespace zyfa
