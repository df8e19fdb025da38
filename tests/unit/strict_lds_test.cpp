// Strict mode on several waves: LDS, races, barriers, and that findings are the same whatever the host does.
#include "tests/support/catch.h"
#include "tests/unit/strict_programs.h"

using namespace zyfa::emulator;

namespace {

constexpr std::uint32_t other_half = 256;

// v2 = address of the work-item's dword, v3 = that of the other wave's, v4 a value.
Code prepared() {
  Code code;
  code.v_shift(2, 2, 0);
  code.e32(Op::v_xor_b32, {vgpr(3), literal(other_half), vgpr(2)});
  code.v_mov(4, 7);
  return code;
}
std::uint32_t write(Code& code, int address) {
  code.add(Op::ds_write_b32, {vgpr(address), vgpr(4)});
  return code.here() - 1;
}
std::uint32_t read(Code& code, int address, int to = 5) {
  code.add(Op::ds_read_b32, {vgpr(to), vgpr(address)});
  return code.here() - 1;
}

}  // namespace

TEST_CASE("Strict: LDS bytes that nobody has written", "[quick]") {
  Code code = prepared();
  write(code, 2);
  read(code, 2);
  code.wait(-1, 0);
  read(code, 3);
  const std::uint32_t bad = code.here() - 1;
  code.wait(-1, 0);
  code.end();
  const auto found = strict(code);
  REQUIRE(found.size() == 1);
  CHECK(found[0].rule == StrictRule::undefined_lds);
  CHECK(found[0].at.instruction == bad);
  CHECK(contains(found[0].message, {"undefined LDS", "LDS address 0x100 is read"}));
}

TEST_CASE("Strict: one wave writes what another reads", "[quick]") {
  for (const bool waits : {false, true})
    for (const bool meets : {false, true}) {
      CAPTURE(waits, meets);
      Code code = prepared();
      write(code, 3);  // so that nothing is undefined
      code.wait(-1, 0);
      code.barrier();
      const std::uint32_t writer = write(code, 2);
      if (waits) code.wait(-1, 0);
      if (meets) code.barrier();
      const std::uint32_t reader = read(code, 3);
      const auto found = strict_pair(code);
      CHECK(found.empty() == (waits && meets));
      if (!waits || !meets) {
        REQUIRE(has(found, StrictRule::lds_race, reader, writer));
        CHECK(contains(found[0].message, {"LDS race", "of wave 0", "of wave 1"}));
      }
    }
}

TEST_CASE("Strict: one wave overwrites what another still reads", "[quick]") {
  for (const bool waits : {false, true}) {
    Code code = prepared();
    write(code, 2);
    code.wait(-1, 0);
    code.barrier();
    const std::uint32_t reader = read(code, 3);
    if (waits) code.wait(-1, 0);
    code.barrier();
    const std::uint32_t writer = write(code, 2);
    const auto found = strict_pair(code);
    CHECK(found.empty() == waits);
    if (!waits) CHECK(has(found, StrictRule::lds_race, writer, reader));
  }
}

TEST_CASE("Strict: two waves write the same", "[quick]") {
  for (const bool meets : {false, true}) {
    Code code = prepared();
    const std::uint32_t first = write(code, 2);
    code.wait(-1, 0);
    if (meets) code.barrier();
    const std::uint32_t second = write(code, 3);
    const auto found = strict_pair(code);
    CHECK(found.empty() == meets);
    if (!meets) CHECK(has(found, StrictRule::lds_race, second, first));
  }
}

namespace {

// Each wave sends for its 256 bytes by LDS-DMA. Returns the transfer.
std::uint32_t transfer(Code& code) {
  code.e32(Op::v_and_b32, {vgpr(6), number(64), vgpr(0)});
  code.add(Op::s_nop, {number(0)});
  code.add(Op::v_readfirstlane_b32, {sgpr(20), vgpr(6)});
  code.add(Op::s_lshl_b32, {sgpr(zyfa::isa::m0.first), sgpr(20), number(2)});
  code.descriptor(8, Machine::in_address, 8192);
  code.add(Op::buffer_load_dword, {Operand{}, vgpr(2), sgpr(8, 4), number(0)}, to_lds());
  return code.here() - 1;
}

}  // namespace

TEST_CASE("Strict: LDS-DMA that one wave waits for and another reads", "[quick]") {
  for (const bool meets : {false, true}) {
    Code code = prepared();
    const std::uint32_t dma = transfer(code);
    code.wait(0, -1);
    if (meets) code.barrier();
    const std::uint32_t reader = read(code, 3);
    const auto found = strict_pair(code);
    CHECK(found.empty() == meets);
    if (!meets) CHECK(has(found, StrictRule::lds_race, reader, dma));
  }
}

TEST_CASE("Strict: LDS-DMA into what the wave itself still reads", "[quick]") {
  for (const bool waits : {false, true}) {
    Code code = prepared();
    write(code, 2);
    code.wait(-1, 0);
    const std::uint32_t reader = read(code, 2);
    if (waits) code.wait(-1, 0);
    const std::uint32_t dma = transfer(code);
    const auto found = strict_pair(code);
    CHECK(found.empty() == waits);
    if (!waits) CHECK(has(found, StrictRule::lds_race, dma, reader));
  }
}

TEST_CASE("Strict: a trap keeps what was found before it", "[quick]") {
  Code code = prepared();
  code.e32(Op::v_mov_b32, {vgpr(5), vgpr(9)});
  const std::uint32_t dma = transfer(code);
  const std::uint32_t reader = read(code, 2);
  code.wait(0, 0);
  code.end();
  Machine machine;
  machine.options.strict = true;
  const Result result = machine.run(code);
  REQUIRE(result.trap);
  CHECK(result.trap->kind == TrapKind::lds_in_flight);
  CHECK(has(result.findings, StrictRule::undefined_register));
  CHECK(has(result.findings, StrictRule::lds_race, reader, dma));
}

TEST_CASE("Strict: a wave ends while another waits at a barrier", "[quick]") {
  for (const bool leaves : {false, true}) {
    Code code = prepared();
    code.e32(Op::v_lshrrev_b32, {vgpr(6), number(6), vgpr(0)});
    code.add(Op::s_nop, {number(0)});
    code.add(Op::v_readfirstlane_b32, {sgpr(20), vgpr(6)});
    code.add(Op::s_cmp_eq_u32, {sgpr(20), number(leaves ? 1 : 2)});
    const std::uint32_t branch = code.here();
    code.add(Op::s_cbranch_scc1, {label(0)});
    code.barrier();
    const std::uint32_t barrier = code.here() - 1;
    code.wait(0, 0);
    code.end();
    code.end();
    code.program.code[branch].args[0] = label(code.here() - 1);
    Machine machine;
    machine.launch.workgroup_size = {128, 1, 1};
    const auto found = strict(code, machine);
    CHECK(found.size() == (leaves ? 1 : 0));
    if (leaves) CHECK(has(found, StrictRule::barrier_divergence, barrier, code.here() - 1));
  }
}

TEST_CASE("Strict: each pair is reported once, the same for any number of threads", "[quick]") {
  // Workgroups with an odd number read v9, those from 5 on v10 as well.
  Code code;
  code.add(Op::s_and_b32, {sgpr(20), number(1), sgpr(2)});
  code.add(Op::s_cmp_eq_u32, {sgpr(20), number(0)});
  code.add(Op::s_cbranch_scc1, {label(code.here() + 2)});
  code.e32(Op::v_mov_b32, {vgpr(4), vgpr(9)});
  code.add(Op::s_cmp_lt_u32, {sgpr(2), number(5)});
  code.add(Op::s_cbranch_scc1, {label(code.here() + 2)});
  code.e32(Op::v_mov_b32, {vgpr(4), vgpr(10)});
  code.end();
  for (const int threads : {1, 2, 5}) {
    Machine machine;
    machine.launch.grid = {64, 1, 1};
    machine.options.threads = threads;
    const auto found = strict(code, machine);
    REQUIRE(found.size() == 2);
    CHECK(found[0].workgroup[0] == 1);
    CHECK(found[1].workgroup[0] == 5);
  }
}

TEST_CASE("Strict: there is an end to the list", "[quick]") {
  Code code;
  for (std::size_t i = 0; i < max_findings + 17; ++i) code.e32(Op::v_mov_b32, {vgpr(4), vgpr(9)});
  code.end();
  Machine machine;
  machine.options.strict = true;
  const Result result = machine.run(code);
  CHECK(result.findings.size() == max_findings);
  CHECK(result.findings_left_out == 17);
  CHECK(result.finding_counts == std::map<std::string, std::uint64_t>{{"undefined register", max_findings + 17}});
}
