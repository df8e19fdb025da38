// LDS: reads, writes, transposing reads, LDS-DMA, and what is refused.
#include "isa/isa.h"
#include "tests/support/catch.h"
#include "tests/unit/emulator_programs.h"

using namespace zyfa::emulator;
using zyfa::isa::desc;
using zyfa::isa::Kind;

namespace {

constexpr std::uint64_t all = ~std::uint64_t{0};

// Fills LDS bytes [0, 1024) with in's bytes by LDS-DMA and waits. Uses v250, s[80:83].
void fill_lds(Code& code) {
  code.descriptor(80, Machine::in_address, 8192);
  code.v_shift(250, 4, 0);
  code.m0(0);
  code.add(Op::buffer_load_dwordx4, {Operand{}, vgpr(250), sgpr(80, 4), number(0)}, to_lds());
  code.wait(0, -1);
}

// Stores LDS bytes [0, 4096) to out, 16 dwords per lane. Uses v250..v255, s[100:101].
void dump_lds(Code& code) {
  code.exec(all);
  code.s_mov64(100, Machine::out_address);
  code.v_shift(250, 4, 0);
  for (int i = 0; i < 4; ++i) {
    code.add(Op::ds_read_b128, {vgpr(252, 4), vgpr(250)}, with_offset(1024 * i));
    code.wait(-1, 0);
    code.add(Op::global_store_dwordx4, {vgpr(250), vgpr(252, 4), sgpr(100, 2)});
    code.v_add(250, 0, 250);
    code.add(Op::s_add_u32, {sgpr(100), sgpr(100), literal(1024)});
  }
  code.end();
}

std::uint8_t lds_byte(const Machine& machine, std::size_t i) {
  return static_cast<std::uint8_t>(machine.out[i / 4] >> (i % 4 * 8));
}

}  // namespace

TEST_CASE("every LDS row of the table moves its dwords", "[quick]") {
  for (int i = 0; i < static_cast<int>(Op::count); ++i) {
    const Op op = static_cast<Op>(i);
    const auto& d = desc(op);
    if (d.kind != Kind::DS_READ && d.kind != Kind::DS_READ_TR && d.kind != Kind::DS_WRITE) continue;
    if (d.memory_bytes < 4) continue;  // the oracle's business
    INFO(d.name);
    Machine machine;
    Code code;
    const int dwords = d.memory_bytes / 4;
    fill_lds(code);
    code.v_shift(2, 4, 0);
    for (int r = 0; r < 4; ++r) code.v_add(4 + r, static_cast<std::uint32_t>(r + 1) << 24, 0);
    // Transposing reads insist on all lanes; the pinned patterns below test what they do.
    const std::uint64_t exec = d.kind == Kind::DS_READ_TR ? all : 0xf00ff00ff00ff00e;
    code.exec(exec);
    bool right = true;
    if (d.kind == Kind::DS_WRITE) {
      code.add(op, {vgpr(2), vgpr(4, dwords)}, with_offset(2048));
      dump_lds(code);
      REQUIRE_FALSE(machine.run(code).trap);
      for (std::uint32_t at = 0; at < 1024; at += 4) {
        const std::uint32_t lane = at / 16, dword = at % 16 / 4;
        const bool written = dword < static_cast<std::uint32_t>(dwords) && (exec >> lane & 1);
        right &= machine.out[(2048 + at) / 4] == (written ? (dword + 1) << 24 | lane : ~0u);
      }
    } else {
      code.add(op, {vgpr(4, dwords), vgpr(2)}, with_offset(16));
      code.e32(Op::v_mov_b32, {vgpr(8), vgpr(4)});
      code.wait(-1, 0);
      dump(code, 4, 5);
      const bool last_lane_is_inside = (exec >> 63) == 0;
      CHECK((last_lane_is_inside || machine.launch.lds_bytes >= 1024 + 32));
      REQUIRE_FALSE(machine.run(code).trap);
      for (int lane = 0; lane < 63; ++lane) {
        right &= machine.dumped(4, lane) == ((exec >> lane & 1) ? 1u << 24 | static_cast<std::uint32_t>(lane) : ~0u);
        if (d.kind == Kind::DS_READ_TR) continue;
        for (int r = 0; r < 4; ++r) {
          const bool loaded = r < dwords && (exec >> lane & 1);
          right &= machine.dumped(r, lane) ==
                   (loaded ? pattern_dword(static_cast<std::size_t>(lane * 16 + 16 + 4 * r))
                           : static_cast<std::uint32_t>(r + 1) << 24 | static_cast<std::uint32_t>(lane));
        }
      }
    }
    CHECK(right);
  }
}

TEST_CASE("LDS starts out as all ones", "[quick]") {
  Machine machine;
  Code code;
  dump_lds(code);
  REQUIRE_FALSE(machine.run(code).trap);
  CHECK(std::all_of(machine.out.begin(), machine.out.begin() + 1024, [](std::uint32_t d) { return d == ~0u; }));
}

TEST_CASE("the transposing read of nibbles: nibble j of lane t is nibble t of lane j", "[quick]") {
  Machine machine;
  Code code;
  fill_lds(code);
  code.e32(Op::v_xor_b32, {vgpr(2), number(5), vgpr(0)});
  code.v_shift(2, 3, 2);
  code.add(Op::ds_read_b64_tr_b4, {vgpr(4, 2), vgpr(2)}, with_offset(256));
  code.wait(-1, 0);
  dump(code, 4, 2);
  REQUIRE_FALSE(machine.run(code).trap);
  for (int lane = 0; lane < 64; ++lane)
    for (int j = 0; j < 16; ++j) {
      const int t = lane % 16, source = lane - t + j;
      const auto at = static_cast<std::size_t>(256 + 8 * (source ^ 5) + t / 2);
      CAPTURE(lane, j);
      REQUIRE((machine.dumped(j / 8, lane) >> (j % 8 * 4) & 15) == (pattern(at) >> (t % 2 * 4) & 15u));
    }
}

// gfx950.md 4: in groups of 16 lanes, tr_b8: lane t byte j = byte t%8 of lane 2j + t/8's eight bytes; tr_b16:
// lane t halfword j = halfword t%4 of lane 4j + t/4's.
TEST_CASE("transposing reads follow the pinned pattern", "[quick]") {
  for (const int bytes : {1, 2}) {
    Machine machine;
    Code code;
    fill_lds(code);
    // Lane l addresses the 8 bytes at 8 * (l ^ 5): any order of addresses will do.
    code.e32(Op::v_xor_b32, {vgpr(2), number(5), vgpr(0)});
    code.v_shift(2, 3, 2);
    code.add(bytes == 1 ? Op::ds_read_b64_tr_b8 : Op::ds_read_b64_tr_b16, {vgpr(4, 2), vgpr(2)}, with_offset(256));
    code.wait(-1, 0);
    dump(code, 4, 2);
    REQUIRE_FALSE(machine.run(code).trap);
    for (int lane = 0; lane < 64; ++lane) {
      const int t = lane % 16, rows = 8 / bytes;
      for (int byte = 0; byte < 8; ++byte) {
        const int j = byte / bytes;
        const int source = lane - t + 16 / rows * j + t / rows;
        const int at = 256 + 8 * (source ^ 5) + t % rows * bytes + byte % bytes;
        CAPTURE(bytes, lane, byte);
        REQUIRE((machine.dumped(byte / 4, lane) >> (byte % 4 * 8) & 0xff) == pattern(static_cast<std::size_t>(at)));
      }
    }
  }
  // By hand, lane 9 of the first group: t/8 = 1, t%8 = 1, so byte 1 of lanes 1, 3, 5, ... 15.
  Machine machine;
  Code code;
  fill_lds(code);
  code.v_shift(2, 3, 0);
  code.add(Op::ds_read_b64_tr_b8, {vgpr(4, 2), vgpr(2)});
  code.wait(-1, 0);
  dump(code, 4, 2);
  REQUIRE_FALSE(machine.run(code).trap);
  CHECK((machine.dumped(0, 9) & 0xff) == pattern(8 + 1));
  CHECK((machine.dumped(1, 9) >> 24) == pattern(15 * 8 + 1));
}

TEST_CASE("LDS accesses are checked for bounds, alignment and exec", "[quick]") {
  Machine machine;
  Code code;
  code.v_shift(2, 4, 0);
  SECTION("read past the end") {
    code.add(Op::ds_read_b128, {vgpr(4, 4), vgpr(2)}, with_offset(3088));
    const Trap trap = machine.trap(code);
    CHECK(trap.kind == TrapKind::lds_out_of_bounds);
    CHECK(trap.lane == 63);
    CHECK(contains(trap.message, {"LDS out of bounds", "ds_read_b128", "kernel:1", "lane 63",
                                  "16 bytes at LDS address 0x1000, the workgroup has 4096 bytes"}));
  }
  SECTION("lanes off in exec may point anywhere") {
    code.exec(all >> 1);
    code.add(Op::ds_read_b128, {vgpr(4, 4), vgpr(2)}, with_offset(3088));
    code.end();
    CHECK_FALSE(machine.run(code).trap);
  }
  SECTION("write with an uninitialised address") {
    code.add(Op::ds_write_b32, {vgpr(9), vgpr(0)});
    CHECK(contains(machine.trap(code).message, {"ds_write_b32", "lane 0", "0xffffffff"}));
  }
  SECTION("misaligned by operand size") {
    code.v_add(2, 8, 2);
    code.add(Op::ds_read_b64, {vgpr(4, 2), vgpr(2)});
    code.add(Op::ds_write_b96, {vgpr(2), vgpr(4, 3)});
    const Trap trap = machine.trap(code);
    CHECK(trap.kind == TrapKind::misaligned);
    CHECK(trap.instruction == 3);
    CHECK(contains(trap.message, {"misaligned", "ds_write_b96", "0x8 is not a multiple of 16", "lane 0"}));
  }
  SECTION("transposing reads need all lanes") {
    code.exec(all << 1);
    code.add(Op::ds_read_b64_tr_b16, {vgpr(4, 2), vgpr(2)});
    const Trap trap = machine.trap(code);
    CHECK(trap.kind == TrapKind::bad_exec);
    CHECK(contains(trap.message, {"bad exec", "ds_read_b64_tr_b16", "0xfffffffffffffffe"}));
  }
}

TEST_CASE("LDS-DMA: offset on both sides, exec holes, zeros out of range", "[quick]") {
  for (const int dwords : {1, 3, 4}) {
    CAPTURE(dwords);
    const Op op = dwords == 1 ? Op::buffer_load_dword : dwords == 3 ? Op::buffer_load_dwordx3 : Op::buffer_load_dwordx4;
    const std::size_t bytes = static_cast<std::size_t>(dwords) * 4;
    const std::uint64_t exec = 0xfffff0fffffffffe;
    Machine machine;
    Code code;
    code.v_shift(2, 4, 0);
    code.s_mov(20, 128);
    code.descriptor(8, Machine::in_address, 128 + 32 + 804);  // in range: lane * 16 + 32 < 836
    code.m0(512);
    code.exec(exec);
    code.add(op, {Operand{}, vgpr(2), sgpr(8, 4), sgpr(20)}, to_lds(32));
    code.wait(0, -1);
    dump_lds(code);
    REQUIRE_FALSE(machine.run(code).trap);
    bool right = true;
    for (std::size_t i = 0; i < 4096; ++i) {
      const std::size_t at = i - 512 - 32, lane = at / bytes, byte = at % bytes;
      const bool written = i >= 512 + 32 && lane < 64 && (exec >> lane & 1);
      const bool inside = lane * 16 + 32 + byte / 4 * 4 < 836;
      right &= lds_byte(machine, i) == (!written ? 0xff : inside ? pattern(128 + 32 + lane * 16 + byte) : 0);
    }
    CHECK(right);
  }
}

TEST_CASE("LDS-DMA by a global load: offset on both sides, with and without a scalar base", "[quick]") {
  for (const Op op : {Op::global_load_lds_dword, Op::global_load_lds_dwordx3, Op::global_load_lds_dwordx4})
    for (const bool scalar_base : {false, true}) {
      const std::size_t bytes = zyfa::isa::desc(op).memory_bytes;
      CAPTURE(zyfa::isa::desc(op).name, scalar_base);
      Machine machine;
      Code code;
      code.v_shift(2, 4, 0);
      code.m0(512);
      if (scalar_base) {
        code.s_mov64(8, Machine::in_address);
        code.add(op, {vgpr(2), sgpr(8, 2)}, with_offset(32));
      } else {
        code.e32(Op::v_add_u32, {vgpr(2), literal(Machine::in_address), vgpr(2)});
        code.v_mov(3, 0);
        code.add(op, {vgpr(2, 2), Operand{}}, with_offset(32));
      }
      code.wait(0, -1);
      dump_lds(code);
      REQUIRE_FALSE(machine.run(code).trap);
      bool right = true;
      for (std::size_t i = 0; i < 4096; ++i) {
        const std::size_t at = i - 512 - 32, lane = at / bytes;
        const bool written = i >= 512 + 32 && lane < 64;
        right &= lds_byte(machine, i) == (written ? pattern(32 + lane * 16 + at % bytes) : 0xff);
      }
      CHECK(right);
    }
}

TEST_CASE("LDS-DMA is checked like any access", "[quick]") {
  Machine machine;
  Code code;
  code.descriptor(8, Machine::in_address, 8192);
  code.v_shift(2, 4, 0);
  const auto load = [&](Op op, std::int32_t offset) {
    code.add(op, {Operand{}, vgpr(2), sgpr(8, 4), number(0)}, to_lds(offset));
  };
  SECTION("M0 is not truncated to 16 bits") {
    code.m0(0x10000);
    load(Op::buffer_load_dwordx4, 0);
    const Trap trap = machine.trap(code);
    CHECK(trap.kind == TrapKind::lds_out_of_bounds);
    CHECK(contains(trap.message, {"buffer_load_dwordx4", "0x103f0", "lane 63"}));
  }
  SECTION("the instruction's offset counts on the LDS side") {
    code.m0(3072);
    load(Op::buffer_load_dwordx4, 16);
    CHECK(machine.trap(code).kind == TrapKind::lds_out_of_bounds);
  }
  SECTION("misaligned") {
    code.m0(2);
    load(Op::buffer_load_dword, 0);
    CHECK(contains(machine.trap(code).message, {"misaligned", "LDS address 0x2"}));
  }
  SECTION("two dwords do not exist") {
    load(Op::buffer_load_dwordx2, 0);
    REQUIRE_THROWS_AS(machine.run(code), zyfa::Error);
  }
}

TEST_CASE("touching LDS bytes that an LDS-DMA will write is a trap", "[quick]") {
  Machine machine;
  Code code;
  code.descriptor(8, Machine::in_address, 8192);
  code.v_shift(2, 4, 0);
  code.m0(1024);
  code.exec(0xffffffff0000ffff);
  const std::uint32_t dma = code.here();
  code.add(Op::buffer_load_dwordx4, {Operand{}, vgpr(2), sgpr(8, 4), number(0)}, to_lds());
  code.exec(all);
  const std::uint32_t access = code.here();
  const auto message = [&] {
    code.end();
    return machine.trap(code).message;
  };
  const auto address = [&](std::uint32_t bytes) { code.v_mov(3, bytes); };
  SECTION("read") {
    code.exec(1);
    address(2047 - 15);
    code.add(Op::ds_read_b128, {vgpr(4, 4), vgpr(3)});
    const std::string text = message();
    CHECK(contains(text, {"LDS in flight", "ds_read_b128", "buffer_load_dwordx4", "lane 0", "of wave 0"}));
    CHECK(contains(text, {fmt::format("kernel:{}", dma).c_str(), fmt::format("kernel:{}", access + 3).c_str()}));
  }
  SECTION("write") {
    address(1024 + 4);
    code.add(Op::ds_write_b32, {vgpr(3), vgpr(0)});
    CHECK(contains(message(), {"LDS in flight", "ds_write_b32", "buffer_load_dwordx4"}));
  }
  SECTION("transposing read") {
    address(1024);
    code.add(Op::ds_read_b64_tr_b8, {vgpr(4, 2), vgpr(3)});
    CHECK(contains(message(), {"LDS in flight", "ds_read_b64_tr_b8"}));
  }
  SECTION("a counted wait that does not cover it") {
    code.add(Op::buffer_load_dword, {vgpr(4), vgpr(2), sgpr(8, 4), number(0)}, offen());
    code.wait(2, 0);
    address(1024);
    code.add(Op::ds_read_b32, {vgpr(4), vgpr(3)});
    CHECK(contains(message(), {"LDS in flight"}));
  }
  SECTION("bytes of lanes that are off, before and behind are free") {
    address(1024 + 16 * 16);
    code.add(Op::ds_read_b128, {vgpr(4, 4), vgpr(3)});
    address(1024 + 16 * 31);
    code.add(Op::ds_read_b128, {vgpr(4, 4), vgpr(3)});
    address(1024 - 16);
    code.add(Op::ds_read_b128, {vgpr(4, 4), vgpr(3)});
    address(2048);
    code.add(Op::ds_read_b128, {vgpr(4, 4), vgpr(3)});
    CHECK(message() == "did not trap");
  }
  SECTION("a wait that covers it ends it") {
    code.add(Op::buffer_load_dword, {vgpr(4), vgpr(2), sgpr(8, 4), number(0)}, offen());
    code.wait(1, -1);
    address(1024);
    code.add(Op::ds_read_b32, {vgpr(4), vgpr(3)});
    CHECK(message() == "did not trap");
  }
  SECTION("a second LDS-DMA of the same wave arrives later") {
    code.add(Op::buffer_load_dwordx4, {Operand{}, vgpr(2), sgpr(8, 4), number(0)}, to_lds());
    CHECK(message() == "did not trap");
  }
}

TEST_CASE("LDS in flight from another wave", "[quick]") {
  Machine machine;
  machine.launch.workgroup_size = {128, 1, 1};
  Code code;
  code.descriptor(8, Machine::in_address, 8192);
  code.v_shift(2, 2, 0);
  code.m0(0);
  code.e32(Op::v_lshrrev_b32, {vgpr(3), number(6), vgpr(0)});
  code.add(Op::v_readfirstlane_b32, {sgpr(20), vgpr(3)});
  code.add(Op::s_cmp_eq_u32, {sgpr(20), number(0)});
  const std::uint32_t branch = code.here();
  code.add(Op::s_cbranch_scc1, {label(0)});
  // Wave 1: straight to the barrier.
  const std::uint32_t meet = code.here();
  code.barrier();
  code.v_mov(2, 64);
  const std::uint32_t access = code.here();
  code.add(Op::ds_read_b32, {vgpr(4), vgpr(2)});
  code.end();
  code.program.code[branch].args[0] = label(code.here());
  const std::uint32_t dma = code.here();
  code.add(Op::buffer_load_dword, {Operand{}, vgpr(2), sgpr(8, 4), number(0)}, to_lds());
  const std::uint32_t wait = code.here();
  code.wait(0, -1);
  code.add(Op::s_branch, {label(meet)});

  CHECK_FALSE(machine.run(code).trap);
  code.program.code[wait] =
      code.program.code[access + 1];  // s_endpgm in place of the wait: wave 0's transfer is dropped
  CHECK_FALSE(machine.run(code).trap);
  code.program.code[wait] = {.op = Op::s_nop, .args = {number(0)}};
  const Trap trap = machine.trap(code);
  CHECK(trap.kind == TrapKind::lds_in_flight);
  CHECK(trap.instruction == access);
  CHECK(contains(trap.message, {"ds_read_b32", "wave 0, lane 0", fmt::format("instruction {} ", dma).c_str()}));
}
