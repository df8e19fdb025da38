// Late arrival: what is loaded is seen from the s_waitcnt on that covers it, and not before.
#include "tests/support/catch.h"
#include "tests/unit/emulator_programs.h"

using namespace zyfa::emulator;

namespace {

// v[4 + i] = 100 + i, then a load of each of the kinds in turn, then `wait`; each register is copied to v[24
// + i] at that moment, and dumped.
template <typename Load>
Code loads(int count, Load load, int vmcnt, int lgkmcnt) {
  Code code;
  code.s_mov64(4, Machine::in_address);
  code.v_shift(2, 2, 0);
  for (int i = 0; i < count; ++i) code.v_mov(4 + i, static_cast<std::uint32_t>(100 + i));
  for (int i = 0; i < count; ++i) load(code, 4 + i);
  if (vmcnt >= 0 || lgkmcnt >= 0) code.wait(vmcnt, lgkmcnt);
  for (int i = 0; i < count; ++i) code.e32(Op::v_mov_b32, {vgpr(24 + i), vgpr(4 + i)});
  dump(code, 24, count);
  return code;
}

void global_load(Code& code, int to) { code.add(Op::global_load_dword, {vgpr(to), vgpr(2), sgpr(4, 2)}); }
void lds_read(Code& code, int to) { code.add(Op::ds_read_b32, {vgpr(to), vgpr(2)}); }

// How many of the registers hold loaded data; they must be the first ones.
int arrived(const Code& code, int count, std::uint32_t loaded) {
  Machine machine;
  const Result result = machine.run(code);
  INFO((result.trap ? result.trap->message : ""));
  REQUIRE_FALSE(result.trap);
  int n = 0;
  while (n < count && machine.dumped(n, 0) == loaded) ++n;
  for (int i = n; i < count; ++i) CHECK(machine.dumped(i, 0) == static_cast<std::uint32_t>(100 + i));
  return n;
}

}  // namespace

TEST_CASE("vector memory loads arrive in order at the vmcnt that covers them", "[quick]") {
  for (const int left : {0, 1, 3, 6, 8}) {
    CAPTURE(left);
    CHECK(arrived(loads(6, global_load, left, -1), 6, pattern_dword(0)) == std::max(0, 6 - left));
  }
  CHECK(arrived(loads(6, global_load, -1, -1), 6, pattern_dword(0)) == 0);
  CHECK(arrived(loads(6, global_load, -1, 0), 6, pattern_dword(0)) == 0);
}

TEST_CASE("LDS reads arrive in order at the lgkmcnt that covers them", "[quick]") {
  for (const int left : {0, 1, 3, 6, 8}) {
    CAPTURE(left);
    CHECK(arrived(loads(6, lds_read, -1, left), 6, ~0u) == std::max(0, 6 - left));
  }
  CHECK(arrived(loads(6, lds_read, -1, -1), 6, ~0u) == 0);
  CHECK(arrived(loads(6, lds_read, 0, -1), 6, ~0u) == 0);
}

TEST_CASE("stores and LDS writes occupy a place in the queue", "[quick]") {
  // The wait for one leaves the store that was issued last outstanding: the load before it has arrived.
  const auto load_and_store = [](Code& code, int to) {
    global_load(code, to);
    code.s_mov64(6, Machine::out_address + 8192);
    code.add(Op::global_store_dword, {vgpr(2), vgpr(0), sgpr(6, 2)});
  };
  CHECK(arrived(loads(2, load_and_store, 1, -1), 2, pattern_dword(0)) == 2);
  CHECK(arrived(loads(2, load_and_store, 2, -1), 2, pattern_dword(0)) == 1);
  const auto read_and_write = [](Code& code, int to) {
    lds_read(code, to);
    code.v_add(3, 1024, 2);
    code.add(Op::ds_write_b32, {vgpr(3), vgpr(0)});
  };
  CHECK(arrived(loads(2, read_and_write, -1, 1), 2, ~0u) == 2);
  CHECK(arrived(loads(2, read_and_write, -1, 2), 2, ~0u) == 1);
}

TEST_CASE("a full counter stalls until the oldest has arrived", "[quick]") {
  const auto many = [](int loads_after, auto load) {
    return [loads_after, load](Code& code, int to) {
      load(code, to);
      for (int i = 0; i < loads_after; ++i) load(code, 90);
    };
  };
  CHECK(arrived(loads(1, many(62, global_load), -1, -1), 1, pattern_dword(0)) == 0);
  CHECK(arrived(loads(1, many(63, global_load), -1, -1), 1, pattern_dword(0)) == 1);
  CHECK(arrived(loads(1, many(14, lds_read), -1, -1), 1, ~0u) == 0);
  CHECK(arrived(loads(1, many(15, lds_read), -1, -1), 1, ~0u) == 1);
}

TEST_CASE("scalar loads arrive at lgkmcnt(0) only, and do not hold up LDS", "[quick]") {
  const auto run = [](int lgkmcnt) {
    Machine machine;
    Code code;
    code.s_mov64(4, Machine::in_address);
    code.s_mov(8, 77);
    code.v_shift(2, 2, 0);
    code.v_mov(4, 100);
    code.v_mov(5, 101);
    lds_read(code, 4);
    code.add(Op::s_load_dword, {sgpr(8), sgpr(4, 2), literal(0)});
    lds_read(code, 5);
    if (lgkmcnt >= 0) code.wait(-1, lgkmcnt);
    code.e32(Op::v_mov_b32, {vgpr(24), vgpr(4)});
    code.e32(Op::v_mov_b32, {vgpr(25), vgpr(5)});
    code.e32(Op::v_mov_b32, {vgpr(26), sgpr(8)});
    dump(code, 24, 3);
    REQUIRE_FALSE(machine.run(code).trap);
    return std::vector{machine.dumped(0, 0), machine.dumped(1, 0), machine.dumped(2, 0)};
  };
  CHECK(run(-1) == std::vector{100u, 101u, 77u});
  CHECK(run(2) == std::vector{100u, 101u, 77u});
  CHECK(run(1) == std::vector{~0u, 101u, 77u});
  CHECK(run(0) == std::vector{~0u, ~0u, pattern_dword(0)});
}

TEST_CASE("loads see memory as it was at their issue", "[quick]") {
  Machine machine;
  Code code;
  code.s_mov64(4, Machine::out_address + 8192);
  code.v_shift(2, 2, 0);
  global_load(code, 4);
  code.add(Op::global_store_dword, {vgpr(2), vgpr(0), sgpr(4, 2)});
  code.wait(0, -1);
  dump(code, 4, 1);
  REQUIRE_FALSE(machine.run(code).trap);
  CHECK(machine.dumped(0, 5) == Machine::untouched);
  CHECK(machine.out[2048 + 5] == 5);
}

TEST_CASE("a load that arrives late overwrites what was computed meanwhile", "[quick]") {
  Machine machine;
  Code code;
  code.s_mov64(4, Machine::in_address);
  code.v_shift(2, 2, 0);
  global_load(code, 4);
  code.v_mov(4, 1);
  code.wait(0, -1);
  dump(code, 4, 1);
  REQUIRE_FALSE(machine.run(code).trap);
  CHECK(machine.dumped(0, 5) == pattern_dword(20));
}
