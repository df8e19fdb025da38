// Attention in double precision over the dequantised inputs: what every kernel is held against.
// Invariant: shares no code with the generator and follows the definition (all logits of a row, their
// maximum, their exponentials, their sum), not a kernel's algorithm. Dot products of e4m3 codes are exact in
// double.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime_loader/attention_problem.h"

namespace zyfa::runtime {

// The queries to evaluate: offset, offset + stride, ... below seqlen_q. A long context is checked on a
// sample.
struct RowSelection {
  int stride = 1;
  int offset = 0;

  bool operator==(const RowSelection&) const = default;
};

// How many queries of `seqlen_q` are selected. Throws Error unless stride >= 1 and offset >= 0.
int selected_rows(const RowSelection& rows, int seqlen_q);

struct AttentionResult {
  AttentionShape shape;
  RowSelection rows;
  std::vector<double> o;    // (batch, selected rows, heads, v_head_dim); 0 in a row that sees no key
  std::vector<double> lse;  // (batch, heads, selected rows), natural logarithm; -infinity in such a row
};

struct ReferenceOptions {
  RowSelection rows = {};
  int threads = 1;  // the result does not depend on it
  // Counts finished rows of all heads, up to batch * heads * selected_rows(), for a progress display.
  std::atomic<std::int64_t>* rows_done = nullptr;
};

// Throws Error if check(inputs) does. Holds one kv head's K and V as doubles (16 bytes per key and dimension)
// and, per thread, the logits of 16 rows.
AttentionResult reference_attention(const AttentionInputs& inputs, const ReferenceOptions& options = {});
AttentionResult reference_attention(const RealInputs& inputs, const ReferenceOptions& options = {});

}  // namespace zyfa::runtime
