// What is observed of P: inputs whose codes, shifts and moves of references are known, and a model in double.
#include "runtime_loader/probability_statistics.h"

#include "isa/error.h"
#include "isa/numeric.h"
#include "runtime_loader/probability_report.h"
#include "runtime_loader/simulate.h"
#include "tests/support/catch.h"
#include "tests/support/kernels.h"
#include "tests/support/logits.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace zyfa;
using namespace zyfa::runtime;
using generator::AttentionConfig;

namespace {

constexpr int e8m0_one = 127;

ProbabilityStatistics observe(const Kernel& kernel, const AttentionInputs& inputs, EmulationOptions options = {}) {
  ProbabilityObserver watcher(kernel, inputs.shape);
  options.emulator.observer = watcher.observer();
  const EmulatedRun run = run_on_emulator(kernel, inputs, options);
  REQUIRE_FALSE(run.result.trap);
  return watcher.statistics();
}

std::vector<AttentionConfig> every_config(bool causal) {
  std::vector<AttentionConfig> all = every_shape(causal, false);
  for (const AttentionConfig& config : every_interleaved(causal, false)) all.push_back(config);
  return all;
}

bool is_folded(const AttentionConfig& config) { return config.score_scale == generator::ScoreScaling::folded; }

// Of one head and batch entry.
std::uint64_t visible_pairs(const AttentionShape& shape, int first_key = 0) {
  std::uint64_t pairs = 0;
  for (int row = 0; row < shape.seqlen_q; ++row)
    pairs += static_cast<std::uint64_t>(std::max(visible_keys(shape, row) - first_key, 0));
  return pairs;
}

// Blocks of 64 keys x 32 queries that some query sees, by their definition.
std::uint64_t visible_blocks(const AttentionShape& shape) {
  std::uint64_t blocks = 0;
  for (int first = 0; first < shape.seqlen_q; first += 32)
    blocks += static_cast<std::uint64_t>((visible_keys(shape, std::min(first + 32, shape.seqlen_q) - 1) + 63) / 64);
  return blocks;
}

// Rows of blocks whose keys start at 64 or later, and of all.
std::uint64_t block_rows(const AttentionShape& shape, int first_block = 0) {
  std::uint64_t rows = 0;
  for (int row = 0; row < shape.seqlen_q; ++row)
    rows += static_cast<std::uint64_t>(std::max((visible_keys(shape, row) + 63) / 64 - first_block, 0));
  return rows;
}

std::uint64_t rows_that_see(const AttentionShape& shape, int key) {
  std::uint64_t rows = 0;
  for (int row = 0; row < shape.seqlen_q; ++row) rows += visible_keys(shape, row) > key;
  return rows;
}

}  // namespace

TEST_CASE("P statistics: equal logits give equal codes, no shifts and no moves", "[p-statistics]") {
  for (const bool causal : {false, true})
    for (const AttentionConfig& config : every_config(causal)) {
      const Kernel kernel = generate_kernel(config);
      // More keys than queries, and fewer: then the first rows of a causal mask see nothing.
      for (const auto& [queries, keys] : {std::pair(530, 700), {700, 530}, {1, 129}, {300, 1}}) {
        const AttentionShape shape = shape_for(config, queries, keys);
        CAPTURE(kernel.manifest.symbol, queries, keys);
        const ProbabilityCounts c = observe(kernel, with_logits(shape, std::numbers::ln2, [](int) { return 0; })).all();
        // Folded: hidden keys of its first tile make a row's largest key a lone one, with the higher code.
        const std::uint64_t of_references =
            is_folded(config) ? c.codes[96] + c.codes[120] : c.codes[isa::float_to_e4m3(256)];
        CHECK(of_references == visible_pairs(shape));
        CHECK(c.all_codes() == visible_pairs(shape));
        CHECK(c.blocks == visible_blocks(shape));
        CHECK(c.zero_blocks == 0);
        CHECK(c.shifts[e8m0_one] == (is_folded(config) ? 0 : block_rows(shape)));
        CHECK(c.rows == rows_that_see(shape, 0));
        CHECK(c.moves == 0);
        CHECK(c.rising_tiles == 0);
      }
    }
}

TEST_CASE("P statistics: one dominant key leaves nothing but zeros", "[p-statistics]") {
  for (const bool causal : {false, true})
    for (AttentionConfig config : every_config(causal))
      for (const bool skip : {false, true}) {
        if (skip && (is_folded(config) || config.schedule == "interleaved")) continue;
        config.skip_zero_blocks = skip;
        const Kernel kernel = generate_kernel(config);
        // Whole waves: rows behind the last query see equal logits, which keeps a wave from leaving out blocks.
        const AttentionShape shape = shape_for(config, 544, 700);
        CAPTURE(kernel.manifest.symbol);
        const ProbabilityCounts c =
            observe(kernel, with_logits(shape, std::numbers::ln2, [](int j) { return j == 0 ? 0 : -60; })).all();
        const std::uint64_t rows = rows_that_see(shape, 0);
        CHECK(c.all_codes() == visible_pairs(shape));
        CHECK(c.zeros() == visible_pairs(shape, 1));
        CHECK(c.largest_code() == 120);
        CHECK(c.codes[120] == rows);
        CHECK(c.blocks == visible_blocks(shape));
        CHECK(c.blocks - c.zero_blocks == 544 / 32);
        CHECK(c.skipped_blocks == (skip ? c.zero_blocks : 0));
        CHECK(c.moves == 0);
        if (is_folded(config)) continue;
        CHECK(c.shifts[e8m0_one] == rows);
        const auto least = static_cast<std::size_t>(e8m0_one + generator::AttentionPlan{}.least_exponent);
        CHECK(c.shifts[least] == block_rows(shape, 1));
      }
}

TEST_CASE("P statistics: a late maximum moves the references of the rows that see it, once", "[p-statistics]") {
  constexpr int late = 300;
  for (const bool causal : {false, true})
    for (const AttentionConfig& config : every_config(causal)) {
      const Kernel kernel = generate_kernel(config);
      const AttentionShape shape = shape_for(config, 530, 700);
      CAPTURE(kernel.manifest.symbol);
      const ProbabilityCounts c =
          observe(kernel, with_logits(shape, std::numbers::ln2, [](int j) { return j == late ? 20 : 0; })).all();
      CHECK(c.moves == rows_that_see(shape, late));
      CHECK(c.most_moves == 1);
      // A wave has its own queries, of which the last sees most.
      const int rows = config.schedule == "interleaved" ? 64 : 32;
      std::uint64_t rising = 0, later = 0;
      for (int first = 0; first < shape.seqlen_q; first += rows) {
        const int keys = visible_keys(shape, std::min(first + rows, shape.seqlen_q) - 1);
        rising += keys > late;
        later += static_cast<std::uint64_t>((keys + 127) / 128 - 1);
      }
      CHECK(c.rising_tiles == rising);
      CHECK(c.later_tiles == later);
    }
}

namespace {

double value(std::uint8_t code) { return static_cast<double>(isa::e4m3_to_float(code)); }

// Codes of P where references do not move: each row's largest logit is in its first tile. docs/numerics.md.
std::array<std::uint64_t, 256> modelled_codes(const AttentionInputs& inputs, int head, bool lean) {
  const AttentionShape& s = inputs.shape;
  const int kv_head = head / (s.heads / s.kv_heads);
  const double factor = inputs.logit_scale(static_cast<std::size_t>(kv_head)) * std::numbers::log2e;
  const auto dim = static_cast<std::size_t>(s.head_dim);
  std::array<std::uint64_t, 256> counts{};
  for (int row = 0; row < s.seqlen_q; ++row) {
    std::vector<double> octaves(static_cast<std::size_t>(visible_keys(s, row)));
    for (std::size_t j = 0; j < octaves.size(); ++j)
      for (std::size_t d = 0; d < dim; ++d)
        octaves[j] +=
            factor * value(inputs.q[static_cast<std::size_t>(row * s.heads + head) * dim + d]) *
            value(inputs.k[(j * static_cast<std::size_t>(s.kv_heads) + static_cast<std::size_t>(kv_head)) * dim + d]);
    const double reference = *std::ranges::max_element(octaves);
    for (std::size_t first = 0; first < octaves.size(); first += 64) {
      const std::span block = std::span(octaves).subspan(first, std::min<std::size_t>(64, octaves.size() - first));
      const double exponent = std::nearbyint(*std::ranges::max_element(block) - reference);
      for (const double x : block) {
        const double lifted = x - reference - exponent + 8;
        ++counts[lean ? static_cast<std::size_t>(std::clamp(std::floor(8 * (lifted + 7) + 0.05), 0.0, 255.0))
                      : isa::float_to_e4m3(static_cast<float>(std::exp2(lifted)))];
      }
    }
  }
  return counts;
}

}  // namespace

TEST_CASE("P statistics: codes are those of a model in double, head by head", "[p-statistics]") {
  for (const bool causal : {false, true})
    for (const generator::Softmax softmax : {generator::Softmax::lean, generator::Softmax::exact}) {
      const AttentionConfig config{.causal = causal, .softmax = softmax};
      const Kernel kernel = generate_kernel(config);
      const AttentionShape shape = shape_for(config, 300, 400, 4, 2);
      const AttentionInputs inputs = make_inputs(shape, InputKind::sink, 2, 5);
      const ProbabilityStatistics statistics = observe(kernel, inputs);
      CAPTURE(kernel.manifest.symbol);
      CHECK(statistics.all().moves == 0);
      REQUIRE(statistics.heads.size() == 4);
      for (int head = 0; head < 4; ++head) {
        const auto& seen = statistics.heads[static_cast<std::size_t>(head)].codes;
        const auto model = modelled_codes(inputs, head, softmax == generator::Softmax::lean);
        std::uint64_t different = 0;
        for (std::size_t i = 0; i < 256; ++i) different += seen[i] > model[i] ? seen[i] - model[i] : model[i] - seen[i];
        CAPTURE(head);
        CHECK(seen[0] > 0);
        // Where a code is a matter of fp32's rounding.
        CHECK(static_cast<double>(different) < 2e-4 * static_cast<double>(visible_pairs(shape)));
      }
    }
}

TEST_CASE("P statistics: left-out blocks are as many as the pipe model counts", "[p-statistics]") {
  const AttentionConfig config{.causal = false, .skip_zero_blocks = true};
  const Kernel kernel = generate_kernel(config);
  const AttentionInputs inputs = with_logits(shape_for(config, 256, 2048), std::numbers::ln2,
                                             [](int j) { return j == 900 ? 1 : -16 * (j / 128); });
  std::optional<pipes::Result> simulated;
  EmulationOptions options;
  options.runner = [&](const isa::Program& program, const emulator::Launch& launch,
                       const emulator::GlobalMemory& memory) {
    simulated = pipes::simulate(program, launch, memory, 0);
    return emulator::Result{};
  };
  run_on_emulator(kernel, inputs, options);
  const ProbabilityCounts c = observe(kernel, inputs).all();
  CHECK(static_cast<double>(c.skipped_blocks) / static_cast<double>(c.blocks) ==
        skipped_blocks(kernel.manifest, *simulated));
}

TEST_CASE("P statistics: neither threads nor timing nor strict mode change them, nor they the output",
          "[p-statistics]") {
  const Kernel kernel = generate_kernel({.causal = true});
  const AttentionInputs inputs =
      make_inputs(shape_for(kernel.manifest.config, 1100, 1300, 3, 1, 2), InputKind::gaussian, 2, 3);
  const auto json = [&](EmulationOptions options) { return probability_json(observe(kernel, inputs, options)).dump(); };
  EmulationOptions plain, strict, shuffled;
  plain.emulator.threads = 1;
  strict.emulator.threads = 2;
  strict.emulator.strict = true;
  shuffled.emulator.shuffle_seed = 3;
  CHECK(json(strict) == json(plain));
  CHECK(json(shuffled) == json(plain));
  ProbabilityObserver watcher(kernel, inputs.shape);
  EmulationOptions watched;
  watched.emulator.observer = watcher.observer();
  const EmulatedRun run = run_on_emulator(kernel, inputs, watched), unseen = run_on_emulator(kernel, inputs);
  CHECK(run.o == unseen.o);
  CHECK(run.result.instructions == unseen.result.instructions);
}

TEST_CASE("P statistics: a kernel that is not what they take it for is refused", "[p-statistics]") {
  const Kernel kernel = generate_kernel({.causal = false});
  const AttentionShape shape = shape_for(kernel.manifest.config, 64, 700);
  const AttentionInputs inputs = make_inputs(shape, InputKind::gaussian, 1, 1);
  {
    Kernel mute = kernel;
    mute.manifest.register_map.clear();
    REQUIRE_THROWS_WITH(ProbabilityObserver(mute, shape),
                        "the manifest of " + kernel.manifest.symbol +
                            " does not say where P is: its register_map needs 'P' for each 32 queries of a wave");
  }
  {
    ProbabilityObserver never_run(kernel, shape);
    REQUIRE_THROWS_WITH(never_run.statistics(),
                        "wave 0 of workgroup 0 does not use P as its manifest and its shape say");
  }
  for (const int keys : {600, 800}) {  // a tile fewer or more than the run has
    AttentionShape other = shape;
    other.seqlen_k = keys;
    ProbabilityObserver watcher(kernel, other);
    EmulationOptions options;
    options.emulator.observer = watcher.observer();
    run_on_emulator(kernel, inputs, options);
    REQUIRE_THROWS_AS(watcher.statistics(), Error);
  }
  {
    // P looked at where it is not: half of the blocks pass unseen.
    Kernel wrong = kernel;
    for (generator::NamedRegisters& range : wrong.manifest.register_map)
      if (range.name == generator::probability_registers) range.first += 8;
    ProbabilityObserver watcher(wrong, shape);
    EmulationOptions options;
    options.emulator.observer = watcher.observer();
    run_on_emulator(wrong, inputs, options);
    REQUIRE_THROWS_AS(watcher.statistics(), Error);
  }
}
