// The kernel's arguments as they lie in memory: the host fills this struct, the schedules load from its offsets, the
// manifest and the code object's metadata list its fields. All strides are in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace zyfa::generator {

struct TensorStrides {
  std::int64_t row;    // from one query, key or value of a head to the next
  std::int64_t head;   // from one head to the next; the query head for Q and O, the key/value head for K and V
  std::int64_t batch;  // from one batch entry to the next
};

struct DescaleStrides {
  std::int64_t head;  // from one key/value head to the next; 0 repeats one value
  std::int64_t batch;
};

struct AttentionKernargs {
  std::uint64_t q, k, v, o, lse, q_descale, k_descale, v_descale;
  TensorStrides q_stride, k_stride, v_stride, o_stride;
  DescaleStrides lse_stride;  // rows of the LSE are dense
  DescaleStrides q_descale_stride, k_descale_stride, v_descale_stride;
  std::uint32_t seqlen_q, seqlen_k;
  std::uint32_t heads_per_kv_head;
  float softmax_scale;
  std::uint32_t heads;
};
static_assert(sizeof(AttentionKernargs) == 248);

// Of the kernel that quantises (generator/quantise.h), launched twice with another `phase`.
struct QuantiseKernargs {
  std::uint64_t x, codes, descale, k_descale, workspace;
  TensorStrides x_stride, codes_stride;
  DescaleStrides descale_stride, k_descale_stride;
  std::uint32_t rows, heads, heads_per_scale;
  std::uint32_t phase;  // 0: maxima; 1: scale and round
  float softmax_scale;
};
static_assert(sizeof(QuantiseKernargs) == 144);

struct KernargField {
  std::string_view name;
  std::uint32_t offset;
  std::uint32_t size;        // bytes
  std::string_view kind;     // "global_buffer" or "by_value", as in the code object's metadata
  std::string_view type;     // of the value, or of the elements pointed to
  std::string_view unit;     // "bytes", "rows", ...
  std::string_view meaning;  // one line
};

std::span<const KernargField> attention_kernarg_fields();
std::span<const KernargField> quantise_kernarg_fields();

}  // namespace zyfa::generator
