#include "generator/plan.h"

#include "isa/error.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace zyfa::generator {
namespace {

constexpr SupportedShape shapes[] = {
    {DataType::fp8_e4m3fn, 128, 128, Softmax::lean},
    {DataType::fp8_e4m3fn, 128, 128, Softmax::exact},
    {DataType::fp8_e4m3fn, 192, 128, Softmax::lean},
    {DataType::fp8_e4m3fn, 192, 128, Softmax::exact},
    {DataType::fp8_e4m3fn, 128, 128, Softmax::lean, ScoreScaling::folded},
    {DataType::fp8_e4m3fn, 192, 128, Softmax::lean, ScoreScaling::folded},
};

bool offers(const SupportedShape& shape, const AttentionConfig& config) {
  return shape.dtype == config.dtype && shape.head_dim == config.head_dim && shape.v_head_dim == config.v_head_dim &&
         shape.softmax == config.softmax && shape.score_scale == config.score_scale;
}

// The configuration spelled out, so that a symbol can be told apart by eye and two kernels never share one.
std::string symbol_of(const AttentionConfig& config) {
  const std::string dims = config.head_dim == config.v_head_dim
                               ? std::to_string(config.head_dim)
                               : fmt::format("{}x{}", config.head_dim, config.v_head_dim);
  const std::string container =
      config.code_object_version == 5 ? "" : fmt::format("_cov{}", config.code_object_version);
  std::string schedule = config.schedule == "auto" ? "" : "_" + config.schedule;
  std::ranges::replace(schedule, '-', '_');
  const char* queries = config.q_dtype == QueryType::bf16 ? "_qbf16" : "";
  const char* folded = config.score_scale == ScoreScaling::folded ? "_folded" : "";
  return fmt::format("zyfa_fwd_hd{}_{}{}_{}{}_{}{}{}{}{}_gfx950", dims, name(config.dtype), queries,
                     name(config.softmax), folded, config.causal ? "causal" : "full", config.lse ? "_lse" : "",
                     config.skip_zero_blocks ? "_skip" : "", schedule, container);
}

LdsPlan lds_plan(const AttentionPlan& plan) {
  LdsPlan lds;
  lds.k_slices = plan.keys_per_tile * plan.config.head_dim / LdsPlan::slice_bytes;
  lds.v_slices = plan.keys_per_tile * plan.config.v_head_dim / LdsPlan::slice_bytes;
  lds.v_offset = lds.k_slices * LdsPlan::slice_stride;
  lds.buffer_stride = lds.v_offset + lds.v_slices * LdsPlan::slice_stride;
  return lds;
}

}  // namespace

std::span<const SupportedShape> supported_shapes() { return shapes; }

std::string describe(const SupportedShape& shape) {
  return fmt::format("--dtype fp8 --head-dim {} --v-head-dim {} --softmax {}{}", shape.head_dim, shape.v_head_dim,
                     name(shape.softmax), shape.score_scale == ScoreScaling::folded ? " --score-scale folded" : "");
}

std::string_view way_without(int zero_blocks) {
  constexpr std::array<std::string_view, 4> names = {"output_of_all", "output_of_second", "output_of_first",
                                                     "output_of_none"};
  return names.at(static_cast<std::size_t>(zero_blocks));
}

std::uint64_t work_of(std::uint64_t workgroup, std::uint64_t all, int dies) {
  if (!std::has_single_bit(static_cast<unsigned>(dies)) || all > max_ordered_workgroups) return workgroup;
  const auto parts = static_cast<std::uint64_t>(dies), part = workgroup % parts;
  return part * (all / parts) + std::min(part, all % parts) + workgroup / parts;
}

namespace {

void check(const AttentionConfig& config) {
  if (config.code_object_version != 5 && config.code_object_version != 6)
    throw Error("code object version {} is not supported; accepted: 5, 6", config.code_object_version);
  bool offered = false;
  std::string accepted;
  for (const SupportedShape& shape : shapes) {
    offered = offered || offers(shape, config);
    accepted += (accepted.empty() ? "" : "; ") + describe(shape);
  }
  if (!offered)
    throw Error("no schedule for head dim {}, value head dim {}, dtype {}, softmax {}, score scale {}; accepted: {}",
                config.head_dim, config.v_head_dim, name(config.dtype), name(config.softmax), name(config.score_scale),
                accepted);
  if (config.lse && config.score_scale == ScoreScaling::folded)
    throw Error(
        "score scale folded writes no log-sum-exp, whose sum needs an exponential of each score; accepted: no LSE, or "
        "score scale multiply-add");
  if (config.skip_zero_blocks && config.score_scale == ScoreScaling::folded)
    throw Error(
        "score scale folded does not skip blocks, which it would know by their exponents; accepted: no skipping, or "
        "score scale multiply-add");
}

}  // namespace

AttentionPlan make_plan(const AttentionConfig& config) {
  check(config);
  ChosenSchedule chosen = choose_schedule(config, recorded_schedules());
  AttentionPlan plan = make_plan(config, chosen.schedule);
  plan.record = std::move(chosen.record);
  return plan;
}

AttentionPlan make_plan(const AttentionConfig& config, const Schedule& schedule) {
  check(config);
  AttentionPlan plan{.config = config, .schedule = schedule, .lds = {}, .symbol = symbol_of(config)};
  plan.lds = lds_plan(plan);
  // Lift and the room that a block's maximum may need above it share e4m3's range (users.md 0.2). Exponents of blocks
  // are the nearest, so the room is half an octave.
  if (plan.lift_log2 + 0.5 > std::log2(448.0)) throw Error("a lift of {} octaves overflows e4m3", plan.lift_log2);
  constexpr int largest_code = 126;  // 127 is NaN
  if (plan.folded_code_of_lone_key > largest_code || plan.folded_code > largest_code)
    throw Error("a reference code of {} overflows e4m3", std::max(plan.folded_code, plan.folded_code_of_lone_key));
  return plan;
}

}  // namespace zyfa::generator
