// A problem's tensors on a GPU, to be run as often as wanted.
#pragma once

#include "runtime_loader/hip/hip_device.h"
#include "runtime_loader/kernel.h"
#include "runtime_loader/laid_out_problem.h"

#include <memory>
#include <vector>

namespace zyfa::runtime {

class HipProblem {
 public:
  // Uploads the inputs; O and LSE start out as NaN, as clear() leaves them. Throws Error if the kernel or the layout
  // does not suit the inputs.
  HipProblem(std::shared_ptr<const HipDevice> device, const generator::Manifest& manifest,
             const AttentionInputs& inputs, Layout layout);

  void clear() const;  // on the default stream
  void launch(const HipKernel& kernel, void* stream = nullptr) const;
  const generator::AttentionKernargs& arguments() const { return problem_.arguments; }

  // After all launches on the default stream.
  std::vector<std::uint16_t> o() const;  // bf16, in the layout's order; fused_qkv writes bshd
  std::vector<float> lse() const;        // (batch, heads, seqlen_q); empty if the kernel writes none

 private:
  std::shared_ptr<const HipDevice> device_;
  std::vector<HipMemory> inputs_;
  LaidOutProblem problem_;
  std::size_t o_elements_ = 0, lse_elements_ = 0;
  HipMemory o_, lse_;
  LaunchGrid grid_;
};

}  // namespace zyfa::runtime
