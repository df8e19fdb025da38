#include "runtime_loader/launch_rules.h"

#include "generator/plan.h"
#include "isa/error.h"

#include <algorithm>

namespace zyfa::runtime {
using generator::AttentionConfig;
using generator::AttentionKernargs;
using generator::DescaleStrides;
using generator::TensorStrides;

void check_tensor(std::string_view name, std::uint64_t address, const TensorStrides& stride, std::int64_t rows,
                  std::int64_t row_bytes, std::int64_t max_row_stride) {
  if (rows == 0) return;
  if (address % tensor_alignment_bytes != 0)
    throw Error("{} is at {:#x}; the kernel needs a multiple of {} bytes", name, address, tensor_alignment_bytes);
  for (const std::int64_t bytes : {stride.row, stride.head, stride.batch})
    if (bytes % tensor_alignment_bytes != 0)
      throw Error("{} has a stride of {} bytes; the kernel needs multiples of {}", name, bytes, tensor_alignment_bytes);
  if (rows > 1 && (stride.row < row_bytes || stride.row > max_row_stride))
    throw Error("{} has a row stride of {} bytes; the kernel takes {} to {}", name, stride.row, row_bytes,
                max_row_stride);
}

void check_values(std::string_view name, std::uint64_t address, const DescaleStrides& stride) {
  if (address % value_alignment_bytes != 0)
    throw Error("{} is at {:#x}; the kernel needs a multiple of {} bytes", name, address, value_alignment_bytes);
  for (const std::int64_t bytes : {stride.head, stride.batch})
    if (bytes % value_alignment_bytes != 0)
      throw Error("{} has a stride of {} bytes; the kernel needs multiples of {}", name, bytes, value_alignment_bytes);
}

LaunchGrid attention_grid(const generator::Manifest& manifest, std::uint32_t seqlen_q, std::uint32_t heads,
                          std::uint32_t batch) {
  const std::uint64_t per_workgroup = manifest.queries_per_workgroup;
  return {{static_cast<std::uint32_t>((seqlen_q + per_workgroup - 1) / per_workgroup), heads, batch},
          {manifest.workgroup_size, 1, 1}};
}

void check_limits(const generator::Manifest& manifest, const AttentionKernargs& args, int heads, int batch) {
  const AttentionConfig& config = manifest.config;
  const std::int64_t limit = manifest.max_row_stride_bytes;
  check_tensor("q", args.q, args.q_stride, args.seqlen_q, std::int64_t{config.head_dim} * config.q_element_bytes(),
               limit);
  check_tensor("k", args.k, args.k_stride, args.seqlen_k, config.head_dim, limit);
  check_tensor("v", args.v, args.v_stride, args.seqlen_k, config.v_head_dim, limit);
  check_tensor("o", args.o, args.o_stride, args.seqlen_q, std::int64_t{config.v_head_dim} * 2, limit);
  if (config.lse) check_values("lse", args.lse, args.lse_stride);
  if (config.q_dtype == generator::QueryType::fp8) check_values("q_descale", args.q_descale, args.q_descale_stride);
  check_values("k_descale", args.k_descale, args.k_descale_stride);
  check_values("v_descale", args.v_descale, args.v_descale_stride);
  if (std::max(args.seqlen_q, args.seqlen_k) > generator::max_seqlen)
    throw Error("a sequence of {} rows is longer than the kernel's limit of {}", std::max(args.seqlen_q, args.seqlen_k),
                generator::max_seqlen);
  if (args.heads != static_cast<std::uint32_t>(heads))
    throw Error("the arguments speak of {} query heads, the grid has {}", args.heads, heads);
  if (heads > generator::max_heads)
    throw Error("{} query heads are more than the kernel's limit of {}", heads, generator::max_heads);
  if (batch > generator::max_batch)
    throw Error("{} batch entries are more than the kernel's limit of {}", batch, generator::max_batch);
}

void check_suits(const generator::Manifest& manifest, const AttentionInputs& inputs) {
  const AttentionConfig& config = manifest.config;
  const AttentionShape& s = inputs.shape;
  if (config.head_dim != s.head_dim || config.v_head_dim != s.v_head_dim)
    throw Error("kernel {} is for head dims {} and {}, the inputs have {} and {}", manifest.symbol, config.head_dim,
                config.v_head_dim, s.head_dim, s.v_head_dim);
  if (config.causal != s.causal)
    throw Error("kernel {} is {}causal, the problem is {}causal", manifest.symbol, config.causal ? "" : "not ",
                s.causal ? "" : "not ");
  if ((config.q_dtype == generator::QueryType::bf16) != inputs.q_bf16.has_value())
    throw Error("kernel {} takes {} queries, the problem has {} ones", manifest.symbol, name(config.q_dtype),
                inputs.q_bf16 ? "bf16" : "fp8");
  if (config.needs_power_of_two_factor()) check_power_of_two_factors(inputs);
}

}  // namespace zyfa::runtime
