// Launching: initial state, waves and barriers, host threads, and programs that go wrong.
#include "isa/emulator/wave.h"
#include "isa/error.h"
#include "tests/support/catch.h"
#include "tests/unit/emulator_programs.h"

#include <array>
#include <set>

using namespace zyfa::emulator;
using zyfa::Error;

namespace {

// s[to] = number of the wave, for workgroups along x. Uses v3.
void wave_number(Code& code, int to) {
  code.e32(Op::v_lshrrev_b32, {vgpr(3), number(6), vgpr(0)});
  code.add(Op::v_readfirstlane_b32, {sgpr(to), vgpr(3)});
}

// An endless loop of three instructions for workgroups whose x is s3's bit 3, a store of the workgroup's
// number for all.
Code store_number() {
  Code code;
  code.v_mov(2, 0);
  code.add(Op::s_lshl_b32, {sgpr(20), sgpr(2), number(2)});
  code.s_mov64(4, Machine::out_address);
  code.e32(Op::v_mov_b32, {vgpr(2), sgpr(20)});
  code.e32(Op::v_mov_b32, {vgpr(3), sgpr(2)});
  code.add(Op::global_store_dword, {vgpr(2), vgpr(3), sgpr(4, 2)});
  return code;
}

}  // namespace

TEST_CASE("the initial state is that of the HSA ABI, all ones elsewhere", "[quick]") {
  Machine machine;
  machine.launch.grid = {3, 2, 2};
  machine.launch.workgroup_size = {5, 3, 2};  // 30 work-items: one wave in part
  machine.launch.kernarg_address = 0x123456789a;
  machine.launch.pass_dispatch_ptr = machine.launch.pass_dispatch_id = true;
  machine.launch.pass_workgroup_id = {true, false, true};
  machine.launch.user_sgprs = 8;
  Code code;
  const std::vector<int> scalars = {0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 106, 124, 126, 127};
  for (std::size_t i = 0; i < scalars.size(); ++i)
    code.e32(Op::v_mov_b32, {vgpr(10 + static_cast<int>(i)), sgpr(scalars[i])});
  // Only the last workgroup reports.
  code.add(Op::s_cmp_eq_u32, {sgpr(8), number(2)});
  code.add(Op::s_cbranch_scc0, {label(0)});
  code.add(Op::s_cmp_eq_u32, {sgpr(9), number(1)});
  code.add(Op::s_cbranch_scc0, {label(0)});
  code.s_mov64(100, Machine::out_address);
  for (int lane = 0; lane < 3; ++lane) {
    code.exec(lane == 0 ? 1ull : lane == 1 ? 1ull << 29 : 1ull << 30);
    code.v_mov(255, static_cast<std::uint32_t>(4 * lane));
    for (std::size_t i = 0; i <= scalars.size(); ++i)
      code.add(Op::global_store_dword, {vgpr(255), i == 0 ? vgpr(0) : vgpr(9 + static_cast<int>(i)), sgpr(100, 2)},
               with_offset(static_cast<int>(i) * 256));
  }
  code.end();
  for (auto& inst : code.program.code)
    if (inst.op == Op::s_cbranch_scc0) inst.args[0] = label(code.here() - 1);
  REQUIRE_FALSE(machine.run(code).trap);

  CHECK(machine.dumped(0, 0) == 0);
  CHECK(machine.dumped(0, 1) == (4 | 2 << 10 | 1 << 20));
  CHECK(machine.dumped(0, 2) == ~0u);  // beyond the workgroup
  const std::vector<std::uint32_t> expected = {0, 0, 0x3456789a, 0x12, 0, 0, ~0u, 2, 1, ~0u, ~0u, ~0u, 0x3fffffff, 0};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(scalars[i]);
    CHECK(machine.dumped(static_cast<int>(i) + 1, 0) == expected[i]);
  }
}

TEST_CASE("eight waves meet at barriers that stand at different places", "[quick]") {
  Machine machine;
  machine.launch.workgroup_size = {512, 1, 1};
  Code code;
  wave_number(code, 20);
  code.e32(Op::v_and_b32, {vgpr(4), number(63), vgpr(0)});
  code.v_shift(5, 2, 0);
  code.add(Op::s_cmp_lt_u32, {sgpr(20), number(4)});
  const std::uint32_t branch = code.here();
  code.add(Op::s_cbranch_scc1, {label(0)});
  // Waves 4..7: wait, then read what waves 0..3 wrote.
  code.barrier();
  code.v_add(6, static_cast<std::uint32_t>(-1024), 5);
  code.add(Op::ds_read_b32, {vgpr(7), vgpr(6)});
  code.wait(-1, 0);
  code.s_mov64(4, Machine::out_address);
  code.add(Op::global_store_dword, {vgpr(6), vgpr(7), sgpr(4, 2)});
  code.barrier();
  code.end();
  // Waves 0..3: each counts to its own number of iterations, writes, waits twice; wave 0 ends after the first
  // barrier.
  code.program.code[branch].args[0] = label(code.here());
  code.s_mov(21, 0);
  code.add(Op::s_lshl_b32, {sgpr(22), sgpr(20), number(13)});
  const std::uint32_t loop = code.here();
  code.add(Op::s_add_u32, {sgpr(21), sgpr(21), number(1)});
  code.add(Op::s_cmp_lt_u32, {sgpr(21), sgpr(22)});
  code.add(Op::s_cbranch_scc1, {label(loop)});
  code.v_add(7, 7000, 0);
  code.add(Op::ds_write_b32, {vgpr(5), vgpr(7)});
  code.wait(-1, 0);
  code.barrier();
  code.add(Op::s_cmp_eq_u32, {sgpr(20), number(0)});
  code.add(Op::s_cbranch_scc1, {label(code.here() + 2)});
  code.barrier();
  code.end();

  REQUIRE_FALSE(machine.run(code).trap);
  bool right = true;
  for (std::uint32_t i = 0; i < 256; ++i) right &= machine.out[i] == 7000 + i;
  CHECK(right);
  // The same without the first barrier of waves 4..7: some of the others are still counting when they read.
  code.program.code[branch + 1] = {.op = Op::s_nop, .args = {number(0)}};
  machine.run(code);
  right = true;
  for (std::uint32_t i = 0; i < 256; ++i) right &= machine.out[i] == 7000 + i;
  CHECK_FALSE(right);
}

TEST_CASE("a wave that spins on LDS does not starve the others", "[quick]") {
  Machine machine;
  machine.launch.workgroup_size = {128, 1, 1};
  Code code;
  wave_number(code, 20);
  code.v_mov(2, 0);
  code.add(Op::s_cmp_eq_u32, {sgpr(20), number(1)});
  code.add(Op::s_cbranch_scc1, {label(0)});
  const std::uint32_t branch = code.here() - 1, spin = code.here();
  code.add(Op::ds_read_b32, {vgpr(4), vgpr(2)});
  code.wait(-1, 0);
  code.add(Op::v_readfirstlane_b32, {sgpr(21), vgpr(4)});
  code.add(Op::s_cmp_lg_u32, {sgpr(21), number(42)});
  code.add(Op::s_cbranch_scc1, {label(spin)});
  code.end();
  code.program.code[branch].args[0] = label(code.here());
  code.v_mov(4, 42);
  code.add(Op::ds_write_b32, {vgpr(2), vgpr(4)});
  code.end();
  machine.options.max_instructions = 100'000;
  CHECK_FALSE(machine.run(code).trap);
}

TEST_CASE("endless loops are stopped and named", "[quick]") {
  Machine machine;
  machine.options.max_instructions = 10'000;
  Code code;
  code.v_mov(2, 0);
  const std::uint32_t loop = code.here();
  code.s_mov(8, 1);
  code.s_mov(9, 1);
  code.add(Op::s_branch, {label(loop)});
  code.end();
  const Trap trap = machine.trap(code);
  CHECK(trap.kind == TrapKind::too_many_instructions);
  CHECK(trap.instruction >= loop);
  CHECK(trap.instruction <= loop + 2);
  CHECK(contains(trap.message, {"too many instructions", "stopped after 10000 instructions", "wave 0",
                                "in the loop of instructions 1..3 that `s_branch", "kernel:3"}));
  machine.options.max_instructions = 3;
  code.program.code[3] = code.program.code[4];
  CHECK(machine.trap(code).kind == TrapKind::too_many_instructions);
  machine.options.max_instructions = 4;
  CHECK_FALSE(machine.run(code).trap);
}

TEST_CASE("bad branches trap when taken", "[quick]") {
  for (const Operand target : {label(3), label(1000), number(5)}) {
    Machine machine;
    Code code;
    code.add(Op::s_cmp_eq_u32, {number(1), number(1)});
    code.add(Op::s_cbranch_scc1, {target});
    code.end();
    const Trap trap = machine.trap(code);
    CHECK(trap.kind == TrapKind::bad_branch);
    CHECK(trap.instruction == 1);
    CHECK(contains(trap.message, {"bad branch", "s_cbranch_scc1", "kernel:1", "the program has 3 instructions"}));
    code.program.code[1].op = Op::s_cbranch_scc0;
    CHECK_FALSE(machine.run(code).trap);
  }
}

TEST_CASE("running off the end traps", "[quick]") {
  Machine machine;
  Code code;
  code.s_mov(4, 1);
  code.s_mov(5, 1);
  const Trap trap = machine.trap(code);
  CHECK(trap.kind == TrapKind::ran_off_end);
  CHECK(trap.instruction == 1);
  CHECK(contains(trap.message, {"ran off the end", "s_mov_b32", "kernel:1", "no s_endpgm"}));
  CHECK(contains(machine.trap(Code{}).message, {"ran off the end", "empty program"}));
}

TEST_CASE("results, counts and traps do not depend on the number of threads", "[quick]") {
  std::set<std::string> traps;
  for (const int threads : {1, 2, 3, 8}) {
    CAPTURE(threads);
    Machine machine;
    machine.options.threads = threads;
    machine.options.max_instructions = 20'000;
    machine.launch.grid = {200, 1, 1};
    machine.launch.workgroup_size = {128, 1, 1};
    Code code = store_number();
    code.add(Op::v_mfma_f32_32x32x16_bf16, {vgpr(32, 16), vgpr(16, 4), vgpr(16, 4), number(0)});
    code.end();
    const Result result = machine.run(code);
    REQUIRE_FALSE(result.trap);
    CHECK(result.instructions == 200u * 2 * code.program.code.size());
    CHECK(result.matrix_instructions == 400);
    for (std::uint32_t i = 0; i < 200; ++i) CHECK(machine.out[i] == i);

    // Workgroup 50 loops for ever, all from 51 on trap at once: 50 is the one to report.
    Code bad = store_number();
    bad.add(Op::s_cmp_lt_u32, {sgpr(2), number(50)});
    bad.add(Op::s_cbranch_scc1, {label(bad.here() + 4)});
    bad.add(Op::s_cmp_eq_u32, {sgpr(2), number(50)});
    bad.add(Op::s_cbranch_scc1, {label(bad.here())});
    bad.add(Op::s_branch, {label(9999)});
    bad.end();
    const Result stopped = machine.run(bad);
    REQUIRE(stopped.trap);
    CHECK(stopped.trap->kind == TrapKind::too_many_instructions);
    CHECK(stopped.trap->workgroup == std::array<std::uint32_t, 3>{50, 0, 0});
    CHECK(contains(stopped.trap->message, {"workgroup (50, 0, 0)"}));
    traps.insert(fmt::format("{} after {}", stopped.trap->message, stopped.instructions));
  }
  CHECK(traps.size() == 1);
}

TEST_CASE("workgroups are numbered x fastest, and a trap names the first", "[quick]") {
  Machine machine;
  machine.launch.grid = {2, 3, 4};
  machine.options.threads = 4;
  Code code;
  code.add(Op::s_cmp_lt_u32, {sgpr(4), number(2)});
  code.add(Op::s_cbranch_scc1, {label(5)});
  code.add(Op::s_cmp_eq_u32, {sgpr(2), number(1)});
  code.add(Op::s_cbranch_scc0, {label(5)});
  code.add(Op::s_branch, {label(77)});
  code.end();
  const Trap trap = machine.trap(code);
  CHECK(trap.kind == TrapKind::bad_branch);
  CHECK(trap.workgroup == std::array<std::uint32_t, 3>{1, 0, 2});
}

TEST_CASE("progress counts up to all workgroups, one call at a time", "[quick]") {
  Machine machine;
  machine.options.threads = 4;
  machine.launch.grid = {10, 10, 1};
  std::vector<std::uint64_t> seen;
  machine.options.progress = [&](std::uint64_t done, std::uint64_t all) {
    CHECK(all == 100);
    seen.push_back(done);
  };
  Code code;
  code.end();
  REQUIRE_FALSE(machine.run(code).trap);
  REQUIRE_FALSE(seen.empty());
  CHECK(seen.back() == 100);
  CHECK(std::is_sorted(seen.begin(), seen.end()));
  machine.launch.grid = {0, 1, 1};
  CHECK(machine.run(code).instructions == 0);
}

TEST_CASE("an observer sees what it asked for, before it happens", "[quick]") {
  Machine machine;
  machine.launch.grid = {3, 1, 1};
  machine.launch.workgroup_size = {128, 1, 1};
  Code code;
  code.v_mov(1, 5);
  code.v_mov(1, 6);
  code.v_mov(1, 7);
  code.end();
  for (const bool strict : {false, true}) {
    std::array<std::array<std::vector<std::uint32_t>, 2>, 3> seen;  // by workgroup and wave
    machine.options.strict = strict;
    machine.options.observer = {{false, true, false, true},
                                [&](std::uint64_t workgroup, const Wave& wave, std::uint32_t instruction) {
                                  auto& list = seen.at(workgroup).at(wave.id);
                                  list.push_back(instruction);
                                  list.push_back(wave.vector[1][63]);
                                }};
    REQUIRE_FALSE(machine.run(code).trap);
    for (const auto& workgroup : seen)
      for (const auto& wave : workgroup) CHECK(wave == std::vector<std::uint32_t>{1, 5, 3, 7});
  }
}

TEST_CASE("exceptions of host code end the run", "[quick]") {
  for (const int threads : {1, 4}) {
    Machine machine;
    machine.options.threads = threads;
    machine.launch.grid = {100, 1, 1};
    machine.options.progress = [](std::uint64_t, std::uint64_t) { throw Error("interrupted"); };
    Code code;
    code.end();
    CHECK(error_of(machine, code) == "interrupted");
  }
}

TEST_CASE("launches and programs that make no sense are errors", "[quick]") {
  Machine machine;
  Code code;
  code.end();
  SECTION("workgroup size") {
    machine.launch.workgroup_size = {0, 1, 1};
    CHECK(contains(error_of(machine, code), {"workgroup size (0, 1, 1)"}));
    machine.launch.workgroup_size = {1024, 2, 1};
    CHECK(contains(error_of(machine, code), {"2048 work-items", "up to 1024"}));
  }
  SECTION("LDS") {
    machine.launch.lds_bytes = 163841;
    CHECK(contains(error_of(machine, code), {"163841 bytes of LDS", "163840"}));
  }
  SECTION("user SGPRs") {
    machine.launch.user_sgprs = 1;
    CHECK(contains(error_of(machine, code), {"1 user SGPRs", "2..16"}));
  }
  SECTION("entry") {
    machine.launch.entry = 1;
    CHECK(contains(error_of(machine, code), {"entry point 1", "1 instructions"}));
  }
  SECTION("operands that cannot be encoded") {
    code.add(Op::ds_read_b64, {vgpr(256, 2), vgpr(2)});
    CHECK(contains(error_of(machine, code), {"cannot execute instruction 1", "ds_read_b64", "kernel:1"}));
  }
}
