// Atomics, flat and private memory: what strict mode says of them, when they arrive, and what is refused.
#include "isa/emulator/address.h"
#include "isa/in_flight.h"
#include "tests/support/catch.h"
#include "tests/unit/strict_programs.h"

#include <numeric>

using namespace zyfa::emulator;

namespace {

// v2 = 4 * work-item, v4 = 7.
Code prepared() {
  Code code;
  code.v_shift(2, 2, 0);
  code.v_mov(3, 0);
  code.v_mov(4, 7);
  return code;
}
std::uint32_t add(Code& code, Op op, std::initializer_list<Operand> args, const Modifiers& mods = {}) {
  code.add(op, args, mods);
  return code.here() - 1;
}
Modifiers returning() {
  Modifiers mods;
  mods.sc0 = true;
  return mods;
}
// Both waves write the first dword of LDS and meet.
Code initialised() {
  Code code = prepared();
  code.add(Op::ds_write_b32, {vgpr(2), vgpr(4)});
  code.wait(-1, 0);
  code.barrier();
  return code;
}
// v[to:to+1] = a flat address: the dword of the lane in LDS or in `out`.
void flat_address(Code& code, int to, std::uint64_t base) {
  code.e32(Op::v_mov_b32, {vgpr(to), vgpr(2)});
  code.v_add(to, static_cast<std::uint32_t>(base), to);
  code.v_mov(to + 1, static_cast<std::uint32_t>(base >> 32));
}

}  // namespace

TEST_CASE("Strict: atomics of two waves on one place are no race", "[quick]") {
  Code code = initialised();
  add(code, Op::ds_add_u32, {vgpr(3), vgpr(4)});
  add(code, Op::ds_max_rtn_u32, {vgpr(5), vgpr(3), vgpr(4)});
  add(code, Op::ds_read_b32, {vgpr(6), vgpr(3)});
  CHECK(strict_pair(code).empty());
}

TEST_CASE("Strict: a write next to another wave's atomic is a race", "[quick]") {
  for (const bool meets : {false, true}) {
    Code code = initialised();
    const std::uint32_t atomic = add(code, Op::ds_add_u32, {vgpr(3), vgpr(4)});
    code.wait(-1, 0);
    if (meets) code.barrier();
    const std::uint32_t write = add(code, Op::ds_write_b32, {vgpr(2), vgpr(4)});
    const auto found = strict_pair(code);
    CHECK(found.empty() == meets);
    // Wave 0 writes address 0 while wave 1 adds to it; the turns decide who is seen second.
    if (!meets)
      CHECK((has(found, StrictRule::lds_race, write, atomic) || has(found, StrictRule::lds_race, atomic, write)));
  }
}

TEST_CASE("Strict: an atomic on LDS that nobody has written", "[quick]") {
  Code code = prepared();
  const std::uint32_t atomic = add(code, Op::ds_add_u32, {vgpr(2), vgpr(4)});
  code.wait(-1, 0);
  code.end();
  const auto found = strict(code);
  REQUIRE(found.size() == 1);
  CHECK(found[0].rule == StrictRule::undefined_lds);
  CHECK(found[0].at.instruction == atomic);
}

TEST_CASE("Strict: pairs of LDS accesses are looked at in both places", "[quick]") {
  Code code = prepared();
  code.add(Op::ds_write_b32, {vgpr(2), vgpr(4)});
  Modifiers second;
  second.offset1 = 64;
  const std::uint32_t read = add(code, Op::ds_read2_b32, {vgpr(6, 2), vgpr(2)}, second);
  code.wait(-1, 0);
  code.end();
  const auto found = strict(code);
  REQUIRE(found.size() == 1);
  CHECK(found[0].at.instruction == read);
  CHECK(contains(found[0].message, {"LDS address 0x100 "}));
}

TEST_CASE("Flat loads are waited for by both counters", "[quick]") {
  for (const bool vm : {false, true})
    for (const bool lgkm : {false, true}) {
      CAPTURE(vm, lgkm);
      Code code = prepared();
      flat_address(code, 6, Machine::in_address);
      code.v_mov(8, 1);
      const std::uint32_t load = add(code, Op::flat_load_dword, {vgpr(8), vgpr(6, 2)});
      if (vm) code.wait(0, -1);
      if (lgkm) code.wait(-1, 0);
      code.e32(Op::v_mov_b32, {vgpr(9), vgpr(8)});
      const std::uint32_t use = code.here() - 1;
      code.wait(0, 0);
      dump(code, 9, 1);
      const bool waited = vm && lgkm;
      CHECK(zyfa::isa::check_in_flight(code.program).empty() == waited);
      Machine machine;
      const auto found = strict(code, machine);
      CHECK(has(found, StrictRule::register_in_flight, use, load) != waited);
      CHECK(machine.dumped(0, 3) == (waited ? pattern_dword(12) : 1));
    }
}

TEST_CASE("Flat accesses to LDS are LDS accesses", "[quick]") {
  for (const bool meets : {false, true}) {
    Code code = initialised();
    code.e32(Op::v_xor_b32, {vgpr(2), literal(256), vgpr(2)});
    flat_address(code, 6, shared_aperture);
    const std::uint32_t store = add(code, Op::flat_store_dword, {vgpr(6, 2), vgpr(4)});
    code.wait(0, 0);
    if (meets) code.barrier();
    code.e32(Op::v_xor_b32, {vgpr(2), literal(256), vgpr(2)});
    const std::uint32_t read = add(code, Op::ds_read_b32, {vgpr(8), vgpr(2)});
    const auto found = strict_pair(code);
    CHECK(found.empty() == meets);
    if (!meets) CHECK((has(found, StrictRule::lds_race, read, store) || has(found, StrictRule::lds_race, store, read)));
  }
}

TEST_CASE("Atomics of workgroups on many host threads lose nothing", "[quick]") {
  Code code = prepared();
  code.s_mov64(8, Machine::out_address);
  add(code, Op::global_atomic_add, {vgpr(5), vgpr(3), vgpr(4), sgpr(8, 2)}, returning());
  code.end();
  for (const bool shuffled : {false, true}) {
    Machine machine;
    machine.launch.grid = {300, 1, 1};
    machine.options.threads = 4;
    if (shuffled) machine.options.shuffle_seed = 3;
    REQUIRE_FALSE(machine.run(code).trap);
    CHECK(machine.out[0] == Machine::untouched + 7u * 300 * 64);
  }
}

TEST_CASE("Private memory is the lane's own and has an end", "[quick]") {
  for (const std::uint32_t bytes : {16u, 12u}) {
    Machine machine;
    machine.launch.private_bytes = bytes;
    Code code = prepared();
    code.e32(Op::v_mov_b32, {vgpr(5), vgpr(0)});
    code.add(Op::scratch_store_dword, {Operand{}, vgpr(5), Operand{}}, with_offset(12));
    code.wait(0, -1);
    code.v_mov(5, 0);
    code.add(Op::scratch_load_dword, {vgpr(5), Operand{}, Operand{}}, with_offset(12));
    code.wait(0, -1);
    dump(code, 5, 1);
    const Result result = machine.run(code);
    REQUIRE(result.trap.has_value() == (bytes == 12));
    if (result.trap) CHECK(contains(result.trap->message, {"memory out of bounds", "private address 0xc", "12 bytes"}));
    if (!result.trap)
      for (int lane = 0; lane < 64; ++lane) CHECK(machine.dumped(0, lane) == static_cast<std::uint32_t>(lane));
  }
}

TEST_CASE("Unaligned access mode lets loads and stores be misaligned, not atomics", "[quick]") {
  const auto kind = [](Op op, std::initializer_list<Operand> args, bool unaligned) -> std::optional<TrapKind> {
    Machine machine;
    machine.launch.unaligned_access = unaligned;
    Code code = prepared();
    code.s_mov64(8, Machine::out_address);
    code.v_add(2, 1, 2);
    code.add(op, args);
    code.wait(0, 0);
    code.end();
    const Result result = machine.run(code);
    return result.trap ? std::optional(result.trap->kind) : std::nullopt;
  };
  for (const bool unaligned : {false, true}) {
    const auto plain = unaligned ? std::nullopt : std::optional(TrapKind::misaligned);
    CHECK(kind(Op::global_store_dword, {vgpr(2), vgpr(4), sgpr(8, 2)}, unaligned) == plain);
    CHECK(kind(Op::ds_write_b32, {vgpr(2), vgpr(4)}, unaligned) == plain);
    CHECK(kind(Op::global_atomic_add, {Operand{}, vgpr(2), vgpr(4), sgpr(8, 2)}, unaligned) == TrapKind::misaligned);
    CHECK(kind(Op::ds_add_u32, {vgpr(2), vgpr(4)}, unaligned) == TrapKind::misaligned);
  }
}

TEST_CASE("Strict: lane masks may be made of undefined registers, other numbers not", "[quick]") {
  for (const bool is_exec : {false, true}) {
    Code code = prepared();
    code.s_mov64(10, 1);
    code.add(Op::s_or_b64, {sgpr(8, 2), sgpr(8, 2), is_exec ? Operand(zyfa::isa::exec) : sgpr(10, 2)});
    code.end();
    CHECK(has(strict(code), StrictRule::undefined_register) != is_exec);
  }
}

TEST_CASE("Clocks go up", "[quick]") {
  Code code = prepared();
  code.add(Op::s_memtime, {sgpr(20, 2)});
  for (int i = 0; i < 10; ++i) code.add(Op::s_nop, {number(0)});
  code.add(Op::s_memrealtime, {sgpr(22, 2)});
  code.wait(-1, 0);
  code.e32(Op::v_mov_b32, {vgpr(8), sgpr(20)});
  code.e32(Op::v_mov_b32, {vgpr(9), sgpr(22)});
  dump(code, 8, 2);
  Machine machine;
  REQUIRE_FALSE(machine.run(code).trap);
  CHECK(machine.dumped(1, 0) - machine.dumped(0, 0) == 11);
}
