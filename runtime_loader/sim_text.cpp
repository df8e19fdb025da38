#include "runtime_loader/sim_text.h"

#include "isa/text.h"
#include "runtime_loader/sim_report.h"

#include <algorithm>
#include <numeric>

namespace zyfa::runtime {
namespace {

using pipes::Stall;

std::uint64_t total(const pipes::StallClk& clk) { return std::accumulate(clk.begin(), clk.end(), std::uint64_t{0}); }

void print_load(const char* what, const Load& load) {
  fmt::print("  {:<14}  {:.0f} clk VALU, {:.0f} clk matrix operands, {:.0f} clk matrix pipe, {:.0f} bytes of LDS\n",
             what, load.valu_clk, load.matrix_reads_clk, load.matrix_clk, load.lds_bytes);
}

void print_loop(const Simulation& simulation, const pipes::Loop& loop) {
  const auto clk = static_cast<double>(loop.last - loop.first);
  const Shares s = shares(loop);
  fmt::print("loop       {:.1f} clk an iteration, at instruction {} ({}), {} iterations\n", loop.clk_per_iteration(),
             loop.target, to_string(simulation.program().code[loop.target].where), loop.iterations);
  fmt::print("  matrix pipe     {:5.1f} % busy, {:.1f} % useful\n", 100 * s.matrix, 100 * s.useful);
  fmt::print("  vector port     {:5.1f} % VALU, {:.1f} % transcendental, {:.1f} % reading matrix operands\n",
             100 * s.valu, 100 * s.trans, 100 * s.reads);
  fmt::print("  LDS             {:5.1f} bytes read per clk, banks {:.1f} % busy\n",
             static_cast<double>(loop.counts.lds_bytes_read) / clk,
             100 * static_cast<double>(loop.counts.lds_bank_clk) / clk);
  fmt::print("  vector memory   {:5.1f} bytes per clk\n", static_cast<double>(loop.counts.vmem_bytes) / clk);
  print_load("SIMD, iteration", load_per_iteration(loop));
  if (const std::optional<Load> load = load_per_tile(simulation, loop)) print_load("32 x 128 tile", *load);
}

void print_energy(const SimulatedMachine& run, bool all) {
  const bool in_loop = run.loop.has_value();
  const pipes::Counts& counts = in_loop ? run.loop->counts : run.result.counts;
  const auto clk = static_cast<double>(in_loop ? run.loop->last - run.loop->first : run.result.cycles);
  const pipes::Energy energy = energy_of(run, counts, clk);
  const std::string figure = energy.useful_flop > 0 ? fmt::format("{:.3f} pJ per useful FLOP", energy.pj_per_flop())
                                                    : fmt::format("{:.0f} nJ", energy.pj * 1e-3);
  fmt::print("energy     {} in the {}, by guessed weights: for comparison only\n", figure,
             in_loop ? "loop" : "workgroup");
  if (!all) return;
  for (const pipes::EnergyItem& item : energy.items)
    if (item.amount > 0)
      fmt::print("  {:<16} {:5.1f} %  {:.4g} {}\n", item.name, 100 * item.pj / energy.pj, item.amount, item.unit);
}

void print_estimate(const Simulation& simulation, const GridEstimate& e) {
  constexpr double giga = 1e-9;
  fmt::print("estimate   {:.0f} TFLOP/s at {:.2f} GHz, {:.1f} % of peak; FLOP: {}\n", e.tflops, e.clock_ghz,
             e.peak_percent, flop_convention(simulation));
  fmt::print("  bound by        {}: pipes {:.0f}, L2 {:.0f}, Infinity Cache {:.0f}, HBM {:.0f} clk\n", e.bound,
             e.pipe_clk, e.l2_clk, e.fabric_clk, e.hbm_clk);
  fmt::print("  traffic         {:.3f} GB from L2, {:.3f} missed there, {:.3f} from HBM\n", e.l2_bytes * giga,
             e.missed_bytes * giga, e.hbm_bytes * giga);
  fmt::print("  compute units   {:.1f} % busy; in the last {:.0f} clk not all have work\n", 100 * e.busy, e.tail_clk);
  fmt::print("  pipes by order ");
  for (const DispatchOrder& order : e.orders) fmt::print(" {} {:.0f}", order.name, order.clk);
  fmt::print(" clk\n");
  fmt::print("  missed by order");
  for (const DispatchOrder& order : e.orders)
    if (order.missed_bytes > 0) fmt::print(" {} {:.3f}", order.name, order.missed_bytes * giga);
  fmt::print(" GB\n");
  if (e.flop > 0)
    fmt::print("  power           {:.3f} pJ per FLOP; by these weights the board's power is reached at {:.2f} GHz\n",
               e.pj_per_flop, e.power_limited_ghz);
}

void print_waits(const pipes::Result& r, const isa::Program& program, std::size_t top) {
  const pipes::StallClk sum = all_stalls(r);
  fmt::print("stalls     of {} waves, share of their time\n", r.waves.size());
  for (std::size_t i = 0; i < pipes::stalls; ++i)
    if (sum[i] > 0)
      fmt::print("  {:<17}  {:5.1f} %\n", name(static_cast<Stall>(i)),
                 100.0 * static_cast<double>(sum[i]) / static_cast<double>(r.cycles * r.waves.size()));
  std::vector<std::size_t> order(r.instructions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return total(r.instructions[i].stalls); });
  if (top > 0) fmt::print("instructions that waited longest\n");
  for (std::size_t i = 0; i < std::min(top, order.size()); ++i) {
    const pipes::InstructionClk& at = r.instructions[order[i]];
    if (total(at.stalls) == 0) break;
    const auto most = std::ranges::max_element(at.stalls) - at.stalls.begin();
    fmt::print("  {:8} clk  {:5} x  {:<17}  {} {}\n", total(at.stalls), at.issues, name(static_cast<Stall>(most)),
               order[i], isa::print(program.code[order[i]], program));
  }
}

}  // namespace

void print_problem(const Simulation& simulation) {
  fmt::print("kernel     {}\n", simulation.symbol());
  fmt::print("{:<10} {}\n", simulation.shape() ? "problem" : "launch", simulation.problem());
  fmt::print("           modelled, not measured\n");
}

void print_simulation(const Simulation& simulation, const SimulatedMachine& run, std::size_t top, bool energy) {
  fmt::print("machine    {}\n", run.name);
  fmt::print("workgroup  {}: {} clk\n", run.workgroup, run.result.cycles);
  if (run.loop)
    print_loop(simulation, *run.loop);
  else
    fmt::print("loop       none with more than 4 iterations\n");
  if (const auto* manifest = simulation.manifest(); manifest && !manifest->skipping_ways.empty())
    fmt::print("skipped    {:.1f} % of the blocks of 64 keys had no probability\n",
               100 * skipped_blocks(*manifest, run.result));
  print_energy(run, energy);
  print_waits(run.result, simulation.program(), top);
  print_estimate(simulation, run.estimate);
}

void print_spread(const std::vector<SimulatedMachine>& runs) {
  fmt::print("{:<24} {:>10} {:>12} {:>8} {:>8} {:>8} {:>8}\n", "machine", "workgroup", "clk a loop", "matrix %",
             "useful %", "VALU %", "TFLOP/s");
  for (const SimulatedMachine& run : runs) {
    const Shares s = run.loop ? shares(*run.loop) : Shares{};
    fmt::print("{:<24} {:>10} {:>12.1f} {:>8.1f} {:>8.1f} {:>8.1f} {:>8.0f}\n", run.name, run.result.cycles,
               run.loop_clk(), 100 * s.matrix, 100 * s.useful, 100 * (s.valu + s.trans), run.estimate.tflops);
  }
}

}  // namespace zyfa::runtime
