// What zyfa-sim says about a run of the pipe model as JSON. sim_text.h says the same to people.
#pragma once

#include "runtime_loader/simulate.h"

#include <nlohmann/json.hpp>

namespace zyfa::runtime {

// Shares of a span of time, from 0 to 1: of one SIMD, or the mean of all.
struct Shares {
  double matrix = 0, useful = 0, reads = 0, valu = 0, trans = 0;
};
Shares shares(const pipes::Busy& busy, double clk);
Shares shares(const pipes::Loop& loop);  // mean of all SIMDs

// What one SIMD does in an iteration of the loop, the mean of all, and, for attention, for a tile of 32 queries and 128
// keys of one wave.
struct Load {
  double valu_clk = 0;          // vector port held by VALU instructions, transcendentals among them
  double matrix_reads_clk = 0;  // and by matrix instructions
  double matrix_clk = 0;        // matrix pipe
  double lds_bytes = 0;         // read and written
};
Load load_per_iteration(const pipes::Loop& loop);
std::optional<Load> load_per_tile(const Simulation& simulation, const pipes::Loop& loop);

// Of the loop, and of the workgroup; the bytes that L2 and the Infinity Cache miss in the grid's proportion.
pipes::Energy energy_of(const SimulatedMachine& run, const pipes::Counts& counts, double clk);

// Of all waves.
pipes::StallClk all_stalls(const pipes::Result& result);

// Keys: machine, workgroup (its number), cycles, loop (cycles, iterations, matrix_busy, useful_matrix, valu_busy,
// trans_busy, lds_bytes_per_clk, per_iteration, per_tile, ..., all shares from 0 to 1), energy (loop, workgroup),
// stalls (clk by reason, of all waves), waves, instructions, estimate.
nlohmann::ordered_json simulation_json(const Simulation& simulation, const SimulatedMachine& run);

// What a TFLOP of the estimate is.
std::string_view flop_convention(const Simulation& simulation);

}  // namespace zyfa::runtime
