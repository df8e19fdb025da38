// What the two launches of the kernel that quantises need, from its manifest alone and for any backend: the caller has
// the memory. docs/quantise.md.
#pragma once

#include "generator/kernargs.h"
#include "generator/quantise_manifest.h"
#include "runtime_loader/launch_rules.h"

#include <array>

namespace zyfa::runtime {

// A tensor (batch, rows, heads, head_dim) of BF16 values and its codes. Addresses are the device's, strides in bytes.
struct QuantiseProblem {
  std::int64_t batch = 1, rows = 0, heads = 1;
  // Heads that share a descale: of queries the query heads of a key/value head, of keys and values 1.
  std::int64_t heads_per_scale = 1;
  std::uint64_t x = 0, codes = 0, descale = 0, workspace = 0;
  generator::TensorStrides x_stride{}, codes_stride{};
  generator::DescaleStrides descale_stride{};
  // Queries of an attention kernel whose score scale is folded: the descales of its keys, which have been written
  // before, and its softmax_scale. Null: the descale is the largest |value| / 448.
  std::uint64_t k_descale = 0;
  generator::DescaleStrides k_descale_stride{};
  float softmax_scale = 1;
};

// Both with this grid, one after the other. Without rows there is nothing to launch.
struct QuantiseLaunches {
  LaunchGrid grid;
  std::array<generator::QuantiseKernargs, 2> phases{};

  bool is_empty() const { return grid.workgroups[0] == 0; }
};

// Throws Error naming the first limit of the manifest that the problem is beyond.
QuantiseLaunches quantise_launches(const generator::QuantiseManifest& manifest, const QuantiseProblem& problem);

// Of QuantiseProblem::workspace, for its extents; needs no initial value. Throws Error as quantise_launches does.
std::uint64_t quantise_workspace_bytes(const generator::QuantiseManifest& manifest, std::int64_t batch,
                                       std::int64_t rows, std::int64_t heads);

}  // namespace zyfa::runtime
