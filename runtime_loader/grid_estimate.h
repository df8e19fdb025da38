// Extends the clocks and bytes of some workgroups to a whole grid on the chip: which compute unit runs what and when,
// what each die's L2 has to fetch, which of the pipes and the memories is the limit. docs/estimate.md says what is
// assumed.
#pragma once

#include "isa/machine.h"
#include "isa/pipes/energy.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace zyfa::runtime {

struct GridSample {
  std::uint32_t workgroup = 0;  // x, within its head
  double clk = 0;
  pipes::Counts counts;
};

struct GridProblem {
  std::uint32_t per_head = 1;  // workgroups of one head, that follow each other in the grid
  int heads = 1, kv_heads = 1, batch = 1;
  double flop = 0;           // useful ones of the whole grid; 0: what the samples' matrix instructions did
  double kv_head_bytes = 0;  // K and V of one key/value head
  double own_bytes = 0;      // what a workgroup reads and writes alone: Q and O
  double footprint = 0;      // all of the grid's inputs and outputs, each byte once
  int flop_per_clk = 0;      // the matrix pipe's rate, of a compute unit
  bool by_die = false;       // the kernel gives each die heads of its own (generator::work_of)
};

// How a grid would go in another order of its workgroups.
struct DispatchOrder {
  // plain; heavy_first; paired: x and n - 1 - x by one workgroup; round_robin, by_die: neighbours go to all dies, each
  // die has heads of its own.
  std::string_view name;
  double clk = 0;
  double missed_bytes = 0;  // as GridEstimate's; of the last two
};

struct GridEstimate {
  double clk = 0;       // until the last compute unit is done, or the slowest memory
  double pipe_clk = 0;  // by the compute units alone
  double busy = 0;      // share of pipe_clk in which the average compute unit has work
  double tail_clk = 0;  // from when the first one runs out of work
  double flop = 0, tflops = 0, peak_percent = 0, clock_ghz = 0;
  double l2_bytes = 0;                             // asked of all L2s
  double missed_bytes = 0;                         // that they fetch from the Infinity Cache
  double hbm_bytes = 0;                            // that it fetches from memory
  double l2_clk = 0, fabric_clk = 0, hbm_clk = 0;  // at the peak rates of the machine file
  std::string_view bound;                          // pipes, l2, infinity_cache or hbm
  std::vector<DispatchOrder> orders;
  double pj_per_flop = 0;
  double watts = 0;              // at clock_ghz
  double power_limited_ghz = 0;  // where the energy of a clock times the clock is the board's power
};

// The samples stand in the order of their workgroups; others lie on straight lines between them. A die takes the
// workgroups whose index modulo the number of dies is its own, each compute unit one at a time.
GridEstimate estimate_grid(const GridProblem& problem, const std::vector<GridSample>& samples,
                           const isa::Machine& machine, double clock_ghz);

}  // namespace zyfa::runtime
