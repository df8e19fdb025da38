// Read-modify-write operations of the atomic rows, on LDS and on memory that other host threads work on too.
#pragma once

#include "isa/inst.h"

#include <cstddef>
#include <cstdint>

namespace zyfa::emulator {

// What the memory becomes: a = memory, b and c = data, each in the low bits.
using Atomic = std::uint64_t (*)(std::uint64_t a, std::uint64_t b, std::uint64_t c);

// Null for rows that are not atomic.
Atomic find_atomic(isa::Op op);

// Does it to `bytes` (4 or 8) at an address that is a multiple of them, whole against all other threads. Returns what
// was there.
std::uint64_t update(std::byte* host, std::uint32_t bytes, Atomic atomic, std::uint64_t b, std::uint64_t c);

}  // namespace zyfa::emulator
