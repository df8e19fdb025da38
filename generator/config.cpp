#include "generator/config.h"

#include "generator/json_file.h"

namespace zyfa::generator {
std::string_view name(DataType) { return "fp8_e4m3fn"; }
std::string_view name(QueryType type) { return type == QueryType::fp8 ? "fp8" : "bf16"; }
std::string_view name(Softmax softmax) { return softmax == Softmax::lean ? "lean" : "exact"; }
std::string_view name(ScoreScaling scaling) {
  return scaling == ScoreScaling::multiply_add ? "multiply-add" : "folded";
}

DataType parse_dtype(std::string_view text) {
  if (text == "fp8" || text == "e4m3" || text == "fp8_e4m3fn") return DataType::fp8_e4m3fn;
  throw Error("dtype '{}' is not supported; accepted: fp8 (OCP e4m3fn, also spelled e4m3 or fp8_e4m3fn)", text);
}

QueryType parse_q_dtype(std::string_view text) {
  for (const QueryType type : {QueryType::fp8, QueryType::bf16})
    if (text == name(type)) return type;
  throw Error("q_dtype '{}' is not supported; accepted: fp8, bf16", text);
}

Softmax parse_softmax(std::string_view text) {
  for (const Softmax softmax : {Softmax::lean, Softmax::exact})
    if (text == name(softmax)) return softmax;
  throw Error("softmax '{}' is not supported; accepted: lean, exact", text);
}

ScoreScaling parse_score_scale(std::string_view text) {
  for (const ScoreScaling scaling : {ScoreScaling::multiply_add, ScoreScaling::folded})
    if (text == name(scaling)) return scaling;
  throw Error("score scale '{}' is not supported; accepted: multiply-add, folded", text);
}

AttentionConfig config_from_json(const nlohmann::json& json, std::string_view source) {
  AttentionConfig config;
  check_keys(json, to_json(config), source);
  std::string dtype(name(config.dtype)), q_dtype(name(config.q_dtype)), softmax(name(config.softmax)),
      score_scale(name(config.score_scale));
  read_key(json, "schedule", config.schedule, source);
  read_key(json, "dtype", dtype, source);
  read_key(json, "q_dtype", q_dtype, source);
  read_key(json, "head_dim", config.head_dim, source);
  config.v_head_dim = config.head_dim;
  read_key(json, "v_head_dim", config.v_head_dim, source);
  read_key(json, "causal", config.causal, source);
  read_key(json, "softmax", softmax, source);
  read_key(json, "score_scale", score_scale, source);
  read_key(json, "lse", config.lse, source);
  read_key(json, "skip_zero_blocks", config.skip_zero_blocks, source);
  read_key(json, "cov", config.code_object_version, source);
  config.dtype = parse_dtype(dtype);
  config.q_dtype = parse_q_dtype(q_dtype);
  config.softmax = parse_softmax(softmax);
  config.score_scale = parse_score_scale(score_scale);
  return config;
}

nlohmann::ordered_json to_json(const AttentionConfig& config) {
  return {{"dtype", name(config.dtype)},
          {"q_dtype", name(config.q_dtype)},
          {"head_dim", config.head_dim},
          {"v_head_dim", config.v_head_dim},
          {"causal", config.causal},
          {"softmax", name(config.softmax)},
          {"score_scale", name(config.score_scale)},
          {"lse", config.lse},
          {"skip_zero_blocks", config.skip_zero_blocks},
          {"schedule", config.schedule},
          {"cov", config.code_object_version}};
}

}  // namespace zyfa::generator
