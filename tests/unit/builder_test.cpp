// The builder's promises: the shortest valid encoding, the calling line, waits by token, settled hazards, and a refusal
// of everything the checkers find.
#include "generator/builder.h"

#include "generator/interference.h"
#include "isa/error.h"
#include "isa/text.h"
#include "tests/support/catch.h"

using namespace zyfa;
using namespace zyfa::generator;
using isa::Form;

namespace {

std::vector<std::string> lines(const KernelBody& body) {
  std::vector<std::string> text;
  for (const isa::Inst& inst : body.program.code) text.push_back(isa::print(inst, body.program));
  return text;
}

// The message of the Error that `build` ends in.
template <class Build>
std::string refusal(Build build) {
  const isa::Machine machine;
  Builder k(machine);
  try {
    build(k);
    k.s_endpgm();
    k.finish();
  } catch (const Error& error) {
    return error.what();
  }
  return "not refused";
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("Builder: the short encoding where the operands allow it", "[quick][builder]") {
  const isa::Machine machine;
  Builder k(machine);
  const V<1> a = k.vgpr("a"), b = k.vgpr("b");
  const S<1> s = k.sgpr("s");
  k.v_add_f32(a, a, b);
  k.v_add_f32(a, s, b);
  k.v_add_f32(a, a, s);
  k.v_add_f32(a, negated(a), b);
  k.v_add_f32(a, 0.3F, b);
  k.s_endpgm();
  const std::vector<std::string> expected{"v_add_f32_e32 v0, v0, v1",         "v_add_f32_e32 v0, s0, v1",
                                          "v_add_f32_e64 v0, v0, s0",         "v_add_f32_e64 v0, -v0, v1",
                                          "v_add_f32_e32 v0, 0x3e99999a, v1", "s_endpgm"};
  CHECK(lines(k.finish()) == expected);
}

TEST_CASE("Builder: what has no encoding is refused, with its line, and not appended", "[quick][builder]") {
  const isa::Machine machine;
  Builder k(machine);
  const V<1> a = k.vgpr("a");
  const std::uint32_t line = __LINE__ + 1;
  CHECK(holds(refusal([](Builder& r) { r.v_add_f32(r.vgpr("a"), 0.3F, 0.7F); }),
              fmt::format("builder_test.cpp:{}: v_add_f32", line)));
  REQUIRE_THROWS_AS(k.v_add_f32(a, 0.3F, 0.7F), Error);
  k.s_endpgm();
  CHECK(k.finish().program.code.size() == 1);
}

TEST_CASE("Builder: an instruction remembers the line that called", "[quick][builder]") {
  const isa::Machine machine;
  Builder k(machine);
  k.s_endpgm();
  const std::uint32_t line = __LINE__ - 1;
  CHECK(to_string(k.finish().program.code[0].where) == fmt::format("tests/unit/builder_test.cpp:{}", line));
}

TEST_CASE("Builder: tokens become counts", "[quick][builder]") {
  const isa::Machine machine;
  Builder k(machine);
  const V<1> address = k.vgpr("address"), a = k.vgpr("a"), b = k.vgpr("b"), c = k.vgpr("c");
  const Token first = k.ds_read_b32(a, address), second = k.ds_read_b32(b, address);
  k.ds_read_b32(c, address);
  k.wait(first);
  k.v_mov_b32(address, a);
  k.wait(first | second);
  k.v_mov_b32(address, b);
  k.s_endpgm();
  const std::vector<std::string> text = lines(k.finish());
  CHECK(text[3] == "s_waitcnt lgkmcnt(2)");
  CHECK(text[5] == "s_waitcnt lgkmcnt(1)");
}

TEST_CASE("Builder: an arrival joins requests from before the loop and from trips before", "[quick][builder]") {
  const isa::Machine machine;
  Builder k(machine);
  const V<1> address = k.vgpr("address"), a = k.vgpr("a"), b = k.vgpr("b");
  const Arrival value = k.arrival();
  k.join(value, k.ds_read_b32(a, address));
  const Label top = k.here("loop");
  k.wait(value);
  k.v_mov_b32(b, a);
  k.join(value, k.ds_read_b32(a, address));
  k.s_cbranch_scc1(top);
  k.s_endpgm();
  const KernelBody body = k.finish();
  CHECK(lines(body)[1] == "s_waitcnt lgkmcnt(0)");
  CHECK(body.program.labels.at(1) == "loop");
  CHECK(lines(body)[4] == "s_cbranch_scc1 loop");
}

TEST_CASE("Builder: settling puts in what is missing, and only that", "[quick][builder]") {
  const isa::Machine machine;
  Builder k(machine);
  const V<1> v = k.vgpr("v");
  const S<1> s = k.sgpr("s");
  k.v_mov_b32(v, 1);
  k.settle();
  k.v_readfirstlane_b32(s, v);
  k.settle();
  k.s_endpgm();
  const std::vector<std::string> expected{"v_mov_b32_e32 v0, 1", "s_nop 0", "v_readfirstlane_b32 s0, v0", "s_endpgm"};
  CHECK(lines(k.finish()) == expected);
}

TEST_CASE("Builder: hazards and reads in flight are errors that name both lines", "[quick][builder]") {
  const std::uint32_t line = __LINE__;
  const std::string hazard = refusal([](Builder& k) {
    const V<1> v = k.vgpr("v");
    k.v_mov_b32(v, 1);
    k.v_readfirstlane_b32(k.sgpr("s"), v);
  });
  CAPTURE(hazard);
  CHECK(holds(hazard, "hazard"));
  CHECK(holds(hazard, fmt::format("builder_test.cpp:{}", line + 3)));
  CHECK(holds(hazard, fmt::format("builder_test.cpp:{}", line + 4)));

  const std::string flight = refusal([](Builder& k) {
    const V<1> v = k.vgpr("v"), address = k.vgpr("address");
    k.ds_read_b32(v, address);
    k.v_mov_b32(address, v);
  });
  CAPTURE(flight);
  CHECK(holds(flight, "read in flight"));
  CHECK(holds(flight, fmt::format("builder_test.cpp:{}", line + 13)));
  CHECK(holds(flight, fmt::format("builder_test.cpp:{}", line + 14)));
}

TEST_CASE("Builder: labels", "[quick][builder]") {
  CHECK(holds(refusal([](Builder& k) { k.s_branch(k.label("nowhere")); }), "'nowhere' is never bound"));
  CHECK(holds(refusal([](Builder& k) { k.bind(k.here("here")); }), "'here' is bound twice"));
  CHECK(holds(refusal([](Builder& k) { k.wait(Token{}); }), "wait for nothing"));
  const isa::Machine machine;
  Builder k(machine);
  k.here("step");
  k.s_nop(0);
  k.here("step");
  k.s_endpgm();
  const KernelBody body = k.finish();
  CHECK(body.program.labels.at(0) == "step");
  CHECK(body.program.labels.at(1) == "step_2");
}

TEST_CASE("Builder: scopes give registers back, claims keep them", "[quick][builder]") {
  const isa::Machine machine;
  Builder k(machine);
  k.claim(S<2>{0}, "arguments");
  CHECK(k.sgpr<4>("aligned").first == 4);
  {
    const auto scope = k.scope();
    CHECK(k.vgpr<3>("scratch").first == 0);
    CHECK(k.sgpr<2>("scratch").first == 2);
  }
  CHECK(k.vgpr("kept").first == 0);
  k.s_endpgm();
  const KernelBody body = k.finish();
  CHECK(body.vgprs == 3);
  CHECK(body.sgprs == 8);
  REQUIRE(body.registers.size() == 5);
  CHECK(body.registers[0].text() == "s[0:1]");
  CHECK(body.registers[0].name == "arguments");
}

TEST_CASE("Builder: a strand is taken aside and woven where it is wanted", "[quick][builder]") {
  const isa::Machine machine;
  Builder k(machine);
  const V<1> a = k.vgpr("a");
  Strand strand;
  V<1> held{}, next{};
  {
    const auto scope = k.scope();
    strand = k.aside([&] {
      const auto inner = k.scope();
      held = k.vgpr("of the strand");
      k.v_mov_b32(held, 1);
      k.v_add_u32(a, held, a);
    });
    next = k.vgpr("of what it is woven into");
    CHECK(k.code().empty());
    CHECK(strand.size() == 2);
    k.weave(strand, 0);
    k.v_mov_b32(next, 2);
    k.weave(strand, 1);
  }
  CHECK_FALSE(held == next);  // taken until the scope around ends
  CHECK(k.vgpr("later") == held);
  k.s_endpgm();
  CHECK(lines(k.finish()) ==
        std::vector<std::string>{"v_mov_b32_e32 v1, 1", "v_mov_b32_e32 v2, 2", "v_add_u32_e32 v0, v1, v0", "s_endpgm"});
}

TEST_CASE("Builder: what cannot be woven is refused", "[quick][builder]") {
  CHECK(holds(refusal([](Builder& k) { k.aside([&] { k.here("top"); }); }), "label 'top' is bound in a strand"));
  CHECK(holds(refusal([](Builder& k) {
                const V<1> a = k.vgpr("a"), address = k.vgpr("address");
                k.aside([&] { k.ds_read_b32(a, address); });
              }),
              "ds_read_b32 in a strand"));
  CHECK(holds(refusal([](Builder& k) {
                const V<1> a = k.vgpr("a"), address = k.vgpr("address");
                const Token loaded = k.ds_read_b32(a, address);
                k.aside([&] { k.wait(loaded); });
              }),
              "a wait in a strand"));
  CHECK(holds(refusal([](Builder& k) { k.aside([&] { k.aside([] {}); }); }), "a strand within a strand"));
}

TEST_CASE("Interference: a strand and what it is woven into touch no register of each other", "[quick][builder]") {
  const isa::Machine machine;
  // Of five instructions the first, third and last are the strand's.
  const auto verdict = [&](auto build) -> std::string {
    Builder k(machine);
    build(k, k.vgpr("a"), k.vgpr("b"), k.sgpr("s"), k.sgpr("t"));
    constexpr std::size_t woven[] = {0, 2, 4};
    REQUIRE(k.code().size() == 5);
    try {
      check_interference(k.code(), woven);
    } catch (const Error& error) {
      return error.what();
    }
    return "apart";
  };
  CHECK(verdict([](Builder& k, V<1> a, V<1> b, S<1> s, S<1> t) {
          k.v_mov_b32(a, s);
          k.s_add_u32(s, s, 1);  // what the strand has done with
          k.v_add_u32(a, 1, a);
          k.v_mov_b32(b, t);
          k.v_add_u32(a, 2, a);
        }) == "apart");
  CHECK(holds(verdict([](Builder& k, V<1> a, V<1> b, S<1> s, S<1>) {
                k.v_mov_b32(a, 1);
                k.v_mov_b32(b, 1);
                k.v_add_u32(a, 1, a);
                k.s_mov_b32(s, 1);
                k.v_add_u32(a, s, a);
              }),
              "s_mov_b32 writes what v_add_u32 of the strand"));
  CHECK(holds(verdict([](Builder& k, V<1> a, V<1> b, S<1>, S<1>) {
                k.v_mov_b32(a, 1);
                k.v_mov_b32(b, a);
                k.v_add_u32(a, 1, a);
                k.v_mov_b32(b, 1);
                k.v_add_u32(a, 2, a);
              }),
              "v_mov_b32 reads what v_mov_b32 of the strand"));
  CHECK(holds(verdict([](Builder& k, V<1> a, V<1> b, S<1>, S<1>) {
                k.v_cmp_lt_f32(isa::vcc, 0.0f, a);
                k.v_cmp_lt_f32(isa::vcc, 0.0f, b);
                k.v_add_u32(a, 1, a);
                k.v_mov_b32(b, 1);
                k.s_cbranch_vccnz(k.label("on"));
              }),
              "v_cmp_lt_f32 writes what s_cbranch_vccnz of the strand"));
  CHECK(holds(verdict([](Builder& k, V<1> a, V<1> b, S<1> s, S<1> t) {
                k.s_cmp_eq_u32(s, 0);
                k.s_add_u32(t, t, 1);
                k.v_add_u32(a, 1, a);
                k.v_mov_b32(b, 1);
                k.s_cbranch_scc1(k.label("on"));
              }),
              "s_add_u32 writes what s_cbranch_scc1 of the strand"));
  CHECK(holds(verdict([](Builder& k, V<1> a, V<1> b, S<1> s, S<1> t) {
                k.v_mov_b32(a, 1);
                k.v_mov_b32(b, 1);
                k.s_add_u32(s, s, 1);
                k.s_addc_u32(t, t, 0);
                k.v_add_u32(a, 1, a);
              }),
              "s_addc_u32 reads what s_add_u32 of the strand"));
}
