// Random problems in the formats that AITER's objects take: the bytes for the kernel, and the same values as floats for
// the reference.
#pragma once

#include "runtime_loader/aiter_abi.h"
#include "runtime_loader/attention_problem.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace zyfa::runtime {

struct AiterSequence {
  int seqlen_q = 0, seqlen_k = 0;
};

struct AiterProblem {
  std::vector<AiterSequence> sequences;  // the batch entries; of one length except for aiter-v3-group
  int heads = 1, kv_heads = 1;
  std::optional<double> sigma = std::nullopt;  // of the logits; 1 if not given
  std::uint64_t seed = 1;
  std::optional<float> softmax_scale = std::nullopt;  // 1 / sqrt(head_dim) if not given
  bool v_ones = false;
};

// Strides in bytes.
struct AiterOperand {
  std::vector<std::byte> bytes;
  std::vector<std::byte> scales;  // empty for AiterScale::none
  std::int64_t row_stride = 0, head_stride = 0, batch_stride = 0;
  std::int64_t scale_head_stride = 0, scale_batch_stride = 0;
};

struct AiterInputs {
  AiterOperand q, k, v;
  float softmax_scale = 1;        // the kernel's argument; formats with block scales carry the real one in q
  std::vector<RealInputs> reals;  // one for each sequence, with batch 1; empty unless the format is plain
};

// Gaussian values, drawn for the object's own format. Throws Error for what the kernel does not do: sequences of
// several lengths, grouped heads with v4, a number of query heads per key/value head that is no power of two up to 16;
// for what make_inputs refuses; and for a sigma, a softmax scale or V = 1 where the format's packed input has no place
// for it.
AiterInputs make_aiter_inputs(const AiterKernel& kernel, const AiterProblem& problem);

// Given inputs in the object's format, for the same problem on several objects. FP8 with one descale comes out code for
// code. Throws Error for formats that are not plain and for what make_aiter_inputs refuses.
AiterInputs encode_aiter_inputs(const AiterKernel& kernel, const AttentionInputs& inputs);

// The shape of one sequence.
AttentionShape shape_of(const AiterKernel& kernel, const AiterProblem& problem, std::size_t sequence);

}  // namespace zyfa::runtime
