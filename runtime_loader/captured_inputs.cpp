#include "runtime_loader/captured_inputs.h"

#include "isa/error.h"
#include "runtime_loader/tensor_file.h"

#include <cmath>
#include <cstring>
#include <utility>

namespace zyfa::runtime {
namespace {

bool is_fp8(ElementType type) { return type == ElementType::e4m3fn || type == ElementType::e5m2; }

// "0, 3, 1, 7" of a flat index.
std::string place(std::int64_t index, const std::vector<std::int64_t>& shape) {
  std::string text;
  for (auto extent = shape.rbegin(); extent != shape.rend(); ++extent) {
    text = std::to_string(index % *extent) + (text.empty() ? "" : ", ") + text;
    index /= *extent;
  }
  return text;
}

Tensor load_one(const char* name, const std::string& file, FileLayout layout) {
  Tensor tensor = load_tensor(file);
  const std::string where = std::string(name) + " (" + file + ")";
  for (std::int64_t i = 0, all = element_count(tensor.shape); i < all; ++i)
    if (const float value = element(tensor, i); !std::isfinite(value))
      throw Error("{}: [{}] is {}; inputs must be finite", where, place(i, tensor.shape), value);
  return to_bshd(where, std::move(tensor), layout);
}

}  // namespace

std::string_view to_string(FileLayout layout) { return layout == FileLayout::bshd ? "bshd" : "bhsd"; }

FileLayout parse_file_layout(std::string_view name) {
  for (const FileLayout layout : {FileLayout::bshd, FileLayout::bhsd})
    if (name == to_string(layout)) return layout;
  throw Error("file layout '{}' is not known; accepted: bshd, bhsd", name);
}

Tensor to_bshd(const std::string& name, Tensor tensor, FileLayout layout) {
  const bool heads_first = layout == FileLayout::bhsd;
  if (tensor.shape.size() != 3 && tensor.shape.size() != 4) {
    const char* order = heads_first ? "heads, seq, dim" : "seq, heads, dim";
    throw Error("{} is {}; (batch, {}) or ({}) is needed", name, shape_text(tensor.shape), order, order);
  }
  if (tensor.shape.size() == 3) tensor.shape.insert(tensor.shape.begin(), 1);
  if (!heads_first) return tensor;
  const std::int64_t batch = tensor.shape[0], heads = tensor.shape[1], rows = tensor.shape[2];
  Tensor turned{tensor.type, {batch, rows, heads, tensor.shape[3]}, std::vector<std::byte>(tensor.bytes.size())};
  if (tensor.bytes.empty()) return turned;
  const std::size_t row_bytes = static_cast<std::size_t>(tensor.shape[3]) * element_bytes(tensor.type);
  const std::byte* from = tensor.bytes.data();
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t r = 0; r < rows; ++r, from += row_bytes)
        std::memcpy(turned.bytes.data() + static_cast<std::size_t>((b * rows + r) * heads + h) * row_bytes, from,
                    row_bytes);
  return turned;
}

void check_types(const CapturedTensors& tensors) {
  const ElementType q = tensors.q.type, k = tensors.k.type, v = tensors.v.type;
  const bool together = is_fp8(k) || is_fp8(v) ? k == v && (q == k || !is_fp8(q)) : !is_fp8(q);
  if (!together)
    throw Error(
        "q is {}, k {}, v {}, which do not belong together; accepted: k and v of one FP8 format, with q of it or "
        "wider, "
        "or all three of bf16, f16 or f32",
        to_string(q), to_string(k), to_string(v));
}

CapturedTensors load_captured(const std::string& q, const std::string& k, const std::string& v, FileLayout layout) {
  CapturedTensors tensors{load_one("q", q, layout), load_one("k", k, layout), load_one("v", v, layout)};
  check_types(tensors);
  return tensors;
}

RealInputs real_inputs(const AttentionShape& shape, const CapturedTensors& tensors, float softmax_scale) {
  return {shape, to_floats(tensors.q), to_floats(tensors.k), to_floats(tensors.v), softmax_scale};
}

}  // namespace zyfa::runtime
