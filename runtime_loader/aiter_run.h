// Runs one of AITER's objects on the emulator, as AITER's host code would launch it.
#pragma once

#include "isa/emulator/emulator.h"
#include "runtime_loader/aiter_inputs.h"
#include "runtime_loader/compare.h"
#include "runtime_loader/emulate.h"

#include <vector>

namespace zyfa::runtime {

struct AiterRun {
  std::vector<std::uint16_t> o;  // bf16, (rows of all sequences, heads, v_head_dim)
  std::vector<float> lse;        // batches: (sequence, heads, rows); groups: (heads, rows of all); empty with v4
  emulator::Result result;
  double seconds = 0;  // of the emulation alone
};

// O and LSE start out as NaN. What goes wrong in the kernel is in result.trap. All objects but two need
// MemoryModel::hardware (docs/aiter.md).
AiterRun run_aiter(const AiterKernel& kernel, const AiterProblem& problem, const AiterInputs& inputs,
                   const emulator::Options& options = {},
                   emulator::MemoryModel memory_model = emulator::MemoryModel::hardware, const Runner& runner = {});

// Each sequence against the reference; the worst of every number, passed if all did. Throws Error if the format's
// inputs have no reference.
Comparison compare_aiter(const AiterKernel& kernel, const AiterInputs& inputs, const AiterRun& run,
                         const Tolerances& tolerances, int check_stride = 1, int threads = 1);

// 0.05 for FP8 and its like, 0.01 for BF16.
double aiter_tolerance(const AiterFormat& format);

}  // namespace zyfa::runtime
