// MemoryModel: the same programs under what the architecture promises and under what hardware does in practice.
#include "tests/support/catch.h"
#include "tests/unit/emulator_programs.h"

using namespace zyfa::emulator;

namespace {

using enum MemoryModel;

constexpr std::uint32_t fresh_lds = 0xffffffff;

// The first dword that an unwaited LDS read of lane 0 leaves in its register, which held 7.
std::uint32_t read_without_wait(MemoryModel model) {
  Machine machine;
  machine.launch.memory_model = model;
  Code code;
  code.v_mov(4, 7);
  code.v_mov(2, 0);
  code.add(Op::ds_read_b32, {vgpr(4), vgpr(2)});
  code.e32(Op::v_mov_b32, {vgpr(5), vgpr(4)});
  code.wait(-1, 0);
  dump(code, 5, 1);
  REQUIRE_FALSE(machine.run(code).trap);
  return machine.dumped(0, 0);
}

// Wave 0 moves data into LDS and waits for it; wave 1 reads there without a barrier between. Both then meet.
Result race(MemoryModel model, std::uint32_t& seen_by_wave_1) {
  Machine machine;
  machine.launch.memory_model = model;
  machine.launch.workgroup_size = {128, 1, 1};
  Code code;
  code.descriptor(8, Machine::in_address, 8192);
  code.v_shift(2, 4, 0);
  code.m0(0);
  code.e32(Op::v_mov_b32, {vgpr(6), vgpr(0)});
  code.add(Op::v_readfirstlane_b32, {sgpr(20), vgpr(6)});
  code.add(Op::s_cmp_lg_u32, {sgpr(20), number(0)});
  const std::uint32_t branch = code.here();
  code.add(Op::s_cbranch_scc1, {Operand(zyfa::isa::OperandKind::label, branch + 4)});
  code.add(Op::buffer_load_dwordx4, {Operand{}, vgpr(2), sgpr(8, 4), number(0)}, to_lds());
  code.wait(0, -1);
  code.barrier();
  // Wave 1 comes here by the branch.
  code.v_mov(2, 0);
  code.add(Op::ds_read_b32, {vgpr(5), vgpr(2)});
  code.wait(-1, 0);
  code.s_mov64(100, Machine::out_address);
  code.v_shift(255, 2, 0);
  code.add(Op::global_store_dword, {vgpr(255), vgpr(5), sgpr(100, 2)});
  code.barrier();
  code.end();
  const Result result = machine.run(code);
  seen_by_wave_1 = machine.out[64];
  return result;
}

}  // namespace

TEST_CASE("an LDS read without its wait arrives late, or at once as in hardware", "[quick]") {
  CHECK(read_without_wait(architecture) == 7);
  CHECK(read_without_wait(hardware) == fresh_lds);
}

TEST_CASE("in hardware LDS-DMA lands after what other waves do meanwhile", "[quick]") {
  std::uint32_t seen = 0;
  REQUIRE_FALSE(race(architecture, seen).trap);
  CHECK(seen == pattern_dword(0));  // wave 0 went first as far as it could
  REQUIRE_FALSE(race(hardware, seen).trap);
  CHECK(seen == fresh_lds);
}

TEST_CASE("LDS bytes in flight trap, or are the old ones", "[quick]") {
  for (const MemoryModel model : {architecture, hardware}) {
    Machine machine;
    machine.launch.memory_model = model;
    Code code;
    code.descriptor(8, Machine::in_address, 8192);
    code.v_shift(2, 4, 0);
    code.m0(0);
    code.add(Op::buffer_load_dwordx4, {Operand{}, vgpr(2), sgpr(8, 4), number(0)}, to_lds());
    code.v_mov(3, 0);
    code.add(Op::ds_read_b32, {vgpr(5), vgpr(3)});
    code.wait(0, 0);
    dump(code, 5, 1);
    const Result result = machine.run(code);
    REQUIRE(result.trap.has_value() == (model == architecture));
    if (result.trap) CHECK(result.trap->kind == TrapKind::lds_in_flight);
    if (!result.trap) CHECK(machine.dumped(0, 0) == fresh_lds);
  }
}

TEST_CASE("global addresses that are no multiple of the element trap, or are taken", "[quick]") {
  for (const MemoryModel model : {architecture, hardware}) {
    Machine machine;
    machine.launch.memory_model = model;
    Code code;
    code.s_mov64(8, Machine::in_address);
    code.v_shift(2, 4, 0);
    code.add(Op::global_load_dword, {vgpr(5), vgpr(2), sgpr(8, 2)}, with_offset(1));
    code.wait(0, 0);
    dump(code, 5, 1);
    const Result result = machine.run(code);
    REQUIRE(result.trap.has_value() == (model == architecture));
    if (result.trap) CHECK(result.trap->kind == TrapKind::misaligned);
    if (!result.trap) CHECK(machine.dumped(0, 3) == pattern_dword(3 * 16 + 1));
  }
}
