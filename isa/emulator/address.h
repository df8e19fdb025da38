// Addresses of vector memory instructions: what each lane asks for, and how much of it the buffer's range
// lets through.
#pragma once

#include "isa/emulator/fault.h"
#include "isa/emulator/wave.h"

#include <optional>

namespace zyfa::emulator {

struct Request {
  std::uint32_t bytes = 0;    // per lane
  std::uint32_t element = 0;  // min(bytes, 4): what is range-checked and aligned as one
  std::uint64_t exec = 0;
  bool whole = true;  // every lane of exec has all of its bytes in range
  // Lanes not in exec repeat the address of the first lane that is, so that loops need no mask.
  std::array<std::uint64_t, lanes> address;
  std::array<std::uint32_t, lanes> in_range;  // bytes from the address on, a multiple of element; only if not whole
  std::uint32_t range(std::size_t lane) const { return !(exec >> lane & 1) ? 0 : whole ? bytes : in_range[lane]; }
};

// A vector register's lanes with those outside exec replaced by the first inside; exec must not be 0.
void active_lanes(const Lanes& lanes_in, std::uint64_t exec, Lanes& lanes_out);

// The lanes' addresses for a buffer or global instruction that runs with some lane in exec. Fails on a buffer
// descriptor that asks for what the emulator does not do, and on misaligned addresses.
std::optional<Fault> address_buffer(const isa::Inst& inst, const Wave& wave, std::uint32_t bytes, Request& request);
std::optional<Fault> address_global(const isa::Inst& inst, const Wave& wave, std::uint32_t bytes, Request& request);

// The flat address of a lane, and what it lies in. Apertures of 4 GiB as the HSA's driver sets them up for GFX9 (Linux
// kfd_flat_memory.c, MAKE_LDS_APP_BASE_V9 and MAKE_SCRATCH_APP_BASE_V9); all else is global memory.
std::uint64_t flat_address(const isa::Inst& inst, const Wave& wave, std::size_t lane);
inline constexpr std::uint64_t shared_aperture = std::uint64_t{1} << 48, private_aperture = std::uint64_t{2} << 48;
constexpr bool is_in_shared_aperture(std::uint64_t address) { return address >> 32 == shared_aperture >> 32; }
constexpr bool is_in_private_aperture(std::uint64_t address) { return address >> 32 == private_aperture >> 32; }

}  // namespace zyfa::emulator
