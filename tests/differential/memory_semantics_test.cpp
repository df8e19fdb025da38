// Every memory row of the table, on random addresses, data and EXEC masks, against a second reading of AMD's pseudo
// code.
#include "isa/emulator/arrivals.h"
#include "isa/emulator/execute_memory.h"
#include "isa/isa.h"
#include "isa/text.h"
#include "tests/support/catch.h"
#include "tests/support/oracle_memory.h"

#include <memory>
#include <set>

namespace zyfa::tests {
namespace {

using emulator::Wave;
using isa::Inst;
using isa::Op;

constexpr std::size_t lds_bytes = 160 * 1024, global_bytes = 64 * 1024, private_bytes = 16 * 1024;
constexpr int accesses_per_row = 40;

struct World {
  std::unique_ptr<Wave> wave = std::make_unique<Wave>();
  OracleMemory memory;

  explicit World(Rng& rng) {
    memory.global.resize(global_bytes);
    memory.lds.resize(lds_bytes);
    wave->scratch.resize(private_bytes * 64);
    // No number in it is NaN or infinite in any format.
    for (std::uint8_t& byte : memory.global) byte = static_cast<std::uint8_t>(rng()) & 0xbf;
    for (std::uint8_t& byte : memory.lds) byte = static_cast<std::uint8_t>(rng()) & 0xbf;
    for (std::byte& byte : wave->scratch) byte = static_cast<std::byte>(rng() & 0xbf);
  }
};

struct Emulated {
  emulator::GlobalMemory memory;
  emulator::Lds lds;
  std::unique_ptr<emulator::Arrivals> arrivals = std::make_unique<emulator::Arrivals>();

  explicit Emulated(bool unaligned) {
    lds.reset(lds_bytes);
    lds.take_unaligned(unaligned);
  }
};

std::string differs(const Wave& expected, const Wave& actual) {
  for (std::size_t r = 0; r < expected.vector.size(); ++r)
    for (std::size_t lane = 0; lane < emulator::lanes; ++lane)
      if (expected.vector[r][lane] != actual.vector[r][lane])
        return fmt::format("{}{} lane {}: expected {:#x}, got {:#x}", r < 256 ? 'v' : 'a', r % 256, lane,
                           expected.vector[r][lane], actual.vector[r][lane]);
  for (std::size_t r = 0; r < expected.scalar.size(); ++r)
    if (expected.scalar[r] != actual.scalar[r])
      return fmt::format("s{}: expected {:#x}, got {:#x}", r, expected.scalar[r], actual.scalar[r]);
  return expected.scratch == actual.scratch ? "" : "private memory differs";
}

// What the emulator does otherwise than the oracle, which changes `world`.
std::string check(const Inst& inst, World& world, bool unaligned, Wave& actual) {
  Emulated emulated(unaligned);
  OracleMemory before = world.memory;
  emulated.memory.map("memory", OracleMemory::global_address, std::as_writable_bytes(std::span(before.global)));
  std::memcpy(emulated.lds.data(), before.lds.data(), lds_bytes);
  actual = *world.wave;
  const auto fault = emulator::execute_memory(inst, 0, actual, {emulated.memory, emulated.lds, *emulated.arrivals});
  if (fault) return fault->detail;
  emulated.arrivals->wait_vector_memory(0, actual, emulated.lds);
  emulated.arrivals->wait_lgkm(0, actual, emulated.lds);
  if (!run_memory_oracle(*world.wave, world.memory, inst)) return "the oracle does not know this instruction";
  if (std::string problem = differs(*world.wave, actual); !problem.empty()) return problem;
  if (before.global != world.memory.global) return "global memory differs";
  return std::memcmp(emulated.lds.data(), world.memory.lds.data(), lds_bytes) == 0 ? "" : "LDS differs";
}

std::vector<Op> memory_rows() {
  std::vector<Op> rows;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Op::count); ++i)
    if (emulator::is_memory_row(static_cast<Op>(i))) rows.push_back(static_cast<Op>(i));
  return rows;
}

}  // namespace

TEST_CASE("every memory row agrees with the oracle") {
  Rng rng(5);
  World world(rng);
  auto actual = std::make_unique<Wave>();
  const std::vector<Op> rows = memory_rows();
  REQUIRE(rows.size() > 250);
  for (const Op op : rows)
    for (int i = 0; i < accesses_per_row; ++i) {
      const bool aligned = i % 2 == 0;
      const Inst inst = random_access(op, *world.wave, world.memory, aligned, rng);
      INFO(print(inst) << " #" << i);
      REQUIRE(check(inst, world, !aligned, *actual) == "");
    }
}

TEST_CASE("the memory oracle is another opinion: each row's neighbour in its family is told from it", "[quick]") {
  Rng rng(6);
  World world(rng);
  auto actual = std::make_unique<Wave>();
  std::set<std::string> untold;
  const std::vector<Op> rows = memory_rows();
  int pairs = 0;
  for (std::size_t r = 0; r + 1 < rows.size(); ++r) {
    const isa::Desc& d = isa::desc(rows[r]);
    const isa::Desc& next = isa::desc(rows[r + 1]);
    if (d.kind != next.kind || d.args != next.args || d.memory_bytes != next.memory_bytes ||
        d.kind == isa::Kind::SMEM_TIME || d.kind == isa::Kind::SMEM_CACHE)
      continue;
    ++pairs;
    bool told = false;
    for (int i = 0; i < 60 && !told; ++i) {
      const Inst inst = random_access(rows[r], *world.wave, world.memory, true, rng);
      Inst other = inst;
      other.op = rows[r + 1];
      if (!isa::validate(other).empty()) continue;
      Emulated emulated(true);
      OracleMemory before = world.memory;
      emulated.memory.map("memory", OracleMemory::global_address, std::as_writable_bytes(std::span(before.global)));
      std::memcpy(emulated.lds.data(), before.lds.data(), lds_bytes);
      *actual = *world.wave;
      const emulator::Surroundings around{emulated.memory, emulated.lds, *emulated.arrivals};
      told = emulator::execute_memory(other, 0, *actual, around).has_value();
      emulated.arrivals->wait_vector_memory(0, *actual, emulated.lds);
      emulated.arrivals->wait_lgkm(0, *actual, emulated.lds);
      run_memory_oracle(*world.wave, world.memory, inst);
      told = told || !differs(*world.wave, *actual).empty() || before.global != world.memory.global ||
             std::memcmp(emulated.lds.data(), world.memory.lds.data(), lds_bytes) != 0;
    }
    if (!told) untold.insert(fmt::format("{} / {}", d.name, next.name));
  }
  CHECK(pairs > 80);
  for (const std::string& names : untold) FAIL_CHECK(names);
}

}  // namespace zyfa::tests
