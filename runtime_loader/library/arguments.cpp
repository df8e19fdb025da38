#include "runtime_loader/library/arguments.h"

#include "generator/manifest_fields.h"
#include "generator/plan.h"
#include "runtime_loader/launch_rules.h"
#include "runtime_loader/library/failure.h"

#include <cmath>
#include <initializer_list>
#include <utility>

namespace zyfa::runtime {
namespace {

using generator::AttentionConfig;
using generator::AttentionKernargs;

std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

generator::TensorStrides strides(const zyfa_tensor& tensor) {
  return {tensor.row_stride, tensor.head_stride, tensor.batch_stride};
}

generator::DescaleStrides strides(const zyfa_values& values) { return {values.head_stride, values.batch_stride}; }

// `Arguments` has batch, heads, kv_heads and softmax_scale.
template <class Arguments>
void check_extents(const Arguments& a, std::initializer_list<std::pair<const char*, std::int64_t>> seqlens) {
  for (const auto& [name, value] : {std::pair{"batch", a.batch}, {"heads", a.heads}, {"kv_heads", a.kv_heads}})
    if (value < 1) throw Failure(ZYFA_INVALID_ARGUMENT, "{} is {}; at least 1 is accepted", name, value);
  if (a.heads % a.kv_heads != 0)
    throw Failure(ZYFA_INVALID_ARGUMENT, "heads ({}) is no multiple of kv_heads ({})", a.heads, a.kv_heads);
  for (const auto& [name, value] : seqlens)
    if (value < 0 || value > generator::max_seqlen)
      throw Failure(ZYFA_INVALID_ARGUMENT, "{} is {}; 0 to {} are accepted", name, value, generator::max_seqlen);
  if (!std::isfinite(a.softmax_scale) || a.softmax_scale < 0)
    throw Failure(ZYFA_INVALID_ARGUMENT, "softmax_scale is {}; a finite number of 0 or more is accepted",
                  a.softmax_scale);
}

struct Needed {
  const char* name;
  const void* pointer;
  bool needed;
};

void check_pointers(std::initializer_list<Needed> pointers) {
  for (const auto& [name, pointer, needed] : pointers)
    if (needed && !pointer) throw Failure(ZYFA_INVALID_ARGUMENT, "{} is null", name);
}

void check_pointers(const AttentionConfig& config, const zyfa_attention& a) {
  const bool queries = a.seqlen_q > 0, keys = queries && a.seqlen_k > 0;
  check_pointers({{"q", a.q.data, queries},
                  {"k", a.k.data, keys},
                  {"v", a.v.data, keys},
                  {"o", a.o.data, queries},
                  {"lse", a.lse.data, queries && config.lse},
                  // Kernels read these before they know that there are no keys.
                  {"q_descale", a.q_descale.data, queries && config.q_dtype == generator::QueryType::fp8},
                  {"k_descale", a.k_descale.data, queries},
                  {"v_descale", a.v_descale.data, queries}});
}

}  // namespace

AttentionKernargs attention_kernargs(const generator::Manifest& manifest, const zyfa_attention& a) {
  check_extents(a, {{"seqlen_q", a.seqlen_q}, {"seqlen_k", a.seqlen_k}});
  check_pointers(manifest.config, a);
  const AttentionKernargs kernargs = {.q = address(a.q.data),
                                      .k = address(a.k.data),
                                      .v = address(a.v.data),
                                      .o = address(a.o.data),
                                      .lse = address(a.lse.data),
                                      .q_descale = address(a.q_descale.data),
                                      .k_descale = address(a.k_descale.data),
                                      .v_descale = address(a.v_descale.data),
                                      .q_stride = strides(a.q),
                                      .k_stride = strides(a.k),
                                      .v_stride = strides(a.v),
                                      .o_stride = strides(a.o),
                                      .lse_stride = strides(a.lse),
                                      .q_descale_stride = strides(a.q_descale),
                                      .k_descale_stride = strides(a.k_descale),
                                      .v_descale_stride = strides(a.v_descale),
                                      .seqlen_q = static_cast<std::uint32_t>(a.seqlen_q),
                                      .seqlen_k = static_cast<std::uint32_t>(a.seqlen_k),
                                      .heads_per_kv_head = static_cast<std::uint32_t>(a.heads / a.kv_heads),
                                      .softmax_scale = a.softmax_scale,
                                      .heads = static_cast<std::uint32_t>(a.heads)};
  with_status(ZYFA_INVALID_ARGUMENT, [&] { check_limits(manifest, kernargs, a.heads, a.batch); });
  return kernargs;
}

std::size_t quantise_workspace(const generator::QuantiseManifest& manifest, const zyfa_quantise& a) {
  check_extents(a, {{"seqlen", a.seqlen}});
  return with_status(ZYFA_INVALID_ARGUMENT,
                     [&] { return quantise_workspace_bytes(manifest, a.batch, a.seqlen, a.heads); });
}

QuantiseLaunches quantise_launches(const generator::QuantiseManifest& manifest, const zyfa_quantise& a) {
  const std::size_t needed = quantise_workspace(manifest, a);
  if (a.workspace_bytes < needed)
    throw Failure(ZYFA_INVALID_ARGUMENT, "workspace_bytes is {}; the launch needs {}", a.workspace_bytes, needed);
  return with_status(ZYFA_INVALID_ARGUMENT, [&] { return quantise_launches(manifest, quantise_problem(a)); });
}

QuantiseProblem quantise_problem(const zyfa_quantise& a) {
  check_extents(a, {{"seqlen", a.seqlen}});
  check_pointers({{"x", a.x.data, a.seqlen > 0},
                  {"codes", a.codes.data, a.seqlen > 0},
                  {"descale", a.descale.data, a.seqlen > 0},
                  {"workspace", a.workspace, a.seqlen > 0}});
  return {.batch = a.batch,
          .rows = a.seqlen,
          .heads = a.heads,
          .heads_per_scale = a.heads / a.kv_heads,
          .x = address(a.x.data),
          .codes = address(a.codes.data),
          .descale = address(a.descale.data),
          .workspace = address(a.workspace),
          .x_stride = strides(a.x),
          .codes_stride = strides(a.codes),
          .descale_stride = strides(a.descale),
          .k_descale = address(a.k_descale.data),
          .k_descale_stride = strides(a.k_descale),
          .softmax_scale = a.softmax_scale};
}

bool has_known_version(const nlohmann::json& manifest) {
  const auto version = manifest.is_object() ? manifest.find("manifest_version") : manifest.end();
  return version == manifest.end() || !version->is_number_integer() || *version == generator::manifest_version;
}

zyfa_kernel_traits traits_of(const generator::Manifest& manifest) {
  const AttentionConfig& config = manifest.config;
  return {.kind = ZYFA_ATTENTION,
          .head_dim = config.head_dim,
          .v_head_dim = config.v_head_dim,
          .causal = config.causal,
          .lse = config.lse,
          .q_type = config.q_dtype == generator::QueryType::bf16 ? ZYFA_QUERY_BF16 : ZYFA_QUERY_FP8,
          .softmax = config.softmax == generator::Softmax::lean ? ZYFA_SOFTMAX_LEAN : ZYFA_SOFTMAX_EXACT,
          .folded = config.score_scale == generator::ScoreScaling::folded,
          .hadamard = 0};
}

zyfa_kernel_traits traits_of(const generator::QuantiseManifest& manifest) {
  zyfa_kernel_traits traits{};
  traits.kind = ZYFA_QUANTISE;
  traits.head_dim = manifest.config.head_dim;
  traits.hadamard = manifest.config.rotation == generator::Rotation::hadamard;
  return traits;
}

}  // namespace zyfa::runtime
