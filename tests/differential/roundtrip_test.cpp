// Every row of the table against LLVM: what print writes is what the disassembler prints, and parse gives the
// instruction back. Validation is held to LLVM's assembler from both sides.
#include "generator/assemble.h"
#include "isa/isa.h"
#include "isa/text.h"
#include "tests/support/catch.h"
#include "tests/support/machine_code.h"
#include "tests/support/random_inst.h"

using namespace zyfa::isa;
using zyfa::generator::disassemble;
using zyfa::generator::DisassembledLine;
using zyfa::tests::machine_code;
using zyfa::tests::random_inst;
using zyfa::tests::Rng;

namespace {

constexpr int per_row = 200;

std::vector<Inst> random_code(std::uint64_t seed) {
  std::vector<Inst> code;
  Rng rng(seed);
  for (int op = 0; op < static_cast<int>(Op::count); ++op)
    for (int i = 0; i < per_row; ++i) code.push_back(random_inst(static_cast<Op>(op), rng));
  return code;
}

// What LLVM's disassembler makes of what print wrote must be the same text, and must parse to the same value.
void require_round_trip(const std::vector<Inst>& code) {
  std::string text;
  for (const Inst& inst : code) text += print(inst) + "\n";
  const std::vector<DisassembledLine> lines = disassemble(machine_code(text));
  REQUIRE(lines.size() == code.size());
  for (std::size_t i = 0; i < code.size(); ++i) {
    INFO("LLVM: " << lines[i].text);
    REQUIRE(print(code[i]) == lines[i].text);
    REQUIRE(parse(lines[i].text) == code[i]);
    REQUIRE(encoded_bytes(code[i]) == static_cast<int>(lines[i].size));
  }
}

// One thing of `inst` becomes that of an instruction that has nothing to do with it.
Inst mutant(Inst inst, const Inst& other, Rng& rng) {
  const auto index = static_cast<std::size_t>(rng() % max_args);
  switch (rng() % 4) {
    case 0:
      inst.args[index] = other.args[index];
      break;
    case 1:
      inst.args[index] = other.args[rng() % max_args];
      break;
    case 2:
      inst.form = other.form;
      break;
    default:
      inst.mods = other.mods;
  }
  return inst;
}

// The last f8f6f4 sources that LLVM's disassembler can read start 8 registers before the end
// (random_inst.cpp).
bool disassembler_fails(const Inst& inst) {
  for (int i = 1; i <= 2; ++i)
    if (desc(inst.op).args[static_cast<std::size_t>(i)].type == Type::f8f6f4 &&
        inst.args[static_cast<std::size_t>(i)].value > 248)
      return true;
  return false;
}

}  // namespace

TEST_CASE("every row survives print, LLVM's assembler and disassembler, and parse", "[quick]") {
  require_round_trip(random_code(1));
}

TEST_CASE("the low half of a 64-bit mask is a literal that is no inline -1", "[quick]") {
  const Inst low{.op = Op::s_mov_b64, .args = {Operand(exec), Operand(OperandKind::literal, 0xffffffff)}};
  REQUIRE(validate(low).empty());
  require_round_trip({low});
}

TEST_CASE("mutants that validation lets pass are instructions to LLVM too", "[quick]") {
  const std::vector<Inst> code = random_code(2);
  Rng rng(3);
  std::vector<Inst> passed;
  int rejected = 0;
  for (const Inst& inst : code) {
    const Inst changed = mutant(inst, code[rng() % code.size()], rng);
    if (changed == inst || disassembler_fails(changed)) continue;
    if (validate(changed).empty())
      passed.push_back(changed);
    else
      ++rejected;
  }
  CHECK(passed.size() > 1000);
  CHECK(rejected > 10000);
  require_round_trip(passed);
}

TEST_CASE("validation rejects what LLVM's assembler rejects", "[quick]") {
  const auto vector = [](std::uint32_t first, int n) { return Operand(OperandKind::vgpr, first, n); };
  const auto scalar = [](std::uint32_t first, int n) { return Operand(OperandKind::sgpr, first, n); };
  const auto accumulator = [](std::uint32_t first, int n) { return Operand(OperandKind::agpr, first, n); };
  const Operand zero = Operand::constant(0), big = Operand::constant(0x12345);
  const auto negated = [](Operand operand) {
    operand.neg = true;
    return operand;
  };
  const Operand rsrc = scalar(8, 4), lane_mask = vcc;
  using O = Op;
  const Inst bad[] = {
      {.op = O::s_mov_b64, .args = {scalar(0, 1), scalar(2, 2)}},                     // too narrow
      {.op = O::s_mov_b64, .args = {scalar(1, 2), scalar(2, 2)}},                     // odd scalar pair
      {.op = O::s_mov_b32, .args = {zero, scalar(2, 1)}},                             // constant as destination
      {.op = O::s_add_u32, .args = {scalar(0, 1), big, Operand::constant(0x54321)}},  // two literals
      {.op = O::s_mov_b32, .args = {scalar(0, 1), vector(1, 1)}},                     // vector in a scalar instruction
      {.op = O::s_mov_b32, .args = {scalar(0, 1), scalar(125, 1)}},                   // hole in the encoding
      {.op = O::s_load_dwordx4, .args = {scalar(6, 4), scalar(2, 2), {OperandKind::literal, 0}}},  // not by four
      {.op = O::s_load_dword, .args = {m0, scalar(2, 2), {OperandKind::literal, 0}}},
      {.op = O::s_load_dword, .args = {scalar(0, 1), scalar(2, 2), {OperandKind::literal, 1u << 20}}},
      {.op = O::v_mov_b32, .form = Form::e64, .args = {vector(1, 1), big}},  // literal in VOP3
      {.op = O::v_add_f32, .form = Form::e32, .args = {vector(1, 1), vector(2, 1), scalar(3, 1)}},
      {.op = O::v_add_f32, .form = Form::e32, .args = {vector(1, 1), negated(vector(2, 1)), vector(3, 1)}},
      {.op = O::v_add_u32, .form = Form::e64, .args = {vector(1, 1), negated(vector(2, 1)), vector(3, 1)}},
      {.op = O::v_and_b32,
       .form = Form::e64,
       .args = {vector(1, 1), vector(2, 1), vector(3, 1)},
       .mods = {.clamp = true}},
      {.op = O::v_add_f32, .form = Form::dpp, .args = {vector(1, 1), scalar(2, 1), vector(3, 1)}},
      {.op = O::v_mov_b64, .form = Form::dpp, .args = {vector(0, 2), vector(2, 2)}, .mods = {.dpp_ctrl = 0x101}},
      {.op = O::v_fma_f32, .args = {vector(1, 1), scalar(2, 1), scalar(3, 1), vector(3, 1)}},  // two scalars
      {.op = O::v_fma_f32, .args = {vector(1, 1), vector(2, 1), big, vector(3, 1)}},
      {.op = O::v_cndmask_b32, .form = Form::e32, .args = {vector(1, 1), scalar(2, 1), vector(3, 1), lane_mask}},
      {.op = O::v_cndmask_b32, .form = Form::e32, .args = {vector(1, 1), vector(2, 1), vector(3, 1), scalar(0, 2)}},
      {.op = O::v_cmp_eq_u32, .form = Form::e32, .args = {scalar(0, 2), vector(2, 1), vector(3, 1)}},
      {.op = O::v_readfirstlane_b32, .args = {scalar(0, 1), scalar(1, 1)}},
      {.op = O::v_writelane_b32, .args = {vector(1, 1), scalar(1, 1), scalar(2, 1)}},
      {.op = O::v_pk_mul_f32, .args = {vector(1, 2), vector(2, 2), vector(4, 2)}},  // odd vector pair
      {.op = O::v_mfma_f32_32x32x16_bf16, .args = {vector(0, 16), vector(16, 4), vector(20, 4), accumulator(0, 16)}},
      {.op = O::v_mfma_f32_32x32x16_bf16, .args = {vector(0, 16), vector(16, 4), vector(20, 4), vector(8, 16)}},
      {.op = O::v_mfma_f32_32x32x16_bf16, .args = {vector(0, 8), vector(16, 4), vector(20, 4), zero}},
      {.op = O::v_mfma_f32_32x32x64_f8f6f4,
       .args = {vector(0, 16), vector(16, 8), vector(24, 8), zero},
       .mods = {.cbsz = 4}},  // FP4 takes 4 registers
      {.op = O::v_mfma_scale_f32_16x16x128_f8f6f4,
       .args = {vector(0, 4), vector(16, 8), vector(24, 8), zero, scalar(0, 1), vector(1, 1)}},
      {.op = O::ds_read_b64, .args = {vector(0, 2), vector(2, 1)}, .mods = {.offset = 65536}},
      {.op = O::ds_read_b128, .args = {vector(1, 4), vector(0, 1)}},
      {.op = O::buffer_load_dword,
       .args = {vector(0, 1), vector(2, 1), rsrc, zero},
       .mods = {.offset = 65536, .offen = true}},
      {.op = O::buffer_load_dword, .args = {vector(0, 1), vector(2, 1), rsrc, big}, .mods = {.offen = true}},
      {.op = O::buffer_load_dword, .args = {vector(0, 1), vector(2, 1), rsrc, zero}},  // address without offen
      {.op = O::buffer_load_dword, .args = {vector(0, 1), Operand{}, rsrc, zero}, .mods = {.offen = true}},
      {.op = O::buffer_load_dwordx2,
       .args = {Operand{}, vector(2, 1), rsrc, zero},
       .mods = {.offen = true, .lds = true}},
      {.op = O::global_load_dword, .args = {vector(0, 1), vector(2, 2), scalar(0, 2)}},
      {.op = O::global_load_dword, .args = {vector(0, 1), vector(2, 2), Operand{}}, .mods = {.offset = 4096}},
      {.op = O::global_load_dword, .args = {vector(0, 1), vector(2, 1), exec}},
  };
  for (const Inst& inst : bad) {
    CAPTURE(print(inst));
    CHECK(!validate(inst).empty());
    REQUIRE_THROWS_AS(machine_code(print(inst) + "\n"), zyfa::Error);
  }
}

TEST_CASE("validation holds buffer offsets to 12 bits where LLVM's assembler drops the rest", "[quick]") {
  Inst load{.op = Op::buffer_load_dword, .args = {V<1>{0}, V<1>{2}, S<4>{8}, Operand::constant(0)}};
  load.mods.offen = true;
  load.mods.offset = 4095;
  CHECK(validate(load).empty());
  require_round_trip({load});
  load.mods.offset = 4096;
  CHECK(!validate(load).empty());
  const std::string assembled = disassemble(machine_code(print(load) + "\n")).at(0).text;
  CHECK(assembled == "buffer_load_dword v0, v2, s[8:11], 0 offen");
}

TEST_CASE("random instructions reach every form, constant and modifier", "[quick]") {
  int forms[5] = {}, kinds[8] = {}, negated = 0, clamped = 0, lds = 0, selected = 0, scaled = 0, absent = 0,
      indexed = 0, selects = 0;
  for (const Inst& inst : random_code(4)) {
    ++forms[static_cast<int>(inst.form)];
    for (const Operand& operand : inst.args) {
      ++kinds[static_cast<int>(operand.kind)];
      negated += operand.neg && operand.is_constant();
    }
    clamped += inst.mods.clamp;
    lds += inst.mods.lds;
    selected += inst.mods.op_sel != 0;
    scaled += inst.mods.omod != 0;
    absent += desc(inst.op).kind == Kind::GLOBAL_LOAD && inst.args[2].kind == OperandKind::none;
    indexed += desc(inst.op).kind == Kind::SMEM_LOAD && inst.args[2].is_register() && inst.mods.offset < 0;
    selects += inst.op == Op::v_writelane_b32 && inst.args[2].kind == OperandKind::integer;
  }
  for (const Form form : {Form::natural, Form::e32, Form::e64, Form::dpp, Form::sdwa})
    CHECK(forms[static_cast<int>(form)] > 1000);
  for (int kind = 0; kind < static_cast<int>(OperandKind::label); ++kind) CHECK(kinds[kind] > 1000);
  for (const int seen : {negated, clamped, lds, selected, scaled, absent, indexed}) CHECK(seen > 50);
  CHECK(selects > 0);
}
