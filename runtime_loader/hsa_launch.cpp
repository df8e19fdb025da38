#include "runtime_loader/hsa_launch.h"

#include <algorithm>
#include <cstring>

namespace zyfa::runtime {
namespace {

// "hidden_group_size_y" of "hidden_group_size_" is 1; -1 for another name.
int axis(const std::string& kind, std::string_view prefix) {
  if (!kind.starts_with(prefix) || kind.size() != prefix.size() + 1) return -1;
  return kind.back() >= 'x' && kind.back() <= 'z' ? kind.back() - 'x' : -1;
}

std::uint64_t dimensions(const LaunchShape& shape) {
  if (shape.grid[2] * shape.block[2] > 1) return 3;
  return shape.grid[1] * shape.block[1] > 1 ? 2 : 1;
}

}  // namespace

void write_hidden_argument(std::vector<std::byte>& segment, const generator::KernelArgument& argument,
                           const LaunchShape& shape) {
  std::uint64_t value = 0;
  if (const int i = axis(argument.kind, "hidden_block_count_"); i >= 0) value = shape.grid[static_cast<std::size_t>(i)];
  if (const int i = axis(argument.kind, "hidden_group_size_"); i >= 0) value = shape.block[static_cast<std::size_t>(i)];
  if (argument.kind == "hidden_grid_dims") value = dimensions(shape);
  if (argument.kind == "hidden_dynamic_lds_size") value = shape.dynamic_lds_bytes;
  const std::size_t size = std::min<std::size_t>(argument.size, sizeof value);
  segment.resize(std::max<std::size_t>(segment.size(), argument.offset + argument.size));
  std::memcpy(segment.data() + argument.offset, &value, size);
}

std::vector<std::byte> dispatch_packet(const LaunchShape& shape) {
  constexpr std::size_t packet_bytes = 64, sizes_at = 4, items_at = 12;
  std::vector<std::byte> packet(packet_bytes);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto block = static_cast<std::uint16_t>(shape.block[i]);
    const std::uint32_t items = shape.grid[i] * shape.block[i];
    std::memcpy(packet.data() + sizes_at + i * sizeof block, &block, sizeof block);
    std::memcpy(packet.data() + items_at + i * sizeof items, &items, sizeof items);
  }
  return packet;
}

}  // namespace zyfa::runtime
