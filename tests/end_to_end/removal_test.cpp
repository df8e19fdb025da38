// Every wait and every nop of the kernels is needed: taking one away, or weakening it by one, is noticed by the static
// checkers, or the emulator traps or computes something else. Waits count loads, and the emulator delivers loads as
// late as the machine may, so a missing wait shows itself in the values.
#include "tests/support/removal.h"
#include "isa/error.h"
#include "isa/hazards.h"
#include "isa/in_flight.h"
#include "isa/text.h"
#include "tests/support/catch.h"
#include "tests/support/kernels.h"

#include <algorithm>
#include <cstring>
#include <map>

using namespace zyfa;
using namespace zyfa::runtime;
using isa::Inst;
using isa::Op;
using isa::Program;

namespace {

// A kernel and a problem that takes it through all of its loops: whole tiles, edge tiles, tiles that only other waves
// need, a second workgroup with idle waves.
class Subject {
 public:
  explicit Subject(bool causal)
      : kernel_(generate_kernel(causal, true)),
        inputs_(make_inputs({.batch = 1, .heads = 2, .kv_heads = 1, .seqlen_q = 300, .seqlen_k = 740, .causal = causal},
                            InputKind::gaussian, 1.5, 3, {.distinct_descales = true})),
        expected_(run(kernel_.code.program)) {
    REQUIRE_FALSE(expected_.result.trap);
    REQUIRE(compare(reference_attention(inputs_, {.threads = 2}), expected_.output()).passed);
  }

  const Program& program() const { return kernel_.code.program; }

  // All that notice that this is not the kernel, joined by " and "; empty if nothing does.
  std::string noticed(const Program& changed) {
    std::string who;
    const auto add = [&](bool noticed, const char* name) {
      if (noticed) who += (who.empty() ? "" : " and ") + std::string(name);
    };
    add(!check_hazards(changed, isa::Machine{}).empty(), "hazard checker");
    add(!check_in_flight(changed).empty(), "in-flight checker");
    const EmulatedRun run = this->run(changed);
    add(run.result.trap.has_value(), "trap");
    if (!run.result.trap) {
      const std::size_t lse_bytes = run.lse.size() * sizeof(float);
      add(run.o != expected_.o || std::memcmp(run.lse.data(), expected_.lse.data(), lse_bytes) != 0, "result");
    }
    return who;
  }

 private:
  EmulatedRun run(Program program) {
    std::swap(kernel_.code.program, program);
    EmulatedRun run = run_on_emulator(kernel_, inputs_);
    std::swap(kernel_.code.program, program);
    return run;
  }

  Kernel kernel_;
  AttentionInputs inputs_;
  EmulatedRun expected_;
};

// How often each of them noticed, for the report of a run with -s.
std::string summary(const std::map<std::string, int>& tally) {
  std::string text;
  for (const auto& [who, times] : tally) text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", who, times);
  return text;
}

}  // namespace

TEST_CASE("Removal: the kernels need every wait and every nop", "[removal]") {
  for (const bool causal : {true, false}) {
    Subject subject(causal);
    CHECK(subject.noticed(subject.program()).empty());
    std::map<std::string, int> tally;
    for (std::uint32_t i = 0; i < subject.program().code.size(); ++i) {
      const Inst& inst = subject.program().code[i];
      if (inst.op != Op::s_waitcnt && inst.op != Op::s_nop) continue;
      const std::string who = subject.noticed(without(subject.program(), i));
      ++tally[isa::print(inst).substr(0, inst.op == Op::s_nop ? 5 : 9) + " by " + who];
      CAPTURE(causal, i, isa::print(inst), to_string(inst.where));
      CHECK_FALSE(who.empty());
    }
    INFO(summary(tally));
    CHECK(tally.size() >= 3);
  }
}

TEST_CASE("Removal: no nop is longer than needed", "[quick][removal]") {
  for (const bool causal : {true, false}) {
    const Kernel kernel = generate_kernel(causal, true);
    int nops = 0;
    for (std::uint32_t i = 0; i < kernel.code.program.code.size(); ++i) {
      Program changed = kernel.code.program;
      Inst& inst = changed.code[i];
      if (inst.op != Op::s_nop) continue;
      ++nops;
      CAPTURE(causal, i, isa::print(inst), to_string(inst.where));
      if (inst.args[0].value == 0)
        changed = without(changed, i);
      else
        --inst.args[0].value;
      CHECK_FALSE(check_hazards(changed, isa::Machine{}).empty());
    }
    CHECK(nops > 0);
  }
}

TEST_CASE("Removal: no wait may leave one more outstanding", "[removal]") {
  for (const bool causal : {true, false}) {
    Subject subject(causal);
    std::map<std::string, int> tally;
    for (std::uint32_t i = 0; i < subject.program().code.size(); ++i) {
      const Inst& inst = subject.program().code[i];
      for (const auto count : {&isa::Modifiers::vmcnt, &isa::Modifiers::lgkmcnt}) {
        if (inst.op != Op::s_waitcnt || inst.mods.*count == isa::Modifiers::not_waited) continue;
        Program changed = subject.program();
        ++(changed.code[i].mods.*count);
        const std::string who = subject.noticed(changed);
        ++tally["by " + who];
        CAPTURE(causal, i, isa::print(inst), to_string(inst.where));
        CHECK_FALSE(who.empty());
      }
    }
    INFO(summary(tally));
    CHECK(tally.size() >= 2);
  }
}

TEST_CASE("Removal: a kernel with one wrong constant does not pass", "[quick][removal]") {
  Kernel kernel = generate_kernel(false, false);
  const AttentionShape shape{.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 128, .seqlen_k = 1024};
  AttentionInputs inputs = make_inputs(shape, InputKind::sink, 2, 1);
  REQUIRE(run_and_compare(kernel, inputs).comparison.passed);
  int changed = 0;
  const auto change = [&](auto matches, auto edit) {
    for (Inst& inst : kernel.code.program.code)
      if (matches(inst)) {
        edit(inst);
        ++changed;
      }
    REQUIRE(changed > 0);
    // Not in strict mode: the numbers alone must tell.
    const Comparison comparison =
        compare(reference_attention(inputs, {.threads = 2}), run_on_emulator(kernel, inputs).output());
    CAPTURE(comparison.relative_error, comparison.max_element_error);
    CHECK_FALSE(comparison.passed);
  };
  SECTION("no lift of the probabilities") {
    // The code of the row's largest probability as lean P's fixed point (schedules/softmax.h), 8 octaves lower.
    const isa::Operand lifted = isa::Operand::constant(120.05F * 0x1p-133F);
    inputs = make_inputs(shape, InputKind::gaussian, 2, 1);  // whose weight is in many small probabilities
    change([&](const Inst& inst) { return inst.op == Op::v_mov_b32 && inst.args[1] == lifted; },
           [](Inst& inst) { inst.args[1] = isa::Operand::constant(56.05F * 0x1p-133F); });
  }
  SECTION("one read of V from the next 32 elements") {
    change([&](const Inst& inst) { return inst.op == Op::ds_read_b64_tr_b8 && changed == 0; },
           [](Inst& inst) { inst.mods.offset += 32; });
  }
  SECTION("one read of K from the next row") {
    change([&](const Inst& inst) { return inst.op == Op::ds_read_b128 && changed == 0; },
           [](Inst& inst) { inst.mods.offset += 64; });
  }
  SECTION("a reference that does not take in the first key") {
    change([&](const Inst& inst) { return inst.op == Op::v_max3_f32 && changed == 0; },
           [](Inst& inst) { inst.args[1] = inst.args[2]; });
  }
}
