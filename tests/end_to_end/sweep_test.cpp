// Every kernel that zyfa-gen offers over many shapes, rows of logits and timings, in strict mode.
#include "tests/support/catch.h"
#include "tests/support/kernels.h"
#include "tests/support/logits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <random>

using namespace zyfa;
using namespace zyfa::runtime;

namespace {

constexpr std::uint16_t bf16_one = 0x3f80;

// Every configuration but for the code object's version; of BF16 queries not all with an LSE, nor all interleaved.
std::vector<generator::AttentionConfig> configurations() {
  std::vector<generator::AttentionConfig> all;
  for (const bool causal : {false, true})
    for (const bool lse : {false, true})
      for (generator::AttentionConfig config : every_shape(causal, lse)) {
        all.push_back(config);
        config.q_dtype = generator::QueryType::bf16;
        if (causal == lse || !config.lse) all.push_back(config);
      }
  for (const bool causal : {false, true})
    for (const bool lse : {false, true})
      for (generator::AttentionConfig config : every_interleaved(causal, lse)) {
        if (config.head_dim == 128 && lse == causal) config.q_dtype = generator::QueryType::bf16;
        all.push_back(config);
      }
  return all;
}

}  // namespace

TEST_CASE("Sweep: every shape and softmax on offer", "[sweep]") {
  for (const bool causal : {false, true})
    for (const generator::AttentionConfig& config : every_shape(causal, true)) {
      const Kernel kernel = generate_kernel(config);
      for (const auto& [queries, keys] : {std::pair{1, 1}, {300, 700}, {257, 5}, {130, 0}, {513, 384}}) {
        CAPTURE(kernel.manifest.symbol, queries, keys);
        const AttentionShape shape{.batch = 1,
                                   .heads = 3,
                                   .kv_heads = 1,
                                   .seqlen_q = queries,
                                   .seqlen_k = keys,
                                   .head_dim = config.head_dim,
                                   .v_head_dim = config.v_head_dim,
                                   .causal = causal};
        const AttentionInputs inputs = make_inputs(shape, InputKind::gaussian, 2, 12, {.distinct_descales = true});
        const Comparison c = run_and_compare(kernel, inputs).comparison;
        CHECK(c.passed);
        CHECK(c.relative_error < 0.04);
        CHECK(c.lse_max_error < 1e-4);
      }
    }
}

// kernel.md 4: a row's reference is its first tile's maximum; what rises far above it takes the rescue.
TEST_CASE("Sweep: rows whose logits outgrow the first tile's", "[sweep]") {
  for (const generator::AttentionConfig& config : every_shape(false, true)) {
    const AttentionShape shape{.batch = 1,
                               .heads = 2,
                               .kv_heads = 1,
                               .seqlen_q = 64,
                               .seqlen_k = 900,
                               .head_dim = config.head_dim,
                               .v_head_dim = config.v_head_dim};
    for (const double sigma : {40.0, 200.0, 3000.0}) {
      CAPTURE(config.head_dim, name(config.softmax), sigma);
      const Comparison c =
          run_and_compare(generate_kernel(config), make_inputs(shape, InputKind::gaussian, sigma, 13)).comparison;
      CHECK(c.finite);
      CHECK(c.passed);
    }
  }
}

// users.md A1: one logit of 0 and 2,047 of -7.
TEST_CASE("Sweep: a V of ones gives exactly 1", "[sweep]") {
  for (const bool causal : {false, true})
    for (const generator::AttentionConfig& config : every_shape(causal, false)) {
      const Kernel kernel = generate_kernel(config);
      for (const auto& [kind, hot_key] : {std::pair{InputKind::gaussian, 0},
                                          {InputKind::sink, 1500},
                                          {InputKind::peaked, 0},
                                          {InputKind::peaked, 1000},
                                          {InputKind::peaked, 2047}}) {
        CAPTURE(kernel.manifest.symbol, to_string(kind), hot_key);
        const AttentionInputs inputs =
            make_inputs(shape_for(config, 40, 2048), kind, 2, 2, suited(config, {.v_ones = true, .hot_key = hot_key}));
        const CheckedRun checked = run_and_compare(kernel, inputs);
        CHECK(std::ranges::all_of(checked.run.o, [](std::uint16_t bits) { return bits == bf16_one; }));
      }
    }
}

TEST_CASE("Sweep: logits that rise, fall, stay equal or jump", "[sweep]") {
  constexpr int keys = 1100;
  constexpr double octave = std::numbers::ln2;
  struct Pattern {
    const char* name;
    double unit;
    std::function<int(int)> number;
  };
  const Pattern patterns[] = {
      {"up by an octave a tile", octave, [](int j) { return j / 128; }},
      {"up by 16 octaves a tile", octave, [](int j) { return 16 * (j / 128); }},
      {"down by an octave a tile", octave, [](int j) { return -(j / 128); }},
      {"down by 16 octaves a tile", octave, [](int j) { return -16 * (j / 128); }},
      {"equal", 1, [](int) { return 7; }},
      {"from -10^4 to 10^4", 1e4 / 512, [](int j) { return j * 7919 % 1025 - 512; }},
      {"one of 10^4 in the last tile", 1e4 / 512, [](int j) { return j == keys - 3 ? 512 : 0; }},
      {"one of 0 among -7, late", 7, [](int j) { return j == keys - 3 ? 0 : -1; }},
  };
  // Twice the error of a gaussian row, docs/numerics.md.
  const auto bound = [](generator::Softmax softmax) { return softmax == generator::Softmax::lean ? 0.06 : 0.05; };
  for (const generator::AttentionConfig& config : every_shape(false, true)) {
    const Kernel kernel = generate_kernel(config);
    for (const Pattern& pattern : patterns) {
      CAPTURE(config.head_dim, name(config.softmax), pattern.name);
      const Comparison c = run_and_compare(generate_kernel(config),
                                           with_logits(shape_for(config, 40, keys), pattern.unit, pattern.number))
                               .comparison;
      CHECK(c.finite);
      CHECK(c.passed);
      CHECK(c.relative_error < bound(config.softmax));
    }
  }
}

TEST_CASE("Sweep: 200 shapes leave nothing undefined", "[sweep]") {
  const std::vector<generator::AttentionConfig> configs = configurations();
  std::vector<Kernel> kernels;
  for (const generator::AttentionConfig& config : configs) kernels.push_back(generate_kernel(config));
  // users.md B11, and shapes on which other kernels have failed.
  constexpr std::array<std::array<int, 2>, 22> lengths = {
      {{113, 203},   {128, 217}, {113, 211}, {108, 256}, {256, 512}, {512, 256}, {1024, 1024}, {1023, 1024},
       {1024, 1023}, {1, 1},     {127, 127}, {128, 128}, {129, 129}, {257, 257}, {3, 128},     {1, 2},
       {2048, 1},    {5, 5},     {300, 295}, {1, 2048},  {512, 0},   {700, 64}}};
  constexpr std::array<std::array<int, 2>, 8> heads = {
      {{1, 1}, {6, 1}, {3, 1}, {5, 1}, {7, 1}, {12, 2}, {4, 4}, {8, 1}}};
  std::mt19937_64 rng(15);
  const auto below = [&rng](int n) { return static_cast<int>(rng() % static_cast<std::uint64_t>(n)); };
  for (int i = 0; i < 200; ++i) {
    const auto which = static_cast<std::size_t>(below(static_cast<int>(configs.size())));
    const std::size_t length = static_cast<std::size_t>(i);
    const auto [queries, keys] = length < lengths.size() ? lengths[length] : std::array{1 + below(300), below(500)};
    const auto [all, kv] = heads[static_cast<std::size_t>(below(queries * keys > 200'000 ? 1 : 8))];
    const AttentionShape shape = shape_for(configs[which], queries, keys, all, kv, 1 + below(2));
    CAPTURE(kernels[which].manifest.symbol, queries, keys, all, kv, shape.batch);
    // What rounding BF16 queries costs grows with sigma: zyfa-run's tolerances are for 2.
    const double sigma = 0.5 + below(4) * (configs[which].q_dtype == generator::QueryType::bf16 ? 0.5 : 1);
    const Comparison c =
        run_and_compare(kernels[which], make_inputs(shape, InputKind::gaussian, sigma, static_cast<std::uint64_t>(i),
                                                    suited(configs[which], {.distinct_descales = true})))
            .comparison;
    CHECK(c.passed);
  }
}

TEST_CASE("Sweep: 7200 random timings compute the same bits", "[sweep]") {
  constexpr std::uint64_t runs = 7200;
  const std::vector<generator::AttentionConfig> configs = configurations();
  for (const generator::AttentionConfig& config : configs) {
    const Kernel kernel = generate_kernel(config);
    const AttentionInputs inputs = make_inputs(shape_for(config, 40, 290), InputKind::gaussian, 2, 16,
                                               suited(config, {.distinct_descales = true}));
    const EmulatedRun expected = run_on_emulator(kernel, inputs);
    REQUIRE_FALSE(expected.result.trap);
    for (std::uint64_t seed = 0; seed < runs / configs.size(); ++seed) {
      EmulationOptions options;
      options.emulator.shuffle_seed = seed;
      const EmulatedRun run = run_on_emulator(kernel, inputs, options);
      CAPTURE(kernel.manifest.symbol, seed);
      REQUIRE_FALSE(run.result.trap);
      REQUIRE(run.o == expected.o);
      REQUIRE(std::ranges::equal(run.lse, expected.lse));
    }
  }
}
