// A problem laid out in memory by hand: strides of any sign and size, padding that must not be read or written. What
// lies between the rows is NaN in Q, K and V and a pattern in O and LSE.
#pragma once

#include "runtime_loader/emulate.h"

#include <vector>

namespace zyfa {

struct Placement {
  std::int64_t pad_bytes = 0;    // behind each row of Q, K, V and O; a multiple of 16
  std::int64_t pad_rows = 0;     // behind each head of Q, K, V and O, and behind each row of the LSE
  bool heads_backwards = false;  // the last head lies first: negative head strides
  bool batch_backwards = false;
  // Rows of Q, K, V and O this far apart, with nothing mapped between them; 0: as the padding says.
  std::int64_t sparse_row_stride = 0;
};

class PlacedProblem {
 public:
  PlacedProblem(const runtime::AttentionInputs& inputs, const Placement& placement);
  PlacedProblem(const PlacedProblem&) = delete;
  PlacedProblem& operator=(const PlacedProblem&) = delete;

  // May be changed before run().
  generator::AttentionKernargs arguments{};

  // Throws Error with the trap's message.
  void run(const runtime::Kernel& kernel);

  std::vector<std::uint16_t> o() const;  // contiguous (batch, row, head, dim)
  std::vector<float> lse() const;        // (batch, head, row)
  // Bytes of the padding of O and LSE that no longer hold the pattern.
  std::int64_t overwritten_bytes() const;

 private:
  struct Placed {
    std::vector<std::byte> bytes;
    generator::TensorStrides host;  // bytes, within `bytes`
    std::int64_t first = 0;         // offset of (batch 0, head 0, row 0)
    std::int64_t batch = 0, heads = 0, rows = 0, row_bytes = 0;

    std::int64_t at(std::int64_t b, std::int64_t h, std::int64_t r) const {
      return first + b * host.batch + h * host.head + r * host.row;
    }
  };

  Placed lay_out(std::int64_t heads, std::int64_t rows, std::int64_t row_bytes, std::int64_t pad_bytes,
                 std::byte filler) const;
  void fill(Placed& tensor, const void* values) const;
  std::uint64_t map(const char* name, Placed& tensor, generator::TensorStrides& strides);
  std::uint64_t map_descale(const char* name, const std::vector<float>& values, generator::DescaleStrides& strides);

  runtime::AttentionInputs inputs_;
  Placement placement_;
  emulator::GlobalMemory memory_;
  Placed q_, k_, v_, o_, lse_;
  std::uint64_t sparse_address_ = std::uint64_t{1} << 40;
};

}  // namespace zyfa
