#include "runtime_loader/quantise_launch.h"

#include "generator/plan.h"
#include "isa/error.h"
#include "runtime_loader/launch_rules.h"

#include <cmath>

namespace zyfa::runtime {
namespace {

using generator::QuantiseManifest;
using generator::TensorStrides;

constexpr std::int64_t bf16_bytes = 2;

void check_extents(std::int64_t batch, std::int64_t rows, std::int64_t heads) {
  if (batch < 1 || batch > generator::max_batch)
    throw Error("a batch of {}; the kernel takes 1 to {}", batch, generator::max_batch);
  if (rows < 0 || rows > generator::max_seqlen)
    throw Error("{} rows; the kernel takes 0 to {}", rows, generator::max_seqlen);
  if (heads < 1 || heads > generator::max_heads)
    throw Error("{} heads; the kernel takes 1 to {}", heads, generator::max_heads);
}

// Rows of the tensor, whose row stride is of no account where there is one alone.
TensorStrides checked(std::string_view name, std::uint64_t address, TensorStrides stride, std::int64_t rows,
                      std::int64_t row_bytes, std::int64_t max_row_stride) {
  if (rows <= 1) stride.row = row_bytes;
  check_tensor(name, address, stride, rows, row_bytes, max_row_stride);
  return stride;
}

std::uint32_t workgroups_of_head(const QuantiseManifest& manifest, std::int64_t rows) {
  return static_cast<std::uint32_t>((rows + manifest.rows_per_workgroup - 1) / manifest.rows_per_workgroup);
}

}  // namespace

std::uint64_t quantise_workspace_bytes(const QuantiseManifest& manifest, std::int64_t batch, std::int64_t rows,
                                       std::int64_t heads) {
  check_extents(batch, rows, heads);
  return std::uint64_t{manifest.workspace_bytes_per_workgroup} * workgroups_of_head(manifest, rows) *
         static_cast<std::uint64_t>(heads) * static_cast<std::uint64_t>(batch);
}

QuantiseLaunches quantise_launches(const QuantiseManifest& manifest, const QuantiseProblem& p) {
  check_extents(p.batch, p.rows, p.heads);
  if (p.heads_per_scale < 1 || p.heads % p.heads_per_scale != 0)
    throw Error("{} heads are no multiple of the {} that share a descale", p.heads, p.heads_per_scale);
  const std::uint32_t workgroups = workgroups_of_head(manifest, p.rows);
  if (p.heads_per_scale * workgroups > generator::max_partial_maxima)
    throw Error("{} heads of {} rows share a descale, which are {} workgroups; the kernel takes {}", p.heads_per_scale,
                p.rows, p.heads_per_scale * workgroups, generator::max_partial_maxima);
  const std::int64_t dim = manifest.config.head_dim;
  generator::QuantiseKernargs args{};
  args.x = p.x;
  args.codes = p.codes;
  args.descale = p.descale;
  args.k_descale = p.k_descale;
  args.workspace = p.workspace;
  args.x_stride = checked("x", p.x, p.x_stride, p.rows, dim * bf16_bytes, manifest.max_row_stride_bytes);
  args.codes_stride = checked("codes", p.codes, p.codes_stride, p.rows, dim, manifest.max_row_stride_bytes);
  args.descale_stride = p.descale_stride;
  args.k_descale_stride = p.k_descale_stride;
  args.rows = static_cast<std::uint32_t>(p.rows);
  args.heads = static_cast<std::uint32_t>(p.heads);
  args.heads_per_scale = static_cast<std::uint32_t>(p.heads_per_scale);
  args.softmax_scale = p.softmax_scale;
  check_values("descale", p.descale, p.descale_stride);
  check_values("workspace", p.workspace, {});
  if (p.k_descale != 0) {
    check_values("k_descale", p.k_descale, p.k_descale_stride);
    if (!(p.softmax_scale >= 0) || !std::isfinite(p.softmax_scale))
      throw Error("softmax_scale is {}; it must be finite and not negative", p.softmax_scale);
  }
  QuantiseLaunches launches{
      {{workgroups, args.heads, static_cast<std::uint32_t>(p.batch)}, {manifest.workgroup_size, 1, 1}}, {args, args}};
  launches.phases[1].phase = 1;
  return launches;
}

}  // namespace zyfa::runtime
