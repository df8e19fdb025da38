// A problem's tensors as they lie in memory, whosever memory that is.
#pragma once

#include "generator/kernargs.h"
#include "runtime_loader/attention_problem.h"
#include "runtime_loader/compare.h"

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace zyfa::runtime {

// How the tensors lie in memory.
enum class Layout {
  bshd,       // (batch, row, head, dim), each tensor by itself
  bhsd,       // (batch, head, row, dim)
  fused_qkv,  // one buffer (batch, row, query heads + key heads + value heads, dim); needs as many keys as queries
};
std::string_view to_string(Layout layout);
Layout parse_layout(std::string_view name);  // throws Error naming the three

// Strides in bytes of a tensor (batch, rows, heads, row_bytes) by itself.
generator::TensorStrides strides_of(Layout layout, std::int64_t rows, std::int64_t heads, std::int64_t row_bytes);
// One tensor's bytes copied from contiguous (batch, row, head, dim) to wherever `to` and the strides say.
void scatter(std::span<const std::uint8_t> from, std::byte* to, const generator::TensorStrides& stride,
             std::int64_t batch, std::int64_t rows, std::int64_t heads, std::int64_t row_bytes);

// In bytes, of O; fused_qkv writes bshd.
generator::TensorStrides output_strides(const AttentionShape& shape, Layout layout);

// What a kernel wrote with these strides, as compare() takes it.
AttentionOutput written_output(const AttentionShape& shape, Layout layout, std::span<const std::uint16_t> o,
                               std::span<const float> lse);

class LaidOutProblem {
 public:
  // Makes bytes visible to the kernel and returns their address; called once for each buffer. The bytes last as long as
  // the problem, and those of descales as long as the inputs.
  using Place = std::function<std::uint64_t(const char* name, std::span<const std::byte> bytes)>;

  // Throws Error if the layout does not suit the inputs.
  LaidOutProblem(const AttentionInputs& inputs, Layout layout, const Place& place);
  LaidOutProblem(const LaidOutProblem&) = delete;
  LaidOutProblem& operator=(const LaidOutProblem&) = delete;

  // Everything but the addresses of O and LSE. The LSE is (batch, head, row), dense.
  generator::AttentionKernargs arguments{};

 private:
  void place_fused(const AttentionInputs& inputs, const Place& place);
  void place_apart(const AttentionInputs& inputs, Layout layout, const Place& place);

  std::vector<std::vector<std::byte>> buffers_;
};

}  // namespace zyfa::runtime
