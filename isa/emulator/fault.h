// What stopped a wave, as the place that found it knows it; the workgroup adds instruction, wave and source
// line and makes a Trap of it.
#pragma once

#include "isa/emulator/emulator.h"

#include <cstdint>
#include <string>

namespace zyfa::emulator {

// The LDS bytes that an LDS-DMA in flight will write: lane l of `exec` writes bytes_per_lane at address + l *
// bytes_per_lane.
struct LdsDma {
  std::uint32_t address = 0;
  std::uint32_t bytes_per_lane = 0;
  std::uint64_t exec = 0;
  std::uint32_t wave = 0;
  std::uint32_t instruction = 0;
};

struct Fault {
  TrapKind kind{};
  int lane = -1;
  std::string detail;                 // address, what is there, what is accepted
  std::optional<LdsDma> in_flight{};  // lds_in_flight: the transfer that was not waited for
};

}  // namespace zyfa::emulator
