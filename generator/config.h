// What is asked for: one attention kernel. Read from the command line or JSON, checked against what the schedules
// offer.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace zyfa::generator {

enum class DataType { fp8_e4m3fn };
// What queries come as: in the dtype, or BF16 that the kernel quantises to it (schedules/queries.h).
enum class QueryType { fp8, bf16 };
// How probabilities are made: 2^x rounded to e4m3, or its code by one multiply-add (schedules/softmax.h).
enum class Softmax { lean, exact };
// Lean only: how a dot product becomes the code of a probability. By a multiply-add for each, or as it leaves the
// matrix pipe, scaled and biased there (schedules/softmax_folded.h).
enum class ScoreScaling { multiply_add, folded };

std::string_view name(DataType);
std::string_view name(QueryType);
std::string_view name(Softmax);
std::string_view name(ScoreScaling);

struct AttentionConfig {
  DataType dtype = DataType::fp8_e4m3fn;  // of Q, K and V
  QueryType q_dtype = QueryType::fp8;
  int head_dim = 128;    // elements of a query or key
  int v_head_dim = 128;  // elements of a value
  bool causal = true;    // bottom-right: key j is visible to query i iff j <= i + Sk - Sq
  Softmax softmax = Softmax::lean;
  ScoreScaling score_scale = ScoreScaling::multiply_add;
  std::string schedule = "auto";  // or a family of schedules by name (generator/schedule.h)
  bool lse = false;               // also write the log-sum-exp of each row
  // Leave out the output's matrix instructions of 64 keys whose probabilities are all rounded to 0, for all rows of a
  // wave. The result has the same bits.
  bool skip_zero_blocks = false;
  int code_object_version = 5;  // 5 or 6

  bool operator==(const AttentionConfig&) const = default;

  int q_element_bytes() const { return q_dtype == QueryType::bf16 ? 2 : 1; }
  // Whether softmax_scale * q_descale * k_descale * log2(e) must be a power of two: it is a scale operand then.
  bool needs_power_of_two_factor() const { return score_scale == ScoreScaling::folded && q_dtype == QueryType::fp8; }
};

// The keys of the JSON form are the command line's long options with underscores: {"head_dim": 128, "dtype": "fp8"}.
// Missing keys keep their defaults; v_head_dim follows head_dim. Throws Error naming an unknown key, a wrong type or
// value.
AttentionConfig config_from_json(const nlohmann::json& json, std::string_view source);
nlohmann::ordered_json to_json(const AttentionConfig& config);

QueryType parse_q_dtype(std::string_view text);         // "fp8", "bf16"; throws Error that lists these
DataType parse_dtype(std::string_view text);            // "fp8" and "e4m3"; throws Error that lists these
Softmax parse_softmax(std::string_view text);           // "lean", "exact"; throws Error that lists these
ScoreScaling parse_score_scale(std::string_view text);  // "multiply-add", "folded"; throws Error that lists these

}  // namespace zyfa::generator
