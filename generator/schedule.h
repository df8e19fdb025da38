// The schedules as data: a family and what is free in it. Parameters say where instructions stand, never what they
// compute, so that a search (runtime_loader/tune.h) may try any of them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace zyfa::generator {

struct AttentionConfig;

struct PingPong {
#define SCHEDULE_PARAMETER(name, value, meaning, ...) int name = value;
#include "schedules/ping_pong.def"

  bool operator==(const PingPong&) const = default;
};

struct Interleaved {
#define SCHEDULE_PARAMETER(name, value, meaning, ...) int name = value;
#include "schedules/interleaved.def"

  bool operator==(const Interleaved&) const = default;
};

// One alternative for each family.
using Schedule = std::variant<PingPong, Interleaved>;

std::string_view family(const Schedule& schedule);  // "ping-pong", "interleaved"
std::span<const std::string_view> families();

// Whether the family has a kernel for the configuration.
bool offers(std::string_view family, const AttentionConfig& config);
// The family as it is before any search. Throws Error that lists the families, or says what the family lacks.
Schedule default_schedule(std::string_view family, const AttentionConfig& config);

struct ScheduleParameter {
  std::string_view name, meaning;
  std::span<const int> values;  // that are accepted, in ascending order
};

// Of the schedule's family, in the order of its .def file; and the value of one, by its place there.
std::vector<ScheduleParameter> parameters(const Schedule& schedule);
int& value(Schedule& schedule, std::size_t parameter);

// {"fragments_ahead": 4, ...}. Missing parameters keep their default. Throws Error naming the source and an unknown
// parameter, or a value and those that are accepted.
nlohmann::ordered_json parameters_to_json(const Schedule& schedule);
Schedule parameters_from_json(const nlohmann::ordered_json& json, Schedule defaults, const std::string& source);

}  // namespace zyfa::generator
