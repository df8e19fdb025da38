// What is asked for: one attention kernel. Read from the command line or JSON, checked against what the schedules
// offer.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace zyfa::generator {

enum class DataType { fp8_e4m3fn };
// How probabilities are made: 2^x rounded to e4m3, or its code by one multiply-add (schedules/softmax.h).
enum class Softmax { lean, exact };

std::string_view name(DataType);
std::string_view name(Softmax);

struct AttentionConfig {
  DataType dtype = DataType::fp8_e4m3fn;  // of Q, K and V
  int head_dim = 128;                     // elements of a query or key
  int v_head_dim = 128;                   // elements of a value
  bool causal = true;                     // bottom-right: key j is visible to query i iff j <= i + Sk - Sq
  Softmax softmax = Softmax::lean;
  bool lse = false;             // also write the log-sum-exp of each row
  int code_object_version = 5;  // 5 or 6

  bool operator==(const AttentionConfig&) const = default;
};

// The keys of the JSON form are the command line's long options with underscores: {"head_dim": 128, "dtype": "fp8"}.
// Missing keys keep their defaults; v_head_dim follows head_dim. Throws Error naming an unknown key, a wrong type or
// value.
AttentionConfig config_from_json(const nlohmann::json& json, std::string_view source);
nlohmann::ordered_json to_json(const AttentionConfig& config);

DataType parse_dtype(std::string_view text);   // "fp8" and "e4m3"; throws Error that lists these
Softmax parse_softmax(std::string_view text);  // "lean", "exact"; throws Error that lists these

}  // namespace zyfa::generator
