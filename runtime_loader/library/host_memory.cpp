#include "runtime_loader/library/host_memory.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace zyfa::runtime {

void HostMemory::add(const char* name, Access access, std::uint64_t address, const generator::TensorStrides& stride,
                     std::int64_t batch, std::int64_t rows, std::int64_t heads, std::int64_t row_bytes) {
  if (batch < 1 || rows < 1 || heads < 1 || row_bytes < 1) return;
  std::int64_t first = 0, last = 0;
  for (const std::int64_t span : {(batch - 1) * stride.batch, (rows - 1) * stride.row, (heads - 1) * stride.head})
    (span < 0 ? first : last) += span;
  extents_.push_back({address + static_cast<std::uint64_t>(first),
                      address + static_cast<std::uint64_t>(last + row_bytes), access == Access::write, name});
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
