#include "isa/emulator/execute_memory.h"

#include "isa/emulator/execute.h"
#include "isa/emulator/execute_atomic.h"
#include "isa/emulator/execute_memory_parts.h"

#include <algorithm>
#include <bit>

namespace zyfa::emulator {
namespace {

using isa::Inst;
using isa::Kind;
using isa::Operand;

// Lane loops for a whole access, of constant size so that each move is an instruction or two of the host.
template <std::size_t Dwords>
void gather_whole(const std::byte* host, const std::uint64_t* offset, Steps steps, std::uint32_t* data) {
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    std::array<std::uint32_t, Dwords> value;
    std::memcpy(value.data(), host + offset[lane], sizeof value);
    for (std::size_t d = 0; d < Dwords; ++d) data[lane * steps.lane + d * steps.element] = value[d];
  }
}

}  // namespace

void gather(std::uint32_t bytes, const std::byte* host, const std::uint64_t* offset, Steps steps, std::uint32_t* data) {
  switch (bytes) {
    case 4:
      return gather_whole<1>(host, offset, steps, data);
    case 8:
      return gather_whole<2>(host, offset, steps, data);
    case 12:
      return gather_whole<3>(host, offset, steps, data);
    default:
      return gather_whole<4>(host, offset, steps, data);
  }
}

namespace {

template <std::size_t Bytes>
void scatter_whole(std::byte* host, const std::uint64_t* offset, std::uint64_t exec, const Lanes* data) {
  constexpr std::size_t dwords = (Bytes + 3) / 4;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    if (!(exec >> lane & 1)) continue;
    std::array<std::uint32_t, dwords> value;
    for (std::size_t d = 0; d < dwords; ++d) value[d] = data[d][lane];
    std::memcpy(host + offset[lane], value.data(), Bytes);
  }
}

void scatter_part(const isa::Desc& d, std::byte* host, const std::uint64_t* offset, std::uint64_t exec,
                  const Lanes& data) {
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    if (!(exec >> lane & 1)) continue;
    const std::uint32_t value = data[lane] >> (d.high_half ? 16 : 0);
    std::memcpy(host + offset[lane], &value, d.memory_bytes);
  }
}

}  // namespace

void scatter(const isa::Desc& d, std::byte* host, const std::uint64_t* offset, std::uint64_t exec, const Lanes* data) {
  switch (d.memory_bytes) {
    case 4:
      return scatter_whole<4>(host, offset, exec, data);
    case 8:
      return scatter_whole<8>(host, offset, exec, data);
    case 12:
      return scatter_whole<12>(host, offset, exec, data);
    case 16:
      return scatter_whole<16>(host, offset, exec, data);
    default:
      return scatter_part(d, host, offset, exec, *data);
  }
}

namespace {

// One look-up for all lanes: the address space from the lowest to the highest byte, if one region holds it
// all.
struct Span {
  std::uint64_t first = 0, size = 0;

  explicit Span(const Request& r) {
    const auto [low, high] = std::minmax_element(r.address.begin(), r.address.end());
    first = *low;
    size = *high - *low + r.bytes;
  }
  void make_relative(std::array<std::uint64_t, lanes>& address) const {
    for (std::uint64_t& a : address) a -= first;
  }
};

Fault unmapped(const GlobalMemory& memory, std::uint64_t address, std::size_t lane, const char* access) {
  return {TrapKind::memory_out_of_bounds, static_cast<int>(lane),
          fmt::format("{} {}", access, memory.describe(address))};
}

// Ragged accesses go element by element: lanes partly out of a buffer's range, lanes in different regions,
// faults.
std::optional<Fault> load_ragged(const Request& r, const GlobalMemory& memory, Steps steps, std::uint32_t* data) {
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::uint32_t range = r.range(lane);
    for (std::uint32_t b = 0; b < r.bytes; b += 4) {
      std::uint32_t value = 0;
      if (b < range) {
        const std::byte* host = memory.find(r.address[lane] + b, 4);
        if (!host) return unmapped(memory, r.address[lane] + b, lane, "load from");
        std::memcpy(&value, host, 4);
      }
      data[lane * steps.lane + b / 4 * steps.element] = value;
    }
  }
  return std::nullopt;
}

std::optional<Fault> store_ragged(const Request& r, const isa::Desc& d, const GlobalMemory& memory, const Lanes* data) {
  for (std::size_t lane = 0; lane < lanes; ++lane)
    for (std::uint32_t b = 0; b < r.range(lane); b += r.element) {
      std::byte* host = memory.find_writable(r.address[lane] + b, r.element);
      if (!host) return unmapped(memory, r.address[lane] + b, lane, "store to");
      const std::uint32_t value = data[b / 4][lane] >> (d.high_half ? 16 : 0);
      std::memcpy(host, &value, r.element);
    }
  return std::nullopt;
}

std::optional<Fault> load(Request& r, const GlobalMemory& memory, Steps steps, std::uint32_t* data) {
  const Span span(r);
  const std::byte* host = r.whole ? memory.find(span.first, span.size) : nullptr;
  if (!host) return load_ragged(r, memory, steps, data);
  span.make_relative(r.address);
  gather(r.bytes, host, r.address.data(), steps, data);
  return std::nullopt;
}

std::optional<Fault> load_part(const Request& r, const isa::Desc& d, const GlobalMemory& memory, std::uint32_t* data) {
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    data[lane] = 0;
    if (r.range(lane) == 0) continue;
    const std::byte* host = memory.find(r.address[lane], r.bytes);
    if (!host) return unmapped(memory, r.address[lane], lane, "load from");
    data[lane] = extended(host, d);
  }
  return std::nullopt;
}

std::optional<Fault> store(Request& r, const isa::Desc& d, const GlobalMemory& memory, const Lanes* data) {
  const Span span(r);
  std::byte* host = r.whole ? memory.find_writable(span.first, span.size) : nullptr;
  if (!host) return store_ragged(r, d, memory, data);
  span.make_relative(r.address);
  scatter(d, host, r.address.data(), r.exec, data);
  return std::nullopt;
}

using Addressing = std::optional<Fault> (*)(const Inst&, const Wave&, std::uint32_t bytes, Request&);

// The addressing function, whose complaint about alignment hardware does not share (MemoryModel::hardware).
std::optional<Fault> address(const Inst& inst, Addressing addressing, std::uint32_t bytes, const Wave& wave,
                             const Lds& lds, Request& request) {
  auto fault = addressing(inst, wave, bytes, request);
  if (fault && fault->kind == TrapKind::misaligned && !isa::is_atomic(isa::desc(inst.op).kind) &&
      (lds.follows_hardware() || lds.takes_unaligned()))
    return std::nullopt;
  return fault;
}

// gfx950.md 4, "buffer_load ... lds"; aiter-anatomy.md 1.9: LDS address = M0[17:0] + the instruction's offset
// + lane * bytes; lanes out of the buffer's range write zeros, lanes not in exec keep their slot and write
// nothing. Less than a dword becomes one.
std::optional<Fault> load_to_lds(const Inst& inst, std::uint32_t index, Addressing addressing, std::uint32_t bytes,
                                 Wave& wave, Surroundings around) {
  const isa::Desc& d = isa::desc(inst.op);
  const LdsDma dma{(wave.scalar[isa::m0.first] & 0x3ffff) + static_cast<std::uint32_t>(inst.mods.offset),
                   isa::lds_dma_bytes(d), wave.exec(), wave.id, index};
  Arrival& arrival = around.arrivals.issue_vector_memory(wave, around.lds);
  arrival.to = Arrives::lds;
  arrival.dwords = static_cast<std::uint8_t>(dma.bytes_per_lane / 4);
  arrival.lds_address = dma.address;
  arrival.exec = dma.exec;
  if (dma.exec != 0) {
    Request request;
    if (auto fault = address(inst, addressing, bytes, wave, around.lds, request)) return fault;
    auto fault = bytes < 4 ? load_part(request, d, around.memory, arrival.data.data())
                           : load(request, around.memory, by_lane(bytes), arrival.data.data());
    if (fault) return fault;
  }
  return around.lds.begin(dma);
}

std::optional<Fault> load_vector(const Inst& inst, Addressing addressing, std::uint32_t bytes, Wave& wave,
                                 Surroundings around) {
  Arrival& arrival = registers_arrive(around.arrivals.issue_vector_memory(wave, around.lds), inst.args[0],
                                      isa::desc(inst.op).args[0].dwords, wave.exec());
  if (arrival.exec == 0) return std::nullopt;
  Request request;
  if (auto fault = address(inst, addressing, bytes, wave, around.lds, request)) return fault;
  if (bytes < 4) return load_part(request, isa::desc(inst.op), around.memory, arrival.data.data());
  return load(request, around.memory, by_register, arrival.data.data());
}

std::optional<Fault> store_vector(const Inst& inst, const Operand& data, Addressing addressing, std::uint32_t bytes,
                                  Wave& wave, Surroundings around) {
  around.arrivals.issue_vector_memory(wave, around.lds).to = Arrives::nothing;
  if (wave.exec() == 0) return std::nullopt;
  Request request;
  if (auto fault = address(inst, addressing, bytes, wave, around.lds, request)) return fault;
  return store(request, isa::desc(inst.op), around.memory, &wave.lanes_of(data));
}

// Lanes take their turns in order; those out of the buffer's range change nothing and get 0.
std::optional<Fault> update_memory(const Inst& inst, Addressing addressing, Wave& wave, Surroundings around) {
  const isa::Desc& d = isa::desc(inst.op);
  Arrival& arrival = around.arrivals.issue_vector_memory(wave, around.lds);
  arrival.to = Arrives::nothing;
  if (inst.mods.sc0) registers_arrive(arrival, inst.args[0], d.memory_bytes / 4u, wave.exec());
  if (wave.exec() == 0) return std::nullopt;
  Request request;
  if (auto fault = address(inst, addressing, d.memory_bytes, wave, around.lds, request)) return fault;
  const Atomic atomic = find_atomic(inst.op);
  const Operand& data = inst.args[static_cast<std::size_t>(d.data)];
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    std::uint64_t old = 0;
    if (request.range(lane) == d.memory_bytes) {
      std::byte* host = around.memory.find_writable(request.address[lane], d.memory_bytes);
      if (!host) return unmapped(around.memory, request.address[lane], lane, "atomic on");
      if (std::bit_cast<std::uintptr_t>(host) % d.memory_bytes != 0)
        return Fault{TrapKind::misaligned, static_cast<int>(lane),
                     "the host's memory behind the region is not aligned for atomics"};
      old = update(host, d.memory_bytes, atomic, lane_word(wave, data, 0, lane, d.memory_bytes),
                   second_word(inst, wave, lane));
    }
    arrival.data[lane] = static_cast<std::uint32_t>(old);
    arrival.data[lanes + lane] = static_cast<std::uint32_t>(old >> 32);
  }
  return std::nullopt;
}

// CDNA4 ISA 8: a 64-bit base plus a signed immediate, an unsigned scalar register, or both. Hardware ignores the low
// two address bits; we ask for them to be zero.
std::optional<Fault> load_scalar(const Inst& inst, std::uint32_t bytes, Wave& wave, Surroundings around) {
  const std::uint32_t offset = scalar_source(wave, inst.args[2]);
  const std::uint64_t address = wave.scalar64(static_cast<int>(inst.args[1].value)) +
                                (inst.args[2].kind == isa::OperandKind::sgpr
                                     ? std::uint64_t{offset}
                                     : static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(offset)})) +
                                static_cast<std::uint64_t>(std::int64_t{inst.mods.offset});
  if (address % 4 != 0)
    return Fault{TrapKind::misaligned, -1, fmt::format("address {:#x} is not a multiple of 4", address)};
  ScalarArrival& arrival = around.arrivals.issue_scalar(wave);
  arrival.first = static_cast<std::uint16_t>(inst.args[0].value);
  arrival.dwords = static_cast<std::uint8_t>(bytes / 4);
  for (std::size_t d = 0; d < arrival.dwords; ++d) {
    const std::byte* host = around.memory.find(address + 4 * d, 4);
    if (!host) return Fault{TrapKind::memory_out_of_bounds, -1, "load from " + around.memory.describe(address + 4 * d)};
    std::memcpy(&arrival.data[d], host, 4);
  }
  return std::nullopt;
}

// The scalar buffer of CDNA4 ISA 8: base and num_records as in a vector buffer; dwords past the end read 0.
std::optional<Fault> load_scalar_buffer(const Inst& inst, std::uint32_t bytes, Wave& wave, Surroundings around) {
  const std::uint32_t* words = &wave.scalar[inst.args[1].value];
  const std::uint64_t base = words[0] | std::uint64_t{words[1] & 0xffff} << 32;
  const std::uint64_t size = std::uint64_t{words[2]} * std::max(1u, words[1] >> 16 & 0x3fff);
  const std::uint64_t offset =
      scalar_source(wave, inst.args[2]) + static_cast<std::uint64_t>(std::int64_t{inst.mods.offset});
  if ((base + offset) % 4 != 0)
    return Fault{TrapKind::misaligned, -1, fmt::format("address {:#x} is not a multiple of 4", base + offset)};
  ScalarArrival& arrival = around.arrivals.issue_scalar(wave);
  arrival.first = static_cast<std::uint16_t>(inst.args[0].value);
  arrival.dwords = static_cast<std::uint8_t>(bytes / 4);
  for (std::size_t d = 0; d < arrival.dwords; ++d) {
    const std::uint64_t at = offset + 4 * d;
    arrival.data[d] = 0;
    if (at >= size) continue;
    const std::byte* host = around.memory.find(base + at, 4);
    if (!host) return Fault{TrapKind::memory_out_of_bounds, -1, "load from " + around.memory.describe(base + at)};
    std::memcpy(&arrival.data[d], host, 4);
  }
  return std::nullopt;
}

// Both clocks are the wave's instructions so far, or the pipe model's clocks: they go up, and are the same in every
// run.
std::optional<Fault> read_time(const Inst& inst, Wave& wave, Surroundings around) {
  ScalarArrival& arrival = around.arrivals.issue_scalar(wave);
  arrival.first = static_cast<std::uint16_t>(inst.args[0].value);
  arrival.dwords = 2;
  std::memcpy(arrival.data.data(), &wave.clock, sizeof wave.clock);
  return std::nullopt;
}

}  // namespace

bool is_memory_row(isa::Op op) {
  const Kind kind = isa::desc(op).kind;
  return (kind >= Kind::SMEM_LOAD && kind <= Kind::SMEM_CACHE) ||
         (kind >= Kind::DS_READ && kind <= Kind::CACHE_INVALIDATE);
}

std::optional<Fault> execute_memory(const Inst& inst, std::uint32_t index, Wave& wave, Surroundings around) {
  const isa::Desc& d = isa::desc(inst.op);
  const std::uint32_t bytes = d.memory_bytes;
  if (d.kind >= Kind::DS_READ && d.kind <= Kind::DS_SWIZZLE) return execute_lds(inst, wave, around);
  if (d.kind >= Kind::FLAT_LOAD && d.kind <= Kind::SCRATCH_STORE) return execute_flat(inst, wave, around);
  switch (d.kind) {
    case Kind::SMEM_LOAD:
      return load_scalar(inst, bytes, wave, around);
    case Kind::SMEM_BUFFER_LOAD:
      return load_scalar_buffer(inst, bytes, wave, around);
    case Kind::SMEM_TIME:
      return read_time(inst, wave, around);
    case Kind::SMEM_CACHE:
      around.arrivals.issue_scalar(wave).dwords = 0;
      return std::nullopt;
    case Kind::BUFFER_LOAD:
      return inst.mods.lds ? load_to_lds(inst, index, address_buffer, bytes, wave, around)
                           : load_vector(inst, address_buffer, bytes, wave, around);
    case Kind::BUFFER_STORE:
      return store_vector(inst, inst.args[0], address_buffer, bytes, wave, around);
    case Kind::BUFFER_ATOMIC:
      return update_memory(inst, address_buffer, wave, around);
    case Kind::GLOBAL_LOAD:
      return load_vector(inst, address_global, bytes, wave, around);
    case Kind::GLOBAL_LOAD_LDS:
      return load_to_lds(inst, index, address_global, bytes, wave, around);
    case Kind::GLOBAL_STORE:
      return store_vector(inst, inst.args[1], address_global, bytes, wave, around);
    case Kind::GLOBAL_ATOMIC:
      return update_memory(inst, address_global, wave, around);
    case Kind::CACHE_WRITE_BACK:
      around.arrivals.issue_vector_memory(wave, around.lds).to = Arrives::nothing;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace zyfa::emulator
