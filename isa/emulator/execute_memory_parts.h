// What the files behind execute_memory.h share: lane loops over host bytes, and registers that data arrives in.
#pragma once

#include "isa/emulator/address.h"
#include "isa/emulator/execute_memory.h"
#include "isa/isa.h"

#include <cstring>

namespace zyfa::emulator {

// One per group of rows.
std::optional<Fault> execute_lds(const isa::Inst& inst, Wave& wave, Surroundings around);
std::optional<Fault> execute_flat(const isa::Inst& inst, Wave& wave, Surroundings around);

// Bytes from the address to the first or second access of a pair.
std::uint32_t pair_offset(const isa::Inst& inst, std::size_t i);

// Where the lanes' data comes from or goes to: element e of a lane is at lane * lane_step + e * element_step.
struct Steps {
  std::size_t lane, element;
};
inline constexpr Steps by_register{1, lanes};
constexpr Steps by_lane(std::uint32_t bytes) { return {bytes / 4, 1}; }

// All lanes' loads and stores of whole accesses at host + offset. Of lanes that write the same bytes the highest wins.
void gather(std::uint32_t bytes, const std::byte* host, const std::uint64_t* offset, Steps steps, std::uint32_t* data);
void scatter(const isa::Desc& d, std::byte* host, const std::uint64_t* offset, std::uint64_t exec, const Lanes* data);

// Less than a dword, extended to one.
inline std::uint32_t extended(const std::byte* host, const isa::Desc& d) {
  std::uint32_t value = 0;
  std::memcpy(&value, host, d.memory_bytes);
  const std::uint32_t sign = 1u << (8 * d.memory_bytes - 1);
  return d.sign_extends ? (value ^ sign) - sign : value;
}

// The 4 or 8 bytes of a lane that begin at register `i` of the operand.
inline std::uint64_t lane_word(const Wave& wave, const isa::Operand& operand, int i, std::size_t lane,
                               std::uint32_t bytes) {
  const std::uint64_t low = wave.lanes_of(operand, i)[lane];
  return bytes == 4 ? low : low | std::uint64_t{wave.lanes_of(operand, i + 1)[lane]} << 32;
}

// The second number of a compare-and-swap's data, 0 for other atomics.
inline std::uint64_t second_word(const isa::Inst& inst, const Wave& wave, std::size_t lane) {
  const isa::Desc& d = isa::desc(inst.op);
  const int dwords = d.memory_bytes / 4;
  if (d.args[static_cast<std::size_t>(d.data)].dwords != 2 * dwords) return 0;
  return lane_word(wave, inst.args[static_cast<std::size_t>(d.data)], dwords, lane, d.memory_bytes);
}

inline Arrival& registers_arrive(Arrival& arrival, const isa::Operand& data, std::uint32_t dwords, std::uint64_t exec) {
  arrival.to = Arrives::registers;
  arrival.dwords = static_cast<std::uint8_t>(dwords);
  arrival.first = static_cast<std::uint16_t>(data.value + (data.kind == isa::OperandKind::agpr ? 256 : 0));
  arrival.exec = exec;
  return arrival;
}

}  // namespace zyfa::emulator
