// What a tile costs that the diagonal crosses, on the pipe model: docs/performance.md.
#include "isa/pipes/compute_unit.h"
#include "tests/support/catch.h"
#include "tests/support/kernels.h"

#include <algorithm>
#include <map>
#include <set>

using namespace zyfa;
using namespace zyfa::runtime;

namespace {

// A phase of the ping-pong, from one barrier of the workgroup to the next.
struct Phase {
  double clk = 0;
  std::set<std::uint32_t> barriers;  // instructions at which the waves met at its end
};

std::vector<Phase> phases_of(const Kernel& kernel, const AttentionInputs& inputs) {
  std::vector<std::pair<pipes::Clk, std::uint32_t>> arrivals;
  pipes::Options options;
  options.on_issue = [&](const pipes::Issue& issue) {
    if (kernel.code.program.code[issue.instruction].op == isa::Op::s_barrier)
      arrivals.emplace_back(issue.clk, issue.instruction);
  };
  EmulationOptions emulation;
  emulation.runner = [&](const isa::Program& program, const emulator::Launch& launch,
                         const emulator::GlobalMemory& memory) {
    pipes::simulate(program, launch, memory, 0, options);
    return emulator::Result{};
  };
  run_on_emulator(kernel, inputs, emulation);
  constexpr std::size_t waves = 8;
  std::vector<Phase> phases;
  pipes::Clk before = 0;
  for (std::size_t i = 0; i + waves <= arrivals.size(); i += waves) {
    Phase phase{static_cast<double>(arrivals[i + waves - 1].first - before), {}};
    for (std::size_t w = 0; w < waves; ++w) phase.barriers.insert(arrivals[i + w].second);
    before = arrivals[i + waves - 1].first;
    phases.push_back(phase);
  }
  return phases;
}

// The dearest two phases that follow each other, a trip, among those from the last whole tiles to the last scores, in
// trips over whole tiles.
double dearest_edge_trip(const Kernel& kernel, int keys) {
  const AttentionShape shape{.batch = 1,
                             .heads = 1,
                             .kv_heads = 1,
                             .seqlen_q = 2048,
                             .seqlen_k = keys,
                             .head_dim = kernel.manifest.config.head_dim,
                             .v_head_dim = kernel.manifest.config.v_head_dim,
                             .causal = true};
  // The sink keeps the references where they are.
  const std::vector<Phase> phases = phases_of(kernel, make_inputs(shape, InputKind::sink, 1, 1));
  std::map<std::set<std::uint32_t>, int> times;
  for (const Phase& phase : phases) ++times[phase.barriers];
  const auto loop = std::ranges::max_element(times, {}, [](const auto& t) { return t.second; })->first;
  const auto is_whole = [&](const Phase& phase) { return phase.barriers == loop; };
  const auto first_whole = std::ranges::find_if(phases, is_whole);
  const auto edge = std::find_if_not(first_whole, phases.end(), is_whole);
  const double whole = std::prev(edge, 3)->clk;
  double dearest = 0;
  for (auto phase = edge; phase < edge + 5; ++phase)
    dearest = std::max(dearest, (phase->clk + std::next(phase)->clk) / (2 * whole));
  return dearest;
}

}  // namespace

TEST_CASE("Edges: what a trip costs over tiles that the diagonal crosses", "[timing]") {
  for (const int head_dim : {128, 192}) {
    const Kernel kernel = generate_kernel({.head_dim = head_dim, .v_head_dim = 128});
    CAPTURE(head_dim);
    CHECK(dearest_edge_trip(kernel, 2048) < 1.15);
    for (const int keys : {2048 + 1, 2048 + 32, 2048 + 64, 2048 + 100}) {
      CAPTURE(keys);
      CHECK(dearest_edge_trip(kernel, keys) < 1.33);
    }
  }
}
