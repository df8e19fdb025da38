// LDS rows: reads, writes, atomics, and exchange between lanes, which only borrows the LDS's crossbar.
#include "isa/emulator/execute_atomic.h"
#include "isa/emulator/execute_memory_parts.h"
#include "isa/isa.h"
#include "isa/numeric.h"

#include <bit>
#include <cstring>

namespace zyfa::emulator {
namespace {

using isa::Inst;
using isa::Kind;
using isa::Operand;

constexpr std::uint64_t all_lanes = ~std::uint64_t{0};

// LDS addresses are 32 bits and wrap (GFX9 and later; LLVM isBaseWithConstantOffset for DS).
std::optional<Fault> address_lds(const Inst& inst, std::uint32_t inst_offset, const Wave& wave, const Lds& lds,
                                 std::array<std::uint64_t, lanes>& offset) {
  const isa::Desc& d = isa::desc(inst.op);
  Lanes address;
  active_lanes(wave.lanes_of(inst.args[static_cast<std::size_t>(d.address)]), wave.exec(), address);
  for (std::size_t lane = 0; lane < lanes; ++lane) offset[lane] = address[lane] += inst_offset;
  return isa::is_atomic(d.kind) ? lds.check_aligned(address, d.memory_bytes, wave.exec())
                                : lds.check(address, d.memory_bytes, wave.exec());
}
std::optional<Fault> address_lds(const Inst& inst, const Wave& wave, const Lds& lds,
                                 std::array<std::uint64_t, lanes>& offset) {
  return address_lds(inst, static_cast<std::uint32_t>(inst.mods.offset), wave, lds, offset);
}

// What hardware delivers at once (MemoryModel::hardware).
void arrive(Wave& wave, Surroundings around) {
  if (around.lds.follows_hardware()) around.arrivals.wait_lds(wave, around.lds);
}

void gather_part(const isa::Desc& d, const std::byte* host, const std::uint64_t* offset, std::uint32_t* data) {
  for (std::size_t lane = 0; lane < lanes; ++lane) data[lane] = extended(host + offset[lane], d);
}

std::optional<Fault> read(const Inst& inst, const isa::Desc& d, Wave& wave, Surroundings around) {
  Arrival& arrival =
      registers_arrive(around.arrivals.issue_lds(wave, around.lds), inst.args[0], d.args[0].dwords, wave.exec());
  if (arrival.exec == 0) return std::nullopt;
  std::array<std::uint64_t, lanes> offset;
  if (auto fault = address_lds(inst, wave, around.lds, offset)) return fault;
  if (d.memory_bytes < 4)
    gather_part(d, around.lds.data(), offset.data(), arrival.data.data());
  else
    gather(d.memory_bytes, around.lds.data(), offset.data(), by_register, arrival.data.data());
  arrive(wave, around);
  return std::nullopt;
}

std::optional<Fault> read_pair(const Inst& inst, const isa::Desc& d, Wave& wave, Surroundings around) {
  Arrival& arrival =
      registers_arrive(around.arrivals.issue_lds(wave, around.lds), inst.args[0], d.args[0].dwords, wave.exec());
  if (arrival.exec == 0) return std::nullopt;
  std::array<std::uint64_t, lanes> offset;
  for (const std::size_t i : {0, 1}) {
    if (auto fault = address_lds(inst, pair_offset(inst, i), wave, around.lds, offset)) return fault;
    gather(d.memory_bytes, around.lds.data(), offset.data(), by_register,
           arrival.data.data() + i * lanes * d.memory_bytes / 4);
  }
  arrive(wave, around);
  return std::nullopt;
}

// gfx950.md 4: in groups of 16 lanes, element j of lane t is the t'th of the 6-bit elements that lane j addressed.
void transpose_b6(const std::byte* host, const std::uint64_t* offset, std::uint32_t* data) {
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    std::array<std::uint32_t, 4> row{}, result{};
    for (std::size_t j = 0; j < 16; ++j) {
      std::memcpy(row.data(), host + offset[lane / 16 * 16 + j], 12);
      isa::set_packed_code(result, 6, j, isa::packed_code(row, 6, lane % 16));
    }
    for (std::size_t r = 0; r < 3; ++r) data[r * lanes + lane] = result[r];
  }
}

std::optional<Fault> read_transposed(const Inst& inst, const isa::Desc& d, Wave& wave, Surroundings around) {
  if (wave.exec() != all_lanes)
    return Fault{TrapKind::bad_exec, -1, fmt::format("exec is {:#x}, a transposing read needs all lanes", wave.exec())};
  Arrival& arrival =
      registers_arrive(around.arrivals.issue_lds(wave, around.lds), inst.args[0], d.args[0].dwords, all_lanes);
  std::array<std::uint64_t, lanes> offset, rows;
  if (auto fault = address_lds(inst, wave, around.lds, offset)) return fault;
  const int element_bits = d.element_bits;
  if (element_bits == 6) {
    transpose_b6(around.lds.data(), offset.data(), arrival.data.data());
    arrive(wave, around);
    return std::nullopt;
  }
  for (std::size_t lane = 0; lane < lanes; ++lane) std::memcpy(&rows[lane], around.lds.data() + offset[lane], 8);
  const auto transpose = element_bits == 4 ? transpose_b4 : element_bits == 8 ? transpose_b8 : transpose_b16;
  transpose(rows);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    arrival.data[lane] = static_cast<std::uint32_t>(rows[lane]);
    arrival.data[lanes + lane] = static_cast<std::uint32_t>(rows[lane] >> 32);
  }
  arrive(wave, around);
  return std::nullopt;
}

std::optional<Fault> write(const Inst& inst, const isa::Desc& d, Wave& wave, Surroundings around) {
  around.arrivals.issue_lds(wave, around.lds).to = Arrives::nothing;
  if (wave.exec() == 0) return std::nullopt;
  std::array<std::uint64_t, lanes> offset;
  if (auto fault = address_lds(inst, wave, around.lds, offset)) return fault;
  scatter(d, around.lds.data(), offset.data(), wave.exec(), &wave.lanes_of(inst.args[1]));
  return std::nullopt;
}

// The first goes first where both are the same place.
std::optional<Fault> write_pair(const Inst& inst, const isa::Desc& d, Wave& wave, Surroundings around) {
  around.arrivals.issue_lds(wave, around.lds).to = Arrives::nothing;
  if (wave.exec() == 0) return std::nullopt;
  std::array<std::uint64_t, lanes> offset;
  for (const std::size_t i : {0, 1})
    if (auto fault = address_lds(inst, pair_offset(inst, i), wave, around.lds, offset)) return fault;
  for (const std::size_t i : {0, 1}) {
    if (auto fault = address_lds(inst, pair_offset(inst, i), wave, around.lds, offset)) return fault;
    scatter(d, around.lds.data(), offset.data(), wave.exec(), &wave.lanes_of(inst.args[1 + i]));
  }
  return std::nullopt;
}

// Lanes take their turns in order.
std::optional<Fault> update_lds(const Inst& inst, const isa::Desc& d, Wave& wave, Surroundings around) {
  const bool returns = d.kind == Kind::DS_ATOMIC_RTN || d.kind == Kind::DS_COMPARE_RTN;
  const bool compares = d.kind == Kind::DS_COMPARE || d.kind == Kind::DS_COMPARE_RTN;
  Arrival& arrival = around.arrivals.issue_lds(wave, around.lds);
  arrival.to = Arrives::nothing;
  if (returns) registers_arrive(arrival, inst.args[0], d.args[0].dwords, wave.exec());
  if (wave.exec() == 0) return std::nullopt;
  std::array<std::uint64_t, lanes> offset;
  if (auto fault = address_lds(inst, wave, around.lds, offset)) return fault;
  const Atomic atomic = find_atomic(inst.op);
  const Operand& b = inst.args[static_cast<std::size_t>(d.data)];
  const Operand& c = inst.args[static_cast<std::size_t>(d.data + (compares ? 1 : 0))];
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    if (!(wave.exec() >> lane & 1)) continue;
    const std::uint64_t old =
        update(around.lds.data() + offset[lane], d.memory_bytes, atomic, lane_word(wave, b, 0, lane, d.memory_bytes),
               lane_word(wave, c, 0, lane, d.memory_bytes));
    arrival.data[lane] = static_cast<std::uint32_t>(old);
    arrival.data[lanes + lane] = static_cast<std::uint32_t>(old >> 32);
  }
  arrive(wave, around);
  return std::nullopt;
}

// One counter for the whole wave, at the address in M0 (LLVM puts the pointer there as it is) plus the offset.
std::optional<Fault> count_lanes(const Inst& inst, Wave& wave, Surroundings around) {
  Arrival& arrival = registers_arrive(around.arrivals.issue_lds(wave, around.lds), inst.args[0], 1, wave.exec());
  if (wave.exec() == 0) return std::nullopt;
  Lanes address;
  address.fill(wave.scalar[isa::m0.first] + static_cast<std::uint32_t>(inst.mods.offset));
  if (auto fault = around.lds.check_aligned(address, 4, wave.exec())) return fault;
  const auto active = static_cast<std::uint32_t>(std::popcount(wave.exec()));
  const std::uint64_t old = update(around.lds.data() + address[0], 4, find_atomic(inst.op), active, 0);
  std::fill_n(arrival.data.begin(), lanes, static_cast<std::uint32_t>(old));
  arrive(wave, around);
  return std::nullopt;
}

// CDNA4 ISA pseudo code, DS_PERMUTE_B32 and DS_BPERMUTE_B32: switched-off lanes send nothing, lanes that get nothing
// get 0, of two that send to one the higher wins.
std::optional<Fault> permute(const Inst& inst, bool pulls, Wave& wave, Surroundings around) {
  Arrival& arrival = registers_arrive(around.arrivals.issue_lds(wave, around.lds), inst.args[0], 1, wave.exec());
  const Lanes& address = wave.lanes_of(inst.args[1]);
  const Lanes& data = wave.lanes_of(inst.args[2]);
  const std::uint64_t exec = wave.exec();
  std::fill_n(arrival.data.begin(), lanes, 0);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::size_t other = (address[lane] + static_cast<std::uint32_t>(inst.mods.offset)) / 4 % lanes;
    const std::size_t from = pulls ? other : lane, to = pulls ? lane : other;
    if (exec >> from & 1) arrival.data[to] = data[from];
  }
  arrive(wave, around);
  return std::nullopt;
}

// The same for patterns: of four lanes, or by bit masks within 32 (LLVM SIDefines.h, Swizzle).
std::optional<Fault> swizzle(const Inst& inst, Wave& wave, Surroundings around) {
  Arrival& arrival = registers_arrive(around.arrivals.issue_lds(wave, around.lds), inst.args[0], 1, wave.exec());
  const Lanes& data = wave.lanes_of(inst.args[1]);
  const auto pattern = static_cast<std::uint32_t>(inst.mods.offset);
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    const std::uint32_t from = pattern & 0x8000
                                   ? (lane & ~3u) | (pattern >> lane % 4 * 2 & 3)
                                   : (lane & 32) | ((((lane & pattern) | pattern >> 5) ^ pattern >> 10) & 31);
    arrival.data[lane] = wave.exec() >> from & 1 ? data[from] : 0;
  }
  arrive(wave, around);
  return std::nullopt;
}

}  // namespace

std::uint32_t pair_offset(const Inst& inst, std::size_t i) {
  return (i == 0 ? static_cast<std::uint32_t>(inst.mods.offset) : inst.mods.offset1) * isa::desc(inst.op).pair_stride;
}

std::optional<Fault> execute_lds(const Inst& inst, Wave& wave, Surroundings around) {
  const isa::Desc& d = isa::desc(inst.op);
  switch (d.kind) {
    case Kind::DS_READ:
      return read(inst, d, wave, around);
    case Kind::DS_READ_TR:
      return read_transposed(inst, d, wave, around);
    case Kind::DS_READ2:
      return read_pair(inst, d, wave, around);
    case Kind::DS_WRITE:
      return write(inst, d, wave, around);
    case Kind::DS_WRITE2:
      return write_pair(inst, d, wave, around);
    case Kind::DS_COUNT:
      return count_lanes(inst, wave, around);
    case Kind::DS_PERMUTE:
      return permute(inst, d.pulls, wave, around);
    case Kind::DS_SWIZZLE:
      return swizzle(inst, wave, around);
    default:
      return update_lds(inst, d, wave, around);
  }
}

}  // namespace zyfa::emulator
