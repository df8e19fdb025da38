// Global memory as a kernel sees it: named regions of host memory at device addresses, nothing in between. Every access
// is checked; tensors with large strides are mapped piece by piece without storage for the gaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zyfa::emulator {

class GlobalMemory {
 public:
  // Makes host bytes visible at [address, address + size). Throws Error if it overlaps a mapped region or wraps around.
  // The host memory is borrowed and must outlive every run.
  void map(std::string name, std::uint64_t address, std::span<std::byte> bytes);
  void map_read_only(std::string name, std::uint64_t address, std::span<const std::byte> bytes);

  // Maps host bytes at a fresh address (aligned to 4 KiB, with unmapped space around) and returns the address.
  std::uint64_t place(std::string name, std::span<std::byte> bytes);
  std::uint64_t place_read_only(std::string name, std::span<const std::byte> bytes);

  // The host bytes of [address, address + size), or null if any of them is not mapped (or read-only, for a write).
  const std::byte* find(std::uint64_t address, std::size_t size) const;
  std::byte* find_writable(std::uint64_t address, std::size_t size) const;

  // "0x7f0000001040: 64 bytes past the end of k (0x7f0000000000, 4096 bytes)": what lies nearest, for trap reports.
  std::string describe(std::uint64_t address) const;

 private:
  struct Region {
    std::uint64_t address, size;
    std::byte* host;
    bool writable;
    std::string name;
  };
  const Region* region_of(std::uint64_t address, std::size_t size) const;
  void insert(Region region);
  std::uint64_t free_address(std::size_t size);

  std::vector<Region> regions_;  // sorted by address
  std::uint64_t next_address_ = 0x7f0000000000;
};

}  // namespace zyfa::emulator
