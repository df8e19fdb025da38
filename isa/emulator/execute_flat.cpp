// Flat and private memory rows, lane by lane: the address says which memory it is.
#include "isa/emulator/execute_atomic.h"
#include "isa/emulator/execute_memory_parts.h"

#include <bit>

namespace zyfa::emulator {
namespace {

using isa::Inst;
using isa::Kind;
using isa::Operand;

// An access of one lane, resolved: host bytes that hold it, or why there are none.
struct Place {
  std::byte* host = nullptr;
  std::optional<Fault> fault;
};

Place faulty(TrapKind kind, std::size_t lane, std::string detail) {
  return {nullptr, Fault{kind, static_cast<int>(lane), std::move(detail)}};
}

struct Walk {
  const isa::Desc& d;
  Wave& wave;
  Surroundings around;
  bool writes;

  std::uint32_t alignment() const {
    return isa::is_atomic(d.kind) ? d.memory_bytes : std::min<std::uint32_t>(d.memory_bytes, 4);
  }
  bool may_be_misaligned() const {
    return !isa::is_atomic(d.kind) && (around.lds.follows_hardware() || around.lds.takes_unaligned());
  }

  Place in_private(std::uint64_t address, std::size_t lane) const {
    const std::size_t size = wave.scratch.size() / lanes;
    if (address + d.memory_bytes > size)
      return faulty(
          TrapKind::memory_out_of_bounds, lane,
          fmt::format("{} bytes at private address {:#x}, a lane has {} bytes", d.memory_bytes, address, size));
    return {wave.scratch.data() + lane * size + address, {}};
  }

  Place in_lds(std::uint32_t address, std::size_t lane) const {
    Lanes all;
    all.fill(address);
    if (auto fault = around.lds.check(all, d.memory_bytes, std::uint64_t{1} << lane)) return {nullptr, fault};
    return {around.lds.data() + address, {}};
  }

  Place in_global(std::uint64_t address, std::size_t lane) const {
    std::byte* host = writes ? around.memory.find_writable(address, d.memory_bytes)
                             : const_cast<std::byte*>(around.memory.find(address, d.memory_bytes));
    if (!host)
      return faulty(TrapKind::memory_out_of_bounds, lane,
                    fmt::format("{} {}", writes ? "store to" : "load from", around.memory.describe(address)));
    return {host, {}};
  }

  Place at(std::uint64_t address, std::size_t lane) const {
    if (address % alignment() != 0 && !may_be_misaligned())
      return faulty(TrapKind::misaligned, lane,
                    fmt::format("address {:#x} is not a multiple of {}", address, alignment()));
    const bool is_private = d.kind == Kind::SCRATCH_LOAD || d.kind == Kind::SCRATCH_STORE;
    Place place = is_private                        ? in_private(address, lane)
                  : is_in_private_aperture(address) ? in_private(address & 0xffffffff, lane)
                  : is_in_shared_aperture(address)  ? in_lds(static_cast<std::uint32_t>(address), lane)
                                                    : in_global(address, lane);
    if (isa::is_atomic(d.kind) && place.host && std::bit_cast<std::uintptr_t>(place.host) % d.memory_bytes != 0)
      return faulty(TrapKind::misaligned, lane, "the host's memory behind the region is not aligned for atomics");
    return place;
  }
};

// Private addresses: register, scalar register and offset, any of them absent; 32 bits that wrap.
std::uint64_t private_address(const Inst& inst, const isa::Desc& d, const Wave& wave, std::size_t lane) {
  const Operand& vector = inst.args[static_cast<std::size_t>(d.address)];
  const Operand& scalar = inst.args[static_cast<std::size_t>(d.base)];
  std::uint32_t address = static_cast<std::uint32_t>(inst.mods.offset);
  if (vector.kind == isa::OperandKind::vgpr) address += wave.lanes_of(vector)[lane];
  if (scalar.kind == isa::OperandKind::sgpr) address += wave.scalar[scalar.value];
  return address;
}

void load_lane(const isa::Desc& d, const std::byte* host, std::size_t lane, Arrival& arrival) {
  if (d.memory_bytes < 4) {
    arrival.data[lane] = extended(host, d);
    return;
  }
  for (std::size_t i = 0; i < d.memory_bytes / 4u; ++i) std::memcpy(&arrival.data[i * lanes + lane], host + 4 * i, 4);
}

void store_lane(const isa::Desc& d, const Wave& wave, const Operand& data, std::size_t lane, std::byte* host) {
  for (std::uint32_t i = 0; i * 4 < d.memory_bytes; ++i) {
    const std::uint32_t word = wave.lanes_of(data, static_cast<int>(i))[lane] >> (d.high_half ? 16 : 0);
    std::memcpy(host + 4 * i, &word, std::min<std::size_t>(4, d.memory_bytes));
  }
}

}  // namespace

std::uint64_t flat_address(const Inst& inst, const Wave& wave, std::size_t lane) {
  const isa::Desc& d = isa::desc(inst.op);
  return lane_word(wave, inst.args[static_cast<std::size_t>(d.address)], 0, lane, 8) +
         static_cast<std::uint64_t>(std::int64_t{inst.mods.offset});
}

std::optional<Fault> execute_flat(const Inst& inst, Wave& wave, Surroundings around) {
  const isa::Desc& d = isa::desc(inst.op);
  const bool is_flat = d.kind <= Kind::FLAT_ATOMIC, updates = d.kind == Kind::FLAT_ATOMIC;
  const bool writes = updates || d.kind == Kind::FLAT_STORE || d.kind == Kind::SCRATCH_STORE;
  Arrival& arrival =
      is_flat ? around.arrivals.issue_flat(wave, around.lds) : around.arrivals.issue_vector_memory(wave, around.lds);
  arrival.to = Arrives::nothing;
  if (!writes || (updates && inst.mods.sc0)) registers_arrive(arrival, inst.args[0], d.args[0].dwords, wave.exec());
  const Walk walk{d, wave, around, writes};
  const Operand& data = inst.args[static_cast<std::size_t>(d.data)];
  const Atomic atomic = find_atomic(inst.op);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    if (!(wave.exec() >> lane & 1)) continue;
    const Place place = walk.at(is_flat ? flat_address(inst, wave, lane) : private_address(inst, d, wave, lane), lane);
    if (place.fault) return place.fault;
    if (updates) {
      const std::uint64_t old = update(place.host, d.memory_bytes, atomic,
                                       lane_word(wave, data, 0, lane, d.memory_bytes), second_word(inst, wave, lane));
      arrival.data[lane] = static_cast<std::uint32_t>(old);
      arrival.data[lanes + lane] = static_cast<std::uint32_t>(old >> 32);
    } else if (writes) {
      store_lane(d, wave, data, lane, place.host);
    } else {
      load_lane(d, place.host, lane, arrival);
    }
  }
  return std::nullopt;
}

}  // namespace zyfa::emulator
