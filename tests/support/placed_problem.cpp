#include "tests/support/placed_problem.h"

#include "isa/error.h"

#include <cstring>

namespace zyfa {

using namespace runtime;
using generator::TensorStrides;

namespace {

constexpr std::byte nan_code{0x7f};  // e4m3 NaN; two of them are a BF16 near its largest
constexpr std::byte pattern{0x5a};

}  // namespace

PlacedProblem::PlacedProblem(const AttentionInputs& inputs, const Placement& placement)
    : inputs_(inputs), placement_(placement) {
  const AttentionShape& s = inputs_.shape;
  q_ = lay_out(s.heads, s.seqlen_q, std::int64_t{s.head_dim} * (inputs_.q_bf16 ? 2 : 1), placement.pad_bytes, nan_code);
  k_ = lay_out(s.kv_heads, s.seqlen_k, s.head_dim, placement.pad_bytes, nan_code);
  v_ = lay_out(s.kv_heads, s.seqlen_k, s.v_head_dim, placement.pad_bytes, nan_code);
  o_ = lay_out(s.heads, s.seqlen_q, std::int64_t{s.v_head_dim} * 2, placement.pad_bytes, pattern);
  lse_ = lay_out(s.heads, s.seqlen_q, 4, 0, pattern);
  fill(q_, inputs_.q_bf16 ? static_cast<const void*>(inputs_.q_bf16->data()) : inputs_.q.data());
  fill(k_, inputs_.k.data());
  fill(v_, inputs_.v.data());
  arguments.q = map("q", q_, arguments.q_stride);
  arguments.k = map("k", k_, arguments.k_stride);
  arguments.v = map("v", v_, arguments.v_stride);
  arguments.o = map("o", o_, arguments.o_stride);
  arguments.lse = memory_.place("lse", lse_.bytes) + static_cast<std::uint64_t>(lse_.first);
  arguments.lse_stride = {lse_.host.head, lse_.host.batch};
  arguments.q_descale = map_descale("q_descale", inputs_.q_descale, arguments.q_descale_stride);
  arguments.k_descale = map_descale("k_descale", inputs_.k_descale, arguments.k_descale_stride);
  arguments.v_descale = map_descale("v_descale", inputs_.v_descale, arguments.v_descale_stride);
  arguments.seqlen_q = static_cast<std::uint32_t>(s.seqlen_q);
  arguments.seqlen_k = static_cast<std::uint32_t>(s.seqlen_k);
  arguments.heads_per_kv_head = static_cast<std::uint32_t>(s.heads / s.kv_heads);
  arguments.heads = static_cast<std::uint32_t>(s.heads);
  arguments.softmax_scale = inputs_.softmax_scale;
}

// Head after head, with padding also in front, so that rows before the first are seen as well.
PlacedProblem::Placed PlacedProblem::lay_out(std::int64_t heads, std::int64_t rows, std::int64_t row_bytes,
                                             std::int64_t pad_bytes, std::byte filler) const {
  Placed t{{}, {}, 0, inputs_.shape.batch, heads, rows, row_bytes};
  t.host.row = row_bytes + pad_bytes;
  t.host.head = (rows + placement_.pad_rows) * t.host.row;
  t.host.batch = heads * t.host.head;
  const std::int64_t front = placement_.pad_rows * t.host.row;
  t.bytes.assign(static_cast<std::size_t>(front + t.batch * t.host.batch), filler);
  t.first = front;
  if (placement_.heads_backwards) {
    t.first += (heads - 1) * t.host.head;
    t.host.head = -t.host.head;
  }
  if (placement_.batch_backwards) {
    t.first += (t.batch - 1) * t.host.batch;
    t.host.batch = -t.host.batch;
  }
  return t;
}

void PlacedProblem::fill(Placed& t, const void* values) const {
  const auto* from = static_cast<const std::uint8_t*>(values);
  for (std::int64_t b = 0; b < t.batch; ++b)
    for (std::int64_t r = 0; r < t.rows; ++r)
      for (std::int64_t h = 0; h < t.heads; ++h, from += t.row_bytes)
        std::memcpy(&t.bytes[static_cast<std::size_t>(t.at(b, h, r))], from, static_cast<std::size_t>(t.row_bytes));
}

std::uint64_t PlacedProblem::map(const char* name, Placed& t, TensorStrides& strides) {
  if (placement_.sparse_row_stride == 0) {
    strides = t.host;
    return memory_.place(name, t.bytes) + static_cast<std::uint64_t>(t.first);
  }
  if (placement_.pad_bytes != 0 || placement_.pad_rows != 0 || placement_.heads_backwards || t.batch != 1)
    throw Error("sparse rows go with one batch entry and no padding");
  // (row, head, dim): a row of all heads is one region.
  strides = {placement_.sparse_row_stride, t.row_bytes, t.rows * placement_.sparse_row_stride};
  const std::uint64_t base = sparse_address_;
  for (std::int64_t r = 0; r < t.rows; ++r)
    for (std::int64_t h = 0; h < t.heads; ++h)
      memory_.map(
          name, base + static_cast<std::uint64_t>(r * strides.row + h * strides.head),
          std::span(t.bytes).subspan(static_cast<std::size_t>(t.at(0, h, r)), static_cast<std::size_t>(t.row_bytes)));
  sparse_address_ += static_cast<std::uint64_t>(strides.batch) + (std::uint64_t{1} << 32);
  return base;
}

std::uint64_t PlacedProblem::map_descale(const char* name, const std::vector<float>& values,
                                         generator::DescaleStrides& strides) {
  strides = {4, std::int64_t{inputs_.shape.kv_heads} * 4};
  return memory_.place_read_only(name, std::as_bytes(std::span(values)));
}

void PlacedProblem::run(const Kernel& kernel) {
  const emulator::Result result =
      launch_on_emulator(kernel, arguments, inputs_.shape.heads, inputs_.shape.batch, memory_);
  if (result.trap) throw Error("{}", result.trap->message);
}

std::vector<std::uint16_t> PlacedProblem::o() const {
  std::vector<std::uint16_t> values;
  for (std::int64_t b = 0; b < o_.batch; ++b)
    for (std::int64_t r = 0; r < o_.rows; ++r)
      for (std::int64_t h = 0; h < o_.heads; ++h) {
        const std::size_t old = values.size();
        values.resize(old + static_cast<std::size_t>(o_.row_bytes / 2));
        std::memcpy(&values[old], &o_.bytes[static_cast<std::size_t>(o_.at(b, h, r))],
                    static_cast<std::size_t>(o_.row_bytes));
      }
  return values;
}

std::vector<float> PlacedProblem::lse() const {
  std::vector<float> values;
  for (std::int64_t b = 0; b < lse_.batch; ++b)
    for (std::int64_t h = 0; h < lse_.heads; ++h)
      for (std::int64_t r = 0; r < lse_.rows; ++r)
        std::memcpy(&values.emplace_back(), &lse_.bytes[static_cast<std::size_t>(lse_.at(b, h, r))], 4);
  return values;
}

std::int64_t PlacedProblem::overwritten_bytes() const {
  std::int64_t count = 0;
  for (const Placed* t : {&o_, &lse_}) {
    std::vector<bool> own(t->bytes.size());
    for (std::int64_t b = 0; b < t->batch; ++b)
      for (std::int64_t h = 0; h < t->heads; ++h)
        for (std::int64_t r = 0; r < t->rows; ++r) std::fill_n(own.begin() + t->at(b, h, r), t->row_bytes, true);
    for (std::size_t i = 0; i < own.size(); ++i) count += !own[i] && t->bytes[i] != pattern;
  }
  return count;
}

}  // namespace zyfa
