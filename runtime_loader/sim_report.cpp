#include "runtime_loader/sim_report.h"

#include "isa/text.h"

#include <algorithm>
#include <numeric>

namespace zyfa::runtime {
namespace {

using pipes::Stall;
using Json = nlohmann::ordered_json;

constexpr std::string_view class_names[] = {
    "scalar",      "scalar_memory", "branch", "internal", "barrier",  "valu",      "valu_quarter", "valu_64",
    "valu_packed", "dot",           "trans",  "matrix",   "lds_read", "lds_write", "vector_load",  "vector_store"};
static_assert(std::size(class_names) == pipes::classes);

Json issued_json(const pipes::Busy& busy) {
  Json issued = Json::object();
  for (std::size_t i = 0; i < pipes::classes; ++i)
    if (busy.issued[i] > 0) issued[std::string(class_names[i])] = busy.issued[i];
  return issued;
}

Json busy_json(const pipes::Busy& busy, double clk) {
  const Shares s = shares(busy, clk);
  return {{"matrix_busy", s.matrix},
          {"useful_matrix", s.useful},
          {"matrix_reads", s.reads},
          {"valu_busy", s.valu},
          {"trans_busy", s.trans},
          {"issued", issued_json(busy)},
          {"toggles", {{"a", busy.a_toggles}, {"b", busy.b_toggles}, {"c", busy.c_toggles}, {"d", busy.d_toggles}}}};
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

Json load_json(const std::optional<Load>& load) {
  if (!load) return nullptr;
  return {{"valu_clk", load->valu_clk},
          {"matrix_reads_clk", load->matrix_reads_clk},
          {"matrix_clk", load->matrix_clk},
          {"lds_bytes", load->lds_bytes}};
}

Json loop_json(const Simulation& simulation, const pipes::Loop& loop) {
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
  json["per_iteration"] = load_json(load_per_iteration(loop));
  json["per_tile"] = load_json(load_per_tile(simulation, loop));
  json["simds"] = Json::array();
  for (const pipes::Busy& simd : loop.counts.simd) json["simds"].push_back(busy_json(simd, clk));
  return json;
}

Json energy_json(const pipes::Energy& energy, const pipes::Busy& busy) {
  Json items = Json::object();
  for (const pipes::EnergyItem& item : energy.items)
    items[std::string(item.name)] = {{"amount", item.amount}, {"unit", item.unit}, {"pj", item.pj}};
  return {{"pj_per_useful_flop", energy.useful_flop > 0 ? Json(energy.pj_per_flop()) : Json()},
          {"pj", energy.pj},
          {"useful_flop", energy.useful_flop},
          {"items", items},
          {"instructions", issued_json(busy)}};
}

Json energies_json(const SimulatedMachine& run) {
  const pipes::Counts& all = run.result.counts;
  Json json = {{"weights_are_guesses", true}};
  json["loop"] =
      run.loop ? energy_json(energy_of(run, run.loop->counts, span_of(*run.loop)), run.loop->counts.all()) : Json();
  json["workgroup"] = energy_json(energy_of(run, all, static_cast<double>(run.result.cycles)), all.all());
  return json;
}

Json estimate_json(const Simulation& simulation, const GridEstimate& e) {
  Json orders = Json::object(), missed = Json::object();
  for (const DispatchOrder& order : e.orders) {
    orders[std::string(order.name)] = order.clk;
    if (order.missed_bytes > 0) missed[std::string(order.name)] = order.missed_bytes;
  }
  return {{"tflops", e.tflops},
          {"peak_percent", e.peak_percent},
          {"clock_ghz", e.clock_ghz},
          {"flop", e.flop},
          {"flop_convention", flop_convention(simulation)},
          {"cycles", e.clk},
          {"bound", e.bound},
          {"pipe_cycles", e.pipe_clk},
          {"l2_cycles", e.l2_clk},
          {"infinity_cache_cycles", e.fabric_clk},
          {"hbm_cycles", e.hbm_clk},
          {"l2_bytes", e.l2_bytes},
          {"l2_missed_bytes", e.missed_bytes},
          {"hbm_bytes", e.hbm_bytes},
          {"compute_units_busy", e.busy},
          {"tail_cycles", e.tail_clk},
          {"orders", orders},
          {"l2_missed_bytes_by_order", missed},
          {"pj_per_flop", e.pj_per_flop},
          {"watts", e.watts},
          {"power_limited_ghz", e.power_limited_ghz}};
}

Json instructions_json(const pipes::Result& r, const isa::Program& program) {
  Json json = Json::array();
  for (std::size_t i = 0; i < r.instructions.size(); ++i)
    if (r.instructions[i].issues > 0)
      json.push_back({{"index", i},
                      {"text", isa::print(program.code[i], program)},
                      {"source", to_string(program.code[i].where)},
                      {"issues", r.instructions[i].issues},
                      {"stalls", stalls_json(r.instructions[i].stalls)}});
  return json;
}

// `counts` are of all SIMDs; each has had its part of the LDS bytes.
Load load_of(const pipes::Counts& counts, double parts) {
  const pipes::Busy busy = counts.all();
  const auto part = [parts](std::uint64_t sum) { return static_cast<double>(sum) / parts; };
  return {part(busy.valu + busy.trans), part(busy.matrix_reads), part(busy.matrix),
          part(counts.lds_bytes_read + counts.lds_bytes_written)};
}

}  // namespace

Shares shares(const pipes::Busy& busy, double clk) {
  const auto share = [clk](std::uint64_t part) { return clk > 0 ? static_cast<double>(part) / clk : 0; };
  return {share(busy.matrix), share(busy.useful_matrix), share(busy.matrix_reads), share(busy.valu), share(busy.trans)};
}

Shares shares(const pipes::Loop& loop) { return shares(loop.counts.all(), pipes::simds * span_of(loop)); }

Load load_per_iteration(const pipes::Loop& loop) {
  return load_of(loop.counts, static_cast<double>(pipes::simds * loop.iterations));
}

std::optional<Load> load_per_tile(const Simulation& simulation, const pipes::Loop& loop) {
  constexpr double tile_queries = 32, tile_keys = 128;
  const std::optional<AttentionShape> shape = simulation.shape();
  const auto flop = static_cast<double>(loop.counts.all().useful_flop);
  if (!shape || flop == 0) return std::nullopt;
  return load_of(loop.counts, flop / (2 * tile_queries * tile_keys * (shape->head_dim + shape->v_head_dim)));
}

pipes::Energy energy_of(const SimulatedMachine& run, const pipes::Counts& counts, double clk) {
  const GridEstimate& e = run.estimate;
  const double bytes = e.l2_bytes > 0 ? static_cast<double>(counts.vmem_bytes) / e.l2_bytes : 0;
  return pipes::energy(counts, clk, bytes * e.missed_bytes, bytes * e.hbm_bytes, run.machine);
}

pipes::StallClk all_stalls(const pipes::Result& result) {
  pipes::StallClk sum{};
  for (const pipes::StallClk& wave : result.waves)
    for (std::size_t i = 0; i < pipes::stalls; ++i) sum[i] += wave[i];
  return sum;
}

std::string_view flop_convention(const Simulation& simulation) {
  return simulation.shape() ? "2 * (head_dim + v_head_dim) per query and visible key"
                            : "of matrix instructions with A or B from LDS or memory";
}

Json simulation_json(const Simulation& simulation, const SimulatedMachine& run) {
  const pipes::Result& r = run.result;
  Json json = {{"machine", run.name}, {"workgroup", run.workgroup}, {"cycles", r.cycles}};
  json["loop"] = run.loop ? loop_json(simulation, *run.loop) : Json();
  if (const auto* manifest = simulation.manifest(); manifest && !manifest->skipping_ways.empty())
    json["skipped_blocks"] = skipped_blocks(*manifest, r);
  json["energy"] = energies_json(run);
  json["stalls"] = stalls_json(all_stalls(r));
  json["waves"] = Json::array();
  for (std::size_t i = 0; i < r.waves.size(); ++i)
    json["waves"].push_back({{"ends", r.wave_ends[i]}, {"stalls", stalls_json(r.waves[i])}});
  json["instructions"] = instructions_json(r, simulation.program());
  json["estimate"] = estimate_json(simulation, run.estimate);
  return json;
}

}  // namespace zyfa::runtime
