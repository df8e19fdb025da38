// A problem as a program passes it to libzyfa, in host or device memory.
#pragma once

#include "runtime_loader/laid_out_problem.h"
#include "runtime_loader/library/zyfa.h"

#include <cstdint>
#include <vector>

namespace zyfa {

// The arguments of a problem whose tensors lie where `arguments` says.
zyfa_attention library_arguments(const runtime::AttentionShape& shape, const generator::AttentionKernargs& arguments);

// In host memory, for the emulator.
class HostCall {
 public:
  HostCall(const runtime::AttentionInputs& inputs, runtime::Layout layout);

  std::vector<std::uint16_t> o;  // bf16; NaN before the launch, as LSE
  std::vector<float> lse;
  zyfa_attention arguments{};

 private:
  runtime::LaidOutProblem problem_;
};

}  // namespace zyfa
