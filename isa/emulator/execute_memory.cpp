#include "isa/emulator/execute_memory.h"

#include "isa/emulator/address.h"
#include "isa/emulator/execute.h"
#include "isa/isa.h"

#include <algorithm>
#include <cstring>

namespace zyfa::emulator {
namespace {

using isa::Inst;
using isa::Kind;
using isa::Operand;

constexpr std::uint64_t all_lanes = ~std::uint64_t{0};

std::uint16_t vector_index(const Operand& data) {
  return static_cast<std::uint16_t>(data.value + (data.kind == isa::OperandKind::agpr ? 256 : 0));
}

// Where the lanes' data comes from or goes to: element e of a lane is at lane * lane_step + e * element_step.
struct Steps {
  std::size_t lane, element;
};
constexpr Steps by_register{1, lanes};
constexpr Steps by_lane(std::uint32_t bytes) { return {bytes / 4, 1}; }

// Lane loops for a whole access, of constant size so that each move is an instruction or two of the host.
template <std::size_t Dwords>
void gather(const std::byte* host, const std::uint64_t* offset, Steps steps, std::uint32_t* data) {
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    std::array<std::uint32_t, Dwords> value;
    std::memcpy(value.data(), host + offset[lane], sizeof value);
    for (std::size_t d = 0; d < Dwords; ++d) data[lane * steps.lane + d * steps.element] = value[d];
  }
}

void gather(std::uint32_t bytes, const std::byte* host, const std::uint64_t* offset, Steps steps, std::uint32_t* data) {
  switch (bytes) {
    case 4:
      return gather<1>(host, offset, steps, data);
    case 8:
      return gather<2>(host, offset, steps, data);
    case 12:
      return gather<3>(host, offset, steps, data);
    default:
      return gather<4>(host, offset, steps, data);
  }
}

// Sub-dword stores write the low bytes. Of lanes that write the same bytes the highest wins.
template <std::size_t Bytes>
void scatter(std::byte* host, const std::uint64_t* offset, std::uint64_t exec, const Lanes* data) {
  constexpr std::size_t dwords = (Bytes + 3) / 4;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    if (!(exec >> lane & 1)) continue;
    std::array<std::uint32_t, dwords> value;
    for (std::size_t d = 0; d < dwords; ++d) value[d] = data[d][lane];
    std::memcpy(host + offset[lane], value.data(), Bytes);
  }
}

void scatter(std::uint32_t bytes, std::byte* host, const std::uint64_t* offset, std::uint64_t exec, const Lanes* data) {
  switch (bytes) {
    case 1:
      return scatter<1>(host, offset, exec, data);
    case 2:
      return scatter<2>(host, offset, exec, data);
    case 4:
      return scatter<4>(host, offset, exec, data);
    case 8:
      return scatter<8>(host, offset, exec, data);
    case 12:
      return scatter<12>(host, offset, exec, data);
    default:
      return scatter<16>(host, offset, exec, data);
  }
}

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

std::optional<Fault> store_ragged(const Request& r, const GlobalMemory& memory, const Lanes* data) {
  for (std::size_t lane = 0; lane < lanes; ++lane)
    for (std::uint32_t b = 0; b < r.range(lane); b += r.element) {
      std::byte* host = memory.find_writable(r.address[lane] + b, r.element);
      if (!host) return unmapped(memory, r.address[lane] + b, lane, "store to");
      std::memcpy(host, &data[b / 4][lane], r.element);
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

// Less than a dword, extended to one.
std::optional<Fault> load_part(const Request& r, bool sign_extends, const GlobalMemory& memory, std::uint32_t* data) {
  const std::uint32_t sign = 1u << (8 * r.bytes - 1);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    std::uint32_t value = 0;
    if (r.range(lane) != 0) {
      const std::byte* host = memory.find(r.address[lane], r.bytes);
      if (!host) return unmapped(memory, r.address[lane], lane, "load from");
      std::memcpy(&value, host, r.bytes);
    }
    data[lane] = sign_extends ? (value ^ sign) - sign : value;
  }
  return std::nullopt;
}

std::optional<Fault> store(Request& r, const GlobalMemory& memory, const Lanes* data) {
  const Span span(r);
  std::byte* host = r.whole ? memory.find_writable(span.first, span.size) : nullptr;
  if (!host) return store_ragged(r, memory, data);
  span.make_relative(r.address);
  scatter(r.bytes, host, r.address.data(), r.exec, data);
  return std::nullopt;
}

Arrival& registers_arrive(Arrival& arrival, const Operand& data, std::uint32_t bytes, std::uint64_t exec) {
  arrival.to = Arrives::registers;
  arrival.dwords = static_cast<std::uint8_t>((bytes + 3) / 4);
  arrival.first = vector_index(data);
  arrival.exec = exec;
  return arrival;
}

using Addressing = std::optional<Fault> (*)(const Inst&, const Wave&, std::uint32_t bytes, Request&);

// The addressing function, whose complaint about alignment hardware does not share (MemoryModel::hardware).
std::optional<Fault> address(const Inst& inst, Addressing addressing, std::uint32_t bytes, const Wave& wave,
                             const Lds& lds, Request& request) {
  auto fault = addressing(inst, wave, bytes, request);
  if (fault && fault->kind == TrapKind::misaligned && lds.follows_hardware()) return std::nullopt;
  return fault;
}

// gfx950.md 4, "buffer_load ... lds"; aiter-anatomy.md 1.9: LDS address = M0[17:0] + the instruction's offset
// + lane * bytes; lanes out of the buffer's range write zeros, lanes not in exec keep their slot and write
// nothing.
std::optional<Fault> load_to_lds(const Inst& inst, std::uint32_t index, Addressing addressing, std::uint32_t bytes,
                                 Wave& wave, Surroundings around) {
  const LdsDma dma{(wave.scalar[isa::m0.first] & 0x3ffff) + static_cast<std::uint32_t>(inst.mods.offset), bytes,
                   wave.exec(), wave.id, index};
  Arrival& arrival = around.arrivals.issue_vector_memory(wave, around.lds);
  arrival.to = Arrives::lds;
  arrival.dwords = static_cast<std::uint8_t>(bytes / 4);
  arrival.lds_address = dma.address;
  arrival.exec = dma.exec;
  if (dma.exec != 0) {
    Request request;
    if (auto fault = address(inst, addressing, bytes, wave, around.lds, request)) return fault;
    if (auto fault = load(request, around.memory, by_lane(bytes), arrival.data.data())) return fault;
  }
  return around.lds.begin(dma);
}

std::optional<Fault> load_vector(const Inst& inst, Addressing addressing, std::uint32_t bytes, Wave& wave,
                                 Surroundings around) {
  Arrival& arrival =
      registers_arrive(around.arrivals.issue_vector_memory(wave, around.lds), inst.args[0], bytes, wave.exec());
  if (arrival.exec == 0) return std::nullopt;
  Request request;
  if (auto fault = address(inst, addressing, bytes, wave, around.lds, request)) return fault;
  if (bytes < 4) return load_part(request, isa::desc(inst.op).sign_extends, around.memory, arrival.data.data());
  return load(request, around.memory, by_register, arrival.data.data());
}

std::optional<Fault> store_vector(const Inst& inst, const Operand& data, Addressing addressing, std::uint32_t bytes,
                                  Wave& wave, Surroundings around) {
  around.arrivals.issue_vector_memory(wave, around.lds).to = Arrives::nothing;
  if (wave.exec() == 0) return std::nullopt;
  Request request;
  if (auto fault = address(inst, addressing, bytes, wave, around.lds, request)) return fault;
  return store(request, around.memory, &wave.lanes_of(data));
}

// CDNA4 ISA 8: a 64-bit base plus a signed immediate or an unsigned scalar register. Hardware ignores the low
// two address bits; we ask for them to be zero.
std::optional<Fault> load_scalar(const Inst& inst, std::uint32_t bytes, Wave& wave, Surroundings around) {
  const std::uint32_t offset = scalar_source(wave, inst.args[2]);
  const std::uint64_t address = wave.scalar64(static_cast<int>(inst.args[1].value)) +
                                (inst.args[2].kind == isa::OperandKind::sgpr
                                     ? std::uint64_t{offset}
                                     : static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(offset)}));
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

// LDS addresses are 32 bits and wrap (GFX9 and later; LLVM isBaseWithConstantOffset for DS).
std::optional<Fault> address_lds(const Inst& inst, const Operand& vaddr, std::uint32_t bytes, const Wave& wave,
                                 const Lds& lds, std::array<std::uint64_t, lanes>& offset) {
  Lanes address;
  active_lanes(wave.lanes_of(vaddr), wave.exec(), address);
  for (std::size_t lane = 0; lane < lanes; ++lane)
    offset[lane] = address[lane] += static_cast<std::uint32_t>(inst.mods.offset);
  return lds.check(address, bytes, wave.exec());
}

std::optional<Fault> read_lds(const Inst& inst, std::uint32_t bytes, Wave& wave, Surroundings around) {
  Arrival& arrival = registers_arrive(around.arrivals.issue_lds(wave, around.lds), inst.args[0], bytes, wave.exec());
  if (arrival.exec == 0) return std::nullopt;
  std::array<std::uint64_t, lanes> offset;
  if (auto fault = address_lds(inst, inst.args[1], bytes, wave, around.lds, offset)) return fault;
  gather(bytes, around.lds.data(), offset.data(), by_register, arrival.data.data());
  if (around.lds.follows_hardware()) around.arrivals.wait_lds(wave, around.lds);
  return std::nullopt;
}

std::optional<Fault> read_lds_transposed(const Inst& inst, int element_bits, Wave& wave, Surroundings around) {
  if (wave.exec() != all_lanes)
    return Fault{TrapKind::bad_exec, -1, fmt::format("exec is {:#x}, a transposing read needs all lanes", wave.exec())};
  Arrival& arrival = registers_arrive(around.arrivals.issue_lds(wave, around.lds), inst.args[0], 8, all_lanes);
  std::array<std::uint64_t, lanes> offset, rows;
  if (auto fault = address_lds(inst, inst.args[1], 8, wave, around.lds, offset)) return fault;
  for (std::size_t lane = 0; lane < lanes; ++lane) std::memcpy(&rows[lane], around.lds.data() + offset[lane], 8);
  const auto transpose = element_bits == 4 ? transpose_b4 : element_bits == 8 ? transpose_b8 : transpose_b16;
  transpose(rows);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    arrival.data[lane] = static_cast<std::uint32_t>(rows[lane]);
    arrival.data[lanes + lane] = static_cast<std::uint32_t>(rows[lane] >> 32);
  }
  if (around.lds.follows_hardware()) around.arrivals.wait_lds(wave, around.lds);
  return std::nullopt;
}

std::optional<Fault> write_lds(const Inst& inst, std::uint32_t bytes, Wave& wave, Surroundings around) {
  around.arrivals.issue_lds(wave, around.lds).to = Arrives::nothing;
  if (wave.exec() == 0) return std::nullopt;
  std::array<std::uint64_t, lanes> offset;
  if (auto fault = address_lds(inst, inst.args[0], bytes, wave, around.lds, offset)) return fault;
  scatter(bytes, around.lds.data(), offset.data(), wave.exec(), &wave.lanes_of(inst.args[1]));
  return std::nullopt;
}

}  // namespace

bool is_memory_row(isa::Op op) {
  const Kind kind = isa::desc(op).kind;
  return kind == Kind::SMEM_LOAD || (kind >= Kind::DS_READ && kind <= Kind::GLOBAL_STORE);
}

std::optional<Fault> execute_memory(const Inst& inst, std::uint32_t index, Wave& wave, Surroundings around) {
  const isa::Desc& d = isa::desc(inst.op);
  const std::uint32_t bytes = d.memory_bytes;
  switch (d.kind) {
    case Kind::SMEM_LOAD:
      return load_scalar(inst, bytes, wave, around);
    case Kind::DS_READ:
      return read_lds(inst, bytes, wave, around);
    case Kind::DS_READ_TR:
      return read_lds_transposed(inst, d.element_bits, wave, around);
    case Kind::DS_WRITE:
      return write_lds(inst, bytes, wave, around);
    case Kind::BUFFER_LOAD:
      return inst.mods.lds ? load_to_lds(inst, index, address_buffer, bytes, wave, around)
                           : load_vector(inst, address_buffer, bytes, wave, around);
    case Kind::BUFFER_STORE:
      return store_vector(inst, inst.args[0], address_buffer, bytes, wave, around);
    case Kind::GLOBAL_LOAD:
      return load_vector(inst, address_global, bytes, wave, around);
    case Kind::GLOBAL_LOAD_LDS:
      return load_to_lds(inst, index, address_global, bytes, wave, around);
    case Kind::GLOBAL_STORE:
      return store_vector(inst, inst.args[1], address_global, bytes, wave, around);
    default:
      return std::nullopt;
  }
}

}  // namespace zyfa::emulator
