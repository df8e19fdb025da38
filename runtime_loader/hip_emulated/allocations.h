// The memory of the devices. An allocation has an address that kernels use and bytes on the host. Of device memory the
// two are apart: at the address nothing can be read, so that a host program which follows a device pointer stops, as
// with a real device; of host and managed memory they are the same.
#pragma once

#include "isa/emulator/memory.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace zyfa::hip_emulated {

// Pages of this process, released at the end of its life.
class Pages {
 public:
  enum class Access { none, read_write };
  // Throws std::bad_alloc if there is no room. `tail` bytes behind can not be accessed.
  Pages(std::size_t bytes, std::size_t tail, Access access);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }  // with the tail

 private:
  std::byte* data_;
  std::size_t bytes_;
};

enum class MemoryKind : std::uint8_t { device, host, managed };

struct Allocation {
  Allocation(MemoryKind kind, std::size_t bytes, int device, unsigned flags, std::uint64_t number);

  MemoryKind kind;
  std::size_t bytes;
  int device;
  unsigned flags;
  std::string name;               // "hipMalloc number 3", for reports
  std::optional<Pages> reserved;  // device: the address, apart from the bytes
  Pages pages;
  std::uint64_t address() const;
  std::span<std::byte> span() const { return {pages.data(), bytes}; }
};

// Bytes of an allocation that was found; it stays as long as this.
struct Place {
  std::shared_ptr<const Allocation> allocation;
  std::size_t offset = 0;  // of the place; not less than the allocation's bytes if it is behind them
  std::byte* data() const { return allocation->pages.data() + offset; }
  std::size_t bytes_left() const { return offset < allocation->bytes ? allocation->bytes - offset : 0; }
};

class Allocations {
 public:
  explicit Allocations(std::uint64_t device_bytes) : device_bytes_(device_bytes) {}

  // Null if the device has no room for it, or the host none.
  std::shared_ptr<const Allocation> allocate(MemoryKind kind, std::size_t bytes, int device, unsigned flags);
  // The allocation that starts at `address`; null if none does. It is no longer found.
  std::shared_ptr<const Allocation> remove(std::uint64_t address);
  void remove_all(int device);

  // The allocation that `address` lies in, or in the pages behind it that nobody else has.
  std::optional<Place> find(const void* address) const;

  // Maps all of it for a kernel, by the names; the result must outlive `memory`.
  std::vector<std::shared_ptr<const Allocation>> map(emulator::GlobalMemory& memory) const;

  std::uint64_t free_bytes(int device) const;
  std::uint64_t device_bytes() const { return device_bytes_; }

 private:
  std::uint64_t used_bytes(int device) const;

  const std::uint64_t device_bytes_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<const Allocation>> by_address_;
  std::uint64_t made_ = 0;
};

}  // namespace zyfa::hip_emulated
