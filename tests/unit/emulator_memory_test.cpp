// Scalar, buffer and global memory: values, ranges, bounds. Every row of the table is executed against a
// plain model.
#include "isa/isa.h"
#include "tests/support/catch.h"
#include "tests/unit/emulator_programs.h"

using namespace zyfa::emulator;
using zyfa::isa::desc;
using zyfa::isa::Kind;

namespace {

std::vector<Op> rows(std::initializer_list<Kind> kinds) {
  std::vector<Op> ops;
  for (int i = 0; i < static_cast<int>(Op::count); ++i)
    if (std::find(kinds.begin(), kinds.end(), desc(static_cast<Op>(i)).kind) != kinds.end())
      ops.push_back(static_cast<Op>(i));
  return ops;
}

// Dword d of what lanes store, so that every stored byte tells where it came from.
std::uint32_t marked(std::uint32_t d, std::uint32_t lane) { return ((d + 1) << 24 | 0xabc000) + lane; }
void fill(Code& code, int first, int dwords) {
  for (int d = 0; d < dwords; ++d) code.v_add(first + d, marked(static_cast<std::uint32_t>(d), 0), 0);
}

std::uint8_t out_byte(const Machine& machine, std::size_t i) {
  return static_cast<std::uint8_t>(machine.out[i / 4] >> (i % 4 * 8));
}

// Lane l of exec stored `bytes` marked bytes at out + 16 * l + offset up to `end`, and nothing else has
// changed.
bool stored(const Machine& machine, std::size_t bytes, std::size_t offset, std::size_t end, std::uint64_t exec) {
  for (std::size_t i = 0; i < machine.out.size() * 4; ++i) {
    const std::size_t at = i - offset, lane = at / 16, byte = at % 16;
    const bool written = i >= offset && i < end && lane < 64 && byte < bytes && (exec >> lane & 1);
    const std::uint32_t dword = marked(static_cast<std::uint32_t>(byte / 4), static_cast<std::uint32_t>(lane));
    if (out_byte(machine, i) != (written ? dword >> (byte % 4 * 8) & 0xff : 0xdd)) return false;
  }
  return true;
}

}  // namespace

// What a load of this many bytes leaves in dword i of a lane.
std::uint32_t loaded_dword(const zyfa::isa::Desc& d, std::size_t at) {
  const std::uint32_t dword = pattern_dword(at);
  if (d.memory_bytes >= 4) return dword;
  const std::uint32_t bits = 8u * d.memory_bytes, part = dword & ((1u << bits) - 1);
  return d.sign_extends && part >> (bits - 1) ? part | ~0u << bits : part;
}

TEST_CASE("every vector load of the table reads its dwords; lanes off in exec keep theirs", "[quick]") {
  for (const Op op : rows({Kind::BUFFER_LOAD, Kind::GLOBAL_LOAD}))
    for (const std::uint64_t exec : {~std::uint64_t{0}, std::uint64_t{0xffff0000f0f0ff02}, std::uint64_t{0}}) {
      const auto& d = desc(op);
      INFO(d.name);
      Machine machine;
      Code code;
      const int dwords = (d.memory_bytes + 3) / 4;
      code.v_shift(2, 4, 0);
      for (int i = 0; i < 4; ++i) code.v_mov(4 + i, 7);
      code.exec(exec);
      if (d.kind == Kind::BUFFER_LOAD) {
        code.descriptor(8, Machine::in_address, 4096);
        code.add(op, {vgpr(4, dwords), vgpr(2), sgpr(8, 4), number(0)}, offen(32));
      } else {
        code.s_mov64(8, Machine::in_address);
        code.add(op, {vgpr(4, dwords), vgpr(2), sgpr(8, 2)}, with_offset(32));
      }
      code.wait(0, 0);
      dump(code, 4, 4);
      REQUIRE_FALSE(machine.run(code).trap);
      bool right = true;
      for (int lane = 0; lane < 64; ++lane)
        for (int i = 0; i < 4; ++i) {
          const bool loaded = i < dwords && (exec >> lane & 1);
          const auto at = static_cast<std::size_t>(lane * 16 + 32 + 4 * i);
          right &= machine.dumped(i, lane) == (loaded ? loaded_dword(d, at) : 7);
        }
      CHECK(right);
    }
}

TEST_CASE("every vector store of the table writes its bytes and no others", "[quick]") {
  for (const Op op : rows({Kind::BUFFER_STORE, Kind::GLOBAL_STORE}))
    for (const std::uint64_t exec : {~std::uint64_t{0}, std::uint64_t{0x80000000f0f0ff02}, std::uint64_t{0}}) {
      const auto& d = desc(op);
      if (d.high_half) continue;  // the oracle's business
      INFO(d.name);
      Machine machine;
      Code code;
      const int dwords = (d.memory_bytes + 3) / 4;
      code.v_shift(2, 4, 0);
      fill(code, 4, dwords);
      code.exec(exec);
      if (d.kind == Kind::BUFFER_STORE) {
        code.descriptor(8, Machine::out_address, 4096);
        code.add(op, {vgpr(4, dwords), vgpr(2), sgpr(8, 4), number(0)}, offen(32));
      } else {
        code.s_mov64(8, Machine::out_address);
        code.add(op, {vgpr(2), vgpr(4, dwords), sgpr(8, 2)}, with_offset(32));
      }
      code.end();
      REQUIRE_FALSE(machine.run(code).trap);
      CHECK(stored(machine, d.memory_bytes, 32, 4096, exec));
    }
}

TEST_CASE("every scalar load of the table reads its dwords", "[quick]") {
  for (const Op op : rows({Kind::SMEM_LOAD})) {
    INFO(desc(op).name);
    Machine machine;
    Code code;
    const int dwords = desc(op).memory_bytes / 4;
    code.s_mov64(4, Machine::in_address + 64);
    code.add(op, {sgpr(16, dwords), sgpr(4, 2), literal(static_cast<std::uint32_t>(-8))});
    code.wait(-1, 0);
    for (int i = 0; i < 15; ++i) code.e32(Op::v_mov_b32, {vgpr(4 + i), sgpr(16 + i)});
    dump(code, 4, 15);
    REQUIRE_FALSE(machine.run(code).trap);
    for (int i = 0; i < 15; ++i)
      CHECK(machine.dumped(i, 5) == (i < dwords ? pattern_dword(static_cast<std::size_t>(56 + 4 * i)) : ~0u));
  }
}

TEST_CASE("scalar loads take a register offset, and are checked", "[quick]") {
  Machine machine;
  Code code;
  code.s_mov64(4, Machine::in_address);
  code.s_mov(6, 128);
  SECTION("register offset") {
    code.add(Op::s_load_dword, {sgpr(7), sgpr(4, 2), sgpr(6)});
    code.wait(-1, 0);
    code.e32(Op::v_mov_b32, {vgpr(4), sgpr(7)});
    dump(code, 4, 1);
    REQUIRE_FALSE(machine.run(code).trap);
    CHECK(machine.dumped(0, 63) == pattern_dword(128));
  }
  SECTION("out of bounds") {
    code.add(Op::s_load_dwordx4, {sgpr(8, 4), sgpr(4, 2), literal(8184)});
    const Trap trap = machine.trap(code);
    CHECK(trap.kind == TrapKind::memory_out_of_bounds);
    CHECK(trap.instruction == 3);
    CHECK(trap.where.line == 3);
    CHECK(trap.lane == -1);
    CHECK(contains(trap.message, {"memory out of bounds", "s_load_dwordx4", "kernel:3", "wave 0",
                                  "0x102000: 0 bytes past the end of in (0x100000, 8192 bytes"}));
  }
  SECTION("misaligned") {
    code.add(Op::s_load_dword, {sgpr(7), sgpr(4, 2), literal(2)});
    const Trap trap = machine.trap(code);
    CHECK(trap.kind == TrapKind::misaligned);
    CHECK(contains(trap.message, {"s_load_dword", "0x100002 is not a multiple of 4"}));
  }
}

TEST_CASE("a raw buffer's range is checked dword by dword, and shortened by soffset", "[quick]") {
  Machine machine;
  Code code;
  code.v_shift(2, 4, 0);
  code.s_mov(20, 64);
  SECTION("loads return 0 out of range") {
    code.descriptor(8, Machine::in_address, 64 + 168);
    code.add(Op::buffer_load_dwordx4, {vgpr(4, 4), vgpr(2), sgpr(8, 4), sgpr(20)}, offen(4));
    code.wait(0, -1);
    dump(code, 4, 4);
    REQUIRE_FALSE(machine.run(code).trap);
    bool right = true;
    for (int lane = 0; lane < 64; ++lane)
      for (int i = 0; i < 4; ++i) {
        const auto offset = static_cast<std::size_t>(lane * 16 + 4 + 4 * i);
        right &= machine.dumped(i, lane) == (offset < 168 ? pattern_dword(64 + offset) : 0);
      }
    CHECK(right);
  }
  SECTION("stores are dropped out of range") {
    fill(code, 4, 4);
    code.descriptor(8, Machine::out_address, 64 + 168);
    code.add(Op::buffer_store_dwordx4, {vgpr(4, 4), vgpr(2), sgpr(8, 4), sgpr(20)}, offen());
    code.end();
    REQUIRE_FALSE(machine.run(code).trap);
    CHECK(stored(machine, 16, 64, 64 + 168, ~std::uint64_t{0}));
  }
  SECTION("byte stores are checked byte by byte") {
    code.v_add(2, 0, 0);
    code.v_mov(4, 0x11);
    code.descriptor(8, Machine::out_address, 7);
    code.add(Op::buffer_store_byte, {vgpr(4), vgpr(2), sgpr(8, 4), number(0)}, offen());
    code.end();
    REQUIRE_FALSE(machine.run(code).trap);
    for (std::size_t i = 0; i < 12; ++i) CHECK(out_byte(machine, i) == (i < 7 ? 0x11 : 0xdd));
  }
  SECTION("an soffset past the end leaves nothing in range") {
    code.s_mov(20, 4096);
    code.descriptor(8, Machine::in_address, 64);
    code.add(Op::buffer_load_dword, {vgpr(4), vgpr(2), sgpr(8, 4), sgpr(20)}, offen());
    code.wait(0, -1);
    dump(code, 4, 1);
    REQUIRE_FALSE(machine.run(code).trap);
    CHECK(machine.dumped(0, 0) == 0);
    CHECK(machine.dumped(0, 63) == 0);
  }
  SECTION("a negative offset is out of range, whatever the instruction's offset adds") {
    code.v_mov(2, static_cast<std::uint32_t>(-4));
    code.descriptor(8, Machine::in_address, 64);
    code.add(Op::buffer_load_dword, {vgpr(4), vgpr(2), sgpr(8, 4), number(0)}, offen(8));
    code.wait(0, -1);
    dump(code, 4, 1);
    REQUIRE_FALSE(machine.run(code).trap);
    CHECK(machine.dumped(0, 9) == 0);
  }
  SECTION("without a register every lane reads the same") {
    code.descriptor(8, Machine::in_address, 4096);
    code.add(Op::buffer_load_dword, {vgpr(4), Operand{}, sgpr(8, 4), number(4)}, with_offset(8));
    code.wait(0, -1);
    dump(code, 4, 1);
    REQUIRE_FALSE(machine.run(code).trap);
    CHECK(machine.dumped(0, 0) == pattern_dword(12));
    CHECK(machine.dumped(0, 63) == pattern_dword(12));
  }
}

TEST_CASE("a structured buffer checks index and offset", "[quick]") {
  Machine machine;
  Code code;
  Modifiers mods = offen(4);
  mods.idxen = true;
  code.v_add(2, 0, 0);  // index
  code.v_mov(3, 8);     // offset
  code.descriptor(8, Machine::in_address, 40, 16);
  code.add(Op::buffer_load_dwordx2, {vgpr(4, 2), vgpr(2, 2), sgpr(8, 4), number(32)}, mods);
  code.wait(0, -1);
  dump(code, 4, 2);
  REQUIRE_FALSE(machine.run(code).trap);
  // Offsets 12 and 16: the second dword lies outside the 16-byte record.
  for (const int lane : {0, 1, 39, 40, 63}) {
    CAPTURE(lane);
    CHECK(machine.dumped(0, lane) == (lane < 40 ? pattern_dword(static_cast<std::size_t>(lane * 16 + 12 + 32)) : 0));
    CHECK(machine.dumped(1, lane) == 0);
  }
}

TEST_CASE("buffer descriptors that are not plain buffers trap", "[quick]") {
  const auto message = [](std::uint32_t word1, std::uint32_t word3) {
    Machine machine;
    Code code;
    code.descriptor(8, Machine::in_address, 64);
    code.s_mov(9, word1);
    code.s_mov(11, word3);
    code.add(Op::buffer_load_dword, {vgpr(4), vgpr(0), sgpr(8, 4), number(0)}, offen());
    code.end();
    return machine.trap(code).message;
  };
  CHECK(contains(message(0, 0), {"memory out of bounds", "data format is 0", "buffer_load_dword", "s[8:11]"}));
  CHECK(contains(message(0, 0xc0020000), {"type is 3"}));
  CHECK(contains(message(0x80000000, 0x20000), {"swizzle bit"}));
  CHECK(contains(message(0, 0x820000), {"add-thread-id"}));
}

TEST_CASE("memory that is in a buffer's range but not mapped traps with lane and neighbour", "[quick]") {
  Machine machine;
  Code code;
  code.v_shift(2, 4, 0);
  code.descriptor(8, Machine::in_address + 8192 - 164, 4096);
  code.add(Op::buffer_load_dwordx4, {vgpr(4, 4), vgpr(2), sgpr(8, 4), number(0)}, offen());
  const Trap trap = machine.trap(code);
  CHECK(trap.kind == TrapKind::memory_out_of_bounds);
  CHECK(trap.lane == 10);
  CHECK(contains(trap.message, {"buffer_load_dwordx4", "lane 10", "load from 0x102000: 0 bytes past the end of in"}));
}

TEST_CASE("global addresses: 64 bits per lane, signed offsets, adjacent regions", "[quick]") {
  Machine machine;
  std::array<std::uint32_t, 64> left{}, right{};
  for (std::uint32_t i = 0; i < 64; ++i) {
    left[i] = 1000 + i;
    right[i] = 2000 + i;
  }
  machine.memory.map("left", 0x500000000, std::as_writable_bytes(std::span(left)));
  machine.memory.map("right", 0x500000100, std::as_writable_bytes(std::span(right)));
  Code code;
  code.v_mov(3, 5);
  code.v_shift(2, 2, 0);
  code.v_add(2, 0x70 + 8, 2);
  // From dword 28 of left on; lane 35's two dwords lie in different regions.
  code.add(Op::global_load_dwordx2, {vgpr(4, 2), vgpr(2, 2), Operand{}}, with_offset(-8));
  code.wait(0, -1);
  dump(code, 4, 2);
  REQUIRE_FALSE(machine.run(code).trap);
  const auto expected = [](int i) { return static_cast<std::uint32_t>(i < 64 ? 1000 + i : 2000 + i - 64); };
  for (int lane = 0; lane < 64; ++lane) {
    CHECK(machine.dumped(0, lane) == expected(28 + lane));
    CHECK(machine.dumped(1, lane) == expected(29 + lane));
  }
}

TEST_CASE("global accesses trap on misaligned, unmapped and read-only memory", "[quick]") {
  Machine machine;
  Code code;
  code.v_shift(2, 2, 0);
  code.exec(0xff00);
  SECTION("misaligned") {
    code.s_mov64(4, Machine::in_address + 2);
    code.add(Op::global_load_dword, {vgpr(4), vgpr(2), sgpr(4, 2)});
    const Trap trap = machine.trap(code);
    CHECK(trap.kind == TrapKind::misaligned);
    CHECK(trap.lane == 8);
    CHECK(contains(trap.message, {"misaligned", "global_load_dword", "0x100022", "multiple of 4", "lane 8"}));
  }
  SECTION("a short at an odd address") {
    code.s_mov64(4, Machine::out_address + 1);
    code.add(Op::global_store_short, {vgpr(2), vgpr(0), sgpr(4, 2)});
    CHECK(contains(machine.trap(code).message, {"global_store_short", "multiple of 2"}));
  }
  SECTION("unmapped") {
    code.s_mov64(4, 0x42000);
    code.add(Op::global_load_dword, {vgpr(4), vgpr(2), sgpr(4, 2)});
    const Trap trap = machine.trap(code);
    CHECK(trap.kind == TrapKind::memory_out_of_bounds);
    CHECK(contains(trap.message, {"0x42020", "before in"}));
  }
  SECTION("store to read-only memory") {
    code.s_mov64(4, Machine::in_address);
    code.add(Op::global_store_dword, {vgpr(2), vgpr(0), sgpr(4, 2)});
    const Trap trap = machine.trap(code);
    CHECK(trap.kind == TrapKind::memory_out_of_bounds);
    CHECK(contains(trap.message, {"store to 0x100020: byte 32 of in", "read-only"}));
  }
}

TEST_CASE("accumulation registers are loaded and stored", "[quick]") {
  Machine machine;
  Code code;
  code.v_shift(2, 2, 0);
  code.s_mov64(4, Machine::in_address);
  code.s_mov64(6, Machine::out_address);
  code.add(Op::global_load_dword, {A<1>{17}, vgpr(2), sgpr(4, 2)});
  code.wait(0, -1);
  code.add(Op::global_store_dword, {vgpr(2), A<1>{17}, sgpr(6, 2)});
  code.end();
  REQUIRE_FALSE(machine.run(code).trap);
  for (std::size_t lane = 0; lane < 64; ++lane) CHECK(machine.out[lane] == pattern_dword(4 * lane));
}
