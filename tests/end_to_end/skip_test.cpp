// --skip-zero-blocks: the same bits with less work.
#include "runtime_loader/simulate.h"
#include "tests/support/catch.h"
#include "tests/support/kernels.h"
#include "tests/support/logits.h"

#include <algorithm>
#include <numbers>

using namespace zyfa;
using namespace zyfa::runtime;

namespace {

struct Kernels {
  explicit Kernels(generator::AttentionConfig config) : plain(generate_kernel(config)) {
    config.skip_zero_blocks = true;
    skipping = generate_kernel(config);
  }
  Kernel plain, skipping;
};

// Logits that fall by 16 octaves a tile, but for one late key.
AttentionInputs falling(const AttentionShape& shape) {
  return with_logits(shape, std::numbers::ln2, [](int j) { return j == 900 ? 1 : -16 * (j / 128); });
}

pipes::Result simulate_first(const Kernel& kernel, const AttentionInputs& inputs) {
  std::optional<pipes::Result> result;
  EmulationOptions options;
  options.runner = [&](const isa::Program& program, const emulator::Launch& launch,
                       const emulator::GlobalMemory& memory) {
    result = pipes::simulate(program, launch, memory, 0);
    return emulator::Result{};
  };
  run_on_emulator(kernel, inputs, options);
  REQUIRE_FALSE(result->trap);
  return *result;
}

}  // namespace

TEST_CASE("Skipping: the same bits, in any timing", "[skip]") {
  for (const bool causal : {false, true})
    for (const generator::AttentionConfig& config : every_shape(causal, causal)) {
      if (config.score_scale == generator::ScoreScaling::folded) continue;  // has no skipping
      const Kernels kernels(config);
      const AttentionShape shape = shape_for(config, 130, 1100);
      for (const AttentionInputs& inputs :
           {make_inputs(shape, InputKind::gaussian, 1, 1), make_inputs(shape, InputKind::sink, 2, 2),
            make_inputs(shape, InputKind::peaked, 1, 3), make_inputs(shape, InputKind::gaussian, 100, 4),
            falling(shape)}) {
        CAPTURE(kernels.skipping.manifest.symbol);
        const EmulatedRun plain = run_on_emulator(kernels.plain, inputs);
        const CheckedRun skipping = run_and_compare(kernels.skipping, inputs);  // strict
        CHECK(skipping.comparison.passed);
        CHECK(skipping.run.o == plain.o);
        CHECK(std::ranges::equal(skipping.run.lse, plain.lse));
        for (const std::uint64_t seed : {1, 2, 3}) {
          EmulationOptions options;
          options.emulator.shuffle_seed = seed;
          CHECK(run_on_emulator(kernels.skipping, inputs, options).o == plain.o);
        }
      }
    }
}

TEST_CASE("Skipping: what is left out is counted, and takes no time in the matrix pipe", "[skip]") {
  const generator::AttentionConfig config{.causal = false};
  const Kernels kernels(config);
  const AttentionShape shape = shape_for(config, 256, 2048);
  const auto matrix = [](const pipes::Result& r) { return static_cast<double>(r.counts.all().useful_matrix); };
  {
    const AttentionInputs inputs = make_inputs(shape, InputKind::sink, 1, 1);
    const pipes::Result plain = simulate_first(kernels.plain, inputs), skip = simulate_first(kernels.skipping, inputs);
    CHECK(skipped_blocks(kernels.plain.manifest, plain) == 0);
    CHECK(skipped_blocks(kernels.skipping.manifest, skip) == 0);
    CHECK(matrix(skip) == matrix(plain));
    CHECK(static_cast<double>(skip.cycles) < 1.02 * static_cast<double>(plain.cycles));
  }
  {
    // Tiles from the fourth on lie 48 octaves and more below, apart from the block of key 900.
    const AttentionInputs inputs = falling(shape);
    const pipes::Result plain = simulate_first(kernels.plain, inputs), skip = simulate_first(kernels.skipping, inputs);
    CHECK(skipped_blocks(kernels.skipping.manifest, skip) == 25.0 / 32);
    CHECK(matrix(skip) == matrix(plain) * (1 - 25.0 / 64));
    CHECK(skip.cycles < plain.cycles);
  }
}
