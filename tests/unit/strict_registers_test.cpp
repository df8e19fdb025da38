// Strict mode on one wave: each rule about registers, wait states and counters finds its fault, and has
// nothing to say about the same program put right.
#include "tests/support/catch.h"
#include "tests/unit/strict_programs.h"

using namespace zyfa::emulator;

namespace {

constexpr std::uint64_t all = ~std::uint64_t{0};

enum class From { memory, lds, scalar };

// s[4:5] = in, v2 = lane * 4, LDS bytes 0..255 written.
Code prepared() {
  Code code;
  code.s_mov64(4, Machine::in_address);
  code.v_shift(2, 2, 0);
  code.v_mov(3, 7);
  code.add(Op::ds_write_b32, {vgpr(2), vgpr(3)});
  code.wait(0, 0);
  return code;
}

std::uint32_t load(Code& code, From from, int to) {
  if (from == From::memory) code.add(Op::global_load_dword, {vgpr(to), vgpr(2), sgpr(4, 2)});
  if (from == From::lds) code.add(Op::ds_read_b32, {vgpr(to), vgpr(2)});
  if (from == From::scalar) code.add(Op::s_load_dword, {sgpr(to), sgpr(4, 2), literal(0)});
  return code.here() - 1;
}

std::uint32_t last(const Code& code) { return code.here() - 1; }

}  // namespace

TEST_CASE("Strict: a load's register is read or written before the wait", "[quick]") {
  for (const From from : {From::memory, From::lds, From::scalar})
    for (const bool overwrite : {false, true})
      for (const bool waits : {false, true}) {
        CAPTURE(static_cast<int>(from), overwrite, waits);
        Code code = prepared();
        const std::uint32_t producer = load(code, from, 10);
        if (waits) code.wait(from == From::memory ? 0 : -1, from == From::memory ? -1 : 0);
        if (from == From::scalar)
          code.add(Op::s_mov_b32, {sgpr(overwrite ? 10 : 11), overwrite ? number(1) : sgpr(10)});
        else
          code.e32(Op::v_mov_b32, {vgpr(overwrite ? 10 : 11), overwrite ? number(1) : vgpr(10)});
        const std::uint32_t consumer = last(code);
        code.wait(0, 0);
        code.end();
        const auto found = strict(code);
        CHECK(found.size() == (waits ? 0 : 1));
        if (waits) continue;
        REQUIRE(has(found, StrictRule::register_in_flight, consumer, producer));
        CHECK(contains(found[0].message, {"register in flight", overwrite ? "is written while" : "is read while", "10 ",
                                          fmt::format("(kernel:{})", producer).c_str(),
                                          fmt::format("(kernel:{})", consumer).c_str(), "of wave 0"}));
      }
}

TEST_CASE("Strict: counted waits cover the oldest loads", "[quick]") {
  for (const From from : {From::memory, From::lds}) {
    Code code = prepared();
    load(code, from, 10);
    const std::uint32_t second = load(code, from, 11);
    code.wait(from == From::memory ? 1 : -1, from == From::memory ? -1 : 1);
    code.e32(Op::v_mov_b32, {vgpr(12), vgpr(10)});
    code.e32(Op::v_mov_b32, {vgpr(12), vgpr(11)});
    const std::uint32_t consumer = last(code);
    code.wait(0, 0);
    code.end();
    const auto found = strict(code);
    CHECK(found.size() == 1);
    CHECK(has(found, StrictRule::register_in_flight, consumer, second));
  }
}

TEST_CASE("Strict: scalar loads come in any order", "[quick]") {
  Code code = prepared();
  const std::uint32_t first = load(code, From::scalar, 10);
  load(code, From::scalar, 11);
  code.wait(-1, 1);
  code.add(Op::s_mov_b32, {sgpr(12), sgpr(10)});
  const std::uint32_t consumer = last(code);
  code.wait(0, 0);
  code.end();
  const auto found = strict(code);
  CHECK(found.size() == 1);
  CHECK(has(found, StrictRule::register_in_flight, consumer, first));
}

TEST_CASE("Strict: two loads of one queue into a register are in order, of two queues not", "[quick]") {
  for (const From second : {From::memory, From::lds}) {
    Code code = prepared();
    const std::uint32_t producer = load(code, From::memory, 10);
    const std::uint32_t consumer = load(code, second, 10);
    code.wait(0, 0);
    code.end();
    const auto found = strict(code);
    CHECK(found.size() == (second == From::lds ? 1 : 0));
    if (second == From::lds) CHECK(has(found, StrictRule::register_in_flight, consumer, producer));
  }
}

TEST_CASE("Strict: wait states between executed instructions", "[quick]") {
  for (const int idle : {0, 18, 19, 20}) {
    CAPTURE(idle);
    Code code;
    for (int r = 0; r < 32; ++r) code.v_mov(32 + r, 0);
    code.add(Op::s_nop, {number(1)});
    code.add(Op::v_mfma_f32_32x32x64_f8f6f4, {vgpr(0, 16), vgpr(32, 8), vgpr(40, 8), vgpr(48, 16)});
    const std::uint32_t producer = last(code);
    for (int left = idle; left > 0; left -= 16)
      code.add(Op::s_nop, {number(static_cast<std::uint32_t>(std::min(left, 16) - 1))});
    code.e32(Op::v_mov_b32, {vgpr(70), vgpr(3)});
    const std::uint32_t consumer = last(code);
    code.end();
    const auto found = strict(code);
    CHECK(found.size() == (idle < 20 ? 1 : 0));
    if (idle < 20) {
      REQUIRE(has(found, StrictRule::wait_states, consumer, producer));
      CHECK(contains(found[0].message,
                     {"XDL result read", "20 wait states are required", fmt::format("{} were there", idle).c_str()}));
    }
  }
}

TEST_CASE("Strict: wait states count along the way that was taken", "[quick]") {
  // What the loop's end writes is swapped between lanes at its top: two wait states, one of which is the branch.
  for (const bool padded : {false, true}) {
    CAPTURE(padded);
    Code code;
    code.v_mov(4, 0x3f800000);
    code.v_mov(5, 0x3f800000);
    code.s_mov(20, 0);
    code.add(Op::s_nop, {number(0)});
    const std::uint32_t top = code.here();
    code.e32(Op::v_permlane32_swap_b32, {vgpr(5), vgpr(4)});
    code.add(Op::s_add_u32, {sgpr(20), sgpr(20), number(1)});
    code.add(Op::s_cmp_lt_u32, {sgpr(20), number(3)});
    const std::uint32_t producer = code.here();
    code.e32(Op::v_mov_b32, {vgpr(5), number(1)});
    if (padded) code.add(Op::s_nop, {number(0)});
    code.add(Op::s_cbranch_scc1, {label(top)});
    code.end();
    const auto found = strict(code);
    CHECK(found.size() == (padded ? 0 : 1));
    CHECK(has(found, StrictRule::wait_states, top, producer) == !padded);
  }
}

TEST_CASE("Strict: registers that nobody has written", "[quick]") {
  Code code;
  std::size_t expected = 1;
  const char* what = "";
  SECTION("vector") {
    code.e32(Op::v_mov_b32, {vgpr(4), vgpr(9)});
    what = "v9 in lane 0 is read";
  }
  SECTION("lanes that were off") {
    code.exec(all >> 1);
    code.v_mov(9, 1);
    code.exec(all);
    code.e32(Op::v_mov_b32, {vgpr(4), vgpr(9)});
    what = "v9 in lane 63 is read";
  }
  SECTION("not when they are off again") {
    code.exec(all >> 1);
    code.v_mov(9, 1);
    code.e32(Op::v_mov_b32, {vgpr(4), vgpr(9)});
    expected = 0;
  }
  SECTION("matrix instructions read all lanes") {
    code.exec(all >> 1);
    for (int r = 0; r < 8; ++r) code.v_mov(8 + r, 0);
    code.add(Op::s_nop, {number(1)});
    code.add(Op::v_mfma_f32_16x16x128_f8f6f4, {vgpr(0, 4), vgpr(8, 8), vgpr(8, 8), number(0)});
    what = "v8 in lane 63 is read";
  }
  SECTION("one half of a register") {
    code.v_mov(4, 0);
    code.add(Op::v_cvt_pk_fp8_f32, {vgpr(9), vgpr(4), vgpr(4)});
    code.add(Op::s_nop, {number(0)});
    code.e32(Op::v_add_u32, {vgpr(5), vgpr(4), vgpr(9)});
    what = "v9 in lane 0 is read";
  }
  SECTION("both halves") {
    code.v_mov(4, 0);
    code.add(Op::v_cvt_pk_fp8_f32, {vgpr(9), vgpr(4), vgpr(4)});
    code.add(Op::s_nop, {number(0)});
    Modifiers high;
    high.op_sel = 8;
    code.add(Op::v_cvt_pk_fp8_f32, {vgpr(9), vgpr(4), vgpr(4)}, high);
    code.add(Op::s_nop, {number(0)});
    code.e32(Op::v_mov_b32, {vgpr(5), vgpr(9)});
    expected = 0;
  }
  SECTION("scalar") {
    code.add(Op::s_mov_b32, {sgpr(30), sgpr(31)});
    what = "s31 is read";
  }
  SECTION("what the launch passes is written") {
    code.add(Op::s_add_u32, {sgpr(30), sgpr(0), sgpr(2)});
    code.add(Op::s_add_u32, {sgpr(30), sgpr(3), sgpr(4)});
    code.e32(Op::v_mov_b32, {vgpr(5), vgpr(0)});
    expected = 0;
  }
  SECTION("scc") {
    code.add(Op::s_cselect_b32, {sgpr(30), number(1), number(2)});
    what = "scc is read";
  }
  SECTION("vcc") {
    code.add(Op::s_cbranch_vccz, {label(code.here() + 1)});
    what = "vcc is read";
  }
  SECTION("m0 of LDS-DMA") {
    code.descriptor(8, Machine::in_address, 8192);
    code.v_shift(2, 4, 0);
    code.exec(0);  // or the address would trap
    code.add(Op::buffer_load_dwordx4, {Operand{}, vgpr(2), sgpr(8, 4), number(0)}, to_lds());
    code.wait(0, -1);
    what = "s124 is read";
  }
  SECTION("the lane that is read") {
    code.exec(1);
    code.v_mov(9, 1);
    code.add(Op::s_nop, {number(0)});
    code.add(Op::v_readlane_b32, {sgpr(30), vgpr(9), number(0)});
    code.add(Op::v_readlane_b32, {sgpr(31), vgpr(9), number(5)});
    what = "v9 in lane 5 is read";
  }
  code.end();
  const auto found = strict(code);
  REQUIRE(found.size() == expected);
  for (const Finding& f : found) {
    CHECK(f.rule == StrictRule::undefined_register);
    CHECK(contains(f.message, {"undefined register", what}));
  }
}

TEST_CASE("Strict: more vector memory instructions than vmcnt counts", "[quick]") {
  for (const int count : {63, 64}) {
    Code code = prepared();
    const std::uint32_t first = code.here();
    for (int i = 0; i < count; ++i) load(code, From::memory, 10 + i);
    const std::uint32_t consumer = last(code);
    code.wait(0, 0);
    code.end();
    const auto found = strict(code);
    CHECK(found.size() == (count > 63 ? 1 : 0));
    if (count > 63) CHECK(has(found, StrictRule::vmcnt_overflow, consumer, first));
  }
}

TEST_CASE("Strict: LDS-DMA on its way at the end of the wave", "[quick]") {
  for (const bool waits : {false, true}) {
    Code code;
    code.descriptor(8, Machine::in_address, 8192);
    code.v_shift(2, 4, 0);
    code.m0(0);
    code.add(Op::s_nop, {number(0)});
    code.add(Op::buffer_load_dwordx4, {Operand{}, vgpr(2), sgpr(8, 4), number(0)}, to_lds());
    const std::uint32_t transfer = last(code);
    if (waits) code.wait(0, -1);
    code.end();
    const auto found = strict(code);
    CHECK(found.size() == (waits ? 0 : 1));
    if (!waits) CHECK(has(found, StrictRule::dma_at_end, last(code), transfer));
  }
}

TEST_CASE("Strict: halves that were never written may be copied, not used", "[quick]") {
  using enum zyfa::isa::Form;
  const auto findings = [](bool uses) {
    Code code;
    code.v_mov(10, 0x3c00);
    code.add(Op::v_fma_f16, {vgpr(11), vgpr(10), vgpr(10), vgpr(10)});  // the low half of v11
    code.e32(Op::v_mov_b32, {vgpr(12), vgpr(11)});
    code.e32(Op::v_cndmask_b32, {vgpr(13), vgpr(12), vgpr(10), Operand(zyfa::isa::vcc)});
    code.e32(Op::v_add_f16, {vgpr(14), vgpr(13), vgpr(10)});
    if (uses) code.e32(Op::v_add_u32, {vgpr(15), vgpr(13), vgpr(10)});
    code.end();
    code.program.code.insert(code.program.code.begin(),
                             Inst{.op = Op::s_mov_b64, .args = {Operand(zyfa::isa::vcc), number(0)}});
    return strict(code);
  };
  CHECK(findings(false).empty());
  const auto found = findings(true);
  REQUIRE(found.size() == 1);
  CHECK(contains(found[0].message, {"undefined register", "v_add_u32", "v13 in lane 0"}));
}

TEST_CASE("Strict: functions may save registers that nobody has written", "[quick]") {
  const auto findings = [](bool calls) {
    Code code;
    code.s_mov(32, 0);
    code.add(Op::scratch_store_dword, {Operand{}, vgpr(40), sgpr(32)});
    code.e32(Op::v_mov_b32, {vgpr(41), number(0)});
    code.add(Op::v_writelane_b32, {vgpr(41), sgpr(50), number(3)});
    code.add(Op::s_mov_b32, {sgpr(51), sgpr(33)});
    code.add(Op::s_branch, {label(7)});
    if (calls)
      code.add(Op::s_setpc_b64, {sgpr(30, 2)});
    else
      code.add(Op::s_nop, {number(0)});
    code.wait(0, 0);
    code.end();
    for (std::uint32_t i = 0; i < code.here(); ++i) code.program.offsets.push_back(4 * i);
    Machine machine;
    machine.launch.private_bytes = 64;
    return strict(code, machine);
  };
  CHECK(findings(true).empty());
  CHECK(findings(false).size() == 3);
}
