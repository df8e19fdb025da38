// A wave's own pace: turns, chains, barriers, branches, scalar memory.
#include "schedules/probes/groups.h"
#include "schedules/probes/stopwatch.h"

#include <fmt/format.h>

namespace zyfa::schedules {
namespace {

const std::vector<int> few{16, 48};

Probe turn() {
  return make_probe({.name = "turn",
                     .question = "how often a wave issues anything",
                     .parameters = {"turn_clk"},
                     .waves = 1,
                     .measurements = {turns(every_wave)},
                     .evaluate = [](const Readings& r) {
                       return Findings{{{"turn_clk", r.turn_clk()}}, {}};
                     }});
}

Probe valu_chain() {
  const auto add = [](Bench& b, int i) { b.k.v_add_u32(b.result(i), b.sources[0], b.sources[1]); };
  const auto dependent = [](Bench& b, int) { b.k.v_add_u32(b.results[0], b.results[0], b.sources[0]); };
  return make_probe({.name = "valu-chain",
                     .question = "from a vector instruction to one that needs its result",
                     .parameters = {"dependent_valu_clk"},
                     .waves = 1,
                     .measurements = {{"independent", few, every_wave, repeat(add)},
                                      {"dependent", few, every_wave, repeat(dependent)}},
                     .evaluate = [](const Readings& r) {
                       const double chain = r.slope("dependent");
                       return Findings{{{"dependent_valu_clk", chain, chain <= r.slope("independent")}}, {}};
                     }});
}

// Four waves on four SIMDs, whose turns are a clock apart: the last of them goes on, and arrives again, three clocks
// after the release.
Probe barrier() {
  constexpr double last_of_four = 3;
  return make_probe({.name = "barrier",
                     .question = "from a barrier's last arrival until the waves go on",
                     .parameters = {"barrier_release_clk"},
                     .waves = 4,
                     .measurements = {turns(every_wave),
                                      {"s_barrier", few, every_wave, repeat([](Bench& b, int) { b.k.s_barrier(); })}},
                     .evaluate = [=](const Readings& r) {
                       const double release = r.slope("s_barrier") - last_of_four;
                       return Findings{{{"barrier_release_clk", release, release <= r.turn_clk()}}, {}};
                     }});
}

Probe branch() {
  return make_probe({.name = "branch",
                     .question = "from a taken branch to the next instruction",
                     .parameters = {"branch_clk"},
                     .waves = 1,
                     .measurements = {{"s_branch", few, every_wave, repeat([](Bench& b, int) {
                                         const auto next = b.k.label("next");
                                         b.k.s_branch(next);
                                         b.k.s_nop(0);
                                         b.k.bind(next);
                                       })}},
                     .evaluate = [](const Readings& r) {
                       return Findings{{{"branch_clk", r.slope("s_branch")}}, {}};
                     }});
}

// Loads from one cache line after another, the cache emptied before.
Probe scalar_memory() {
  constexpr int line_bytes = 64;
  return make_probe({.name = "scalar-memory",
                     .question = "a scalar load that misses its cache",
                     .parameters = {"smem_latency_clk"},
                     .waves = 1,
                     .in_bytes = 4096,
                     .measurements = {turns(every_wave),
                                      {"s_load_dword", few, every_wave,
                                       [](Bench& b, int repetitions) {
                                         b.k.s_dcache_inv();
                                         wait_lgkm(b.k);
                                         for (int i = 0; i < repetitions; ++i) {
                                           b.k.s_load_dword(b.scratch, b.in,
                                                            static_cast<std::uint32_t>(i * line_bytes));
                                           wait_lgkm(b.k);
                                         }
                                       }}},
                     // After the wait the next load takes a turn.
                     .evaluate = [](const Readings& r) {
                       return Findings{{{"smem_latency_clk", r.slope("s_load_dword") - r.turn_clk()}}, {}};
                     }});
}

// Straight code of 8 bytes an instruction, the longest that there is: fetches keep up if one wave issues one a turn,
// and two waves on a SIMD one each two turns, as they share its scalar issue.
Probe fetch() {
  const Block moves = repeat([](Bench& b, int i) { b.k.s_mov_b32(b.scratch, 0x12345 + i); });
  const std::vector<int> many{64, 256};
  return make_probe({.name = "fetch",
                     .question = "whether instructions of 8 bytes arrive as fast as they can issue",
                     .parameters = {},
                     .measurements = {turns(one_wave),
                                      {"one wave", many, one_wave, moves},
                                      {"two waves", many, two_on_a_simd, moves}},
                     .evaluate = [](const Readings& r) {
                       const auto fact = [&](std::string_view waves) {
                         return Fact{fmt::format("s_mov_b32 of 8 bytes, {}, clk an instruction of the SIMD", waves),
                                     fmt::format("{:g}", r.slope(waves) / (waves == "two waves" ? 2 : 1)), ""};
                       };
                       return Findings{{}, {fact("one wave"), fact("two waves")}};
                     }});
}

}  // namespace

std::vector<Probe> control_probes() { return {turn(), valu_chain(), barrier(), branch(), fetch(), scalar_memory()}; }

}  // namespace zyfa::schedules
