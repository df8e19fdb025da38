// Adversarial timing: what the architecture promises holds for every seed, and what it leaves open comes out one way
// for some seeds and another for others.
#include "tests/support/catch.h"
#include "tests/unit/emulator_programs.h"

#include <set>

using namespace zyfa::emulator;

namespace {

constexpr int seeds = 50;

// What out[index] becomes over the seeds.
std::set<std::uint32_t> outcomes(const Code& code, std::size_t index, std::uint32_t work_items = 64) {
  std::set<std::uint32_t> values;
  for (int seed = 0; seed < seeds; ++seed) {
    Machine machine;
    machine.launch.workgroup_size = {work_items, 1, 1};
    machine.options.shuffle_seed = static_cast<std::uint64_t>(seed);
    const Result result = machine.run(code);
    INFO((result.trap ? result.trap->message : ""));
    REQUIRE_FALSE(result.trap);
    values.insert(machine.out[index]);
  }
  return values;
}

Code prepared() {
  Code code;
  code.s_mov64(4, Machine::in_address);
  code.s_mov64(6, Machine::out_address);
  code.v_shift(2, 2, 0);
  code.v_mov(4, 1);
  return code;
}
void load(Code& code, int to, std::int32_t offset = 0) {
  code.add(Op::global_load_dword, {vgpr(to), vgpr(2), sgpr(4, 2)}, with_offset(offset));
}
// Room for things to happen in.
void linger(Code& code) {
  for (int i = 0; i < 20; ++i) code.add(Op::s_nop, {number(0)});
}

}  // namespace

TEST_CASE("Shuffle: a load without its wait comes early or late", "[quick]") {
  for (const bool waits : {false, true}) {
    Code code = prepared();
    load(code, 4);
    linger(code);
    if (waits) code.wait(0, -1);
    code.e32(Op::v_mov_b32, {vgpr(5), vgpr(4)});
    code.wait(0, -1);
    dump(code, 5, 1);
    CHECK(outcomes(code, 0) == (waits ? std::set{pattern_dword(0)} : std::set{1u, pattern_dword(0)}));
  }
}

TEST_CASE("Shuffle: vector loads stay in order, also behind a counted wait", "[quick]") {
  Code code = prepared();
  load(code, 4, 0);
  load(code, 4, 512);
  load(code, 5, 0);
  code.wait(1, -1);
  dump(code, 4, 1);
  CHECK(outcomes(code, 0) == std::set{pattern_dword(512)});
}

TEST_CASE("Shuffle: scalar loads overtake each other", "[quick]") {
  for (const bool waits : {false, true}) {
    Code code = prepared();
    code.add(Op::s_load_dword, {sgpr(20), sgpr(4, 2), literal(0)});
    if (waits) code.wait(-1, 0);
    code.add(Op::s_load_dword, {sgpr(20), sgpr(4, 2), literal(512)});
    code.wait(-1, 0);
    code.e32(Op::v_mov_b32, {vgpr(4), sgpr(20)});
    dump(code, 4, 1);
    CHECK(outcomes(code, 0) == (waits ? std::set{pattern_dword(512)} : std::set{pattern_dword(0), pattern_dword(512)}));
  }
}

TEST_CASE("Shuffle: lgkmcnt(1) with an LDS read and a scalar load promises neither", "[quick]") {
  Code code = prepared();
  code.add(Op::ds_write_b32, {vgpr(2), vgpr(4)});
  code.v_mov(5, 9);
  code.wait(-1, 0);
  code.add(Op::ds_read_b32, {vgpr(5), vgpr(2)});
  code.add(Op::s_load_dword, {sgpr(20), sgpr(4, 2), literal(0)});
  code.wait(-1, 1);
  code.e32(Op::v_mov_b32, {vgpr(6), vgpr(5)});
  code.wait(-1, 0);
  dump(code, 6, 1);
  CHECK(outcomes(code, 0) == std::set{1u, 9u});
}

TEST_CASE("Shuffle: operands are those at issue", "[quick]") {
  Code code = prepared();
  load(code, 5, 0);
  code.v_mov(2, 0xfffff000);
  code.wait(0, -1);
  code.v_shift(2, 2, 0);
  code.add(Op::global_store_dword, {vgpr(2), vgpr(5), sgpr(6, 2)});
  code.v_mov(5, 3);
  code.s_mov64(6, 0);
  code.end();
  CHECK(outcomes(code, 3) == std::set{pattern_dword(12)});
}

TEST_CASE("Shuffle: LDS-DMA without its wait is seen or not", "[quick]") {
  for (const bool waits : {false, true}) {
    Code code = prepared();
    code.add(Op::ds_write_b32, {vgpr(2), vgpr(4)});
    code.wait(-1, 0);
    code.descriptor(8, Machine::in_address, 8192);
    code.m0(0);
    code.add(Op::s_nop, {number(0)});
    code.add(Op::buffer_load_dword, {Operand{}, vgpr(2), sgpr(8, 4), number(0)}, to_lds());
    linger(code);
    if (waits) code.wait(0, -1);
    code.add(Op::ds_read_b32, {vgpr(5), vgpr(2)});
    code.wait(0, 0);
    dump(code, 5, 1);
    CHECK(outcomes(code, 0) == (waits ? std::set{pattern_dword(0)} : std::set{1u, pattern_dword(0)}));
  }
}

TEST_CASE("Shuffle: waves come in any order, and a barrier orders them", "[quick]") {
  for (const bool meets : {false, true}) {
    // Each wave writes its dword to LDS and then reads the other one's.
    Code code = prepared();
    code.e32(Op::v_xor_b32, {vgpr(3), literal(256), vgpr(2)});
    code.v_mov(5, 8);
    code.add(Op::ds_write_b32, {vgpr(2), vgpr(4)});
    code.wait(-1, 0);
    if (meets) code.barrier();
    code.add(Op::ds_read_b32, {vgpr(5), vgpr(3)});
    code.wait(-1, 0);
    dump(code, 5, 1);
    CHECK(outcomes(code, 0, 128) == (meets ? std::set{1u} : std::set{1u, ~0u}));
  }
}

TEST_CASE("Shuffle: stores of two waves to one place", "[quick]") {
  Code code = prepared();
  code.e32(Op::v_lshrrev_b32, {vgpr(5), number(6), vgpr(0)});
  code.v_mov(6, 0);
  code.add(Op::global_store_dword, {vgpr(6), vgpr(5), sgpr(6, 2)});
  code.end();
  CHECK(outcomes(code, 0, 128) == std::set{0u, 1u});
}

TEST_CASE("Shuffle: the same seed gives the same, whatever the number of threads", "[quick]") {
  Code code = prepared();
  load(code, 4);
  linger(code);
  code.add(Op::s_lshl_b32, {sgpr(20), sgpr(2), number(8)});
  code.add(Op::s_add_u32, {sgpr(6), sgpr(6), sgpr(20)});
  code.add(Op::global_store_dword, {vgpr(2), vgpr(4), sgpr(6, 2)});
  code.end();
  std::set<std::vector<std::uint32_t>> results;
  for (const int threads : {1, 3, 3}) {
    Machine machine;
    machine.launch.grid = {32, 1, 1};
    machine.options.threads = threads;
    machine.options.shuffle_seed = 7;
    REQUIRE_FALSE(machine.run(code).trap);
    results.insert(machine.out);
  }
  CHECK(results.size() == 1);
}

TEST_CASE("Shuffle: a late fault names the instruction that was issued", "[quick]") {
  for (int seed = 0; seed < 20; ++seed) {
    Machine machine;
    machine.options.shuffle_seed = static_cast<std::uint64_t>(seed);
    Code code = prepared();
    code.s_mov64(4, 16);
    const std::uint32_t bad = code.here();
    load(code, 4);
    linger(code);
    code.end();
    const Trap trap = machine.trap(code);
    CHECK(trap.kind == TrapKind::memory_out_of_bounds);
    CHECK(trap.instruction == bad);
  }
}
