#include "generator/schedule.h"

#include "generator/config.h"
#include "isa/error.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace zyfa::generator {
namespace {

template <class Family>
struct Row {
  ScheduleParameter parameter;
  int Family::*member;
};

namespace ping_pong_values {
#define SCHEDULE_PARAMETER(name, value, meaning, ...) constexpr int name[] = {__VA_ARGS__};
#include "schedules/ping_pong.def"
}  // namespace ping_pong_values

constexpr Row<PingPong> ping_pong_rows[] = {
#define SCHEDULE_PARAMETER(name, value, meaning, ...) {{#name, meaning, ping_pong_values::name}, &PingPong::name},
#include "schedules/ping_pong.def"
};

namespace interleaved_values {
#define SCHEDULE_PARAMETER(name, value, meaning, ...) constexpr int name[] = {__VA_ARGS__};
#include "schedules/interleaved.def"
}  // namespace interleaved_values

constexpr Row<Interleaved> interleaved_rows[] = {
#define SCHEDULE_PARAMETER(name, value, meaning, ...) {{#name, meaning, interleaved_values::name}, &Interleaved::name},
#include "schedules/interleaved.def"
};

std::span<const Row<PingPong>> rows(const PingPong&) { return ping_pong_rows; }
std::span<const Row<Interleaved>> rows(const Interleaved&) { return interleaved_rows; }

constexpr std::string_view family_names[std::variant_size_v<Schedule>] = {"ping-pong", "interleaved"};

}  // namespace

std::span<const std::string_view> families() { return family_names; }

std::string_view family(const Schedule& schedule) { return family_names[schedule.index()]; }

bool offers(std::string_view family, const AttentionConfig& config) {
  return family == family_names[0] || (config.softmax == Softmax::lean && !config.skip_zero_blocks);
}

Schedule default_schedule(std::string_view family, const AttentionConfig& config) {
  if (std::ranges::find(family_names, family) == std::end(family_names))
    throw Error("there is no schedule '{}'; accepted: auto, {}", family, fmt::join(family_names, ", "));
  if (!offers(family, config))
    throw Error(
        "schedule {} makes lean probabilities and skips no blocks; accepted: softmax lean without "
        "skip_zero_blocks, or schedule {}",
        family, family_names[0]);
  if (family == family_names[1]) return Interleaved{};
  PingPong schedule;
  // The vector phase is the longer one.
  if (config.softmax == Softmax::exact) schedule.late_conversions = 4;
  return schedule;
}

std::vector<ScheduleParameter> parameters(const Schedule& schedule) {
  std::vector<ScheduleParameter> list;
  std::visit(
      [&list](const auto& s) {
        for (const auto& row : rows(s)) list.push_back(row.parameter);
      },
      schedule);
  return list;
}

int& value(Schedule& schedule, std::size_t parameter) {
  return std::visit([parameter](auto& s) -> int& { return s.*rows(s)[parameter].member; }, schedule);
}

nlohmann::ordered_json parameters_to_json(const Schedule& schedule) {
  nlohmann::ordered_json json;
  std::visit(
      [&json](const auto& s) {
        for (const auto& row : rows(s)) json[std::string(row.parameter.name)] = s.*row.member;
      },
      schedule);
  return json;
}

Schedule parameters_from_json(const nlohmann::ordered_json& json, Schedule schedule, const std::string& source) {
  if (!json.is_object()) throw Error("{}: parameters of a schedule are a JSON object", source);
  const std::vector<ScheduleParameter> known = parameters(schedule);
  for (const auto& item : json.items()) {
    const auto found = std::ranges::find(known, item.key(), &ScheduleParameter::name);
    if (found == known.end()) {
      std::vector<std::string_view> names;
      for (const ScheduleParameter& parameter : known) names.push_back(parameter.name);
      throw Error("{}: schedule {} has no parameter '{}'; accepted: {}", source, family(schedule), item.key(),
                  fmt::join(names, ", "));
    }
    const bool accepted = item.value().is_number_integer() &&
                          std::ranges::any_of(found->values, [&item](int value) { return item.value() == value; });
    if (!accepted)
      throw Error("{}: '{}' is {}; accepted: {}", source, item.key(), item.value().dump(),
                  fmt::join(found->values, ", "));
    value(schedule, static_cast<std::size_t>(found - known.begin())) = item.value().get<int>();
  }
  return schedule;
}

}  // namespace zyfa::generator
