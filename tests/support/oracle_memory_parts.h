// What the oracle's files on memory share: atomic operations by their names.
#pragma once

#include <cstdint>
#include <string>

namespace zyfa::tests {

struct AtomicOperation {
  std::string what;  // add, smin, fmax, cmpswap, pk_add_bf16, ...
  std::uint32_t bytes = 4;
  bool returns = false;
};

// From what follows "ds_": min_rtn_i64, cmpst_b32, pk_add_rtn_f16, ...
AtomicOperation ds_operation(std::string text);
// From what follows "atomic_": smin_x2, add_f32, ...
AtomicOperation vmem_operation(std::string text, bool returns);

// MEM[addr] after the operation of that name (AtomicOperation::what).
std::uint64_t after_atomic(const std::string& what, std::uint64_t memory, std::uint64_t data, std::uint64_t compare,
                           std::uint32_t bytes);

}  // namespace zyfa::tests
