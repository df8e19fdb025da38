#include "generator/kernargs.h"

namespace zyfa::generator {
namespace {

// clang-format off
#define POINTER(field, type, meaning) \
  {#field, offsetof(Kernargs, field), 8, "global_buffer", type, "address", meaning},
#define STRIDE(name, field, meaning) \
  {name, offsetof(Kernargs, field), 8, "by_value", "i64", "bytes", meaning},
#define STRIDES(tensor) \
  STRIDE(#tensor "_row_stride", tensor##_stride.row, "from one row of a head to the next") \
  STRIDE(#tensor "_head_stride", tensor##_stride.head, "from one head to the next") \
  STRIDE(#tensor "_batch_stride", tensor##_stride.batch, "from one batch entry to the next")
#define HEAD_STRIDES(tensor, whose) \
  STRIDE(#tensor "_head_stride", tensor##_stride.head, "from one " whose " to the next") \
  STRIDE(#tensor "_batch_stride", tensor##_stride.batch, "from one batch entry to the next")
#define VALUE(field, type, unit, meaning) \
  {#field, offsetof(Kernargs, field), 4, "by_value", type, unit, meaning},

namespace attention {
using Kernargs = AttentionKernargs;
constexpr KernargField fields[] = {
  POINTER(q, "e4m3fn", "queries, rows of head_dim bytes")
  POINTER(k, "e4m3fn", "keys, rows of head_dim bytes")
  POINTER(v, "e4m3fn", "values, rows of v_head_dim bytes")
  POINTER(o, "bf16", "output, rows of v_head_dim elements")
  POINTER(lse, "f32", "log-sum-exp of each row, natural logarithm; not read without the LSE option")
  POINTER(q_descale, "f32", "real query = code * descale, one per batch entry and key/value head")
  POINTER(k_descale, "f32", "real key = code * descale, likewise")
  POINTER(v_descale, "f32", "real value = code * descale, likewise")
  STRIDES(q)
  STRIDES(k)
  STRIDES(v)
  STRIDES(o)
  HEAD_STRIDES(lse, "query head")
  HEAD_STRIDES(q_descale, "key/value head")
  HEAD_STRIDES(k_descale, "key/value head")
  HEAD_STRIDES(v_descale, "key/value head")
  VALUE(seqlen_q, "u32", "rows", "queries of every batch entry; may be 0")
  VALUE(seqlen_k, "u32", "rows", "keys of every batch entry; may be 0")
  VALUE(heads_per_kv_head, "u32", "heads", "query heads that share a key/value head; any number from 1")
  VALUE(softmax_scale, "f32", "1", "multiplies the logits; finite and not negative")
  VALUE(heads, "u32", "heads", "query heads, as the grid has them")
};
}  // namespace attention

namespace quantise {
using Kernargs = QuantiseKernargs;
constexpr KernargField fields[] = {
  POINTER(x, "bf16", "queries, keys or values, rows of head_dim elements")
  POINTER(codes, "e4m3fn", "written in phase 1, rows of head_dim bytes")
  POINTER(descale, "f32", "written in phase 1: real value = code * descale, one per batch entry and key/value head")
  POINTER(k_descale, "f32", "null, or what the keys were given: descales then make softmax_scale * descale * k_descale * log2(e) a power of two; read in phase 1")
  POINTER(workspace, "f32", "a partial maximum of each workgroup of the grid, written in phase 0, read in phase 1")
  STRIDES(x)
  STRIDES(codes)
  HEAD_STRIDES(descale, "key/value head")
  HEAD_STRIDES(k_descale, "key/value head")
  VALUE(rows, "u32", "rows", "of every batch entry and head; may be 0")
  VALUE(heads, "u32", "heads", "of x and codes, as the grid has them")
  VALUE(heads_per_scale, "u32", "heads", "that share a descale: of queries the query heads of a key/value head, else 1")
  VALUE(phase, "u32", "1", "0: maxima; 1: scale and round")
  VALUE(softmax_scale, "f32", "1", "as the attention kernel gets it; not used where k_descale is null")
};
}  // namespace quantise
// clang-format on

constexpr bool are_packed(std::span<const KernargField> fields, std::size_t size) {
  std::uint32_t next = 0;
  for (const KernargField& field : fields) {
    if (field.offset != next) return false;
    next += field.size;
  }
  constexpr std::size_t alignment = alignof(std::uint64_t);
  return (next + alignment - 1) / alignment * alignment == size;
}
static_assert(are_packed(attention::fields, sizeof(AttentionKernargs)));
static_assert(are_packed(quantise::fields, sizeof(QuantiseKernargs)));

}  // namespace

std::span<const KernargField> attention_kernarg_fields() { return attention::fields; }
std::span<const KernargField> quantise_kernarg_fields() { return quantise::fields; }

}  // namespace zyfa::generator
