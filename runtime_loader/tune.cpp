#include "runtime_loader/tune.h"

#include "generator/generate.h"
#include "generator/json_file.h"
#include "generator/machine_file.h"
#include "generator/sha256.h"
#include "isa/pipes/compute_unit.h"
#include "runtime_loader/emulate.h"
#include "runtime_loader/parallel.h"
#include "runtime_loader/random.h"

#include <chrono>
#include <cmath>
#include <map>
#include <set>

namespace zyfa::runtime {
namespace {

using generator::AttentionConfig;
using generator::MachineClk;
using generator::Schedule;
using Json = nlohmann::ordered_json;

constexpr int keys = 2048;
constexpr InputKind input = InputKind::sink;
constexpr double sigma = 1;
constexpr std::uint64_t seed = 1;

constexpr std::uint64_t restarts = 40;         // from changed copies of the best
constexpr int changes = 3;                     // parameters of such a copy
constexpr std::size_t most_candidates = 2000;  // the state file keeps within what a JSON file may hold

std::vector<int> values_of(Schedule schedule) {
  std::vector<int> values;
  for (std::size_t i = 0; i < generator::parameters(schedule).size(); ++i)
    values.push_back(generator::value(schedule, i));
  return values;
}

AttentionInputs inputs_of(const generator::AttentionPlan& plan) {
  const AttentionConfig& c = plan.config;
  return make_inputs({.seqlen_q = plan.queries_per_workgroup(),
                      .seqlen_k = keys,
                      .head_dim = c.head_dim,
                      .v_head_dim = c.v_head_dim,
                      .causal = c.causal},
                     input, sigma, seed, {.power_of_two_factor = c.needs_power_of_two_factor()});
}

std::uint64_t clocks(const Kernel& kernel, const AttentionInputs& inputs, const isa::Machine& machine) {
  pipes::Result result;
  EmulationOptions options;
  options.runner = [&](const isa::Program& program, const emulator::Launch& launch,
                       const emulator::GlobalMemory& memory) {
    result = pipes::simulate(program, launch, memory, 0, {.machine = machine});
    return emulator::Result{};
  };
  run_on_emulator(kernel, inputs, options);
  if (result.trap) throw Error("{}", result.trap->message);
  return result.cycles;
}

std::vector<isa::Machine> machines() {
  std::vector<isa::Machine> list;
  for (const std::string_view name : generator::judging_machines)
    list.push_back(generator::find_machine(std::string(name)));
  return list;
}

generator::GeneratedKernel build(const AttentionConfig& config, const Schedule& schedule) {
  return generator::generate_plan(generator::make_plan(config, schedule), isa::Machine{});
}

Kernel loaded(const generator::GeneratedKernel& kernel) {
  return make_kernel(kernel.code_object, generator::manifest_from_json(kernel.manifest, kernel.plan.symbol),
                     kernel.plan.symbol);
}

// How much a schedule is slower than the default, the logarithms of all machines together, and its mean: the first
// counts, the second where it is equal.
struct Merit {
  double slower = 0, mean = 0;
  auto operator<=>(const Merit&) const = default;
};
Merit merit(const MachineClk& clk, const MachineClk& default_clk) {
  Merit merit;
  for (std::size_t m = 0; m < clk.size(); ++m) {
    const double ratio = std::log(static_cast<double>(clk[m]) / static_cast<double>(default_clk[m]));
    merit.slower += std::max(0.0, ratio);
    merit.mean += ratio;
  }
  return merit;
}

class Search {
 public:
  Search(const AttentionConfig& config, const TuneOptions& options, std::atomic<std::int64_t>& done)
      : config_(generator::tuned_config(config)),
        options_(options),
        done_(done),
        default_(generator::default_schedule(options.family, config_)),
        inputs_(inputs_of(generator::make_plan(config_))),
        machines_(machines()) {
    const Schedule first = generator::default_schedule(generator::families().front(), config_);
    key_ = key(first);
    read_state();
    tuned_.record = {config_, default_, tuning_problem(config_), {}, {}};
    tuned_.record.default_clk = judge(config_, first);
  }

  Tuned run() {
    AttentionConfig of_family = config_;
    of_family.schedule = options_.family;
    const Schedule recorded = generator::choose_schedule(of_family, generator::recorded_schedules()).schedule;
    measure({default_, recorded});
    Schedule best = descend(is_better(recorded, default_) ? recorded : default_);
    std::uint64_t restart = 1;
    for (; restart <= restarts && !is_over(); ++restart) {
      const Schedule found = descend(changed(best, restart));
      if (is_better(found, best)) best = found;
    }
    tuned_.complete = restart > restarts && !is_over();
    for (const std::vector<int>& values : seen_) tuned_.failed += !found_.at(values);
    tuned_.candidates = seen_.size();
    if (!clk_of(best)) throw Error("the schedule {} cannot be built for this shape", options_.family);
    tuned_.record.schedule = best;
    tuned_.record.clk = *clk_of(best);
    return tuned_;
  }

 private:
  // A search goes on only where nothing has changed that its clocks depend on.
  std::string key(const Schedule& first) const {
    Json all = {ZYFA_VERSION, options_.family, tuning_problem(config_), generator::to_json(config_)};
    for (const isa::Machine& machine : machines_) all.push_back(generator::to_json(machine));
    for (const generator::ScheduleParameter& p : generator::parameters(default_))
      all.push_back({p.name, std::vector<int>(p.values.begin(), p.values.end())});
    const std::string text = all.dump() + build(config_, first).assembly + build(config_, default_).assembly;
    return generator::sha256(std::as_bytes(std::span(text)));
  }

  void read_state() {
    if (!std::filesystem::exists(options_.state)) return;
    const Json json = generator::read_json_file(options_.state);
    try {
      if (json.at("key") == key_) {
        for (const Json& one : json.at("measured"))
          found_[one.at(0).get<std::vector<int>>()] =
              one.at(1).is_null() ? std::nullopt : std::optional(one.at(1).get<MachineClk>());
        return;
      }
    } catch (const nlohmann::json::exception&) {
    }
    throw Error("{} is of another search or another version; remove it to start anew", options_.state.string());
  }

  void write_state() const {
    Json json = {{"key", key_}, {"measured", Json::array()}};
    for (const auto& [values, clk] : found_) json["measured"].push_back({values, clk ? Json(*clk) : Json(nullptr)});
    const std::string text = json.dump();
    generator::write_file(options_.state, std::as_bytes(std::span(text)));
  }

  bool is_over() const {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    return spent.count() >= options_.seconds || found_.size() >= most_candidates || options_.interrupted();
  }

  const std::optional<MachineClk>& clk_of(const Schedule& schedule) const { return found_.at(values_of(schedule)); }

  bool is_better(const Schedule& a, const Schedule& b) const {
    const auto &clk_a = clk_of(a), &clk_b = clk_of(b);
    if (!clk_a || !clk_b) return clk_a.has_value();
    const MachineClk& reference = tuned_.record.default_clk;
    return merit(*clk_a, reference) < merit(*clk_b, reference);
  }

  // One after the other takes the value that is best, until none changes any more.
  Schedule descend(Schedule at) {
    measure({at});
    for (bool moved = true; moved && !is_over();) {
      moved = false;
      const std::vector<generator::ScheduleParameter> list = generator::parameters(at);
      for (std::size_t p = 0; p < list.size() && !is_over(); ++p) {
        std::vector<Schedule> candidates;
        for (const int v : list[p].values) {
          candidates.push_back(at);
          generator::value(candidates.back(), p) = v;
        }
        measure(candidates);
        for (const Schedule& candidate : candidates)
          if (is_better(candidate, at)) {
            at = candidate;
            moved = true;
          }
      }
    }
    return at;
  }

  // The schedule with some parameters set at random, the same ones in every search.
  static Schedule changed(Schedule schedule, std::uint64_t restart) {
    const std::vector<generator::ScheduleParameter> list = generator::parameters(schedule);
    const RandomStream random(seed, restart);
    for (std::uint64_t i = 0; i < changes; ++i) {
      const std::size_t p = random.bits(2 * i) % list.size();
      generator::value(schedule, p) = list[p].values[random.bits(2 * i + 1) % list[p].values.size()];
    }
    return schedule;
  }

  // Builds one after the other, for the linker is one at a time; simulates on all host threads.
  void measure(const std::vector<Schedule>& candidates) {
    struct Pending {
      std::vector<int> values;
      Kernel kernel;
      MachineClk clk{};
    };
    std::vector<Pending> pending;
    std::vector<std::pair<std::vector<int>, std::vector<int>>> copies;  // candidate, whose code it is
    bool is_new = false;
    for (const Schedule& candidate : candidates) {
      const std::vector<int> values = values_of(candidate);
      seen_.insert(values);
      if (found_.contains(values)) continue;
      is_new = true;
      try {
        const generator::GeneratedKernel kernel = build(config_, candidate);
        const std::string text = generator::sha256(std::as_bytes(std::span(kernel.code_object)));
        const auto [same, added] = by_code_.emplace(text, values);
        if (!added) {
          copies.emplace_back(values, same->second);
        } else {
          pending.push_back({values, loaded(kernel)});
        }
      } catch (const Error&) {
        found_[values] = std::nullopt;
      }
    }
    const auto tasks = static_cast<std::int64_t>(pending.size() * machines_.size());
    parallel_for(tasks, static_cast<int>(std::max(1u, std::thread::hardware_concurrency())),
                 [&](std::int64_t task, int) {
                   const std::size_t i = static_cast<std::size_t>(task) / machines_.size();
                   const std::size_t m = static_cast<std::size_t>(task) % machines_.size();
                   pending[i].clk[m] = clocks(pending[i].kernel, inputs_, machines_[m]);
                 });
    for (const Pending& one : pending) found_[one.values] = one.clk;
    for (const auto& [values, same] : copies) found_[values] = found_.at(same);
    if (is_new) write_state();
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start_;
    done_ = static_cast<std::int64_t>(spent.count());
  }

  const AttentionConfig config_;
  const TuneOptions& options_;
  std::atomic<std::int64_t>& done_;
  const Schedule default_;
  const AttentionInputs inputs_;
  const std::vector<isa::Machine> machines_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::string key_;
  std::map<std::vector<int>, std::optional<MachineClk>> found_;  // by the parameters' values
  std::set<std::vector<int>> seen_;
  std::map<std::string, std::vector<int>> by_code_;
  Tuned tuned_;
};

}  // namespace

std::string tuning_problem(const AttentionConfig& config) {
  return fmt::format("one workgroup, {} queries, {} keys, {}, sigma {}, seed {}",
                     generator::make_plan(config).queries_per_workgroup(), keys, to_string(input), sigma, seed);
}

MachineClk judge(const AttentionConfig& config, const Schedule& schedule) {
  const generator::GeneratedKernel kernel = build(config, schedule);
  const AttentionInputs inputs = inputs_of(kernel.plan);
  const Kernel code = loaded(kernel);
  const std::vector<isa::Machine> list = machines();
  MachineClk clk{};
  for (std::size_t m = 0; m < list.size(); ++m) clk[m] = clocks(code, inputs, list[m]);
  return clk;
}

Tuned tune(const AttentionConfig& config, const TuneOptions& options, std::atomic<std::int64_t>& done) {
  return Search(config, options, done).run();
}

}  // namespace zyfa::runtime
