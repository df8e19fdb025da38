#include "generator/schedule_record.h"

#include "generator/json_file.h"
#include "schedules/recorded_files.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace zyfa::generator {
namespace {

using Json = nlohmann::ordered_json;

Json clk_to_json(const MachineClk& clk) {
  Json json;
  for (std::size_t m = 0; m < clk.size(); ++m) json[std::string(judging_machines[m])] = clk[m];
  return json;
}

const Json& need(const Json& json, std::string_view key, const std::string& source) {
  const auto found = json.is_object() ? json.find(std::string(key)) : json.end();
  if (!json.is_object() || found == json.end()) throw Error("{}: a schedule's record has no '{}'", source, key);
  return *found;
}

std::string text(const Json& json, std::string_view key, const std::string& source) {
  const Json& value = need(json, key, source);
  if (!value.is_string()) throw Error("{}: '{}' is {}, not a string", source, key, value.dump());
  return value.get<std::string>();
}

MachineClk clk_from_json(const Json& json, std::string_view key, const std::string& source) {
  MachineClk clk{};
  for (std::size_t m = 0; m < clk.size(); ++m) {
    const Json& value = need(need(json, key, source), judging_machines[m], source);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() == 0)
      throw Error("{}: '{}' of machine {} is {}, not a positive whole number", source, key, judging_machines[m],
                  value.dump());
    clk[m] = value.get<std::uint64_t>();
  }
  return clk;
}

}  // namespace

double score(const MachineClk& clk, const MachineClk& default_clk) {
  double log_sum = 0;
  for (std::size_t m = 0; m < clk.size(); ++m) {
    if (clk[m] > default_clk[m]) return std::numeric_limits<double>::infinity();
    log_sum += std::log(static_cast<double>(clk[m]) / static_cast<double>(default_clk[m]));
  }
  return std::exp(log_sum / static_cast<double>(clk.size()));
}

AttentionConfig tuned_config(AttentionConfig config) {
  const AttentionConfig defaults;
  config.schedule = defaults.schedule;
  config.code_object_version = defaults.code_object_version;
  config.q_dtype = QueryType::fp8;
  return config;
}

std::string record_name(const AttentionConfig& config, std::string_view family) {
  return fmt::format("hd{}x{}_{}_{}{}_{}{}_{}", config.head_dim, config.v_head_dim, name(config.dtype),
                     name(config.softmax), config.score_scale == ScoreScaling::folded ? "_folded" : "",
                     config.causal ? "causal" : "full", config.lse ? "_lse" : "", family);
}

Json to_json(const ScheduleRecord& record) {
  Json config = to_json(record.config);
  config.erase("schedule");
  config.erase("cov");
  Json json = {{"config", config},
               {"family", family(record.schedule)},
               {"parameters", parameters_to_json(record.schedule)},
               {"problem", record.problem},
               {"clk", clk_to_json(record.clk)},
               {"default_clk", clk_to_json(record.default_clk)}};
  if (const double s = record.score(); std::isfinite(s))
    json["score"] = std::round(s * 1e6) / 1e6;
  else
    json["score"] = nullptr;
  return json;
}

ScheduleRecord record_from_json(const Json& json, const std::string& source) {
  constexpr std::array keys = {"config", "family", "parameters", "problem", "clk", "default_clk", "score"};
  if (!json.is_object()) throw Error("{}: a schedule's record is a JSON object", source);
  for (const auto& item : json.items())
    if (std::ranges::find(keys, item.key()) == keys.end())
      throw Error("{}: a schedule's record has no key '{}'", source, item.key());
  ScheduleRecord record;
  record.config = tuned_config(config_from_json(need(json, "config", source), source));
  record.schedule = parameters_from_json(need(json, "parameters", source),
                                         default_schedule(text(json, "family", source), record.config), source);
  record.problem = text(json, "problem", source);
  record.clk = clk_from_json(json, "clk", source);
  record.default_clk = clk_from_json(json, "default_clk", source);
  if (need(json, "score", source) != to_json(record).at("score"))
    throw Error("{}: 'score' is {}, by the clocks it is {}", source, json.at("score").dump(),
                to_json(record).at("score").dump());
  return record;
}

std::vector<ScheduleRecord> recorded_schedules() {
  std::vector<ScheduleRecord> records;
  for (const schedules::RecordedFile& file : schedules::recorded_files())
    records.push_back(record_from_json(Json::parse(file.text), std::string(file.name)));
  return records;
}

ChosenSchedule choose_schedule(const AttentionConfig& config, std::span<const ScheduleRecord> records) {
  const bool any_family = config.schedule == "auto";
  const std::string_view name = any_family ? families().front() : std::string_view(config.schedule);
  ChosenSchedule chosen{default_schedule(name, config), {}};
  if (config.skip_zero_blocks) return chosen;  // its matrix phases have one order
  for (const ScheduleRecord& record : records) {
    if (record.config != tuned_config(config)) continue;
    if (any_family ? !std::isfinite(record.score()) : family(record.schedule) != name) continue;
    if (!chosen.record || record.score() < chosen.record->score()) chosen = {record.schedule, record};
  }
  return chosen;
}

}  // namespace zyfa::generator
