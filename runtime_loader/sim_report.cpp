#include "runtime_loader/sim_report.h"

#include "isa/text.h"

#include <algorithm>
#include <numeric>

namespace zyfa::runtime {
namespace {

using pipes::Stall;
using Json = nlohmann::ordered_json;

// Shares of a span of time, of one SIMD or the mean of all.
struct Shares {
  double matrix, useful, reads, valu, trans;
};

Shares shares(const pipes::Busy& busy, double clk) {
  const auto share = [clk](std::uint64_t part) { return clk > 0 ? static_cast<double>(part) / clk : 0; };
  return {share(busy.matrix), share(busy.useful_matrix), share(busy.matrix_reads), share(busy.valu), share(busy.trans)};
}

constexpr const char* category_names[] = {"vector", "scalar", "scalar_memory", "vector_memory",
                                          "lds",    "branch", "internal"};

Json busy_json(const pipes::Busy& busy, double clk) {
  const Shares s = shares(busy, clk);
  Json issued;
  for (std::size_t i = 0; i < busy.issued.size(); ++i) issued[category_names[i]] = busy.issued[i];
  return {{"matrix_busy", s.matrix}, {"useful_matrix", s.useful}, {"matrix_reads", s.reads},
          {"valu_busy", s.valu},     {"trans_busy", s.trans},     {"issued", issued}};
}

double span_of(const pipes::Loop& loop) { return static_cast<double>(loop.last - loop.first); }

std::string json_name(Stall stall) {
  std::string text(name(stall));
  std::ranges::replace(text, ' ', '_');
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

Json stalls_json(const pipes::StallClk& clk) {
  Json json = Json::object();
  for (std::size_t i = 0; i < pipes::stalls; ++i)
    if (clk[i] > 0) json[json_name(static_cast<Stall>(i))] = clk[i];
  return json;
}

pipes::StallClk sum_of(const std::vector<pipes::StallClk>& waves) {
  pipes::StallClk sum{};
  for (const pipes::StallClk& wave : waves)
    for (std::size_t i = 0; i < pipes::stalls; ++i) sum[i] += wave[i];
  return sum;
}

Json loop_json(const pipes::Loop& loop) {
  const double clk = span_of(loop);
  Json json = {{"first_instruction", loop.target},
               {"wave", loop.wave},
               {"iterations", loop.iterations},
               {"cycles", loop.clk_per_iteration()}};
  json.update(busy_json(loop.counts.all(), pipes::simds * clk));
  json["lds_bytes_per_clk"] = static_cast<double>(loop.counts.lds_bytes_read) / clk;
  json["lds_bytes_written_per_clk"] = static_cast<double>(loop.counts.lds_bytes_written) / clk;
  json["lds_bank_busy"] = static_cast<double>(loop.counts.lds_bank_clk) / clk;
  json["vmem_bytes_per_clk"] = static_cast<double>(loop.counts.vmem_bytes) / clk;
  json["simds"] = Json::array();
  for (const pipes::Busy& simd : loop.counts.simd) json["simds"].push_back(busy_json(simd, clk));
  return json;
}

std::uint64_t total(const pipes::StallClk& clk) { return std::accumulate(clk.begin(), clk.end(), std::uint64_t{0}); }

}  // namespace

Json simulation_json(const Simulation& simulation, const SimulatedMachine& run) {
  const pipes::Result& r = run.result;
  const isa::Program& program = simulation.program();
  Json json = {{"machine", run.name}, {"cycles", r.cycles}};
  json["loop"] = run.loop ? loop_json(*run.loop) : Json();
  json["stalls"] = stalls_json(sum_of(r.waves));
  json["waves"] = Json::array();
  for (std::size_t i = 0; i < r.waves.size(); ++i)
    json["waves"].push_back({{"ends", r.wave_ends[i]}, {"stalls", stalls_json(r.waves[i])}});
  json["instructions"] = Json::array();
  for (std::size_t i = 0; i < r.instructions.size(); ++i)
    if (r.instructions[i].issues > 0)
      json["instructions"].push_back({{"index", i},
                                      {"text", isa::print(program.code[i], program)},
                                      {"source", to_string(program.code[i].where)},
                                      {"issues", r.instructions[i].issues},
                                      {"stalls", stalls_json(r.instructions[i].stalls)}});
  const GridEstimate& e = run.estimate;
  json["estimate"] = {
      {"tflops", e.tflops},           {"peak_percent", e.peak_percent},
      {"clock_ghz", e.clock_ghz},     {"cycles", e.clk},
      {"compute_units_busy", e.busy}, {"flop_convention", "2 * (head_dim + v_head_dim) per query and visible key"}};
  return json;
}

void print_simulation(const Simulation& simulation, const SimulatedMachine& run, std::size_t top) {
  const pipes::Result& r = run.result;
  const isa::Program& program = simulation.program();
  fmt::print("machine    {}\n", run.name);
  fmt::print("workgroup  {} clk\n", r.cycles);
  if (run.loop) {
    const pipes::Loop& loop = *run.loop;
    const double clk = span_of(loop);
    const Shares s = shares(loop.counts.all(), pipes::simds * clk);
    fmt::print("loop       {:.1f} clk an iteration, at instruction {} ({}), {} iterations\n", loop.clk_per_iteration(),
               loop.target, to_string(program.code[loop.target].where), loop.iterations);
    fmt::print("  matrix pipe     {:5.1f} % busy, {:.1f} % useful\n", 100 * s.matrix, 100 * s.useful);
    fmt::print("  vector port     {:5.1f} % VALU, {:.1f} % transcendental, {:.1f} % reading matrix operands\n",
               100 * s.valu, 100 * s.trans, 100 * s.reads);
    fmt::print("  LDS             {:5.1f} bytes read per clk, banks {:.1f} % busy\n",
               static_cast<double>(loop.counts.lds_bytes_read) / clk,
               100 * static_cast<double>(loop.counts.lds_bank_clk) / clk);
    fmt::print("  vector memory   {:5.1f} bytes per clk\n", static_cast<double>(loop.counts.vmem_bytes) / clk);
  } else {
    fmt::print("loop       none with more than 4 iterations\n");
  }
  const pipes::StallClk sum = sum_of(r.waves);
  fmt::print("stalls     of {} waves, share of their time\n", r.waves.size());
  for (std::size_t i = 0; i < pipes::stalls; ++i)
    if (sum[i] > 0)
      fmt::print("  {:<14}  {:5.1f} %\n", name(static_cast<Stall>(i)),
                 100.0 * static_cast<double>(sum[i]) / static_cast<double>(r.cycles * r.waves.size()));
  std::vector<std::size_t> order(r.instructions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return total(r.instructions[i].stalls); });
  if (top > 0) fmt::print("instructions that waited longest\n");
  for (std::size_t i = 0; i < std::min(top, order.size()); ++i) {
    const pipes::InstructionClk& at = r.instructions[order[i]];
    if (total(at.stalls) == 0) break;
    const auto most = std::ranges::max_element(at.stalls) - at.stalls.begin();
    fmt::print("  {:8} clk  {:5} x  {:<14}  {} {}\n", total(at.stalls), at.issues, name(static_cast<Stall>(most)),
               order[i], isa::print(program.code[order[i]], program));
  }
  const GridEstimate& e = run.estimate;
  fmt::print("estimate   {:.0f} TFLOP/s at {:.2f} GHz, {:.1f} % of peak; compute units {:.1f} % busy\n", e.tflops,
             e.clock_ghz, e.peak_percent, 100 * e.busy);
}

void print_spread(const std::vector<SimulatedMachine>& runs) {
  fmt::print("{:<24} {:>10} {:>12} {:>8} {:>8} {:>8} {:>8}\n", "machine", "workgroup", "clk a loop", "matrix %",
             "useful %", "VALU %", "TFLOP/s");
  for (const SimulatedMachine& run : runs) {
    const Shares s = run.loop ? shares(run.loop->counts.all(), pipes::simds * span_of(*run.loop)) : Shares{};
    fmt::print("{:<24} {:>10} {:>12.1f} {:>8.1f} {:>8.1f} {:>8.1f} {:>8.0f}\n", run.name, run.result.cycles,
               run.loop ? run.loop->clk_per_iteration() : 0, 100 * s.matrix, 100 * s.useful, 100 * (s.valu + s.trans),
               run.estimate.tflops);
  }
}

}  // namespace zyfa::runtime
