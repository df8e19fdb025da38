// Rows to be quantised, and their codes, as they lie in memory, whosever memory that is.
#pragma once

#include "runtime_loader/laid_out_problem.h"
#include "runtime_loader/quantise_launch.h"
#include "runtime_loader/quantise_reference.h"

#include <cstddef>
#include <span>
#include <vector>

namespace zyfa::runtime {

class LaidOutRows {
 public:
  // Throws Error where the kernel is for another head dim, the sizes do not belong together, or the layout is not bshd
  // or bhsd.
  LaidOutRows(const generator::QuantiseManifest& manifest, const QuantiseInputs& inputs, Layout layout);

  QuantiseProblem problem;   // all but the addresses
  std::vector<std::byte> x;  // BF16, in the layout
  std::size_t code_bytes = 0, descales = 0, workspace_bytes = 0;

  // Codes in the layout as Quantised has them.
  std::vector<std::uint8_t> gather(std::span<const std::byte> codes) const;

 private:
  int head_dim_ = 0;
};

}  // namespace zyfa::runtime
