// Code addresses, indexed registers and MODE: what they do, and where a program with them is stopped or refused.
#include "isa/error.h"
#include "isa/isa.h"
#include "tests/support/catch.h"
#include "tests/unit/strict_programs.h"

using namespace zyfa::emulator;
using zyfa::Error;

namespace {

constexpr std::uint64_t code_address = 0x7e0000001000;

// Every instruction one dword long but those that a test says are longer.
void place(Code& code, const std::vector<std::uint32_t>& longer = {}) {
  std::uint32_t at = 0;
  code.program.offsets.clear();
  for (std::uint32_t i = 0; i < code.here(); ++i) {
    code.program.offsets.push_back(at);
    at += std::find(longer.begin(), longer.end(), i) == longer.end() ? 4 : 8;
  }
}

Operand mode(std::uint32_t offset, std::uint32_t bits) {
  return number(zyfa::isa::HardwareField{zyfa::isa::mode_register, offset, bits}.code());
}

}  // namespace

TEST_CASE("s_getpc_b64 gives the address behind it, s_swappc_b64 calls and s_setpc_b64 returns", "[quick]") {
  Machine machine;
  machine.launch.code_address = code_address;
  Code calls;
  calls.add(Op::s_getpc_b64, {sgpr(4, 2)});                  // 0
  calls.add(Op::s_add_u32, {sgpr(6), sgpr(4), number(20)});  // 1: to instruction 6
  calls.add(Op::s_mov_b32, {sgpr(7), sgpr(5)});              // 2
  calls.v_mov(10, 1);                                        // 3
  calls.add(Op::s_swappc_b64, {sgpr(30, 2), sgpr(6, 2)});    // 4
  calls.add(Op::s_branch, {label(8)});                       // 5: where the call comes back
  calls.v_add(10, 41, 10);                                   // 6
  calls.add(Op::s_setpc_b64, {sgpr(30, 2)});                 // 7
  calls.e32(Op::v_mov_b32, {vgpr(11), sgpr(4)});             // 8
  calls.e32(Op::v_mov_b32, {vgpr(12), sgpr(30)});
  dump(calls, 10, 3);
  place(calls);
  REQUIRE_FALSE(machine.run(calls).trap);
  CHECK(machine.dumped(0, 5) == 42);
  CHECK(machine.dumped(1, 5) == static_cast<std::uint32_t>(code_address) + 4);
  CHECK(machine.dumped(2, 5) == static_cast<std::uint32_t>(code_address) + 20);
}

TEST_CASE("jumps to addresses that are no instruction trap, programs without addresses are refused", "[quick]") {
  Machine machine;
  machine.launch.code_address = code_address;
  Code code;
  code.s_mov64(4, code_address + 4);
  code.add(Op::s_setpc_b64, {sgpr(4, 2)});
  code.end();
  CHECK(error_of(machine, code).find("has no code addresses") != std::string::npos);
  place(code, {0});  // 4 is now within the first instruction
  const Trap trap = machine.trap(code);
  CHECK(trap.kind == TrapKind::bad_branch);
  CHECK(contains(trap.message, {"bad branch", "s_setpc_b64", "0x7e0000001004"}));
  place(code);
  machine.options.max_instructions = 100;
  CHECK(machine.trap(code).kind == TrapKind::too_many_instructions);  // round and round
}

TEST_CASE("s_set_gpr_idx_on moves the registers of v_mov_b32", "[quick]") {
  Machine machine;
  Code code;
  for (int r = 0; r < 4; ++r) code.v_mov(10 + r, static_cast<std::uint32_t>(100 + r));
  code.s_mov(6, 0x102);  // only the lowest 8 bits count
  code.add(Op::s_set_gpr_idx_on, {sgpr(6), number(1)});
  code.e32(Op::v_mov_b32, {vgpr(20), vgpr(10)});  // v20 = v12
  code.add(Op::s_set_gpr_idx_mode, {number(8)});
  code.e32(Op::v_mov_b32, {vgpr(20), vgpr(10)});  // v22 = v10
  code.add(Op::s_set_gpr_idx_mode, {number(9)});
  code.add(Op::s_set_gpr_idx_idx, {number(3)});
  code.e32(Op::v_mov_b32, {vgpr(20), vgpr(10)});  // v23 = v13
  code.add(Op::s_set_gpr_idx_off, {});
  code.e32(Op::v_mov_b32, {vgpr(21), vgpr(10)});  // v21 = v10
  dump(code, 20, 4);
  REQUIRE_FALSE(machine.run(code).trap);
  for (int lane : {0, 63}) {
    CHECK(machine.dumped(0, lane) == 102);
    CHECK(machine.dumped(1, lane) == 100);
    CHECK(machine.dumped(2, lane) == 100);
    CHECK(machine.dumped(3, lane) == 103);
  }
}

TEST_CASE("indices past the registers and indexed registers of other instructions trap", "[quick]") {
  Machine machine;
  const auto run = [&](std::uint32_t index, std::uint32_t operands, Op op) {
    Code code;
    code.v_mov(10, 1);
    code.add(Op::s_set_gpr_idx_on, {number(index), number(operands)});
    if (op == Op::v_mov_b32)
      code.e32(op, {vgpr(200), vgpr(10)});
    else
      code.e32(op, {vgpr(200), vgpr(10), vgpr(10)});
    code.end();
    return machine.trap(code);
  };
  CHECK(contains(run(55, 8, Op::v_mov_b32).message, {"did not trap"}));
  const Trap past = run(56, 8, Op::v_mov_b32);
  CHECK(past.kind == TrapKind::bad_register);
  CHECK(contains(past.message, {"index 56 makes v256 of v200"}));
  const Trap other = run(0, 8, Op::v_add_u32);
  CHECK(other.kind == TrapKind::bad_register);
  CHECK(contains(other.message, {"v_mov_b32 alone"}));
}

TEST_CASE("strict mode looks at the registers that an index names", "[quick]") {
  const auto findings = [](std::uint32_t index) {
    Code code;
    code.v_mov(10, 1);
    code.v_mov(12, 1);
    code.add(Op::s_set_gpr_idx_on, {number(index), number(1)});
    code.e32(Op::v_mov_b32, {vgpr(20), vgpr(10)});
    code.add(Op::s_set_gpr_idx_off, {});
    code.e32(Op::v_mov_b32, {vgpr(21), vgpr(20)});
    code.end();
    return strict(code);
  };
  CHECK(findings(0).empty());
  CHECK(findings(2).empty());
  const auto undefined = findings(1);
  REQUIRE(undefined.size() == 1);
  CHECK(contains(undefined[0].message, {"v11 in lane 0 is read and was never written"}));
}

TEST_CASE("MODE is read and written by fields; what is not modelled traps", "[quick]") {
  Machine machine;
  Code code;
  code.add(Op::s_getreg_b32, {sgpr(20), mode(4, 6)});
  code.add(Op::s_setreg_imm32_b32, {mode(4, 2), Operand::constant(0)});
  code.s_mov(5, 0xff);
  code.add(Op::s_setreg_b32, {mode(23, 1), sgpr(5)});
  code.add(Op::s_nop, {number(1)});
  code.add(Op::s_getreg_b32, {sgpr(21), mode(0, 32)});
  code.e32(Op::v_mov_b32, {vgpr(10), sgpr(20)});
  code.e32(Op::v_mov_b32, {vgpr(11), sgpr(21)});
  dump(code, 10, 2);
  REQUIRE_FALSE(machine.run(code).trap);
  CHECK(machine.dumped(0, 0) == 0x3f);
  CHECK(machine.dumped(1, 0) == 0x8003c0);

  for (const auto& [field, value] : std::initializer_list<std::pair<Operand, std::uint32_t>>{
           {mode(0, 2), 1}, {mode(2, 2), 3}, {mode(12, 7), 1}, {mode(28, 1), 1}}) {
    Code bad;
    bad.add(Op::s_setreg_imm32_b32, {field, Operand::constant(value)});
    bad.end();
    const Trap trap = machine.trap(bad);
    CHECK(trap.kind == TrapKind::bad_mode);
    CHECK(contains(trap.message, {"bad mode", "s_setreg_imm32_b32 hwreg(HW_REG_MODE", "nearest even"}));
  }
}

TEST_CASE("hardware registers but MODE, rounding in the descriptor and s_trap", "[quick]") {
  Machine machine;
  Code status;
  status.add(Op::s_getreg_b32, {sgpr(4), number(zyfa::isa::HardwareField{2, 0, 32}.code())});
  status.end();
  CHECK(error_of(machine, status).find("of the hardware registers the emulator has MODE alone") != std::string::npos);
  Code plain;
  plain.end();
  for (const std::uint32_t rounding : {1u, 2u, 4u, 12u}) {
    machine.launch.mode = 0x3f0 | rounding;
    CHECK(error_of(machine, plain).find("rounding other than to nearest even") != std::string::npos);
  }
  machine.launch.mode = 0x8003f0;
  CHECK(error_of(machine, plain) == "ran");
  Code trap;
  trap.add(Op::s_trap, {number(2)});
  trap.end();
  CHECK(machine.trap(trap).kind == TrapKind::trap_handler);
  CHECK(contains(machine.trap(trap).message, {"trap handler at instruction 0 `s_trap 2`"}));
}

TEST_CASE("more memory than a gfx950 has is refused before anything runs", "[quick]") {
  Machine machine;
  Code plain;
  plain.end();
  machine.launch.lds_bytes = 160 * 1024;
  CHECK(error_of(machine, plain) == "ran");
  machine.launch.lds_bytes = 0xfffffff0;
  CHECK(error_of(machine, plain) == "launch asks for 4294967280 bytes of LDS, gfx950 has 163840");
  machine.launch.lds_bytes = 0;
  machine.launch.private_bytes = 131'056;
  CHECK(error_of(machine, plain) == "ran");
  machine.launch.private_bytes = 0xfffffff0;
  CHECK(error_of(machine, plain) ==
        "launch asks for 4294967280 bytes of private memory for a lane, gfx950 has up to 131056");
}
