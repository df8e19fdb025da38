#include "tests/support/library_call.h"

#include <limits>

namespace zyfa {
namespace {

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

zyfa_tensor tensor(std::uint64_t address, const generator::TensorStrides& stride) {
  return {pointer(address), stride.row, stride.head, stride.batch};
}

zyfa_values values(std::uint64_t address, const generator::DescaleStrides& stride) {
  return {static_cast<float*>(pointer(address)), stride.head, stride.batch};
}

}  // namespace

zyfa_attention library_arguments(const runtime::AttentionShape& shape, const generator::AttentionKernargs& a) {
  return {.q = tensor(a.q, a.q_stride),
          .k = tensor(a.k, a.k_stride),
          .v = tensor(a.v, a.v_stride),
          .o = tensor(a.o, a.o_stride),
          .lse = values(a.lse, a.lse_stride),
          .q_descale = values(a.q_descale, a.q_descale_stride),
          .k_descale = values(a.k_descale, a.k_descale_stride),
          .v_descale = values(a.v_descale, a.v_descale_stride),
          .batch = shape.batch,
          .heads = shape.heads,
          .kv_heads = shape.kv_heads,
          .seqlen_q = shape.seqlen_q,
          .seqlen_k = shape.seqlen_k,
          .softmax_scale = a.softmax_scale};
}

HostCall::HostCall(const runtime::AttentionInputs& inputs, runtime::Layout layout)
    : problem_(inputs, layout, [](const char*, std::span<const std::byte> bytes) {
        return reinterpret_cast<std::uint64_t>(bytes.data());
      }) {
  const runtime::AttentionShape& s = inputs.shape;
  const auto rows =
      static_cast<std::size_t>(s.batch) * static_cast<std::size_t>(s.heads) * static_cast<std::size_t>(s.seqlen_q);
  o.assign(rows * static_cast<std::size_t>(s.v_head_dim), 0xffff);
  lse.assign(rows, std::numeric_limits<float>::quiet_NaN());
  problem_.arguments.o = reinterpret_cast<std::uint64_t>(o.data());
  problem_.arguments.lse = reinterpret_cast<std::uint64_t>(lse.data());
  arguments = library_arguments(s, problem_.arguments);
}

}  // namespace zyfa
