#include "generator/quantise_manifest.h"

#include "generator/machine_file.h"
#include "generator/manifest_fields.h"
#include "generator/plan.h"
#include "generator/sha256.h"

namespace zyfa::generator {
namespace {

using nlohmann::ordered_json;

constexpr std::uint32_t workspace_bytes_per_workgroup = 4;

ordered_json launch(const QuantisePlan& plan) {
  return {{"workgroup_size", {plan.workgroup_size(), 1, 1}},
          {"grid_unit", "workgroups"},
          {"grid", {{"x", fmt::format("ceil(rows / {})", plan.rows_per_workgroup())}, {"y", "heads"}, {"z", "batch"}}},
          {"rows_per_workgroup", plan.rows_per_workgroup()},
          {"phases",
           {{"count", 2},
            {"meaning",
             "the same grid twice, one after the other, with phase = 0 and phase = 1; keys before the queries whose "
             "descales follow theirs"}}},
          {"workspace",
           {{"bytes_per_workgroup", workspace_bytes_per_workgroup},
            {"meaning", "x * y * z times as many; needs no initial value, holds nothing of use after phase 1"}}},
          {"dynamic_lds_bytes", 0},
          {"empty_grid", "rows = 0 has nothing to compute: do not launch. No descale is written then"}};
}

ordered_json semantics(const QuantisePlan& plan) {
  const bool rotated = plan.config.rotation == Rotation::hadamard;
  return {{"x", "bf16"},
          {"codes",
           "OCP e4m3fn (not fnuz), rounded to nearest even; real value = code * descale of (batch, head / "
           "heads_per_scale)"},
          {"rotation", rotated ? fmt::format("each row times an orthonormal Walsh-Hadamard matrix of {} elements",
                                             plan.config.head_dim == 192 ? "128 and one of 64" : "128")
                               : "none"},
          {"descale",
           "largest finite |value| / 448, at least 2^-126, 1 where all are 0; with k_descale the least that makes the "
           "score factor a power of two, at least as large"},
          {"infinity and NaN",
           rotated ? "the codes of their block of 128 or 64 elements of the row are NaN; no part in the maximum"
                   : "a NaN code; no part in the maximum"}};
}

ordered_json limits() {
  return {{"x codes alignment_bytes", 16},
          {"x codes stride_alignment_bytes", 16},
          {"descale k_descale workspace alignment_bytes", 4},
          {"descale stride_alignment_bytes", 4},
          {"max_row_stride_bytes", max_row_stride_bytes},
          {"min_row_stride_bytes", "bytes of a row"},
          {"max_rows", max_seqlen},
          {"max_heads", max_heads},
          {"max_batch", max_batch},
          {"max_partial_maxima", max_partial_maxima},
          {"partial maxima", "heads_per_scale * x of the grid"}};
}

}  // namespace

ordered_json make_manifest(const QuantisePlan& plan, const KernelBody& body, const isa::Machine& machine,
                           std::span<const std::byte> code_object) {
  ordered_json manifest = manifest_head("quantise", plan.symbol, plan.config.code_object_version);
  manifest.update(
      {{"config", to_json(plan.config)},
       {"machine_overrides", changed_values(machine)},
       {"sha256", {{"code_object", sha256(code_object)}}},
       {"launch", launch(plan)},
       {"kernargs", {{"size", sizeof(QuantiseKernargs)}, {"fields", kernarg_table(quantise_kernarg_fields())}}},
       {"resources",
        {{"lds_bytes", plan.lds_bytes},
         {"vgprs", body.vgprs},
         {"agprs", body.agprs},
         {"sgprs", body.sgprs},
         {"waves_per_workgroup", plan.waves},
         {"waves_per_simd", isa::waves_per_simd(machine, body.vgprs + body.agprs)},
         {"instructions", body.program.code.size()}}},
       {"register_map", register_map(body)},
       {"semantics", semantics(plan)},
       {"limits", limits()}});
  return manifest;
}

QuantiseManifest quantise_manifest_from_json(const nlohmann::json& json, const std::string& source) {
  check_kind(json, "quantise", source);
  const auto rows = need<std::uint32_t>(json, {"launch", "rows_per_workgroup"}, source);
  if (rows == 0) throw Error("{}: manifest's 'launch.rows_per_workgroup' is 0", source);
  return {need<std::string>(json, {"symbol"}, source),
          quantise_config_from_json(need<nlohmann::json>(json, {"config"}, source), source),
          rows,
          workgroup_size(json, source),
          need<std::uint32_t>(json, {"launch", "workspace", "bytes_per_workgroup"}, source),
          need<std::uint32_t>(json, {"kernargs", "size"}, source),
          need<std::uint32_t>(json, {"resources", "lds_bytes"}, source),
          need<std::int64_t>(json, {"limits", "max_row_stride_bytes"}, source),
          need<std::string>(json, {"sha256", "code_object"}, source),
          read_map<NamedRegisters>(json, "register_map", source, named_registers)};
}

}  // namespace zyfa::generator
