#include "runtime_loader/quantise_sim.h"

#include "isa/error.h"
#include "isa/pipes/compute_unit.h"
#include "runtime_loader/quantise_emulate.h"
#include "runtime_loader/quantise_inputs.h"

#include <algorithm>

namespace zyfa::runtime {
namespace {

constexpr int waves_of_simds = static_cast<int>(pipes::simds);

// The middle workgroup of a head in both phases. Heads that share a scale share memory here as well: one workgroup sees
// no difference.
std::array<pipes::Result, 2> simulate_phases(const QuantiseKernel& kernel, const QuantiseExtents& extents,
                                             const isa::Machine& machine) {
  const QuantiseInputs head =
      make_quantise_inputs({.rows = extents.rows, .head_dim = kernel.manifest.config.head_dim}, 1);
  std::vector<std::uint8_t> codes(head.x.size());
  float descale = 0;
  constexpr float some_maximum = 4;
  std::vector<float> partials(
      quantise_workspace_bytes(kernel.manifest, 1, extents.rows, extents.heads_per_scale) / sizeof(float),
      some_maximum);
  emulator::GlobalMemory memory;
  const std::int64_t dim = head.head_dim;
  const QuantiseProblem problem{.rows = extents.rows,
                                .heads = extents.heads_per_scale,
                                .heads_per_scale = extents.heads_per_scale,
                                .x = memory.place_read_only("x", std::as_bytes(std::span(head.x))),
                                .codes = memory.place("codes", std::as_writable_bytes(std::span(codes))),
                                .descale = memory.place("descale", std::as_writable_bytes(std::span(&descale, 1))),
                                .workspace = memory.place("workspace", std::as_writable_bytes(std::span(partials))),
                                .x_stride = {2 * dim, 0, 0},
                                .codes_stride = {dim, 0, 0}};
  std::vector<pipes::Result> results;
  const Runner runner = [&](const isa::Program& program, const emulator::Launch& launch,
                            const emulator::GlobalMemory& mapped) {
    results.push_back(pipes::simulate(program, launch, mapped, launch.grid[0] / 2, {.machine = machine}));
    if (results.back().trap) throw Error("{}", results.back().trap->message);
    return emulator::Result{};
  };
  launch_quantise_on_emulator(kernel, problem, memory, {}, runner);
  return {std::move(results.at(0)), std::move(results.at(1))};
}

int resident_workgroups(const QuantiseKernel& kernel, const isa::Machine& machine) {
  const int waves = static_cast<int>(kernel.manifest.workgroup_size) / machine.wave_lanes;
  const int by_registers =
      isa::waves_per_simd(machine, static_cast<int>(kernel.descriptor.vgpr_count())) * waves_of_simds / waves;
  const auto granule = static_cast<std::uint32_t>(machine.lds_granule_bytes);
  const std::uint32_t lds = (kernel.manifest.lds_bytes + granule - 1) / granule * granule;
  return lds == 0 ? by_registers : std::min(by_registers, machine.lds_bytes / static_cast<int>(lds));
}

QuantisePhase share_compute_unit(const pipes::Result& alone, int resident, const isa::Machine& machine) {
  QuantisePhase phase;
  phase.alone_clk = static_cast<double>(alone.cycles);
  phase.resident = resident;
  double port = 0;
  for (const pipes::Busy& simd : alone.counts.simd)
    port = std::max(port, static_cast<double>(simd.valu + simd.trans + simd.matrix_reads));
  const auto bytes = static_cast<double>(alone.counts.vmem_bytes);
  const double in_flight = bytes * machine.vmem_latency_clk / machine.vmem_in_flight_bytes;
  const std::pair<double, std::string_view> limits[] = {
      {phase.alone_clk / resident, "latency"},
      {port, "vector_port"},
      {std::max(bytes / machine.vmem_bytes_per_clk, in_flight), "vector_memory"}};
  std::tie(phase.each_clk, phase.limit) =
      *std::ranges::max_element(limits, {}, &std::pair<double, std::string_view>::first);
  return phase;
}

}  // namespace

QuantiseEstimate estimate_quantise(const QuantiseKernel& kernel, const QuantiseExtents& extents, std::string name,
                                   const isa::Machine& machine, double clock_ghz) {
  // Rows come from memory, so a load takes as long as the pessimistic machine says (machine.def).
  isa::Machine far = machine;
  far.vmem_latency_clk = std::max(machine.vmem_latency_clk, isa::pessimistic_machine().vmem_latency_clk);
  const std::array<pipes::Result, 2> alone = simulate_phases(kernel, extents, far);
  const double elements =
      static_cast<double>(extents.batch) * extents.rows * extents.heads * kernel.manifest.config.head_dim;
  const double x_bytes = 2 * elements, code_bytes = elements;
  QuantiseEstimate estimate{std::move(name), x_bytes + code_bytes <= machine.infinity_cache_bytes, {}};
  const std::uint32_t tile = kernel.manifest.rows_per_workgroup;
  GridProblem grid{.per_head = (static_cast<std::uint32_t>(extents.rows) + tile - 1) / tile,
                   .heads = extents.heads,
                   .kv_heads = extents.heads,
                   .batch = extents.batch,
                   .flop_per_clk = machine.fp8_flop_per_clk};
  const double workgroups = static_cast<double>(grid.per_head) * extents.heads * extents.batch;
  for (std::size_t i = 0; i < 2; ++i) {
    QuantisePhase& phase = estimate.phases[i] = share_compute_unit(alone[i], resident_workgroups(kernel, machine), far);
    const double written = i == 0 ? 0 : code_bytes;
    grid.own_bytes = (x_bytes + written) / workgroups;
    grid.footprint = written + (i == 1 && estimate.second_read_is_cached ? 0 : x_bytes);
    phase.grid = estimate_grid(grid, {{0, phase.each_clk, alone[i].counts}}, machine, clock_ghz);
  }
  return estimate;
}

namespace {

std::string problem_of(const QuantiseExtents& e) {
  return fmt::format("batch {}, {} heads of which {} share a descale, {} rows", e.batch, e.heads, e.heads_per_scale,
                     e.rows);
}

}  // namespace

void print_quantise(const QuantiseKernel& kernel, const QuantiseExtents& extents,
                    const std::vector<QuantiseEstimate>& estimates) {
  constexpr double giga = 1e-9;
  fmt::print("kernel     {}\nproblem    {}\n           modelled, not measured; without the time to launch\n",
             kernel.manifest.symbol, problem_of(extents));
  for (const QuantiseEstimate& e : estimates) {
    fmt::print("machine    {}: {:.0f} clk, {:.2f} us at {:.2f} GHz; the second read comes from {}\n", e.machine,
               e.clk(), e.microseconds(), e.phases[0].grid.clock_ghz,
               e.second_read_is_cached ? "the Infinity Cache" : "memory");
    for (std::size_t i = 0; i < e.phases.size(); ++i) {
      const QuantisePhase& p = e.phases[i];
      fmt::print("phase {}    {:.0f} clk\n", i, p.clk());
      fmt::print("  workgroup       {:.0f} clk alone; {:.0f} as one of {} on a compute unit, by {}\n", p.alone_clk,
                 p.each_clk, p.resident, p.limit);
      fmt::print("  grid bound by   {}: pipes {:.0f}, L2 {:.0f}, Infinity Cache {:.0f}, HBM {:.0f} clk\n", p.grid.bound,
                 p.grid.pipe_clk, p.grid.l2_clk, p.grid.fabric_clk, p.grid.hbm_clk);
      fmt::print("  traffic         {:.4f} GB from L2, {:.4f} missed there, {:.4f} from HBM\n", p.grid.l2_bytes * giga,
                 p.grid.missed_bytes * giga, p.grid.hbm_bytes * giga);
    }
  }
}

nlohmann::ordered_json quantise_json(const QuantiseKernel& kernel, const QuantiseExtents& extents,
                                     const std::vector<QuantiseEstimate>& estimates) {
  nlohmann::ordered_json json = {{"kernel", kernel.manifest.symbol},
                                 {"modelled", true},
                                 {"problem",
                                  {{"batch", extents.batch},
                                   {"heads", extents.heads},
                                   {"heads_per_scale", extents.heads_per_scale},
                                   {"rows", extents.rows}}},
                                 {"machines", nlohmann::ordered_json::array()}};
  for (const QuantiseEstimate& e : estimates) {
    nlohmann::ordered_json phases = nlohmann::ordered_json::array();
    for (const QuantisePhase& p : e.phases)
      phases.push_back({{"cycles", p.clk()},
                        {"workgroup_alone_cycles", p.alone_clk},
                        {"resident_workgroups", p.resident},
                        {"workgroup_cycles", p.each_clk},
                        {"workgroup_limit", p.limit},
                        {"bound", p.grid.bound},
                        {"pipe_cycles", p.grid.pipe_clk},
                        {"l2_cycles", p.grid.l2_clk},
                        {"infinity_cache_cycles", p.grid.fabric_clk},
                        {"hbm_cycles", p.grid.hbm_clk},
                        {"l2_bytes", p.grid.l2_bytes},
                        {"l2_missed_bytes", p.grid.missed_bytes},
                        {"hbm_bytes", p.grid.hbm_bytes}});
    json["machines"].push_back({{"machine", e.machine},
                                {"clock_ghz", e.phases[0].grid.clock_ghz},
                                {"second_read", e.second_read_is_cached ? "infinity_cache" : "hbm"},
                                {"phases", phases},
                                {"cycles", e.clk()},
                                {"microseconds", e.microseconds()}});
  }
  return json;
}

}  // namespace zyfa::runtime
