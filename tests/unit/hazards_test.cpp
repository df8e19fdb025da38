#include "isa/hazards.h"

#include "isa/isa.h"
#include "tests/support/catch.h"
#include "tests/support/hazard_pairs.h"
#include "tests/support/make_inst.h"

using namespace zyfa;
using namespace zyfa::isa;
using enum Op;

namespace {

const Inst end = make(s_endpgm);
const Inst unrelated = make(s_mov_b32, {s(90), number(0)});
const Inst mfma = make(v_mfma_f32_32x32x16_bf16, {v(0, 16), v(16, 4), v(20, 4), v(32, 16)});  // 8 passes
const Inst reader = make(v_add_f32, Form::e32, {v(60), v(0), v(61)});                         // 12 wait states

int missing(const std::vector<Inst>& code, std::uint32_t consumer) {
  return missing_wait_states({code, {}}, consumer, Machine{});
}

std::vector<Inst> with_idle(const HazardPair& pair, int wait_states) {
  std::vector<Inst> code{pair.producer};
  append_idle(code, wait_states);
  code.push_back(pair.consumer);
  code.push_back(end);
  return code;
}

bool has_rule(const std::vector<HazardFinding>& findings, std::string_view rule) {
  return std::ranges::find(findings, rule, &HazardFinding::rule) != findings.end();
}

}  // namespace

TEST_CASE("The pairs are instructions that can be encoded", "[quick][hazards]") {
  for (const HazardPair& pair : hazard_pairs()) {
    CAPTURE(pair.producer_mir, pair.consumer_mir);
    CHECK(validate(pair.producer) == "");
    CHECK(validate(pair.consumer) == "");
  }
}

TEST_CASE("Each rule holds up to its last wait state", "[quick][hazards]") {
  for (const HazardPair& pair : hazard_pairs()) {
    CAPTURE(pair.rule, pair.producer_mir, pair.consumer_mir);
    const auto too_near = check_hazards({with_idle(pair, pair.required - 1), {}}, Machine{});
    CHECK(has_rule(too_near, pair.rule));
    for (const HazardFinding& finding : too_near) CHECK(finding.required - finding.found == 1);
    CHECK(check_hazards({with_idle(pair, pair.required), {}}, Machine{}).empty());
  }
}

TEST_CASE("Other instructions are wait states as well", "[quick][hazards]") {
  for (const HazardPair& pair : hazard_pairs()) {
    CAPTURE(pair.rule, pair.producer_mir, pair.consumer_mir);
    std::vector<Inst> code(static_cast<std::size_t>(pair.required) + 1, unrelated);
    code.front() = pair.producer;
    code.push_back(pair.consumer);
    const auto consumer = static_cast<std::uint32_t>(code.size() - 1);
    CHECK(missing(code, consumer) == 0);
    code.erase(code.begin() + 1);
    CHECK(missing(code, consumer - 1) == 1);
  }
}

TEST_CASE("Each rule has a pair that shows it", "[quick][hazards]") {
  const std::vector<HazardPair> pairs = hazard_pairs();
  for (const std::string_view rule : hazard_rules()) {
    // Only instructions of two passes need it and the table has none; the next test case makes one up.
    if (rule == "matrix result as C of the same opcode") continue;
    CAPTURE(rule);
    CHECK(std::ranges::find(pairs, rule, &HazardPair::rule) != pairs.end());
  }
}

TEST_CASE("An accumulator is forwarded to the same opcode", "[quick][hazards]") {
  const Inst next = make(v_mfma_f32_32x32x16_bf16, {v(0, 16), v(64, 4), v(68, 4), v(0, 16)});
  CHECK(missing({mfma, next}, 1) == 0);
  Machine machine;
  machine.matrix_write_to_same_c.p8 = 2;
  CHECK(missing_wait_states({{mfma, next}, {}}, 1, machine) == 2);

  const Inst fp8 = make(v_mfma_f32_32x32x64_f8f6f4, {v(0, 16), v(16, 8), v(24, 8), v(0, 16)});
  Inst fp4 = make(v_mfma_f32_32x32x64_f8f6f4, {v(0, 16), v(16, 4), v(24, 4), v(0, 16)}, {.cbsz = 4, .blgp = 4});
  CHECK(missing({fp8, fp8}, 1) == 0);
  CHECK(missing({fp8, fp4}, 1) == 18);  // other passes: as another opcode
  CHECK(missing({fp8, next}, 1) == 18);
}

TEST_CASE("No rule fires between strangers", "[quick][hazards]") {
  const Inst other = make(v_add_f32, Form::e32, {v(60), v(62), v(61)});
  const Inst same_number_of_another_file = make(v_accvgpr_read_b32, {v(60), a(0)});
  CHECK(missing({mfma, other}, 1) == 0);
  CHECK(missing({mfma, same_number_of_another_file}, 1) == 0);
  const Inst high = make(v_exp_f32, Form::e32, {v(0), v(1)});
  CHECK(missing({high, make(v_exp_f32, Form::e32, {v(2), v(0)})}, 1) == 0);  // among transcendentals
  CHECK(missing({high, end, reader}, 2) == 0);                               // nothing runs past the end
}

TEST_CASE("A hazard is carried around a loop", "[quick][hazards]") {
  // 0: reader, 1: mfma, 2: idle, 3: branch to 0
  const auto loop = [](int idle) {
    return std::vector<Inst>{reader, mfma, nop(idle), make(s_cbranch_scc1, {label(0)}), end};
  };
  CHECK(missing(loop(10), 0) == 1);  // and the branch
  CHECK(missing(loop(11), 0) == 0);
  const auto findings = check_hazards({loop(10), {}}, Machine{});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].producer == 1);
  CHECK(findings[0].consumer == 0);
  CHECK(findings[0].required == 12);
  CHECK(findings[0].found == 11);
}

TEST_CASE("The shortest path through a branch counts", "[quick][hazards]") {
  // 0: mfma, 1: branch to 3, 2: idle, 3: reader
  const std::vector<Inst> code{mfma, make(s_cbranch_scc1, {label(3)}), nop(14), reader, end};
  CHECK(missing(code, 3) == 11);
  std::vector<Inst> never_skipped = code;
  never_skipped[1] = unrelated;
  CHECK(missing(never_skipped, 3) == 0);
  std::vector<Inst> always_skipped = code;
  always_skipped[1] = make(s_branch, {label(3)});
  CHECK(missing(always_skipped, 3) == 11);
}

TEST_CASE("Wait states still to be inserted are counted", "[quick][hazards]") {
  const Program program{{mfma, unrelated, reader}, {}};
  const Flow flow(program);
  CHECK(missing_wait_states(program, flow, {0, 0, 0, 0}, 2, Machine{}) == 11);
  CHECK(missing_wait_states(program, flow, {9, 3, 4, 0}, 2, Machine{}) == 4);
  CHECK(missing_wait_states(program, flow, {0, 0, 11, 0}, 2, Machine{}) == 0);
}

TEST_CASE("A finding names rule, instructions, lines and wait states", "[quick][hazards]") {
  const Program program{{at_line(mfma, 12), nop(5), at_line(reader, 34)}, {}};
  const auto findings = check_hazards(program, Machine{});
  REQUIRE(findings.size() == 1);
  const std::string message = findings[0].message(program);
  CAPTURE(message);
  for (const char* part : {"XDL result read by VALU or memory", "v_mfma_f32_32x32x16_bf16", "(t.cpp:12)", "v_add_f32",
                           "(t.cpp:34)", "needs 12", "has 5"})
    CHECK(message.find(part) != std::string::npos);
  CHECK(message.find('\n') == std::string::npos);
}

TEST_CASE("A user's machine decides", "[quick][hazards]") {
  Machine machine;
  machine.xdl_write_to_read.p8 = 0;
  CHECK(check_hazards({{mfma, reader}, {}}, machine).empty());
  machine.xdl_write_to_read.p8 = 40;
  CHECK(missing_wait_states({{mfma, nop(16), reader}, {}}, 2, machine) == 24);
}

TEST_CASE("A clause with replay conflicts is broken anywhere before the second", "[quick][hazards]") {
  const Inst reads_pointer = make(s_load_dword, {s(20), s(4, 2), no_offset});
  const Inst between = make(s_load_dword, {s(22), s(8, 2), no_offset});
  const Inst writes_pointer = make(s_load_dwordx2, {s(4, 2), s(6, 2), no_offset});
  CHECK(missing({reads_pointer, between, writes_pointer}, 2) == 1);
  CHECK(missing({reads_pointer, unrelated, between, writes_pointer}, 3) == 0);
  const Inst load = make(global_load_dword, {v(1), v(2, 2), off});
  const Inst store = make(global_store_dword, {v(4, 2), v(6), off});
  CHECK(missing({load, store}, 1) == 1);
  CHECK(missing({store, store}, 1) == 0);
  // A row in which two clash already is no longer for one that clashes with neither, until something ends it.
  const Inst overwrites = make(global_load_dword, {v(6), v(8, 2), off});
  const Inst apart = make(global_load_dword, {v(10), v(12, 2), off});
  CHECK(missing({store, overwrites, apart}, 1) == 1);
  CHECK(missing({store, overwrites, apart}, 2) == 1);
  CHECK(missing({store, unrelated, overwrites, apart}, 3) == 0);
  Machine without_xnack;
  without_xnack.clause_break = 0;
  CHECK(check_hazards({{load, store}, {}}, without_xnack).empty());
}

TEST_CASE("A branch without a target in the program is an error", "[quick][hazards]") {
  CHECK_THROWS_AS(check_hazards({{make(s_branch, {label(3)}), end}, {}}, Machine{}), Error);
  CHECK_THROWS_AS(check_hazards({{make(s_branch, {number(1)}), end}, {}}, Machine{}), Error);
}
