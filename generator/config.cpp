#include "generator/config.h"

#include "isa/error.h"

#include <nlohmann/json.hpp>

namespace zyfa::generator {
namespace {

// Reads one key into `value` if it is there; the JSON library's own message would not name the key.
template <class Value>
void read(const nlohmann::json& json, const char* key, Value& value, std::string_view source) {
  const auto found = json.find(key);
  if (found == json.end()) return;
  const bool fits = std::is_same_v<Value, bool>          ? found->is_boolean()
                    : std::is_same_v<Value, std::string> ? found->is_string()
                                                         : found->is_number_integer();
  if (!fits)
    throw Error("{}: '{}' is {}, not {}", source, key, found->dump(),
                std::is_same_v<Value, bool>          ? "true or false"
                : std::is_same_v<Value, std::string> ? "a string"
                                                     : "a whole number");
  value = found->get<Value>();
  if constexpr (std::is_same_v<Value, int>)
    if (found->get<std::int64_t>() != value || (found->is_number_unsigned() && value < 0))
      throw Error("{}: '{}' is {}, which is too large", source, key, found->dump());
}

}  // namespace

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
  if (!json.is_object()) throw Error("{}: a configuration is a JSON object, this is {}", source, json.type_name());
  AttentionConfig config;
  const nlohmann::ordered_json known = to_json(config);
  for (const auto& item : json.items())
    if (!known.contains(item.key())) {
      std::string keys;
      for (const auto& k : known.items()) keys += (keys.empty() ? "" : ", ") + k.key();
      throw Error("{}: unknown key '{}'; accepted: {}", source, item.key(), keys);
    }
  std::string dtype(name(config.dtype)), q_dtype(name(config.q_dtype)), softmax(name(config.softmax)),
      score_scale(name(config.score_scale));
  read(json, "schedule", config.schedule, source);
  read(json, "dtype", dtype, source);
  read(json, "q_dtype", q_dtype, source);
  read(json, "head_dim", config.head_dim, source);
  config.v_head_dim = config.head_dim;
  read(json, "v_head_dim", config.v_head_dim, source);
  read(json, "causal", config.causal, source);
  read(json, "softmax", softmax, source);
  read(json, "score_scale", score_scale, source);
  read(json, "lse", config.lse, source);
  read(json, "skip_zero_blocks", config.skip_zero_blocks, source);
  read(json, "cov", config.code_object_version, source);
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
