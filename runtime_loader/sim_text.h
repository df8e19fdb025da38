// What zyfa-sim says about runs of the pipe model, for people; the numbers are sim_report.h's.
#pragma once

#include "runtime_loader/simulate.h"

#include <vector>

namespace zyfa::runtime {

// The kernel and the problem.
void print_problem(const Simulation& simulation);

// One machine; `top` instructions with the most stalled clocks, and with `energy` every item of the loop's energy.
void print_simulation(const Simulation& simulation, const SimulatedMachine& run, std::size_t top, bool energy);

// One line for each machine.
void print_spread(const std::vector<SimulatedMachine>& runs);

}  // namespace zyfa::runtime
