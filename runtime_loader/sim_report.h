// What zyfa-sim says about a run of the pipe model: JSON and text with the same numbers.
#pragma once

#include "runtime_loader/simulate.h"

#include <nlohmann/json.hpp>

#include <string>

namespace zyfa::runtime {

struct SimulatedMachine {
  std::string name;  // nominal, optimistic, pessimistic or a file
  isa::Machine machine;
  pipes::Result result;  // of the workgroup that is reported
  std::optional<pipes::Loop> loop;
  GridEstimate estimate;
};

// Keys: cycles, loop (cycles, iterations, matrix_busy, useful_matrix, valu_busy, trans_busy, lds_bytes_per_clk, ...,
// all shares from 0 to 1), stalls (clk by reason, of all waves), simds, waves, instructions, estimate.
nlohmann::ordered_json simulation_json(const Simulation& simulation, const SimulatedMachine& run);

// The same for people; `top` instructions with the most stalled clocks.
void print_simulation(const Simulation& simulation, const SimulatedMachine& run, std::size_t top);

// One line for each machine.
void print_spread(const std::vector<SimulatedMachine>& runs);

}  // namespace zyfa::runtime
