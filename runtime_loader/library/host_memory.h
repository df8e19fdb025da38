// The caller's tensors where an emulated kernel sees them: at the addresses that they have in the host.
#pragma once

#include "generator/kernargs.h"
#include "isa/emulator/memory.h"

#include <cstdint>
#include <string>
#include <vector>

namespace zyfa::runtime {

class HostMemory {
 public:
  enum class Access { read, write };

  // A tensor (batch, row, head, dim) of any strides in bytes; nothing if it has no elements. Throws Failure
  // ZYFA_INVALID_ARGUMENT where it goes past an end of the address space.
  void add(const char* name, Access access, std::uint64_t address, const generator::TensorStrides& stride,
           std::int64_t batch, std::int64_t rows, std::int64_t heads, std::int64_t row_bytes);
  // `bytes` for each (batch, head).
  void add(const char* name, Access access, std::uint64_t address, const generator::DescaleStrides& stride,
           std::int64_t batch, std::int64_t heads, std::int64_t bytes);

  // From the first to the last byte of each tensor, gaps between its rows included. Tensors that lie within one
  // another, as Q, K and V of one buffer do, become one region, writable if one of them is.
  emulator::GlobalMemory map() const;

 private:
  struct Extent {
    std::uint64_t begin = 0, end = 0;
    bool writable = false;
    std::string name;
  };
  std::vector<Extent> extents_;
};

}  // namespace zyfa::runtime
