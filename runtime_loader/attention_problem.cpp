#include "runtime_loader/attention_problem.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

#include "isa/error.h"
#include "isa/numeric.h"
#include "runtime_loader/quantise_rows.h"

namespace zyfa::runtime {
namespace {

constexpr std::int64_t max_elements = std::int64_t{1} << 32;

using Extents = std::array<std::int64_t, 4>;

Extents q_extents(const AttentionShape& s) { return {s.batch, s.seqlen_q, s.heads, s.head_dim}; }
Extents k_extents(const AttentionShape& s) { return {s.batch, s.seqlen_k, s.kv_heads, s.head_dim}; }
Extents v_extents(const AttentionShape& s) { return {s.batch, s.seqlen_k, s.kv_heads, s.v_head_dim}; }

bool is_nan_code(std::uint8_t code) { return (code & 0x7f) == 0x7f; }

void check_codes(const char* name, const std::vector<std::uint8_t>& codes, const Extents& extents) {
  const auto count = static_cast<std::size_t>(element_count(extents));
  if (codes.size() != count) {
    throw Error("{} has {} codes, its shape {} needs {}", name, codes.size(), shape_text(extents), count);
  }
  const auto nan = std::find_if(codes.begin(), codes.end(), is_nan_code);
  if (nan != codes.end()) throw Error("{}: code {} is NaN; e4m3 inputs must be finite", name, nan - codes.begin());
}

void check_bf16(const char* name, const std::vector<std::uint16_t>& values, const Extents& extents) {
  const auto count = static_cast<std::size_t>(element_count(extents));
  if (values.size() != count)
    throw Error("{} has {} elements, its shape {} needs {}", name, values.size(), shape_text(extents), count);
  for (std::size_t i = 0; i < count; ++i)
    if (!std::isfinite(isa::bf16_to_float(values[i]))) throw Error("{}: element {} is not finite", name, i);
}

void check_descales(const char* name, const std::vector<float>& descales, std::size_t count) {
  if (descales.size() != count) {
    throw Error("{} has {} values, batch * kv_heads is {}", name, descales.size(), count);
  }
  for (const float descale : descales) {
    if (!(descale > 0) || !std::isfinite(descale)) {
      throw Error("{} holds {}; descales must be positive and finite", name, descale);
    }
  }
}

// Kernels take the row maximum before scaling, so a negative scale would make it the minimum (users.md A10).
void check_scale(float softmax_scale) {
  if (!(softmax_scale >= 0) || !std::isfinite(softmax_scale)) {
    throw Error("softmax_scale is {}; it must be finite and not negative", softmax_scale);
  }
}

void check_extents(const char* name, const Tensor& tensor, const Extents& wanted) {
  if (!std::equal(tensor.shape.begin(), tensor.shape.end(), wanted.begin(), wanted.end())) {
    throw Error("{} is {}; (batch, seq, heads, dim) {} is needed", name, shape_text(tensor.shape), shape_text(wanted));
  }
}

QuantisedRows take_codes(const char* name, const Tensor& tensor, std::size_t scales) {
  QuantisedRows rows{std::vector<std::uint8_t>(tensor.bytes.size()), std::vector<float>(scales, 1.0F)};
  if (!rows.codes.empty()) std::memcpy(rows.codes.data(), tensor.bytes.data(), rows.codes.size());
  check_codes(name, rows.codes, {tensor.shape[0], tensor.shape[1], tensor.shape[2], tensor.shape[3]});
  return rows;
}

QuantisedRows quantise_tensor(const char* name, const Tensor& tensor, int kv_heads, int threads,
                              const DescaleChoice& choose = {}) {
  const RowsShape shape{static_cast<int>(tensor.shape[0]), static_cast<int>(tensor.shape[1]),
                        static_cast<int>(tensor.shape[2]), kv_heads, static_cast<int>(tensor.shape[3])};
  if (tensor.type == ElementType::e4m3fn) {
    return take_codes(name, tensor, static_cast<std::size_t>(shape.batch) * static_cast<std::size_t>(kv_heads));
  }
  return quantise_rows(
      shape, threads,
      [&](int batch, int row, int head, std::span<float> values) {
        std::int64_t index = ((std::int64_t{batch} * shape.rows + row) * shape.heads + head) * shape.dim;
        for (float& value : values) {
          value = element(tensor, index);
          if (!std::isfinite(value)) {
            throw Error("{}[{}, {}, {}, {}] is {}; inputs must be finite", name, batch, row, head,
                        &value - values.data(), value);
          }
          ++index;
        }
      },
      choose);
}

int extent(const char* name, std::int64_t value) {
  if (value > 0x7fffffff) throw Error("{}: an extent of {} does not fit 31 bits", name, value);
  return static_cast<int>(value);
}

}  // namespace

void check(const AttentionShape& shape) {
  const std::pair<const char*, int> positive[] = {{"batch", shape.batch},
                                                  {"heads", shape.heads},
                                                  {"kv_heads", shape.kv_heads},
                                                  {"head_dim", shape.head_dim},
                                                  {"v_head_dim", shape.v_head_dim}};
  for (const auto& [name, value] : positive) {
    if (value <= 0) throw Error("{} is {}; it must be positive", name, value);
  }
  if (shape.seqlen_q < 0) throw Error("seqlen_q is {}; it must not be negative", shape.seqlen_q);
  if (shape.seqlen_k < 0) throw Error("seqlen_k is {}; it must not be negative", shape.seqlen_k);
  if (shape.heads % shape.kv_heads != 0) {
    throw Error("heads ({}) must be a multiple of kv_heads ({})", shape.heads, shape.kv_heads);
  }
  Extents output = q_extents(shape);
  output[3] = shape.v_head_dim;
  for (const Extents& extents : {q_extents(shape), k_extents(shape), v_extents(shape), output}) {
    if (element_count(extents) > max_elements) {
      throw Error("a tensor {} has more than 2^32 elements", shape_text(extents));
    }
  }
}

int visible_keys(const AttentionShape& shape, int row) {
  if (!shape.causal) return shape.seqlen_k;
  const std::int64_t end = std::int64_t{row} + shape.seqlen_k - shape.seqlen_q + 1;
  return static_cast<int>(std::clamp<std::int64_t>(end, 0, shape.seqlen_k));
}

void check(const AttentionInputs& inputs) {
  const AttentionShape& shape = inputs.shape;
  check(shape);
  check_scale(inputs.softmax_scale);
  if (inputs.q_bf16)
    check_bf16("q", *inputs.q_bf16, q_extents(shape));
  else
    check_codes("q", inputs.q, q_extents(shape));
  check_codes("k", inputs.k, k_extents(shape));
  check_codes("v", inputs.v, v_extents(shape));
  const std::size_t scales = static_cast<std::size_t>(shape.batch) * static_cast<std::size_t>(shape.kv_heads);
  check_descales("q_descale", inputs.q_descale, scales);
  check_descales("k_descale", inputs.k_descale, scales);
  check_descales("v_descale", inputs.v_descale, scales);
}

void check_power_of_two_factors(const AttentionInputs& inputs) {
  constexpr double slack = 0x1p-20;  // the kernel allows 16 units in the last place, its own rounding included
  for (std::size_t i = 0; i < inputs.q_descale.size(); ++i) {
    const double factor = static_cast<double>(inputs.softmax_scale) * static_cast<double>(inputs.q_descale[i]) *
                          static_cast<double>(inputs.k_descale[i]) * std::numbers::log2e;
    int exponent = 0;
    const double mantissa = std::frexp(factor * (1 + slack), &exponent);
    if (factor == 0 || mantissa <= 0.5 * (1 + 2 * slack)) continue;
    const auto heads = static_cast<std::size_t>(inputs.shape.kv_heads);
    throw Error(
        "softmax_scale * q_descale * k_descale * log2(e) of batch {}, key/value head {} is {:.9g}; a kernel with "
        "folded score scale takes powers of two alone",
        i / heads, i % heads, factor);
  }
}

float power_of_two_descale(float q_descale, float k_descale, float softmax_scale) {
  const double rest = static_cast<double>(softmax_scale) * static_cast<double>(k_descale) * std::numbers::log2e;
  if (rest == 0) return q_descale;
  int exponent = 0;
  if (std::frexp(static_cast<double>(q_descale) * rest, &exponent) == 0.5) --exponent;
  return static_cast<float>(std::ldexp(1 / rest, exponent));
}

void check(const RealInputs& inputs) {
  check(inputs.shape);
  check_scale(inputs.softmax_scale);
  const auto check_values = [](const char* name, const std::vector<float>& values, const Extents& extents) {
    if (static_cast<std::int64_t>(values.size()) != element_count(extents))
      throw Error("{} has {} values, its shape {} needs {}", name, values.size(), shape_text(extents),
                  element_count(extents));
    if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); }))
      throw Error("{} holds an infinity or NaN", name);
  };
  check_values("q", inputs.q, q_extents(inputs.shape));
  check_values("k", inputs.k, k_extents(inputs.shape));
  check_values("v", inputs.v, v_extents(inputs.shape));
}

const char* to_string(InputKind kind) {
  switch (kind) {
    case InputKind::gaussian:
      return "gaussian";
    case InputKind::sink:
      return "sink";
    case InputKind::ones:
      return "ones";
    case InputKind::peaked:
      return "peaked";
  }
  return "unknown";
}

InputKind parse_input_kind(std::string_view name) {
  for (const InputKind kind : {InputKind::gaussian, InputKind::sink, InputKind::ones, InputKind::peaked}) {
    if (name == to_string(kind)) return kind;
  }
  throw Error("input kind '{}' is unknown; gaussian, sink, ones and peaked are", name);
}

AttentionShape shape_of(const Tensor& q, const Tensor& k, const Tensor& v, bool causal) {
  const std::pair<const char*, const Tensor*> tensors[] = {{"q", &q}, {"k", &k}, {"v", &v}};
  for (const auto& [name, tensor] : tensors) {
    if (tensor->shape.size() != 4) {
      throw Error("{} is {}; four extents (batch, seq, heads, dim) are needed", name, shape_text(tensor->shape));
    }
  }
  AttentionShape shape;
  shape.batch = extent("q", q.shape[0]);
  shape.seqlen_q = extent("q", q.shape[1]);
  shape.heads = extent("q", q.shape[2]);
  shape.head_dim = extent("q", q.shape[3]);
  shape.seqlen_k = extent("k", k.shape[1]);
  shape.kv_heads = extent("k", k.shape[2]);
  shape.v_head_dim = extent("v", v.shape[3]);
  shape.causal = causal;
  check_extents("k", k, k_extents(shape));
  check_extents("v", v, v_extents(shape));
  check(shape);
  return shape;
}

AttentionInputs quantise(const AttentionShape& shape, const Tensor& q, const Tensor& k, const Tensor& v,
                         float softmax_scale, int threads, bool power_of_two_factor, bool q_bf16) {
  check(shape);
  check_scale(softmax_scale);
  check_extents("q", q, q_extents(shape));
  check_extents("k", k, k_extents(shape));
  check_extents("v", v, v_extents(shape));
  QuantisedRows k_rows = quantise_tensor("k", k, shape.kv_heads, threads);
  DescaleChoice choose;
  if (power_of_two_factor)
    choose = [&](float descale, std::size_t i) {
      return power_of_two_descale(descale, k_rows.descales[i], softmax_scale);
    };
  if (q_bf16) {
    std::vector<std::uint16_t> values;
    for (std::int64_t i = 0; i < element_count(q.shape); ++i) values.push_back(isa::float_to_bf16(element(q, i)));
    std::vector<float> ones(k_rows.descales.size(), 1.0F);
    AttentionInputs inputs{shape,
                           {},
                           std::move(values),
                           std::move(k_rows.codes),
                           {},
                           std::move(ones),
                           std::move(k_rows.descales),
                           {},
                           softmax_scale};
    QuantisedRows v_rows = quantise_tensor("v", v, shape.kv_heads, threads);
    inputs.v = std::move(v_rows.codes);
    inputs.v_descale = std::move(v_rows.descales);
    return inputs;
  }
  QuantisedRows q_rows = quantise_tensor("q", q, shape.kv_heads, threads, choose);
  QuantisedRows v_rows = quantise_tensor("v", v, shape.kv_heads, threads);
  return {shape,
          std::move(q_rows.codes),
          {},
          std::move(k_rows.codes),
          std::move(v_rows.codes),
          std::move(q_rows.descales),
          std::move(k_rows.descales),
          std::move(v_rows.descales),
          softmax_scale};
}

}  // namespace zyfa::runtime
