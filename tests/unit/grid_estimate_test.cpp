// Grids whose clocks and bytes can be counted by hand: docs/estimate.md.
#include "runtime_loader/grid_estimate.h"
#include "tests/support/catch.h"

using namespace zyfa;
using namespace zyfa::runtime;

namespace {

GridSample sample(std::uint32_t x, double clk, std::uint64_t bytes = 0) {
  GridSample s{x, clk, {}};
  s.counts.vmem_bytes = bytes;
  return s;
}

// Two dies of two compute units.
isa::Machine small() {
  isa::Machine machine;
  machine.compute_units = 4;
  machine.dies = 2;
  return machine;
}

GridProblem problem(std::uint32_t per_head, int heads) {
  return {.per_head = per_head, .heads = heads, .kv_heads = heads, .flop = 1e6, .flop_per_clk = 100};
}

}  // namespace

TEST_CASE("Compute units take workgroups as they become free", "[quick][timing]") {
  // Ten equal ones on four: three rounds, the last one with two.
  const GridEstimate e = estimate_grid(problem(10, 1), {sample(0, 100), sample(9, 100)}, small(), 2);
  CHECK(e.pipe_clk == 300);
  CHECK(e.clk == 300);
  CHECK(e.bound == "pipes");
  CHECK(e.busy == Approx(10 * 100 / (4 * 300.0)));
  CHECK(e.tail_clk == 100);
  CHECK(e.tflops == Approx(1e6 / 300 * 2e-3));
  CHECK(e.peak_percent == Approx(100 * 1e6 / (300 * 4 * 100)));
}

TEST_CASE("Workgroups between the samples lie on straight lines", "[quick][timing]") {
  // 10, 20, 30 on die 0's and 15, 25 on die 1's two compute units.
  const GridEstimate e = estimate_grid(problem(5, 1), {sample(0, 10), sample(2, 20), sample(4, 30)}, small(), 1);
  CHECK(e.pipe_clk == 10 + 30);
  CHECK(e.busy == Approx((10 + 15 + 20 + 25 + 30) / (4 * 40.0)));
}

TEST_CASE("Heavy workgroups first, or two of a kind, shorten the tail of a causal grid", "[quick][timing]") {
  const GridEstimate e = estimate_grid(problem(8, 1), {sample(0, 10), sample(7, 80)}, small(), 1);
  REQUIRE(e.orders.size() == 5);
  // Plain: die 0 has 10, 30, 50, 70, die 1 has 20, 40, 60, 80.
  CHECK(e.orders[0].clk == 40 + 80);
  // Heavy first: die 0 has 80, 60, 40, 20.
  CHECK(e.orders[1].name == "heavy_first");
  CHECK(e.orders[1].clk == 80 + 20);
  // Paired: every one takes 90.
  CHECK(e.orders[2].name == "paired");
  CHECK(e.orders[2].clk == 90);
}

TEST_CASE("A die fetches a head once for the workgroups that walk together, and again for those that come late",
          "[quick][timing]") {
  constexpr double kv = 1000;
  GridProblem grid = problem(8, 1);
  grid.kv_head_bytes = kv;
  isa::Machine machine = small();
  const std::vector<GridSample> samples{sample(0, 100, kv), sample(7, 100, kv)};
  // Two rounds on each die, the second 100 clk later, when the die has read as much again as the head has.
  machine.l2_bytes = kv;
  CHECK(estimate_grid(grid, samples, machine, 1).missed_bytes == 2 * kv);
  machine.l2_bytes = kv - 1;
  CHECK(estimate_grid(grid, samples, machine, 1).missed_bytes == 4 * kv);
  // Two heads at a time take twice the room.
  GridProblem two = problem(2, 4);
  two.kv_head_bytes = kv;
  const std::vector<GridSample> of_two{sample(0, 100, kv), sample(1, 100, kv)};
  CHECK(estimate_grid(two, of_two, machine, 1).missed_bytes == 2 * 4 * kv);
  // Query heads that share a key/value head share its bytes.
  two.kv_heads = 2;
  CHECK(estimate_grid(two, of_two, machine, 1).missed_bytes == 2 * 2 * kv);
}

TEST_CASE("Dies with heads of their own fetch each head once", "[quick][timing]") {
  constexpr double kv = 1000;
  GridProblem grid = problem(2, 4);
  grid.kv_head_bytes = kv;
  const std::vector<GridSample> samples{sample(0, 100, kv), sample(1, 100, kv)};
  const auto missed = [&] { return estimate_grid(grid, samples, small(), 1).missed_bytes; };
  CHECK(missed() == 2 * 4 * kv);
  grid.by_die = true;
  CHECK(missed() == 4 * kv);
  const GridEstimate e = estimate_grid(grid, samples, small(), 1);
  REQUIRE(e.orders.size() == 5);
  CHECK(e.orders[3].name == "round_robin");
  CHECK(e.orders[3].missed_bytes == 2 * 4 * kv);
  CHECK(e.orders[4].name == "by_die");
  CHECK(e.orders[4].missed_bytes == 4 * kv);
}

TEST_CASE("What only one workgroup uses is fetched each time", "[quick][timing]") {
  GridProblem grid = problem(4, 1);
  grid.own_bytes = 10;
  grid.kv_head_bytes = 100;
  grid.footprint = 4 * 10 + 100;
  const GridEstimate e = estimate_grid(grid, {sample(0, 5, 110), sample(3, 5, 110)}, small(), 1);
  CHECK(e.l2_bytes == 4 * 110);
  CHECK(e.missed_bytes == 4 * 10 + 2 * 100);
  CHECK(e.hbm_bytes == 4 * 10 + 100);
  // K and V that the Infinity Cache cannot hold come from memory for each die.
  isa::Machine tiny = small();
  tiny.infinity_cache_bytes = 99;
  CHECK(estimate_grid(grid, {sample(0, 5, 110), sample(3, 5, 110)}, tiny, 1).hbm_bytes == 4 * 10 + 2 * 100);
}

TEST_CASE("The slowest of pipes and memories bounds the grid", "[quick][timing]") {
  GridProblem grid = problem(4, 1);
  grid.own_bytes = 1e6;
  grid.footprint = 4e6;
  const std::vector<GridSample> samples{sample(0, 1000, 1000000), sample(3, 1000, 1000000)};
  isa::Machine machine = small();
  machine.hbm_gbps = 1e9;
  machine.infinity_cache_gbps = 1e9;
  machine.l2_bytes_per_clk = 1 << 20;
  CHECK(estimate_grid(grid, samples, machine, 1).bound == "pipes");
  machine.l2_bytes_per_clk = 100;
  const GridEstimate l2 = estimate_grid(grid, samples, machine, 1);
  CHECK(l2.bound == "l2");
  CHECK(l2.clk == Approx(4e6 / 2 / 100));
  machine.l2_bytes_per_clk = 1 << 20;
  machine.infinity_cache_gbps = 2;
  const GridEstimate fabric = estimate_grid(grid, samples, machine, 3);
  CHECK(fabric.bound == "infinity_cache");
  CHECK(fabric.clk == Approx(4e6 / 2 * 3));  // 2 bytes a ns, 3 clk a ns
  machine.infinity_cache_gbps = 1e9;
  machine.hbm_gbps = 4;
  const GridEstimate hbm = estimate_grid(grid, samples, machine, 3);
  CHECK(hbm.bound == "hbm");
  CHECK(hbm.clk == Approx(4e6 / 4 * 3));
  CHECK(hbm.tflops == Approx(1e6 / hbm.clk * 3e-3));
}

TEST_CASE("The grid's energy counts idle compute units too", "[quick][timing]") {
  isa::Machine machine = small();
  const GridEstimate e = estimate_grid(problem(5, 1), {sample(0, 100), sample(4, 100)}, machine, 2);
  // Nothing but time: 4 compute units for 200 clk.
  const double pj = 4 * 200 * machine.energy_cu_clk;
  CHECK(e.pj_per_flop == Approx(pj / 1e6));
  CHECK(e.watts == Approx(pj / 200 * 2 * 1e-3));
  CHECK(e.power_limited_ghz == Approx(machine.board_power_w / e.watts * 2));
}
