// The dynamic search for missing wait states asks for what the static one does, rule by rule.
#include "isa/emulator/strict_trace.h"
#include "tests/support/catch.h"
#include "tests/support/hazard_pairs.h"
#include "tests/support/make_inst.h"

using namespace zyfa;
using namespace zyfa::emulator;
using isa::Inst;
using isa::Op;

namespace {

// Executes the program's instructions in this order.
std::vector<Finding> executed(const isa::Program& program, std::initializer_list<std::uint32_t> order,
                              const isa::Machine& machine = {}) {
  const StrictProgram facts(program, machine);
  StrictLog log(program);
  StrictTrace trace(facts, log);
  StrictTrace::History history;
  for (const std::uint32_t index : order) trace.step(history, index, 0);
  return log.take();
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("Strict: each rule of the table holds up to its last wait state", "[quick][hazards]") {
  for (const HazardPair& pair : hazard_pairs()) {
    if (contains(std::string(pair.rule), "clause")) continue;  // of XNACK, not of time: docs/strict.md
    CAPTURE(pair.rule, pair.producer_mir, pair.consumer_mir);
    for (const int idle : {pair.required - 1, pair.required}) {
      isa::Program program{{pair.producer}, {}};
      append_idle(program.code, idle);
      program.code.push_back(pair.consumer);
      const StrictProgram facts(program, isa::Machine{});
      StrictLog log(program);
      StrictTrace trace(facts, log);
      StrictTrace::History history;
      for (std::uint32_t i = 0; i < program.code.size(); ++i) trace.step(history, i, 0);
      const auto found = log.take();
      CHECK(found.empty() == (idle == pair.required));
      for (const Finding& f : found) {
        CHECK(f.rule == StrictRule::wait_states);
        CHECK(
            contains(f.message, fmt::format("{} wait states are required in between, {} were there", idle + 1, idle)));
      }
    }
  }
}

TEST_CASE("Strict: wait states are found on every way to an instruction", "[quick][hazards]") {
  const Inst swap = make(Op::v_permlane32_swap_b32, isa::Form::e32, {v(5), v(4)});
  const Inst writer = make(Op::v_mov_b32, isa::Form::e32, {v(5), number(1)});
  const Inst unrelated = make(Op::s_mov_b32, {s(90), number(0)});
  const Inst branch = make(Op::s_branch, {label(2)});
  // 0 unrelated, 1 unrelated, 2 swap, 3 writer, 4 branch to 2.
  const isa::Program program{{unrelated, unrelated, swap, writer, branch}, {}};
  CHECK(executed(program, {0, 1, 2, 3}).empty());
  // Straight down first, so that the text's own answer is known; then round the loop.
  CHECK(executed(program, {0, 1, 2, 3, 4, 2}).size() == 1);
  // Twice the same is one finding.
  CHECK(executed(program, {0, 1, 2, 3, 4, 2, 3, 4, 2}).size() == 1);
  // Time counts as it passed, not as the text stands.
  CHECK(executed(program, {3, 0, 1, 2}).empty());
  CHECK(executed(program, {3, 1, 2}).size() == 1);
}

TEST_CASE("Strict: the machine's numbers are those of the run", "[quick][hazards]") {
  const isa::Program program{{make(Op::v_mov_b32, isa::Form::e32, {v(5), number(1)}),
                              make(Op::v_permlane32_swap_b32, isa::Form::e32, {v(5), v(4)})},
                             {}};
  isa::Machine machine;
  CHECK(executed(program, {0, 1}, machine).size() == 1);
  machine.valu_write_to_swap = 0;
  CHECK(executed(program, {0, 1}, machine).empty());
}
