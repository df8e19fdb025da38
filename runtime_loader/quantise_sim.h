// How long the kernel that quantises takes: a workgroup of each phase on the pipe model, extended to the chip by what
// its bytes cost. docs/quantise.md says what is assumed.
#pragma once

#include "runtime_loader/grid_estimate.h"
#include "runtime_loader/kernel.h"

#include <nlohmann/json.hpp>

#include <array>
#include <string>
#include <vector>

namespace zyfa::runtime {

struct QuantiseExtents {
  int batch = 1, rows = 4096, heads = 16, heads_per_scale = 1;
};

struct QuantisePhase {
  double alone_clk = 0;    // a workgroup that has its compute unit to itself
  int resident = 0;        // workgroups on a compute unit at a time
  double each_clk = 0;     // a workgroup among so many, from one end to the next
  std::string_view limit;  // of each_clk: latency, vector_port, vector_memory
  GridEstimate grid;

  // The first workgroup's way, in which memory is not yet busy, and what the grid is bound by.
  double clk() const { return alone_clk + grid.clk; }
};

struct QuantiseEstimate {
  std::string machine;
  bool second_read_is_cached = false;  // x and codes fit the Infinity Cache together
  std::array<QuantisePhase, 2> phases;

  double clk() const { return phases[0].clk() + phases[1].clk(); }
  double microseconds() const { return clk() / phases[0].grid.clock_ghz * 1e-3; }
};

// Throws Error as quantise_launches does.
QuantiseEstimate estimate_quantise(const QuantiseKernel& kernel, const QuantiseExtents& extents, std::string name,
                                   const isa::Machine& machine, double clock_ghz);

// zyfa-sim of such a kernel. Keys: kernel, modelled, problem, machines (machine, second_read, phases, cycles,
// microseconds).
void print_quantise(const QuantiseKernel& kernel, const QuantiseExtents& extents,
                    const std::vector<QuantiseEstimate>& estimates);
nlohmann::ordered_json quantise_json(const QuantiseKernel& kernel, const QuantiseExtents& extents,
                                     const std::vector<QuantiseEstimate>& estimates);

}  // namespace zyfa::runtime
