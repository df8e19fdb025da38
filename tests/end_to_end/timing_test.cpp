// The pipe model against published measurements of AITER's objects (docs/timing.md), on the nominal machine. The
// objects come from a folder named by ZYFA_AITER_OBJECTS.
#include "runtime_loader/simulate.h"
#include "tests/support/aiter_objects.h"
#include "tests/support/catch.h"

#include <cmath>

using namespace zyfa;
using namespace zyfa::runtime;

namespace {

using tests::aiter_objects;

pipes::Loop loop_of(const std::string& file, const std::string& abi, const isa::Machine& machine = {}) {
  const Simulation simulation(*aiter_objects() / file, {.abi = abi, .seqlen_q = 8192, .seqlen_k = 8192});
  const pipes::Options options{.machine = machine, .on_issue = {}};
  const auto loop = pipes::find_loop(simulation.run(simulation.workgroups_per_head() - 1, options));
  REQUIRE(loop);
  return *loop;
}

double share(std::uint64_t clk, const pipes::Loop& loop) {
  return static_cast<double>(clk) / static_cast<double>(4 * (loop.last - loop.first));
}

// ROCm/aiter aiter/ops/mha_v4.md, kernel only.
struct Published {
  const char* format;
  double tflops;
};
constexpr Published v4[] = {{"i8fp8", 2315}, {"fp8", 3050},  {"mxfp6", 3450},
                            {"mxfp4", 3695}, {"f6f4", 3700}, {"f4f4", 4000}};

// For each format, the clock in GHz at which the model is as fast as published.
std::vector<double> clocks(const isa::Machine& machine) {
  constexpr int seqlen = 8192;
  constexpr double flop_per_workgroup = 256.0 * seqlen * 2 * (128 + 128);
  std::vector<double> all;
  for (const Published& p : v4) {
    const Simulation simulation(*aiter_objects() / "fmha_v4_fwd" / fmt::format("fwd_hd128_{}.co", p.format),
                                {.abi = "aiter-v4", .seqlen_q = seqlen, .seqlen_k = seqlen});
    const pipes::Options options{.machine = machine, .on_issue = {}};
    const auto clk = static_cast<double>(simulation.run(0, options).cycles);
    all.push_back(p.tflops * 1e3 * clk / (flop_per_workgroup * machine.compute_units));
  }
  return all;
}

double common(const std::vector<double>& clocks) {
  double mean = 0;
  for (const double clock : clocks) mean += std::log(clock) / static_cast<double>(clocks.size());
  return std::exp(mean);
}

// Whether the model has the formats in the published order at one clock.
bool is_in_order(const std::vector<double>& clocks) {
  for (std::size_t i = 1; i < clocks.size(); ++i)
    if (v4[i].tflops / clocks[i] <= v4[i - 1].tflops / clocks[i - 1]) return false;
  return true;
}

}  // namespace

TEST_CASE("The matrix pipe idles in AITER v3 as in Zyphra's traces", "[timing][aiter]") {
  if (!aiter_objects()) {
    WARN("skipped: ZYFA_AITER_OBJECTS names no folder");
    return;
  }
  const auto idle = [](const isa::Machine& machine) {
    const pipes::Loop loop = loop_of("fmha_v3_fwd/fwd_hd128_fp8_causal.co", "aiter-v3", machine);
    return 100 * (1 - share(loop.counts.all().matrix, loop));
  };
  CHECK(std::abs(idle({}) - 31.7) < 3);
  // The tolerance bites: exponentials at half the rate do not fit.
  isa::Machine slow;
  slow.trans_clk = 8;
  CHECK(std::abs(idle(slow) - 31.7) > 3);
}

TEST_CASE("AITER v4's formats run as fast as published, at one common clock", "[timing][aiter]") {
  if (!aiter_objects()) {
    WARN("skipped: ZYFA_AITER_OBJECTS names no folder");
    return;
  }
  const std::vector<double> nominal = clocks({});
  const double clock = common(nominal);
  for (std::size_t i = 0; i < nominal.size(); ++i) {
    CAPTURE(v4[i].format, nominal[i], clock);
    CHECK(std::abs(clock / nominal[i] - 1) < 0.12);
  }
  CHECK(is_in_order(nominal));
  CHECK(clock < isa::Machine{}.clock_ghz);
  // Conversions at a quarter of the rate would need a clock that the chip has not, and another order.
  isa::Machine slow;
  slow.cvt_int_clk = 16;
  CHECK(common(clocks(slow)) > slow.clock_ghz);
  CHECK_FALSE(is_in_order(clocks(slow)));
}

TEST_CASE("Published kernels' useful matrix time is what their design says", "[timing][aiter]") {
  if (!aiter_objects()) {
    WARN("skipped: ZYFA_AITER_OBJECTS names no folder");
    return;
  }
  // aiter-anatomy.md 1.11: of each tile's matrix instructions a bias and two row sums, 64 of 1,088 clk, are not Q K or
  // P V.
  const pipes::Loop fp8 = loop_of("fmha_v4_fwd/fwd_hd128_fp8.co", "aiter-v4");
  const pipes::Busy busy = fp8.counts.all();
  CHECK(busy.useful_matrix * 1088 == busy.matrix * 1024);
  // v3 sums on the VALU.
  const pipes::Busy v3 = loop_of("fmha_v3_fwd/fwd_hd128_fp8_causal.co", "aiter-v3").counts.all();
  CHECK(v3.useful_matrix == v3.matrix);
}
