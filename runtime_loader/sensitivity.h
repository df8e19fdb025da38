// How much each open question about the machine (machine_spread.def) moves a kernel's clocks: one run for each of its
// answers, all other numbers those of the machine given.
#pragma once

#include "runtime_loader/simulate.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <vector>

namespace zyfa::runtime {

struct Moved {
  double loop_clk = 0, workgroup_clk = 0;
};

struct SensitivityRow {
  std::string question;  // the parameter's name
  int base = 0, optimistic = 0, pessimistic = 0;
  Moved with_optimistic, with_pessimistic;
};

struct Sensitivity {
  std::string machine;
  std::uint32_t workgroup = 0;
  Moved base;
  std::vector<SensitivityRow> rows;  // the widest span of the workgroup's clocks first
};

// Workgroup `x` on `machine`; `done` is told after each run, of sensitivity_runs().
std::uint64_t sensitivity_runs();
Sensitivity sensitivity(const Simulation& simulation, std::uint32_t x, const std::string& name,
                        const isa::Machine& machine, std::atomic<std::int64_t>& done);

nlohmann::ordered_json sensitivity_json(const Sensitivity& sensitivity);
void print_sensitivity(const Sensitivity& sensitivity);

}  // namespace zyfa::runtime
