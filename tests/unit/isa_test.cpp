// The table's own consistency, and what is derived from it: lookup, widths, passes, register accesses.
#include "isa/isa.h"

#include "tests/support/catch.h"
#include "tests/support/random_inst.h"

#include <algorithm>
#include <set>

using namespace zyfa::isa;

namespace {

std::vector<Op> all_ops() {
  std::vector<Op> ops;
  for (int op = 0; op < static_cast<int>(Op::count); ++op) ops.push_back(static_cast<Op>(op));
  return ops;
}

Inst matrix_inst(Op op, MatrixFormat a, MatrixFormat b) {
  Inst inst{.op = op};
  inst.mods.cbsz = static_cast<std::uint8_t>(a);
  inst.mods.blgp = static_cast<std::uint8_t>(b);
  return inst;
}

bool touches(const Inst& inst, OperandKind file, int first, bool write) {
  const auto list = accesses(inst);
  return std::any_of(list.begin(), list.end(),
                     [&](const Access& a) { return a.file == file && a.first == first && a.write == write; });
}

}  // namespace

TEST_CASE("names are unique and lead back to their rows", "[quick]") {
  std::set<std::string_view> names;
  for (const Op op : all_ops()) {
    CHECK(names.insert(desc(op).name).second);
    CHECK(find_op(desc(op).name) == op);
  }
  CHECK(!find_op("v_mov_b32_e32"));
  CHECK(!find_op("v_no_such_instruction"));
  CHECK(!find_op(""));
}

TEST_CASE("arguments stand without gaps, destinations first", "[quick]") {
  for (const Op op : all_ops()) {
    const Desc& d = desc(op);
    CAPTURE(d.name);
    for (std::size_t i = 1; i < max_args; ++i)
      if (d.args[i].role != Role::none) CHECK(d.args[i - 1].role != Role::none);
    for (const Arg& a : d.args) CHECK((a.role == Role::none) == (a.type == Type::none));
    if (d.cls == Class::VmemStore || d.cls == Class::LdsWrite) {
      const bool may_return = is_atomic(d.kind) && d.cls == Class::VmemStore;
      for (const Arg& a : d.args) CHECK((a.role != Role::write || may_return));
      CHECK((d.memory_bytes > 0) == (d.kind != Kind::CACHE_WRITE_BACK));
    }
    if (d.kind == Kind::GLOBAL_LOAD_LDS) {
      for (const Arg& a : d.args) CHECK(a.role != Role::write);
      CHECK((d.memory_bytes % 4 == 0 || d.memory_bytes <= 2));
    } else if (d.cls == Class::VmemLoad || d.cls == Class::LdsRead || d.cls == Class::Smem) {
      if (d.memory_bytes > 0) CHECK((d.memory_bytes + 3) / 4 * (d.pair_stride ? 2 : 1) == d.args[0].dwords);
    }
  }
}

TEST_CASE("every register argument appears among the accesses in its role", "[quick]") {
  zyfa::tests::Rng rng(5);
  for (const Op op : all_ops()) {
    const Inst inst = zyfa::tests::random_inst(op, rng);
    CAPTURE(desc(op).name);
    for (int i = 0; i < max_args; ++i) {
      const Operand& operand = inst.args[static_cast<std::size_t>(i)];
      if (!operand.is_register()) continue;
      int reads = 0, writes = 0;
      for (const Access& a : accesses(inst)) {
        if (a.arg != i) continue;
        CHECK((a.file == operand.kind && a.first == operand.value));
        // A buffer's compare-and-swap returns half of what it takes.
        CHECK((a.count == operand.count || (a.write && desc(op).kind == Kind::BUFFER_ATOMIC)));
        ++(a.write ? writes : reads);
      }
      const Role role = arg(inst, i).role;
      // What SDWA leaves of the destination is read.
      const bool preserves = i == 0 && inst.mods.dst_unused == DstUnused::preserve &&
                             inst.mods.dst_sel != Modifiers::whole_dword && role == Role::write;
      CHECK(reads == (role != Role::write || preserves ? 1 : 0));
      CHECK(writes == (role != Role::read ? 1 : 0));
    }
  }
}

TEST_CASE("implicit accesses", "[quick]") {
  const Inst add{.op = Op::v_add_f32, .form = Form::e32, .args = {V<1>{0}, V<1>{1}, V<1>{2}}};
  CHECK(touches(add, OperandKind::sgpr, exec.first, false));
  CHECK(!touches(add, OperandKind::sgpr, exec.first, true));
  CHECK(!touches({.op = Op::s_mov_b32, .args = {S<1>{0}, S<1>{1}}}, OperandKind::sgpr, exec.first, false));
  CHECK(touches({.op = Op::s_and_saveexec_b64, .args = {S<2>{0}, S<2>{2}}}, OperandKind::sgpr, exec.first, true));
  CHECK(touches({.op = Op::s_cbranch_vccz}, OperandKind::sgpr, vcc.first, false));
  Inst load{.op = Op::buffer_load_dword, .args = {Operand{}, V<1>{1}, S<4>{8}, Operand::constant(0)}};
  load.mods.offen = true;
  CHECK(!touches(load, OperandKind::sgpr, m0.first, false));
  load.mods.lds = true;
  CHECK(touches(load, OperandKind::sgpr, m0.first, false));
}

TEST_CASE("passes and source widths of f8f6f4 follow the formats", "[quick]") {
  using F = MatrixFormat;
  const Op wide = Op::v_mfma_f32_32x32x64_f8f6f4, scaled = Op::v_mfma_scale_f32_16x16x128_f8f6f4;
  CHECK(passes(matrix_inst(wide, F::e4m3, F::e4m3)) == 16);
  CHECK(passes(matrix_inst(wide, F::e2m1, F::e5m2)) == 16);
  CHECK(passes(matrix_inst(wide, F::e2m1, F::e2m3)) == 8);
  CHECK(passes(matrix_inst(scaled, F::e3m2, F::e4m3)) == 8);
  CHECK(passes(matrix_inst(scaled, F::e3m2, F::e2m1)) == 4);
  CHECK(passes({.op = Op::v_mfma_f32_32x32x16_bf16}) == 8);
  CHECK(passes({.op = Op::v_add_f32, .form = Form::e32}) == 0);
  const Inst mixed = matrix_inst(wide, F::e2m1, F::e3m2);
  CHECK(arg(mixed, 1).dwords == 4);
  CHECK(arg(mixed, 2).dwords == 6);
  CHECK(arg(matrix_inst(wide, F::e5m2, F::e4m3), 1).dwords == 8);
}

TEST_CASE("matrix instructions take the modifiers that AMD documents", "[quick]") {
  const auto problem = [](Op op, Modifiers mods) {
    Inst inst{.op = op, .mods = mods};
    for (int i = 0; i < 4; ++i)
      inst.args[static_cast<std::size_t>(i)] = {OperandKind::vgpr, static_cast<std::uint32_t>(32 * i),
                                                desc(op).args[static_cast<std::size_t>(i)].dwords};
    return validate(inst);
  };
  // Blocks of A are broadcast in powers of two, to no more blocks than there are and from one of them.
  CHECK(problem(Op::v_mfma_f32_4x4x4_16b_f16, {.cbsz = 4, .abid = 15, .blgp = 7}) == "");
  CHECK(problem(Op::v_mfma_f32_4x4x4_16b_f16, {.cbsz = 5}) != "");
  CHECK(problem(Op::v_mfma_f32_16x16x4_4b_f16, {.cbsz = 2, .abid = 3}) == "");
  CHECK(problem(Op::v_mfma_f32_16x16x4_4b_f16, {.cbsz = 2, .abid = 4}) != "");
  CHECK(problem(Op::v_mfma_f32_16x16x4_4b_f16, {.abid = 1}) != "");
  CHECK(problem(Op::v_mfma_f32_32x32x16_bf16, {.cbsz = 1}) != "");
  CHECK(problem(Op::v_mfma_f32_32x32x16_bf16, {.blgp = 1}) != "");
  CHECK(problem(Op::v_mfma_f32_32x32x2_f32, {.blgp = 7}) == "");
  CHECK(problem(Op::v_mfma_f64_4x4x4_4b_f64, {.blgp = 7}) == "");
  CHECK(problem(Op::v_mfma_f64_4x4x4_4b_f64, {.cbsz = 1}) != "");
  CHECK(problem(Op::v_smfmac_f32_16x16x32_f16, {.abid = 3}) == "");
  CHECK(problem(Op::v_smfmac_f32_16x16x32_f16, {.blgp = 1}) != "");
}

TEST_CASE("the table has the rows the kernels need", "[quick]") {
  const auto count = [](Class c) {
    const auto ops = all_ops();
    return std::count_if(ops.begin(), ops.end(), [c](Op op) { return desc(op).cls == c; });
  };
  CHECK(count(Class::Mfma) == 68);
  CHECK(count(Class::Trans) >= 6);
  CHECK(count(Class::Smem) == 14);
  CHECK(count(Class::LdsRead) >= 6);
  CHECK(count(Class::LdsWrite) >= 4);
  CHECK(count(Class::Barrier) == 1);
  CHECK(all_ops().size() >= 250);
}
