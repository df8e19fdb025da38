// Q, K and V from files, as people capture them: in which order of extents, of which types.
#pragma once

#include "runtime_loader/attention_problem.h"

#include <optional>
#include <string>
#include <string_view>

namespace zyfa::runtime {

// The order of a file's extents. Without the batch, which is then 1, three extents.
enum class FileLayout { bshd, bhsd };  // (batch, seq, heads, dim), (batch, heads, seq, dim)
std::string_view to_string(FileLayout layout);
FileLayout parse_file_layout(std::string_view name);  // throws Error naming the two

struct CapturedTensors {
  Tensor q, k, v;  // (batch, seq, heads, dim)
};

// Reads three files (load_tensor). Throws Error that names the file where extents are not three or four, a value is
// infinite or NaN, or types do not belong together: K and V are FP8 of one format or both wider, and Q is FP8 only if
// they are, of that format.
CapturedTensors load_captured(const std::string& q, const std::string& k, const std::string& v, FileLayout layout);

// The same steps with tensors at hand; `q`, `k` and `v` name them in errors.
Tensor to_bshd(const std::string& name, Tensor tensor, FileLayout layout);
void check_types(const CapturedTensors& tensors);

// Values as they were captured, before any quantisation.
RealInputs real_inputs(const AttentionShape& shape, const CapturedTensors& tensors, float softmax_scale);

}  // namespace zyfa::runtime
