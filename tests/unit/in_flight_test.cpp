#include "isa/in_flight.h"

#include "tests/support/catch.h"
#include "tests/support/make_inst.h"

using namespace zyfa;
using namespace zyfa::isa;
using enum Op;

namespace {

const Inst end = make(s_endpgm);
const Inst use_v0 = make(v_add_f32, Form::e32, {v(60), v(0), v(61)});

Inst load(std::uint32_t to) { return make(global_load_dword, {v(to), v(40, 2), off}); }
Inst lds(std::uint32_t to) { return make(ds_read_b32, {v(to), v(50)}); }
Inst scalar(std::uint32_t to) { return make(s_load_dword, {s(to), s(0, 2), no_offset}); }
Inst vmcnt(int n) { return make(s_waitcnt, {}, {.vmcnt = static_cast<std::uint8_t>(n)}); }
Inst lgkmcnt(int n) { return make(s_waitcnt, {}, {.lgkmcnt = static_cast<std::uint8_t>(n)}); }

std::vector<InFlightFinding> check(const std::vector<Inst>& code) { return check_in_flight({code, {}}); }
bool clean(const std::vector<Inst>& code) { return check(code).empty(); }

}  // namespace

TEST_CASE("A loaded register may be used after its wait", "[quick][in_flight]") {
  CHECK_FALSE(clean({load(0), use_v0, end}));
  CHECK(clean({load(0), vmcnt(0), use_v0, end}));
  CHECK_FALSE(clean({load(0), lgkmcnt(0), use_v0, end}));  // the other counter
  CHECK_FALSE(clean({load(0), make(s_waitcnt), use_v0, end}));
  CHECK(clean({load(1), use_v0, end}));
}

TEST_CASE("A count one too large is found", "[quick][in_flight]") {
  const std::vector<Inst> loads{load(0), load(1), load(2)};
  const auto with = [&](const Inst& wait) {
    std::vector<Inst> code = loads;
    code.insert(code.end(), {wait, use_v0, end});
    return code;
  };
  CHECK(clean(with(vmcnt(2))));
  CHECK_FALSE(clean(with(vmcnt(3))));
  CHECK_FALSE(clean(with(vmcnt(63))));
  const auto findings = check(with(vmcnt(3)));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].producer == 0);
  CHECK(findings[0].consumer == 4);
  CHECK(findings[0].file == OperandKind::vgpr);
  CHECK(findings[0].reg == 0);
  CHECK(findings[0].counter == Counter::vm);
  CHECK(findings[0].wait == 2);
}

TEST_CASE("Writing a register that is still to be loaded is found", "[quick][in_flight]") {
  const Inst overwrite = make(v_mov_b32, Form::e32, {v(0), number(0)});
  CHECK_FALSE(clean({load(0), overwrite, end}));
  CHECK(clean({load(0), vmcnt(0), overwrite, end}));
  CHECK(clean({load(0), load(0), end}));        // in order
  CHECK_FALSE(clean({load(0), lds(0), end}));   // not in order
  CHECK_FALSE(clean({lds(40), load(0), end}));  // reads its address
  CHECK_FALSE(clean({scalar(4), scalar(4), end}));
}

TEST_CASE("Every path needs its wait", "[quick][in_flight]") {
  // 0: load, 1: branch to 3, 2: wait, 3: use
  std::vector<Inst> code{load(0), make(s_cbranch_scc1, {label(3)}), vmcnt(0), use_v0, end};
  CHECK_FALSE(clean(code));
  code[1] = make(s_cbranch_scc1, {label(2)});
  CHECK(clean(code));
  // One path issues fewer loads behind it: 0: load, 1: branch to 3, 2: load, 3: wait, 4: use
  std::vector<Inst> counted{load(0), make(s_cbranch_scc1, {label(3)}), load(1), vmcnt(1), use_v0, end};
  CHECK_FALSE(clean(counted));
  counted[3] = vmcnt(0);
  CHECK(clean(counted));
}

TEST_CASE("A load is on its way around a loop", "[quick][in_flight]") {
  // 0: use, 1: load, 2: wait, 3: back
  const auto loop = [](const Inst& wait) {
    return std::vector<Inst>{use_v0, load(0), wait, make(s_cbranch_scc1, {label(0)}), end};
  };
  CHECK_FALSE(clean(loop(vmcnt(1))));
  CHECK(clean(loop(vmcnt(0))));
  // Double buffering: each turn waits for the load of the turn before.
  const auto pipelined = [](int count) {
    return std::vector<Inst>{load(0),
                             load(1),
                             vmcnt(count),
                             use_v0,
                             load(0),
                             vmcnt(count),
                             make(v_mov_b32, Form::e32, {v(62), v(1)}),
                             load(1),
                             make(s_cbranch_scc1, {label(2)}),
                             end};
  };
  CHECK(clean(pipelined(1)));
  CHECK_FALSE(clean(pipelined(2)));
}

TEST_CASE("Scalar loads come in any order", "[quick][in_flight]") {
  const Inst use_s4 = make(s_add_u32, {s(20), s(4), number(1)});
  CHECK_FALSE(clean({scalar(4), scalar(5), lgkmcnt(1), use_s4, end}));
  CHECK(clean({scalar(4), scalar(5), lgkmcnt(0), use_s4, end}));
  // Only LDS instructions are known to be younger than LDS instructions.
  CHECK(clean({lds(0), lds(1), scalar(4), lgkmcnt(1), use_v0, end}));
  CHECK_FALSE(clean({lds(0), scalar(4), lgkmcnt(1), use_v0, end}));
}

TEST_CASE("Stores and LDS-DMA count but write no register", "[quick][in_flight]") {
  const Inst store = make(global_store_dword, {v(42, 2), v(0), off});
  const Inst dma = make(buffer_load_dwordx4, {off, v(50), s(8, 4), number(0)}, {.offen = true, .lds = true});
  CHECK(clean({dma, make(v_mov_b32, Form::e32, {v(50), number(0)}), end}));
  CHECK(clean({store, make(v_mov_b32, Form::e32, {v(0), number(0)}), end}));
  CHECK(clean({load(0), dma, store, vmcnt(2), use_v0, end}) == false);  // the store itself reads v0
  CHECK(clean({load(0), dma, dma, vmcnt(2), use_v0, end}));
  CHECK_FALSE(clean({load(0), dma, dma, vmcnt(3), use_v0, end}));
}

TEST_CASE("Accumulation registers are loaded like others", "[quick][in_flight]") {
  const Inst to_a0 = make(global_load_dwordx4, {a(0, 4), v(40, 2), off});
  const Inst use_a3 = make(v_accvgpr_read_b32, {v(0), a(3)});
  const auto findings = check({to_a0, use_a3, end});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].file == OperandKind::agpr);
  CHECK(findings[0].reg == 3);
  CHECK(clean({to_a0, vmcnt(0), use_a3, end}));
}

TEST_CASE("An in-flight finding names instructions, lines, register and wait", "[quick][in_flight]") {
  const Program program{{at_line(lds(0), 7), lds(1), at_line(use_v0, 9), end}, {}};
  const auto findings = check_in_flight(program);
  REQUIRE(findings.size() == 1);
  const std::string message = findings[0].message(program);
  CAPTURE(message);
  for (const char* part : {"v0 ", "ds_read_b32", "(t.cpp:7)", "v_add_f32", "(t.cpp:9)", "lgkmcnt(1)"})
    CHECK(message.find(part) != std::string::npos);
}
