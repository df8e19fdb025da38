// What a search found for a configuration (zyfa-gen --tune, docs/tuning.md): a schedule and its clocks on the pipe
// model. Those of schedules/configs/ are built in, and `--schedule auto` chooses among them.
#pragma once

#include "generator/config.h"
#include "generator/schedule.h"

#include <array>
#include <cstdint>
#include <optional>

namespace zyfa::generator {

// The machines that a schedule is judged by, and the clocks of one workgroup on each.
inline constexpr std::array<std::string_view, 3> judging_machines = {"nominal", "optimistic", "pessimistic"};
using MachineClk = std::array<std::uint64_t, judging_machines.size()>;

// The rule by which schedules are compared: the geometric mean over the machines of the clocks against the default
// schedule's, less is better. What is slower than the default on any machine is infinitely bad: a schedule is good when
// it wins on all three (isa/machine_spread.def).
double score(const MachineClk& clk, const MachineClk& default_clk);

struct ScheduleRecord {
  AttentionConfig config;  // tuned_config of one
  Schedule schedule;
  std::string problem;  // that the clocks are of
  MachineClk clk{};
  MachineClk default_clk{};  // of the first family as it is before any search

  double score() const { return generator::score(clk, default_clk); }
};

// The configuration without what makes no difference to a search: which schedule, how queries come, code object
// version.
AttentionConfig tuned_config(AttentionConfig config);

// "hd192x128_fp8_e4m3fn_lean_causal_ping-pong": what a record's file is called.
std::string record_name(const AttentionConfig& config, std::string_view family);

// Keys: config, family, parameters, problem, clk and default_clk by machine, score. Throws Error naming the source and
// what is missing, unknown or does not fit.
nlohmann::ordered_json to_json(const ScheduleRecord& record);
ScheduleRecord record_from_json(const nlohmann::ordered_json& json, const std::string& source);

// Those that are built in.
std::vector<ScheduleRecord> recorded_schedules();

struct ChosenSchedule {
  Schedule schedule;
  std::optional<ScheduleRecord> record;  // none: nothing is recorded for the configuration, it is the default
};

// auto: the record of least score, the first of equals. A family's name: the same among its records. Throws Error that
// lists the names.
ChosenSchedule choose_schedule(const AttentionConfig& config, std::span<const ScheduleRecord> records);

}  // namespace zyfa::generator
