#include "runtime_loader/hip_emulated/allocations.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <algorithm>
#include <iterator>
#include <limits>
#include <new>

namespace zyfa::hip_emulated {
namespace {

constexpr std::size_t page = 4096;

std::size_t whole_pages(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() - 2 * page) throw std::bad_alloc();
  return (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
}

const char* call_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::host:
      return "hipHostMalloc";
    case MemoryKind::managed:
      return "hipMallocManaged";
    case MemoryKind::device:
      break;
  }
  return "hipMalloc";
}

}  // namespace

Pages::Pages(std::size_t bytes, std::size_t tail, Access access) : bytes_(whole_pages(bytes) + tail) {
  void* at = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(at);
  if (access == Access::none || mprotect(at, whole_pages(bytes), PROT_READ | PROT_WRITE) == 0) return;
  munmap(at, bytes_);
  throw std::bad_alloc();
}

Pages::~Pages() { munmap(data_, bytes_); }

Allocation::Allocation(MemoryKind memory, std::size_t size, int owner, unsigned how, std::uint64_t number)
    : kind(memory),
      bytes(size),
      device(owner),
      flags(how),
      name(fmt::format("{} number {}", call_of(memory), number)),
      pages(size, page, Pages::Access::read_write) {
  if (kind == MemoryKind::device) reserved.emplace(size, page, Pages::Access::none);
}

std::uint64_t Allocation::address() const {
  return reinterpret_cast<std::uintptr_t>(reserved ? reserved->data() : pages.data());
}

std::shared_ptr<const Allocation> Allocations::allocate(MemoryKind kind, std::size_t bytes, int device,
                                                        unsigned flags) try {
  const std::scoped_lock lock(mutex_);
  if (kind == MemoryKind::device && bytes > device_bytes_ - used_bytes(device)) return nullptr;
  auto made = std::make_shared<const Allocation>(kind, bytes, device, flags, ++made_);
  by_address_.emplace(made->address(), made);
  return made;
} catch (const std::bad_alloc&) {
  return nullptr;
}

std::shared_ptr<const Allocation> Allocations::remove(std::uint64_t address) {
  const std::scoped_lock lock(mutex_);
  const auto node = by_address_.extract(address);
  return node.empty() ? nullptr : node.mapped();
}

void Allocations::remove_all(int device) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(by_address_, [&](const auto& entry) { return entry.second->device == device; });
}

std::optional<Place> Allocations::find(const void* pointer) const {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const std::scoped_lock lock(mutex_);
  const auto next = by_address_.upper_bound(address);
  if (next == by_address_.begin()) return {};
  const auto& [start, allocation] = *std::prev(next);
  if (address - start >= allocation->pages.bytes()) return {};
  return Place{allocation, address - start};
}

std::vector<std::shared_ptr<const Allocation>> Allocations::map(emulator::GlobalMemory& memory) const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<const Allocation>> held;
  held.reserve(by_address_.size());
  for (const auto& [address, allocation] : by_address_) {
    memory.map(allocation->name, address, allocation->span());
    held.push_back(allocation);
  }
  return held;
}

std::uint64_t Allocations::used_bytes(int device) const {
  std::uint64_t used = 0;
  for (const auto& [address, allocation] : by_address_)
    if (allocation->kind == MemoryKind::device && allocation->device == device) used += allocation->bytes;
  return used;
}

std::uint64_t Allocations::free_bytes(int device) const {
  const std::scoped_lock lock(mutex_);
  return device_bytes_ - used_bytes(device);
}

}  // namespace zyfa::hip_emulated
