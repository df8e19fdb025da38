// The emulator backend: puts a problem's tensors where a kernel can see them, launches it on the emulator, returns what
// it wrote.
#pragma once

#include "generator/kernargs.h"
#include "isa/emulator/emulator.h"
#include "runtime_loader/attention_problem.h"
#include "runtime_loader/compare.h"
#include "runtime_loader/kernel.h"
#include "runtime_loader/laid_out_problem.h"

#include <functional>
#include <string_view>

namespace zyfa::runtime {

// Who runs a launch in the emulator's place (the pipe model); empty: the emulator.
using Runner =
    std::function<emulator::Result(const isa::Program&, const emulator::Launch&, const emulator::GlobalMemory&)>;

struct EmulationOptions {
  Layout layout = Layout::bshd;
  emulator::Options emulator;
  Runner runner = {};
};

struct EmulatedRun {
  AttentionShape shape;
  Layout layout = Layout::bshd;
  std::vector<std::uint16_t> o;  // bf16, in the layout's order; fused_qkv writes bshd
  std::vector<float> lse;        // (batch, heads, seqlen_q); empty if the kernel writes none
  emulator::Result result;
  double seconds = 0;  // of the emulation alone

  AttentionOutput output() const;
};

// Throws Error if the kernel is for another head dim or mask than the inputs, or the layout does not suit them. What
// goes wrong in the kernel is in result.trap. O and LSE start out as NaN.
EmulatedRun run_on_emulator(const Kernel& kernel, const AttentionInputs& inputs, const EmulationOptions& options = {});

// One launch with arguments that the caller has filled in and whose tensors are mapped in `memory`. Throws Error if a
// row stride is beyond the kernel's limit. Without queries there is nothing to launch and nothing happens.
emulator::Result launch_on_emulator(const Kernel& kernel, const generator::AttentionKernargs& arguments, int heads,
                                    int batch, emulator::GlobalMemory memory, const emulator::Options& options = {},
                                    const Runner& runner = {});

// The part of a launch that the kernel descriptor fixes: registers, MODE and LDS at the start.
emulator::Launch initial_state(const generator::KernelDescriptor& descriptor);

// What a kernel of this configuration passes with. Rounding BF16 queries to e4m3, at most 2^-4 of an element and 0.026
// of its size on average, moves a logit by about that much of its own deviation: the output of rows with logits of
// deviation 2 by 0.05, the log-sum-exp of the largest logits by several times that.
Tolerances default_tolerances(const generator::AttentionConfig& config);

// Floating-point operations of the attention itself: 2 * (head_dim + v_head_dim) for every query and key it sees.
double attention_flops(const AttentionShape& shape);

}  // namespace zyfa::runtime
