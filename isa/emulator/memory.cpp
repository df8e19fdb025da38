#include "isa/emulator/memory.h"

#include "isa/error.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace zyfa::emulator {
namespace {

constexpr std::uint64_t page = 4096;

std::uint64_t align_up(std::uint64_t address) { return (address + page - 1) / page * page; }

// An empty region still takes up a byte of address space, so that it can be told from its neighbours in a
// report.
std::uint64_t extent(std::uint64_t size) { return std::max<std::uint64_t>(size, 1); }

}  // namespace

void GlobalMemory::insert(Region region) {
  if (region.address > std::numeric_limits<std::uint64_t>::max() - extent(region.size))
    throw Error("cannot map {} at {:#x} ({} bytes): it goes past the end of the address space", region.name,
                region.address, region.size);
  const auto next = std::upper_bound(regions_.begin(), regions_.end(), region.address,
                                     [](std::uint64_t a, const Region& r) { return a < r.address; });
  const Region* other = nullptr;
  if (next != regions_.end() && next->address < region.address + extent(region.size)) other = &*next;
  if (next != regions_.begin() && std::prev(next)->address + extent(std::prev(next)->size) > region.address)
    other = &*std::prev(next);
  if (other)
    throw Error("cannot map {} at {:#x} ({} bytes): it overlaps {} ({:#x}, {} bytes)", region.name, region.address,
                region.size, other->name, other->address, other->size);
  regions_.insert(next, std::move(region));
}

void GlobalMemory::map(std::string name, std::uint64_t address, std::span<std::byte> bytes) {
  insert({address, bytes.size(), bytes.data(), true, std::move(name)});
}

void GlobalMemory::map_read_only(std::string name, std::uint64_t address, std::span<const std::byte> bytes) {
  // find_writable never hands out these bytes.
  insert({address, bytes.size(), const_cast<std::byte*>(bytes.data()), false, std::move(name)});
}

std::uint64_t GlobalMemory::free_address(std::size_t size) {
  std::uint64_t address = next_address_;
  // Regions are sorted, so one pass past those in the way finds room.
  for (const Region& region : regions_)
    if (region.address < address + size + page && region.address + extent(region.size) + page > address)
      address = align_up(region.address + extent(region.size)) + page;
  next_address_ = align_up(address + extent(size)) + page;
  return address;
}

std::uint64_t GlobalMemory::place(std::string name, std::span<std::byte> bytes) {
  const std::uint64_t address = free_address(bytes.size());
  map(std::move(name), address, bytes);
  return address;
}

std::uint64_t GlobalMemory::place_read_only(std::string name, std::span<const std::byte> bytes) {
  const std::uint64_t address = free_address(bytes.size());
  map_read_only(std::move(name), address, bytes);
  return address;
}

const GlobalMemory::Region* GlobalMemory::region_of(std::uint64_t address, std::size_t size) const {
  const auto next = std::upper_bound(regions_.begin(), regions_.end(), address,
                                     [](std::uint64_t a, const Region& r) { return a < r.address; });
  if (next == regions_.begin()) return nullptr;
  const Region& region = *std::prev(next);
  const std::uint64_t start = address - region.address;
  return start < region.size && size <= region.size - start ? &region : nullptr;
}

const std::byte* GlobalMemory::find(std::uint64_t address, std::size_t size) const {
  const Region* region = region_of(address, size);
  return region ? region->host + (address - region->address) : nullptr;
}

std::byte* GlobalMemory::find_writable(std::uint64_t address, std::size_t size) const {
  const Region* region = region_of(address, size);
  return region && region->writable ? region->host + (address - region->address) : nullptr;
}

std::string GlobalMemory::describe(std::uint64_t address) const {
  const auto named = [](const Region& r) {
    return fmt::format("{} ({:#x}, {} bytes{})", r.name, r.address, r.size, r.writable ? "" : ", read-only");
  };
  const auto next = std::upper_bound(regions_.begin(), regions_.end(), address,
                                     [](std::uint64_t a, const Region& r) { return a < r.address; });
  const Region* above = next == regions_.end() ? nullptr : &*next;
  const Region* below = next == regions_.begin() ? nullptr : &*std::prev(next);
  if (below && address - below->address < below->size)
    return fmt::format("{:#x}: byte {} of {}", address, address - below->address, named(*below));
  const std::uint64_t past = below ? address - below->address - below->size : 0;
  if (below && (!above || past <= above->address - address))
    return fmt::format("{:#x}: {} bytes past the end of {}", address, past, named(*below));
  if (above) return fmt::format("{:#x}: {} bytes before {}", address, above->address - address, named(*above));
  return fmt::format("{:#x}: nothing is mapped", address);
}

}  // namespace zyfa::emulator
