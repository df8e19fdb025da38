#include "runtime_loader/library/host_memory.h"

#include "runtime_loader/library/failure.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace zyfa::runtime {

void HostMemory::add(const char* name, Access access, std::uint64_t address, const generator::TensorStrides& stride,
                     std::int64_t batch, std::int64_t rows, std::int64_t heads, std::int64_t row_bytes) {
  if (batch < 1 || rows < 1 || heads < 1 || row_bytes < 1) return;
  // Ends of the tensor from its address on, in bytes.
  std::int64_t first = 0, last = row_bytes;
  bool fits = true;
  for (const auto& [count, bytes] : {std::pair{batch, stride.batch}, {rows, stride.row}, {heads, stride.head}}) {
    std::int64_t span = 0;
    fits = fits && !__builtin_mul_overflow(count - 1, bytes, &span);
    std::int64_t& end = span < 0 ? first : last;
    fits = fits && !__builtin_add_overflow(end, span, &end);
  }
  std::uint64_t begin = 0, end = 0;
  fits = fits && !__builtin_add_overflow(address, first, &begin) && !__builtin_add_overflow(address, last, &end);
  constexpr std::uint64_t address_space = std::uint64_t{1} << 48;  // of buffers, past which addresses wrap around
  if (!fits || begin == 0 || end > address_space)
    throw Failure(ZYFA_INVALID_ARGUMENT,
                  "{} at {:#x} goes past the end of the address space with strides of {}, {} and {} bytes", name,
                  address, stride.row, stride.head, stride.batch);
  extents_.push_back({begin, end, access == Access::write, name});
}

void HostMemory::add(const char* name, Access access, std::uint64_t address, const generator::DescaleStrides& stride,
                     std::int64_t batch, std::int64_t heads, std::int64_t bytes) {
  add(name, access, address, {0, stride.head, stride.batch}, batch, 1, heads, bytes);
}

emulator::GlobalMemory HostMemory::map() const {
  std::vector<Extent> sorted = extents_;
  std::ranges::sort(sorted, {}, &Extent::begin);
  std::vector<Extent> regions;
  for (const Extent& extent : sorted) {
    if (regions.empty() || extent.begin >= regions.back().end) {
      regions.push_back(extent);
      continue;
    }
    Extent& region = regions.back();
    region.end = std::max(region.end, extent.end);
    region.writable |= extent.writable;
    region.name += ", " + extent.name;
  }
  emulator::GlobalMemory memory;
  for (const Extent& region : regions) {
    const std::span bytes(reinterpret_cast<std::byte*>(region.begin),
                          static_cast<std::size_t>(region.end - region.begin));
    if (region.writable)
      memory.map(region.name, region.begin, bytes);
    else
      memory.map_read_only(region.name, region.begin, bytes);
  }
  return memory;
}

}  // namespace zyfa::runtime
