// Schedules as data: names, ranges, records, and how one is chosen.
#include "generator/schedule_record.h"

#include "generator/plan.h"
#include "isa/error.h"
#include "tests/support/catch.h"
#include "tests/support/kernels.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <set>

using namespace zyfa;
using namespace zyfa::generator;

namespace {

using Json = nlohmann::ordered_json;

template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "not refused";
}

// Clocks in shares of the default's.
ScheduleRecord record(double nominal, double optimistic, double pessimistic, int fragments_ahead) {
  const auto clk = [](double share) { return static_cast<std::uint64_t>(10000 * share); };
  PingPong schedule;
  schedule.fragments_ahead = fragments_ahead;
  return {tuned_config({}),
          schedule,
          "a problem",
          {clk(nominal), clk(optimistic), clk(pessimistic)},
          {10000, 10000, 10000}};
}

int chosen(const std::vector<ScheduleRecord>& records, const AttentionConfig& config = {}) {
  return std::get<PingPong>(choose_schedule(config, records).schedule).fragments_ahead;
}

}  // namespace

TEST_CASE("Schedule: parameters to JSON and back, and what is refused", "[quick][schedule]") {
  for (const std::string_view name : families()) {
    const Schedule defaults = default_schedule(name, {});
    const std::vector<ScheduleParameter> list = parameters(defaults);
    for (std::size_t i = 0; i < list.size(); ++i) {
      Schedule schedule = defaults;
      CAPTURE(list[i].name);
      CHECK(std::ranges::is_sorted(list[i].values));
      CHECK(std::ranges::find(list[i].values, value(schedule, i)) != list[i].values.end());
      for (const int v : list[i].values) {
        value(schedule, i) = v;
        CHECK(parameters_from_json(parameters_to_json(schedule), defaults, "x") == schedule);
      }
      Json wrong = parameters_to_json(defaults);
      wrong[std::string(list[i].name)] = -1;
      CHECK(refusal([&] {
              parameters_from_json(wrong, defaults, "s.json");
            }).starts_with(fmt::format("s.json: '{}' is -1; accepted: {}", list[i].name, list[i].values[0])));
    }
  }
  const Schedule defaults = default_schedule("ping-pong", {});
  CHECK(refusal([&] {
          parameters_from_json(Json{{"speed", 1}}, defaults, "s.json");
        }).starts_with("s.json: schedule ping-pong has no parameter 'speed'; accepted: fragments_ahead, "));
  CHECK(refusal([&] { parameters_from_json(Json::array(), defaults, "s.json"); }).starts_with("s.json: "));
  AttentionConfig config;
  config.schedule = "quick";
  CHECK(refusal([&] { make_plan(config); }) == "there is no schedule 'quick'; accepted: auto, ping-pong, interleaved");
  config = {.softmax = Softmax::exact, .schedule = "interleaved"};
  CHECK(refusal([&] { make_plan(config); }).starts_with("schedule interleaved makes lean probabilities"));
}

TEST_CASE("Schedule: the least score among those that win on all machines", "[quick][schedule]") {
  CHECK(record(0.9, 0.9, 0.9, 3).score() == Approx(0.9));
  CHECK(std::isinf(record(0.5, 0.5, 1.01, 3).score()));
  const std::vector<ScheduleRecord> records{record(1, 0.98, 0.97, 3), record(0.96, 0.97, 0.98, 5),
                                            record(0.5, 0.5, 1.01, 6)};
  CHECK(chosen(records) == 5);
  CHECK(chosen({records[0], records[2]}) == 3);
  CHECK(chosen({records[2]}) == 4);  // the default
  AttentionConfig other;
  other.causal = false;
  CHECK(chosen(records, other) == 4);
  other = {};
  other.code_object_version = 6;
  other.schedule = "ping-pong";
  CHECK(chosen(records, other) == 5);
}

TEST_CASE("Schedule: a record to JSON and back, and what is refused", "[quick][schedule]") {
  const ScheduleRecord good = record(0.96, 0.97, 0.98, 5);
  const ScheduleRecord back = record_from_json(to_json(good), "r.json");
  CHECK(to_json(back) == to_json(good));
  CHECK(back.schedule == good.schedule);
  const Json whole = to_json(good);
  for (const auto& item : whole.items()) {
    Json json = whole;
    json.erase(item.key());
    CHECK(refusal([&] { record_from_json(json, "r.json"); }) ==
          fmt::format("r.json: a schedule's record has no '{}'", item.key()));
  }
  const auto changed = [&](const char* key, const Json& to) {
    Json json = to_json(good);
    json[key] = to;
    return refusal([&] { record_from_json(json, "r.json"); });
  };
  CHECK(changed("score", 0.5).starts_with("r.json: 'score' is 0.5, by the clocks it is 0.96"));
  CHECK(changed("family", "quick").starts_with("there is no schedule 'quick'"));
  CHECK(changed("clk", Json{{"nominal", 0}}).starts_with("r.json: 'clk' of machine nominal is 0"));
  CHECK(changed("note", 1) == "r.json: a schedule's record has no key 'note'");
}

TEST_CASE("Schedule: configurations have their record, and auto takes the best", "[quick][schedule]") {
  const std::vector<ScheduleRecord> records = recorded_schedules();
  for (const AttentionConfig& config : all_configurations()) {
    const AttentionPlan plan = make_plan(config);
    CAPTURE(plan.symbol);
    // Folded scores are not searched, and of what is asked for by name nothing may be recorded.
    const bool searched = config.schedule == "auto" && config.score_scale == ScoreScaling::multiply_add;
    REQUIRE(plan.record.has_value() == searched);
    if (!searched) continue;
    for (const ScheduleRecord& r : records)
      if (r.config == tuned_config(config)) CHECK(plan.record->score() <= r.score());
  }
}
