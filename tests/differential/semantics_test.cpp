// Every row that the emulator executes within a wave, on random instructions, against a second reading of
// AMD's pseudo code, and on every vector extension of this host against each other.
#include "isa/emulator/vector_targets.h"

#include "isa/emulator/execute.h"
#include "tests/support/catch.h"
#include "tests/support/oracle.h"

#include <hwy/targets.h>

#include <cstring>
#include <memory>
#include <vector>

namespace zyfa::tests {
namespace {

using emulator::Execute;
using emulator::Wave;
using isa::Inst;
using isa::Op;

constexpr int instructions_per_row = 100;

std::vector<Op> executed_rows() {
  std::vector<Op> rows;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Op::count); ++i)
    if (emulator::find_execute(static_cast<Op>(i))) rows.push_back(static_cast<Op>(i));
  return rows;
}

bool is_matrix(Op op) { return isa::desc(op).cls == isa::Class::Mfma; }

struct Waves {
  std::unique_ptr<Wave> before = std::make_unique<Wave>();
  std::unique_ptr<Wave> after = std::make_unique<Wave>();
};

// Constants as C or as scales take the values out of the range in which sums of small integers are exact.
bool has_odd_constants(const Inst& inst) {
  for (std::size_t i = 3; i < isa::max_args; ++i)
    if (inst.args[i].is_constant() && (i > 3 || inst.args[i].value != 0)) return true;
  return false;
}

// What the emulator does wrong with one random instruction of this row, empty if nothing.
std::string check_row(Op op, Waves& waves, Rng& rng, bool integers) {
  const Inst inst = random_instruction(op, rng);
  randomise_state(*waves.before, rng);
  if (is_matrix(op)) randomise_matrices(*waves.before, inst, integers, rng);
  *waves.after = *waves.before;
  emulator::find_execute(op)(*waves.after, inst);
  if (is_matrix(op)) {
    const bool exact = integers && !has_odd_constants(inst);
    return matrix_difference(*waves.before, *waves.after, inst, exact);
  }
  if (!run_oracle(*waves.before, inst)) return "the oracle does not know this instruction";
  return difference(*waves.before, *waves.after, inst);
}

// Calls `body` once for each vector extension that this host can run, with that one chosen.
template <class Body>
void on_each_extension(Body body) {
  const auto choose = [](std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  };
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    choose(target);
    body();
  }
  choose(0);
}

}  // namespace

TEST_CASE("every executed row agrees with the oracle", "[quick]") {
  Rng rng(1);
  Waves waves;
  const std::vector<Op> rows = executed_rows();
  REQUIRE(rows.size() > 200);
  for (const Op op : rows) {
    if (is_matrix(op)) continue;
    for (int i = 0; i < instructions_per_row; ++i) {
      INFO(isa::desc(op).name << " #" << i);
      if (i % 10 == 0) randomise(*waves.before, rng);
      REQUIRE(check_row(op, waves, rng, false) == "");
    }
  }
}

TEST_CASE("matrix rows agree with a sum in double", "[quick]") {
  Rng rng(2);
  Waves waves;
  for (const Op op : executed_rows()) {
    if (!is_matrix(op)) continue;
    const bool many_formats = isa::desc(op).kind != isa::Kind::MFMA;
    for (int i = 0; i < (many_formats ? 30 : 6); ++i) {
      INFO(isa::desc(op).name << " #" << i);
      if (i % 10 == 0) randomise(*waves.before, rng);
      REQUIRE(check_row(op, waves, rng, false) == "");
      REQUIRE(check_row(op, waves, rng, true) == "");
    }
  }
}

TEST_CASE("the rows executed are those that need nothing but the wave", "[quick]") {
  for (std::size_t i = 0; i < static_cast<std::size_t>(Op::count); ++i) {
    const isa::Desc& d = isa::desc(static_cast<Op>(i));
    const bool needs_more = d.kind >= isa::Kind::DS_READ || d.cls == isa::Class::Smem || d.cls == isa::Class::Branch ||
                            d.cls == isa::Class::Internal || d.cls == isa::Class::Barrier || isa::uses_pc(d.kind);
    INFO(d.name);
    CHECK((emulator::find_execute(static_cast<Op>(i)) == nullptr) == needs_more);
  }
}

TEST_CASE("vector extensions give the same bits", "[quick]") {
  const std::vector<Op> rows = executed_rows();
  std::vector<std::vector<Execute>> functions;
  std::vector<std::string> names;
  on_each_extension([&] {
    names.emplace_back(emulator::vector_extension());
    functions.emplace_back();
    for (const Op op : rows) functions.back().push_back(emulator::find_execute(op));
  });
  Rng rng(3);
  Waves waves;
  auto other = std::make_unique<Wave>();
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (int i = 0; i < 20; ++i) {
      const Inst inst = random_instruction(rows[row], rng);
      if (i % 10 == 0) randomise(*waves.before, rng);
      randomise_state(*waves.before, rng);
      *waves.after = *waves.before;
      functions[0][row](*waves.after, inst);
      for (std::size_t e = 1; e < functions.size(); ++e) {
        *other = *waves.before;
        functions[e][row](*other, inst);
        INFO(isa::desc(inst.op).name << " on " << names[0] << " and " << names[e]);
        REQUIRE(std::memcmp(&other->vector, &waves.after->vector, sizeof other->vector) == 0);
        REQUIRE(other->scalar == waves.after->scalar);
        REQUIRE(other->scc == waves.after->scc);
      }
    }
}

TEST_CASE("wrong semantics are noticed", "[quick]") {
  Rng rng(4);
  Waves waves;
  Wave& expected = *waves.before;
  Wave& actual = *waves.after;
  randomise(expected, rng);
  expected.set_scalar64(isa::exec.first, ~0ULL);
  expected.mode.bits = 0x3f0;
  for (std::size_t lane = 0; lane < 64; ++lane)
    expected.vector[1][lane] = 0x3f800000 + 0x1234 * static_cast<std::uint32_t>(lane);
  const Inst inst = {.op = Op::v_exp_f32, .form = isa::Form::e32, .args = {isa::V<1>{0}, isa::V<1>{1}}};

  SECTION("a result in the neighbouring lane") {
    actual = expected;
    run_oracle(expected, inst);
    for (std::size_t lane = 0; lane < 64; ++lane) actual.vector[0][lane] = expected.vector[0][(lane + 1) % 64];
    CHECK(difference(expected, actual, inst) != "");
  }
  SECTION("a result further off than its row may be") {
    run_oracle(expected, inst);
    actual = expected;
    actual.vector[0][9] += 1;
    CHECK(difference(expected, actual, inst) == "");
    CHECK(difference(expected, actual, {.op = Op::v_add_f32, .args = inst.args}) != "");
    actual.vector[0][9] += 1;
    CHECK(difference(expected, actual, inst) != "");
  }
  SECTION("another instruction's result") {
    actual = expected;
    const Inst sum = {.op = Op::v_add_f32, .form = isa::Form::e32, .args = {isa::V<1>{0}, isa::V<1>{1}, isa::V<1>{1}}};
    const Inst product = {.op = Op::v_mul_f32, .form = isa::Form::e32, .args = sum.args};
    run_oracle(expected, sum);
    emulator::find_execute(Op::v_mul_f32)(actual, product);
    CHECK(difference(expected, actual, sum) != "");
  }
  SECTION("a write beside the destination, to a scalar register or to SCC") {
    run_oracle(expected, inst);
    actual = expected;
    CHECK(difference(expected, actual, inst) == "");
    expected.vector[300][63] = 0x10;
    actual.vector[300][63] = 0x11;
    CHECK(difference(expected, actual, inst) == "a44 lane 63: expected 0x00000010, got 0x00000011");
    actual = expected;
    actual.scalar[7] ^= 1;
    CHECK(difference(expected, actual, inst) != "");
    actual = expected;
    actual.scc = !actual.scc;
    CHECK(difference(expected, actual, inst) != "");
  }
  SECTION("one element of a matrix") {
    const Inst mfma = {.op = Op::v_mfma_f32_32x32x64_f8f6f4,
                       .args = {isa::V<16>{0}, isa::V<8>{32}, isa::V<8>{40}, isa::V<16>{0}}};
    randomise_matrices(expected, mfma, true, rng);
    actual = expected;
    emulator::find_execute(mfma.op)(actual, mfma);
    REQUIRE(matrix_difference(expected, actual, mfma, true) == "");
    std::swap(expected.vector[32][0], expected.vector[36][0]);  // A's k halves of one row change places
    CHECK(matrix_difference(expected, actual, mfma, true) != "");
  }
}

TEST_CASE("branches look at SCC, VCC and EXEC", "[quick]") {
  Waves waves;
  Wave& wave = *waves.before;
  wave = {};
  const auto taken = [&](Op op) { return emulator::branch_taken(op, wave); };
  CHECK(taken(Op::s_branch));
  CHECK(taken(Op::s_cbranch_scc0));
  CHECK_FALSE(taken(Op::s_cbranch_scc1));
  CHECK(taken(Op::s_cbranch_vccz));
  CHECK_FALSE(taken(Op::s_cbranch_vccnz));
  CHECK(taken(Op::s_cbranch_execz));
  CHECK_FALSE(taken(Op::s_cbranch_execnz));
  wave.scc = true;
  wave.set_scalar64(isa::vcc.first, 1ULL << 63);
  wave.set_scalar64(isa::exec.first, 1ULL << 32);
  CHECK_FALSE(taken(Op::s_cbranch_scc0));
  CHECK(taken(Op::s_cbranch_scc1));
  CHECK_FALSE(taken(Op::s_cbranch_vccz));
  CHECK(taken(Op::s_cbranch_vccnz));
  CHECK_FALSE(taken(Op::s_cbranch_execz));
  CHECK(taken(Op::s_cbranch_execnz));
  REQUIRE_THROWS_AS(taken(Op::s_nop), Error);
}

}  // namespace zyfa::tests
