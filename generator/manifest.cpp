#include "generator/manifest.h"

#include "generator/kernargs.h"
#include "generator/machine_file.h"
#include "generator/manifest_fields.h"
#include "generator/sha256.h"

#include <bit>

namespace zyfa::generator {
namespace {

using nlohmann::ordered_json;

ordered_json kernargs(const AttentionPlan& plan) {
  ordered_json fields = kernarg_table(attention_kernarg_fields());
  if (plan.config.q_dtype == QueryType::bf16)
    for (ordered_json& field : fields) {
      if (field["name"] == "q") field.update({{"type", "bf16"}, {"meaning", "queries, rows of head_dim elements"}});
      if (field["name"] == "q_descale") field["meaning"] = "not read: queries are bf16";
    }
  return {{"size", sizeof(AttentionKernargs)}, {"fields", fields}};
}

ordered_json launch(const AttentionPlan& plan, const isa::Machine& machine) {
  return {
      {"workgroup_size", {plan.workgroup_size(), 1, 1}},
      {"grid_unit", "workgroups"},
      {"grid",
       {{"x", fmt::format("ceil(seqlen_q / {})", plan.queries_per_workgroup())}, {"y", "query heads"}, {"z", "batch"}}},
      {"queries_per_workgroup", plan.queries_per_workgroup()},
      {"order",
       {{"dies", machine.dies},
        {"meaning",
         "workgroup i of the n = x * y of a batch entry works on the one with the number (i mod dies) * floor(n / "
         "dies) + min(i mod dies, n mod dies) + floor(i / dies), so that each die has heads of its own"}}},
      {"dynamic_lds_bytes", 0},
      {"empty_grid", "seqlen_q = 0 has nothing to compute: do not launch"}};
}

ordered_json semantics(const AttentionPlan& plan) {
  ordered_json semantics = {
      {"q k v", "OCP e4m3fn (not fnuz); real value = code * descale of (batch, key/value head)"},
      {"o", "bf16"},
      {"lse",
       plan.config.lse ? "f32, natural logarithm, scale and descales included, [batch, head, query]" : "not written"},
      {"mask", plan.config.causal ? "causal, bottom-right: key j is visible to query i iff j <= i + seqlen_k - seqlen_q"
                                  : "none"},
      {"empty rows", "o = 0, lse = -infinity"},
      {"key/value head of query head h", "h / heads_per_kv_head, rounded down"},
      {"score_scale", plan.config.score_scale == ScoreScaling::folded
                          ? "folded into the matrix product, which has to keep denormals: whether gfx950 does is not "
                            "known. If it flushes them, o is NaN"
                          : "multiply-add"},
      {"softmax",
       fmt::format("{}; probabilities lifted by {}, rounded to e4m3 and divided by their rounded sum",
                   name(plan.config.softmax),
                   plan.config.score_scale == ScoreScaling::folded
                       ? fmt::format("2^{} or 2^{}", plan.folded_code / 8 - 7, plan.folded_code_of_lone_key / 8 - 7)
                       : fmt::format("2^{}", plan.lift_log2))}};
  if (plan.config.q_dtype == QueryType::bf16)
    semantics["q"] =
        "bf16, finite; each query times the mantissa of softmax_scale * k_descale * log2(e) is rounded to e4m3 "
        "relative to a power of two of its own. q_descale has no part in it";
  return semantics;
}

ordered_json schedule(const AttentionPlan& plan) {
  const bool chosen = plan.config.schedule == "auto";
  const char* from = plan.record ? "the least score of what is recorded" : "the default, nothing is recorded";
  ordered_json json = {{"family", family(plan.schedule)},
                       {"chosen", fmt::format("{}: {}", chosen ? "auto" : "by name", from)},
                       {"parameters", parameters_to_json(plan.schedule)},
                       {"modelled", nullptr}};
  if (!plan.record) return json;
  const ordered_json record = to_json(*plan.record);
  json["modelled"] = {{"problem", record["problem"]},
                      {"clk", record["clk"]},
                      {"default_clk", record["default_clk"]},
                      {"score", record["score"]}};
  return json;
}

ordered_json limits(const AttentionPlan& plan) {
  ordered_json limits = {{"q k v o alignment_bytes", 16},
                         {"q k v o stride_alignment_bytes", 16},
                         {"lse and descale alignment_bytes", 4},
                         {"lse and descale stride_alignment_bytes", 4},
                         {"max_row_stride_bytes", max_row_stride_bytes},
                         {"min_row_stride_bytes", "bytes of a row"},
                         {"max_seqlen", max_seqlen},
                         {"max_heads", max_heads},
                         {"max_batch", max_batch},
                         {"softmax_scale", "finite, >= 0"},
                         {"descales", "finite, > 0; v_descale may have any sign"}};
  if (plan.config.needs_power_of_two_factor())
    limits["softmax_scale * q_descale * k_descale * log2(e)"] =
        "a power of two, to within 2^-20 of itself, 0, below 2^-96 or above 2^27; else o is NaN";
  if (plan.config.score_scale == ScoreScaling::folded)
    limits["logits"] =
        "up to 2^17 octaves in magnitude; beyond, keys that weigh as much as the row's first largest may be left out";
  return limits;
}

ordered_json lds_map(const LdsPlan& lds) {
  ordered_json map = ordered_json::array();
  for (int i = 0; i < LdsPlan::buffers; ++i) {
    const auto add = [&](const char* tile, int offset, int slices) {
      map.push_back({{"name", fmt::format("{} tile, buffer {}", tile, i)},
                     {"offset", i * lds.buffer_stride + offset},
                     {"bytes", slices * LdsPlan::slice_stride}});
    };
    add("K", lds.k_offset, lds.k_slices);
    add("V", lds.v_offset, lds.v_slices);
  }
  return map;
}

ordered_json skipping_ways(const isa::Program& program) {
  ordered_json ways = ordered_json::array();
  for (const auto& [instruction, label] : program.labels)
    for (int zero_blocks = 0; zero_blocks < 4; ++zero_blocks)
      if (label.starts_with(way_without(zero_blocks)))
        ways.push_back({{"instruction", instruction}, {"skipped", std::popcount(static_cast<unsigned>(zero_blocks))}});
  return ways;
}

LdsRegion lds_region(const nlohmann::json& json, const std::string& source) {
  return {need<std::string>(json, {"name"}, source), need<std::uint32_t>(json, {"offset"}, source),
          need<std::uint32_t>(json, {"bytes"}, source)};
}

SkippingWay skipping_way(const nlohmann::json& json, const std::string& source) {
  return {need<std::uint32_t>(json, {"instruction"}, source), need<int>(json, {"skipped"}, source)};
}

}  // namespace

ordered_json make_manifest(const AttentionPlan& plan, const KernelBody& body, const isa::Machine& machine,
                           std::span<const std::byte> code_object) {
  const int waves_per_simd = isa::waves_per_simd(machine, body.vgprs + body.agprs);
  ordered_json manifest = manifest_head("attention", plan.symbol, plan.config.code_object_version);
  manifest.update({{"config", to_json(plan.config)},
                   {"schedule", schedule(plan)},
                   {"machine_overrides", changed_values(machine)},
                   {"sha256", {{"code_object", sha256(code_object)}}},
                   {"launch", launch(plan, machine)},
                   {"kernargs", kernargs(plan)},
                   {"resources",
                    {{"lds_bytes", plan.lds.total_bytes()},
                     {"vgprs", body.vgprs},
                     {"agprs", body.agprs},
                     {"sgprs", body.sgprs},
                     {"waves_per_workgroup", plan.waves()},
                     {"waves_per_simd", waves_per_simd},
                     {"instructions", body.program.code.size()}}},
                   {"tile", {{"queries_per_wave", plan.queries_per_wave()}, {"keys", plan.keys_per_tile}}},
                   {"register_map", register_map(body)},
                   {"lds_map", lds_map(plan.lds)},
                   {"skipping_ways", skipping_ways(body.program)},
                   {"semantics", semantics(plan)},
                   {"limits", limits(plan)}});
  return manifest;
}

Manifest manifest_from_json(const nlohmann::json& json, const std::string& source) {
  check_kind(json, "attention", source);
  const auto workgroup = workgroup_size(json, source);
  const auto queries = need<std::uint32_t>(json, {"launch", "queries_per_workgroup"}, source);
  if (queries == 0) throw Error("{}: manifest's 'launch.queries_per_workgroup' is 0", source);
  return {need<std::string>(json, {"symbol"}, source),
          config_from_json(need<nlohmann::json>(json, {"config"}, source), source),
          queries,
          workgroup,
          need<int>(json, {"launch", "order", "dies"}, source),
          need<std::uint32_t>(json, {"kernargs", "size"}, source),
          need<std::uint32_t>(json, {"resources", "lds_bytes"}, source),
          need<std::int64_t>(json, {"limits", "max_row_stride_bytes"}, source),
          need<std::string>(json, {"sha256", "code_object"}, source),
          read_map<NamedRegisters>(json, "register_map", source, named_registers),
          read_map<LdsRegion>(json, "lds_map", source, lds_region),
          read_map<SkippingWay>(json, "skipping_ways", source, skipping_way)};
}

Manifest read_manifest(const std::filesystem::path& file) {
  return manifest_from_json(read_json_file(file), file.string());
}

}  // namespace zyfa::generator
