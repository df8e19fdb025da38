// Spelling and reading of instructions, pinned by LLVM's bytes; whole programs; messages for bad lines.
#include "isa/text.h"

#include "isa/isa.h"
#include "tests/support/catch.h"
#include "tests/support/machine_code.h"

#include <cstring>

using namespace zyfa::isa;

namespace {

// Value, text and machine code of one instruction, pairwise each other's image. The dwords are llvm-mc's.
struct Anchor {
  Inst inst;
  std::string_view text;
  std::vector<std::uint32_t> dwords;
};

constexpr Operand modified(Operand operand, bool neg, bool abs) {
  operand.neg = neg;
  operand.abs = abs;
  return operand;
}

std::vector<std::uint32_t> dwords_of(std::string_view text) {
  const std::vector<std::byte> code = zyfa::tests::machine_code(std::string(text) + "\n");
  std::vector<std::uint32_t> dwords(code.size() / 4);
  std::memcpy(dwords.data(), code.data(), code.size());
  return dwords;
}

std::vector<Anchor> anchors() {
  // clang-format off
  return {
      {{.op = Op::s_mov_b32, .args = {S<1>{5}, Operand::constant(0x12345678)}}, "s_mov_b32 s5, 0x12345678", {0xbe8500ff, 0x12345678}},
      {{.op = Op::s_and_b64, .args = {vcc, exec, S<2>{4}}}, "s_and_b64 vcc, exec, s[4:5]", {0x86ea047e}},
      {{.op = Op::s_movk_i32, .args = {S<1>{3}, Operand(OperandKind::literal, 0x8000)}}, "s_movk_i32 s3, 0x8000", {0xb0038000}},
      {{.op = Op::s_nop, .args = {Operand(OperandKind::integer, 7)}}, "s_nop 7", {0xbf800007}},
      {{.op = Op::s_sleep, .args = {Operand(OperandKind::integer, 0x7f)}}, "s_sleep 0x7f", {0xbf8e007f}},
      {{.op = Op::s_waitcnt, .mods = {.vmcnt = 3, .lgkmcnt = 0}}, "s_waitcnt vmcnt(3) lgkmcnt(0)", {0xbf8c0073}},
      {{.op = Op::s_waitcnt}, "s_waitcnt vmcnt(63) expcnt(7) lgkmcnt(15)", {0xbf8ccf7f}},
      {{.op = Op::s_cbranch_vccnz, .args = {Operand(OperandKind::integer, 65530)}}, "s_cbranch_vccnz 65530", {0xbf87fffa}},
      {{.op = Op::s_endpgm}, "s_endpgm", {0xbf810000}},
      {{.op = Op::s_load_dwordx4, .args = {S<4>{8}, S<2>{0}, Operand(OperandKind::literal, 0x10)}}, "s_load_dwordx4 s[8:11], s[0:1], 0x10", {0xc00a0200, 0x00000010}},
      {{.op = Op::s_load_dword, .args = {S<1>{8}, S<2>{0}, Operand(OperandKind::literal, 0xfffffffc)}}, "s_load_dword s8, s[0:1], -0x4", {0xc0020200, 0x001ffffc}},
      {{.op = Op::s_load_dword, .args = {S<1>{8}, S<2>{0}, S<1>{6}}, .mods = {.offset = 0x20}}, "s_load_dword s8, s[0:1], s6 offset:0x20", {0xc0024200, 0x0c000020}},
      {{.op = Op::v_mov_b32, .form = Form::e32, .args = {V<1>{1}, m0}}, "v_mov_b32_e32 v1, m0", {0x7e02027c}},
      {{.op = Op::v_mov_b64, .form = Form::e64, .args = {V<2>{2}, Operand::constant(0x3e22f983)}}, "v_mov_b64_e64 v[2:3], 0.15915494309189532", {0xd1780002, 0x000000f8}},
      {{.op = Op::v_add_f32, .form = Form::e64, .args = {V<1>{1}, modified(V<1>{2}, true, false), modified(Operand::constant(1.0f), true, false)}, .mods = {.clamp = true, .omod = 1}}, "v_add_f32_e64 v1, -v2, neg(1.0) clamp mul:2", {0xd1018001, 0x6801e502}},
      {{.op = Op::v_max_f32, .form = Form::e64, .args = {V<1>{1}, modified(V<1>{2}, true, true), modified(S<1>{3}, false, true)}}, "v_max_f32_e64 v1, -|v2|, |s3|", {0xd10b0301, 0x20000702}},
      {{.op = Op::v_max_f32, .form = Form::dpp, .args = {V<1>{1}, V<1>{2}, V<1>{3}}, .mods = {.dpp_row_mask = 15, .dpp_bank_mask = 15, .dpp_ctrl = 0xb1, .dpp_bound_ctrl = true}}, "v_max_f32_dpp v1, v2, v3 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1", {0x160206fa, 0xff08b102}},
      {{.op = Op::v_mov_b32, .form = Form::dpp, .args = {V<1>{1}, V<1>{2}}, .mods = {.dpp_row_mask = 10, .dpp_bank_mask = 15, .dpp_ctrl = 0x143}}, "v_mov_b32_dpp v1, v2 row_bcast:31 row_mask:0xa bank_mask:0xf", {0x7e0202fa, 0xaf014302}},
      {{.op = Op::v_cmp_lt_u32, .form = Form::e64, .args = {S<2>{4}, V<1>{1}, Operand::constant(5)}}, "v_cmp_lt_u32_e64 s[4:5], v1, 5", {0xd0c90004, 0x00010b01}},
      {{.op = Op::v_addc_co_u32, .form = Form::e32, .args = {V<1>{1}, vcc, Operand::constant(0), V<1>{2}, vcc}}, "v_addc_co_u32_e32 v1, vcc, 0, v2, vcc", {0x38020480}},
      {{.op = Op::v_cndmask_b32, .form = Form::e64, .args = {V<1>{1}, Operand::constant(0), V<1>{2}, S<2>{4}}}, "v_cndmask_b32_e64 v1, 0, v2, s[4:5]", {0xd1000001, 0x00120480}},
      {{.op = Op::v_permlane32_swap_b32, .form = Form::e32, .args = {V<1>{1}, V<1>{2}}}, "v_permlane32_swap_b32_e32 v1, v2", {0x7e02b502}},
      {{.op = Op::v_cvt_pk_fp8_f32, .args = {V<1>{1}, V<1>{2}, V<1>{3}}, .mods = {.op_sel = 8}}, "v_cvt_pk_fp8_f32 v1, v2, v3 op_sel:[0,0,1]", {0xd2a24001, 0x00020702}},
      {{.op = Op::v_cvt_scalef32_pk_fp8_f32, .args = {V<1>{1}, V<1>{2}, V<1>{3}, V<1>{4}}, .mods = {.op_sel = 8}}, "v_cvt_scalef32_pk_fp8_f32 v1, v2, v3, v4 op_sel:[0,0,0,1]", {0xd2354001, 0x04120702}},
      {{.op = Op::v_pk_mul_f32, .args = {V<2>{0}, V<2>{2}, S<2>{4}}, .mods = {.op_sel_hi = 1, .neg_lo = 1}}, "v_pk_mul_f32 v[0:1], v[2:3], s[4:5] op_sel_hi:[1,0] neg_lo:[1,0]", {0xd3b14000, 0x28000902}},
      {{.op = Op::v_accvgpr_write_b32, .args = {A<1>{1}, V<1>{2}}}, "v_accvgpr_write_b32 a1, v2", {0xd3d94001, 0x18000102}},
      {{.op = Op::v_mfma_f64_16x16x4_f64, .args = {A<8>{0}, V<2>{2}, V<2>{4}, Operand::constant(1.0f)}, .mods = {.blgp = 5}}, "v_mfma_f64_16x16x4_f64 a[0:7], v[2:3], v[4:5], 1.0 neg:[1,0,1]", {0xd3ee8000, 0xa3ca0902}},
      {{.op = Op::v_mfma_f32_4x4x4_16b_f16, .args = {V<4>{0}, V<2>{4}, V<2>{6}, V<4>{0}}, .mods = {.cbsz = 3, .abid = 5, .blgp = 2}}, "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], v[0:3] cbsz:3 abid:5 blgp:2", {0xd3ca2b00, 0x44020d04}},
      {{.op = Op::v_mfma_f32_16x16x32_bf16, .args = {V<4>{0}, A<4>{4}, V<4>{8}, Operand::constant(1.0f)}}, "v_mfma_f32_16x16x32_bf16 v[0:3], a[4:7], v[8:11], 1.0", {0xd3b50000, 0x0bca1104}},
      {{.op = Op::v_mfma_f32_32x32x64_f8f6f4, .args = {A<16>{0}, V<4>{16}, V<6>{24}, Operand::constant(0)}, .mods = {.cbsz = 4, .blgp = 2}}, "v_mfma_f32_32x32x64_f8f6f4 a[0:15], v[16:19], v[24:29], 0 cbsz:4 blgp:2", {0xd3ae8400, 0x42023110}},
      {{.op = Op::v_mfma_scale_f32_16x16x128_f8f6f4, .args = {V<4>{0}, V<8>{8}, V<8>{16}, V<4>{0}, V<1>{4}, V<1>{5}}}, "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[8:15], v[16:23], v[0:3], v4, v5 op_sel_hi:[0,0,0]", {0xd3ac0000, 0x00020b04, 0xd3ad0800, 0x04022108}},
      {{.op = Op::v_mfma_scale_f32_16x16x128_f8f6f4, .args = {V<4>{0}, V<8>{8}, V<8>{16}, V<4>{0}, V<1>{4}, V<1>{5}}, .mods = {.op_sel = 1, .op_sel_hi = 2}}, "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[8:15], v[16:23], v[0:3], v4, v5 op_sel:[1,0,0] op_sel_hi:[0,1,0]", {0xd3ac0800, 0x10020b04, 0xd3ad0800, 0x04022108}},
      {{.op = Op::ds_read_b64_tr_b8, .args = {V<2>{0}, V<1>{2}}, .mods = {.offset = 128}}, "ds_read_b64_tr_b8 v[0:1], v2 offset:128", {0xd9c40080, 0x00000002}},
      {{.op = Op::ds_write_b128, .args = {V<1>{1}, A<4>{4}}}, "ds_write_b128 v1, a[4:7]", {0xdbbe0000, 0x00000401}},
      {{.op = Op::buffer_load_dwordx4, .args = {V<4>{4}, V<1>{1}, S<4>{8}, Operand::constant(0)}, .mods = {.offset = 64, .offen = true, .sc0 = true, .sc1 = true, .nt = true}}, "buffer_load_dwordx4 v[4:7], v1, s[8:11], 0 offen offset:64 sc0 nt sc1", {0xe05ed040, 0x80020401}},
      {{.op = Op::buffer_load_dwordx4, .args = {Operand{}, V<1>{1}, S<4>{8}, m0}, .mods = {.offset = 64, .offen = true, .lds = true}}, "buffer_load_dwordx4 v1, s[8:11], m0 offen offset:64 lds", {0xe05d1040, 0x7c020001}},
      {{.op = Op::buffer_store_short, .args = {V<1>{4}, Operand{}, S<4>{8}, S<1>{3}}}, "buffer_store_short v4, off, s[8:11], s3", {0xe0680000, 0x03020400}},
      {{.op = Op::global_load_dwordx2, .args = {V<2>{0}, V<2>{2}, Operand{}}, .mods = {.offset = -8}}, "global_load_dwordx2 v[0:1], v[2:3], off offset:-8", {0xdc549ff8, 0x007f0002}},
      {{.op = Op::global_store_dword, .args = {V<1>{1}, V<1>{2}, S<2>{4}}}, "global_store_dword v1, v2, s[4:5]", {0xdc708000, 0x00040201}},
  };
  // clang-format on
}

// What parse says about a line that it can't read.
std::string message(std::string_view line) {
  try {
    return "read as " + print(parse(line));
  } catch (const zyfa::Error& error) {
    return error.what();
  }
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

TEST_CASE("pinned instructions: value, text and bytes agree", "[quick]") {
  for (const Anchor& anchor : anchors()) {
    CAPTURE(anchor.text);
    CHECK(validate(anchor.inst).empty());
    CHECK(print(anchor.inst) == anchor.text);
    CHECK(parse(anchor.text) == anchor.inst);
    CHECK(dwords_of(anchor.text) == anchor.dwords);
  }
}

TEST_CASE("blanks and comments do not matter, operands do", "[quick]") {
  const Inst inst = parse("v_add_f32_e64 v1, -v2, |v3| clamp");
  CHECK(parse("\tv_add_f32_e64   v1 ,-v2,\t|v3|  clamp  // 000000: D1018401\r") == inst);
  CHECK(parse("v_add_f32_e64 v1, -v2, |v3| clamp ; steps.cpp:41") == inst);
  CHECK_FALSE(parse("v_add_f32_e64 v1, -v2, v3 clamp") == inst);
  CHECK_FALSE(parse("v_add_f32_e64 v1, -v2, |v3|") == inst);
}

TEST_CASE("spellings that are no canonical text are read as the canonical value", "[quick]") {
  CHECK(print(parse("v_mov_b32_e32 v1, 0x3f800000")) == "v_mov_b32_e32 v1, 1.0");
  CHECK(print(parse("v_mov_b32_e32 v1, 1.5")) == "v_mov_b32_e32 v1, 0x3fc00000");
  CHECK(print(parse("v_mov_b32_e32 v1, -17")) == "v_mov_b32_e32 v1, 0xffffffef");
  CHECK(print(parse("s_movk_i32 s0, -1")) == "s_movk_i32 s0, 0xffff");
  CHECK(print(parse("s_waitcnt vmcnt(63) lgkmcnt(1)")) == "s_waitcnt lgkmcnt(1)");
  CHECK(parse("v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel_hi:[1,1]").mods.op_sel_hi == Modifiers::row_default);
}

TEST_CASE("bad lines are quoted with what is wrong", "[quick]") {
  struct Bad {
    std::string_view line, problem;
  };
  const Bad bad[] = {
      {"v_frobnicate_b32 v1, v2", "not in the table"},
      {"", "not in the table"},
      {"v_add_f32 v1, v2, v3", "needs a suffix"},
      {"v_fma_f32_e64 v1, v2, v3, v4", "takes no suffix"},
      {"v_add_f32_e32 v1, v2", "takes 3 operands, not 2"},
      {"v_add_f32_e32 v1, v2, v3, v4", "takes 3 operands, not 4"},
      {"v_add_f32_e32 v1, v2, v256", "operand v256"},
      {"v_add_f32_e32 v1, v2, v[3:2]", "operand v[3:2]"},
      {"v_add_f32_e64 v1, --v2, v3", "operand --v2"},
      {"v_add_f32_e64 v1, |v2, v3", "operand |v2"},
      {"s_mov_b32 s0, s102", "operand s102"},
      {"s_mov_b32 s0, 0x123456789", "operand 0x123456789"},
      {"s_branch nowhere", "operand nowhere"},
      {"s_waitcnt vmcnt(64)", "modifier vmcnt(64)"},
      {"ds_read_b32 v0, v1 offset:x", "modifier offset:x"},
      {"ds_read_b32 v0, v1 gds", "modifier gds"},
      {"v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel:[1,2]", "modifier op_sel:[1,2]"},
      {"v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel:[1,]", "modifier op_sel:[1,]"},
      {"v_mov_b32_dpp v1, v2 row_shl:16 row_mask:0xf bank_mask:0xf", "modifier row_shl:16"},
      {"v_mov_b32_dpp v1, v2 quad_perm:[0,1,2,4]", "modifier quad_perm:[0,1,2,4]"},
      {"v_mov_b32_e32 v1, v2 row_shl:1", "modifier row_shl:1"},
      {"v_mov_b32_sdwa v1, v2 dst_sel:BYTE_4", "modifier dst_sel:BYTE_4"},
      {"buffer_load_dword v0, v1, s[8:11], 0 offen lds", "takes 3 operands, not 4"},
      {"s_nop v1", "operand v1"},
  };
  for (const Bad& b : bad) {
    const std::string said = message(b.line);
    CAPTURE(said);
    CHECK(contains(said, b.problem));
    CHECK(contains(said, "`" + std::string(b.line) + "`"));
  }
}

TEST_CASE("programs: named and numbered labels, to the end of the code", "[quick]") {
  Program program;
  program.code = {parse("s_mov_b32 s0, 0"), parse("s_cbranch_scc1 L4"), parse("s_nop 0"),
                  parse("s_branch L0"),     parse("s_endpgm"),          parse("s_branch L6")};
  program.labels = {{0, "loop"}, {2, "unused"}};
  const std::string text =
      "loop:\n  s_mov_b32 s0, 0\n  s_cbranch_scc1 L4\nunused:\n  s_nop 0\n  s_branch loop\nL4:\n  s_endpgm\n"
      "  s_branch L6\nL6:\n";
  CHECK(print(program) == text);
  const Program back = parse_program("; a comment\n\n" + text);
  CHECK(back.code == program.code);
  CHECK(back.labels == program.labels);
  CHECK(print(program.code[3], program) == "s_branch loop");
  CHECK(print(program.code[3]) == "s_branch L0");
  CHECK(dwords_of(text).size() == program.code.size());

  REQUIRE_THROWS_AS(parse_program("s_branch missing\n"), zyfa::Error);
  REQUIRE_THROWS_AS(parse_program("a:\na:\ns_endpgm\n"), zyfa::Error);
  program.labels.emplace(7, "outside");
  REQUIRE_THROWS_AS(print(program), zyfa::Error);
}
