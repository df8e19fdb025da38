// The schedule search of zyfa-gen --tune: which parameters of a family take the fewest clocks on the pipe model, judged
// on all machines (generator/schedule_record.h). docs/tuning.md.
#pragma once

#include "generator/schedule_record.h"

#include <atomic>
#include <filesystem>
#include <functional>

namespace zyfa::runtime {

// The problem by which schedules of a configuration are judged: one workgroup, few keys so that a candidate takes a
// fraction of a second. The sink input has each row's largest score among the first keys, so references do not rise and
// all tiles go the common way, as most do in long sequences; gaussian scores would raise some in every other tile.
std::string tuning_problem(const generator::AttentionConfig& config);

// The clocks of a schedule of the configuration on that problem. Throws Error for one that cannot be built.
generator::MachineClk judge(const generator::AttentionConfig& config, const generator::Schedule& schedule);

struct TuneOptions {
  std::string family;  // generator::families()
  // A file of what has been measured; a search that finds it goes on from there. Written whole or not at all.
  std::filesystem::path state;
  double seconds = 60;                                       // after which no further candidates are measured
  std::function<bool()> interrupted = [] { return false; };  // the same, asked between candidates
};

struct Tuned {
  generator::ScheduleRecord record;  // the best
  std::uint64_t candidates = 0;      // looked at, those of the state file among them
  std::uint64_t failed = 0;          // of them cannot be built: no registers, hazards
  bool complete = false;             // the list came to its end
};

// Descends from the better of the default and what is recorded along one parameter after the other, then from changed
// copies of the best found so far. The order of candidates depends on nothing but their clocks, so that a longer budget
// only adds to a shorter one's. `done` counts milliseconds up to the budget. Throws Error for a state file that is of
// another search.
Tuned tune(const generator::AttentionConfig& config, const TuneOptions& options, std::atomic<std::int64_t>& done);

}  // namespace zyfa::runtime
