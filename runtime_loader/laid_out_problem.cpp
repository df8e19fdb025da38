#include "runtime_loader/laid_out_problem.h"

#include "isa/error.h"

#include <cstring>

namespace zyfa::runtime {
using generator::AttentionKernargs;
using generator::TensorStrides;

TensorStrides strides_of(Layout layout, std::int64_t rows, std::int64_t heads, std::int64_t row_bytes) {
  if (layout == Layout::bhsd) return {row_bytes, rows * row_bytes, heads * rows * row_bytes};
  return {heads * row_bytes, row_bytes, rows * heads * row_bytes};
}

void scatter(std::span<const std::uint8_t> from, std::byte* to, const TensorStrides& stride, std::int64_t batch,
             std::int64_t rows, std::int64_t heads, std::int64_t row_bytes) {
  const std::uint8_t* source = from.data();
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t h = 0; h < heads; ++h, source += row_bytes)
        std::memcpy(to + b * stride.batch + r * stride.row + h * stride.head, source,
                    static_cast<std::size_t>(row_bytes));
}

std::string_view to_string(Layout layout) {
  return layout == Layout::bshd ? "bshd" : layout == Layout::bhsd ? "bhsd" : "fused_qkv";
}

Layout parse_layout(std::string_view name) {
  for (const Layout layout : {Layout::bshd, Layout::bhsd, Layout::fused_qkv})
    if (name == to_string(layout)) return layout;
  throw Error("layout '{}' is not known; accepted: bshd, bhsd, fused_qkv", name);
}

TensorStrides output_strides(const AttentionShape& s, Layout layout) {
  constexpr std::int64_t bf16_bytes = 2;
  return strides_of(layout, s.seqlen_q, s.heads, s.v_head_dim * bf16_bytes);
}

AttentionOutput written_output(const AttentionShape& shape, Layout layout, std::span<const std::uint16_t> o,
                               std::span<const float> lse) {
  const TensorStrides bytes = output_strides(shape, layout);
  return {o, bytes.batch / 2, bytes.row / 2, bytes.head / 2, lse};
}

LaidOutProblem::LaidOutProblem(const AttentionInputs& inputs, Layout layout, const Place& place) {
  if (layout == Layout::fused_qkv)
    place_fused(inputs, place);
  else
    place_apart(inputs, layout, place);
  const AttentionShape& s = inputs.shape;
  arguments.o_stride = output_strides(s, layout);
  arguments.lse_stride = {std::int64_t{s.seqlen_q} * 4, std::int64_t{s.seqlen_q} * s.heads * 4};
  const auto descale = [&](const char* name, const std::vector<float>& values, generator::DescaleStrides& stride) {
    stride = {4, std::int64_t{s.kv_heads} * 4};
    return place(name, std::as_bytes(std::span(values)));
  };
  arguments.q_descale = descale("q_descale", inputs.q_descale, arguments.q_descale_stride);
  arguments.k_descale = descale("k_descale", inputs.k_descale, arguments.k_descale_stride);
  arguments.v_descale = descale("v_descale", inputs.v_descale, arguments.v_descale_stride);
  arguments.seqlen_q = static_cast<std::uint32_t>(s.seqlen_q);
  arguments.seqlen_k = static_cast<std::uint32_t>(s.seqlen_k);
  arguments.heads_per_kv_head = static_cast<std::uint32_t>(s.heads / s.kv_heads);
  arguments.softmax_scale = inputs.softmax_scale;
  arguments.heads = static_cast<std::uint32_t>(s.heads);
}

void LaidOutProblem::place_fused(const AttentionInputs& inputs, const Place& place) {
  const AttentionShape& s = inputs.shape;
  if (inputs.q_bf16) throw Error("layout fused_qkv needs Q, K and V of one type; Q is bf16");
  if (s.seqlen_q != s.seqlen_k || s.head_dim != s.v_head_dim)
    throw Error("layout fused_qkv needs as many keys as queries and one head dim; the problem has {} and {}, {} and {}",
                s.seqlen_q, s.seqlen_k, s.head_dim, s.v_head_dim);
  const std::int64_t row = std::int64_t{s.heads + 2 * s.kv_heads} * s.head_dim;
  const TensorStrides stride{row, s.head_dim, row * s.seqlen_q};
  const std::int64_t keys_at = std::int64_t{s.heads} * s.head_dim;
  const std::int64_t values_at = keys_at + std::int64_t{s.kv_heads} * s.head_dim;
  std::vector<std::byte>& buffer = buffers_.emplace_back(static_cast<std::size_t>(row * s.seqlen_q * s.batch));
  scatter(inputs.q, buffer.data(), stride, s.batch, s.seqlen_q, s.heads, s.head_dim);
  scatter(inputs.k, buffer.data() + keys_at, stride, s.batch, s.seqlen_k, s.kv_heads, s.head_dim);
  scatter(inputs.v, buffer.data() + values_at, stride, s.batch, s.seqlen_k, s.kv_heads, s.head_dim);
  arguments.q_stride = arguments.k_stride = arguments.v_stride = stride;
  arguments.q = place("qkv", buffer);
  arguments.k = arguments.q + static_cast<std::uint64_t>(keys_at);
  arguments.v = arguments.q + static_cast<std::uint64_t>(values_at);
}

void LaidOutProblem::place_apart(const AttentionInputs& inputs, Layout layout, const Place& place) {
  const AttentionShape& s = inputs.shape;
  const std::span<const std::uint8_t> q =
      inputs.q_bf16 ? std::span(reinterpret_cast<const std::uint8_t*>(inputs.q_bf16->data()), inputs.q_bf16->size() * 2)
                    : std::span(inputs.q);
  const auto put = [&](const char* name, std::span<const std::uint8_t> from, TensorStrides& stride, std::int64_t rows,
                       std::int64_t heads, std::int64_t row_bytes) {
    stride = strides_of(layout, rows, heads, row_bytes);
    std::vector<std::byte>& buffer = buffers_.emplace_back(from.size());
    scatter(from, buffer.data(), stride, s.batch, rows, heads, row_bytes);
    return place(name, buffer);
  };
  const std::int64_t q_bytes = std::int64_t{s.head_dim} * (inputs.q_bf16 ? 2 : 1);
  arguments.q = put("q", q, arguments.q_stride, s.seqlen_q, s.heads, q_bytes);
  arguments.k = put("k", inputs.k, arguments.k_stride, s.seqlen_k, s.kv_heads, s.head_dim);
  arguments.v = put("v", inputs.v, arguments.v_stride, s.seqlen_k, s.kv_heads, s.v_head_dim);
}

}  // namespace zyfa::runtime
