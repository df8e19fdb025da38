#include "runtime_loader/sensitivity.h"

#include <algorithm>

namespace zyfa::runtime {
namespace {

using Json = nlohmann::ordered_json;

double percent(double clk, double base) { return base > 0 ? 100 * (clk / base - 1) : 0; }

Json moved_json(int answer, const Moved& moved, const Moved& base) {
  return {{"value", answer},
          {"loop_cycles", moved.loop_clk},
          {"cycles", moved.workgroup_clk},
          {"loop_percent", percent(moved.loop_clk, base.loop_clk)},
          {"percent", percent(moved.workgroup_clk, base.workgroup_clk)}};
}

double span_of(const SensitivityRow& row) {
  return std::abs(row.with_pessimistic.workgroup_clk - row.with_optimistic.workgroup_clk);
}

}  // namespace

std::uint64_t sensitivity_runs() { return 1 + 2 * isa::machine_spread().size(); }

Sensitivity sensitivity(const Simulation& simulation, std::uint32_t x, const std::string& name,
                        const isa::Machine& machine, std::atomic<std::int64_t>& done) {
  const auto clocks = [&](const isa::Machine& changed) {
    const pipes::Result result = simulation.run(x, {.machine = changed});
    const std::optional<pipes::Loop> loop = pipes::find_loop(result);
    ++done;
    return Moved{loop ? loop->clk_per_iteration() : 0, static_cast<double>(result.cycles)};
  };
  Sensitivity all{name, x, clocks(machine), {}};
  for (const isa::Spread& spread : isa::machine_spread()) {
    const auto with = [&](int answer) {
      isa::Machine changed = machine;
      changed.*spread.member = answer;
      if (changed == machine) {
        ++done;
        return all.base;
      }
      return clocks(changed);
    };
    all.rows.push_back({std::string(spread.name), machine.*spread.member, spread.optimistic, spread.pessimistic,
                        with(spread.optimistic), with(spread.pessimistic)});
  }
  std::ranges::stable_sort(all.rows, std::greater{}, span_of);
  return all;
}

Json sensitivity_json(const Sensitivity& sensitivity) {
  Json questions = Json::array();
  for (const SensitivityRow& row : sensitivity.rows)
    questions.push_back({{"name", row.question},
                         {"base", row.base},
                         {"optimistic", moved_json(row.optimistic, row.with_optimistic, sensitivity.base)},
                         {"pessimistic", moved_json(row.pessimistic, row.with_pessimistic, sensitivity.base)}});
  return {{"machine", sensitivity.machine},
          {"workgroup", sensitivity.workgroup},
          {"cycles", sensitivity.base.workgroup_clk},
          {"loop", {{"cycles", sensitivity.base.loop_clk}}},
          {"questions", questions}};
}

void print_sensitivity(const Sensitivity& s) {
  fmt::print("machine    {}: workgroup {}, {:.0f} clk, loop {:.1f} clk an iteration; what each answer alone changes:\n",
             s.machine, s.workgroup, s.base.workgroup_clk, s.base.loop_clk);
  fmt::print("{:<24} {:>8} {:>11} {:>8} {:>9} {:>12} {:>8} {:>9}\n", "question", "base", "optimistic", "loop %",
             "total %", "pessimistic", "loop %", "total %");
  for (const SensitivityRow& row : s.rows)
    fmt::print("{:<24} {:>8} {:>11} {:>+8.1f} {:>+9.1f} {:>12} {:>+8.1f} {:>+9.1f}\n", row.question, row.base,
               row.optimistic, percent(row.with_optimistic.loop_clk, s.base.loop_clk),
               percent(row.with_optimistic.workgroup_clk, s.base.workgroup_clk), row.pessimistic,
               percent(row.with_pessimistic.loop_clk, s.base.loop_clk),
               percent(row.with_pessimistic.workgroup_clk, s.base.workgroup_clk));
}

}  // namespace zyfa::runtime
