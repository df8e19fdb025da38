// What a manifest says about launches of its kernel, whoever launches it: how many workgroups, and what the arguments
// must keep to.
#pragma once

#include "generator/kernargs.h"
#include "generator/manifest.h"
#include "runtime_loader/attention_problem.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace zyfa::runtime {

struct LaunchGrid {
  std::array<std::uint32_t, 3> workgroups{};
  std::array<std::uint32_t, 3> workgroup_size{};  // work-items
};

// An attention kernel's grid. Without queries it has no workgroups, and is not to be launched.
LaunchGrid attention_grid(const generator::Manifest& manifest, std::uint32_t seqlen_q, std::uint32_t heads,
                          std::uint32_t batch);

inline constexpr std::int64_t tensor_alignment_bytes = 16;  // of Q, K, V and O and of their strides
inline constexpr std::int64_t value_alignment_bytes = 4;    // of the log-sum-exp and of descales

// Throws Error naming the tensor unless its address and strides are aligned and its rows lie from row_bytes to
// max_row_stride apart. Without rows nothing is looked at.
void check_tensor(std::string_view name, std::uint64_t address, const generator::TensorStrides& stride,
                  std::int64_t rows, std::int64_t row_bytes, std::int64_t max_row_stride);

// The same of values per (batch, head).
void check_values(std::string_view name, std::uint64_t address, const generator::DescaleStrides& stride);

// Throws Error naming the first argument that is outside the limits of the kernel's manifest: alignments, row strides,
// sequence lengths, heads, batch entries. Addresses of what has no elements are not looked at.
void check_limits(const generator::Manifest& manifest, const generator::AttentionKernargs& arguments, int heads,
                  int batch);

// Throws Error if the kernel is for other head dims, another mask or other queries than the inputs, or needs powers of
// two as factors that they do not have.
void check_suits(const generator::Manifest& manifest, const AttentionInputs& inputs);

}  // namespace zyfa::runtime
