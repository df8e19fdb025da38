// Instruction fetch of the pipe model: docs/timing.md.
#include "isa/pipes/fetch.h"
#include "isa/pipes/compute_unit.h"
#include "tests/support/catch.h"
#include "tests/unit/emulator_programs.h"

using namespace zyfa;
using namespace zyfa::emulator;

namespace {

pipes::Result run(const Code& code, const isa::Machine& numbers, std::uint32_t waves = 1) {
  Machine machine;
  machine.launch.workgroup_size = {64 * waves, 1, 1};
  pipes::Options options;
  options.machine = numbers;
  pipes::Result result = pipes::simulate(code.program, machine.launch, machine.memory, 0, options);
  REQUIRE_FALSE(result.trap);
  return result;
}

std::uint64_t fetch_stalls(const pipes::Result& result) {
  std::uint64_t sum = 0;
  for (const pipes::StallClk& wave : result.waves) sum += wave[static_cast<std::size_t>(pipes::Stall::fetch)];
  return sum;
}

// `count` instructions of 8 bytes.
Code straight(int count) {
  Code code;
  for (int i = 0; i < count; ++i) code.add(Op::v_add_u32, {vgpr(i % 8), vgpr(10), vgpr(11)}).form = isa::Form::e64;
  code.end();
  return code;
}

}  // namespace

TEST_CASE("Straight code of two waves on a SIMD does not wait for fetches", "[quick][timing]") {
  for (const std::uint32_t waves : {1u, 4u, 8u}) {
    CAPTURE(waves);
    CHECK(fetch_stalls(run(straight(400), {}, waves)) <= 16 * waves);
  }
}

TEST_CASE("A narrow fetch limits a SIMD to the bytes it brings", "[quick][timing]") {
  constexpr int count = 400;
  isa::Machine narrow;
  narrow.fetch_bytes = 4;
  // 8 bytes an instruction, 4 bytes a turn.
  CHECK(run(straight(count), narrow).cycles >= 2 * 4 * (count - 20));
  narrow.fetch_bytes = 8;
  CHECK(fetch_stalls(run(straight(count), narrow)) < 100);
  // Two waves share it.
  CHECK(run(straight(count), narrow, 8).cycles >= 2 * 4 * (count - 20));
}

TEST_CASE("After a taken branch what was fetched ahead is lost", "[quick][timing]") {
  Code code;
  code.s_mov(0, 50);
  const std::uint32_t loop = code.here();
  code.add(Op::s_sub_u32, {sgpr(0), sgpr(0), number(1)});
  code.add(Op::s_cmp_lg_u32, {sgpr(0), number(0)});
  code.add(Op::s_cbranch_scc1, {label(loop)});
  code.end();
  isa::Machine machine;
  const pipes::Clk nominal = run(code, machine).cycles;
  machine.branch_clk += 8;
  CHECK(run(code, machine).cycles == nominal + 49 * 8);
  // A piece that ends behind the target's first instruction leaves the second to the next fetch.
  isa::Machine slow;
  slow.fetch_bytes = 4;
  slow.fetch_latency_clk = 80;
  CHECK(run(code, slow).cycles > nominal + 49 * 40);
}

TEST_CASE("Code larger than the instruction cache comes from L2 each time around", "[quick][timing]") {
  isa::Machine machine;
  machine.icache_bytes = 1024;
  pipes::InstructionCache fits(1024, machine), larger(2048, machine);
  CHECK(fits.has(0));
  CHECK(fits.has(1020));
  // The first 16 lines are there. A miss brings its line and the next.
  CHECK(larger.has(1023));
  CHECK_FALSE(larger.has(1024));
  CHECK(larger.has(1024 + 64));
  CHECK_FALSE(larger.has(1024 + 128));
  // Least recently used: the second round of a loop over 2,048 bytes misses all over again.
  int misses = 0;
  for (int round = 0; round < 2; ++round)
    for (std::uint32_t byte = 0; byte < 2048; byte += 64) misses += !larger.has(byte);
  CHECK(misses >= 28);

  const Code code = straight(400);
  const pipes::Result warm = run(code, {});
  const pipes::Result cold = run(code, machine);
  CHECK(cold.cycles > warm.cycles + 10 * static_cast<pipes::Clk>(machine.icache_miss_clk));
  CHECK(fetch_stalls(cold) > 10 * static_cast<std::uint64_t>(machine.icache_miss_clk));
}
