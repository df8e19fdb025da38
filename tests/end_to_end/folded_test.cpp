// Scores that leave the matrix product as codes (schedules/softmax_folded.h): a model of what is rounded, what happens
// where the machine or the input does not suit the kernel, logits of all kinds.
#include "isa/error.h"
#include "isa/numeric.h"
#include "tests/support/catch.h"
#include "tests/support/kernels.h"
#include "tests/support/placed_problem.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>

using namespace zyfa;
using namespace zyfa::runtime;
using generator::AttentionConfig;
using generator::QueryType;
using generator::ScoreScaling;

namespace {

constexpr std::uint16_t bf16_one = 0x3f80;
constexpr std::size_t keys_per_tile = 128, rows_per_wave = 32;

AttentionConfig folded(bool causal = false, QueryType q_dtype = QueryType::fp8, int head_dim = 128) {
  return {.q_dtype = q_dtype, .head_dim = head_dim, .causal = causal, .score_scale = ScoreScaling::folded};
}

bool all_nan(const std::vector<std::uint16_t>& o) {
  return std::ranges::all_of(o, [](std::uint16_t x) { return std::isnan(isa::bf16_to_float(x)); });
}

double code_value(int code) { return static_cast<double>(isa::e4m3_to_float(static_cast<std::uint8_t>(code))); }

// A row in double, but for P, whose codes are 8 * logit + bias, and O, rounded to BF16. generator/plan.h has the codes.
struct ModelRow {
  double bias = 0, code = 0;  // of the reference
  double total = 0;
  std::vector<double> o;
};

struct Peak {
  double logit, code;
};

// Groups: keys 0..63 and 64..127 of a tile, of each the fours of two lanes.
Peak find_peak(std::span<const double> logits) {
  std::array<double, 4> groups;
  groups.fill(-1e30);
  for (std::size_t j = 0; j < logits.size(); ++j) {
    double& group = groups[j / 64 * 2 + j / 4 % 2];
    group = std::max(group, logits[j]);
  }
  const auto [least, largest] = std::ranges::minmax(groups);
  return {largest, 8 * (largest - least) >= 24 ? 120.0 : 96.0};
}

void add_tile(ModelRow& row, std::span<const double> logits, const std::uint8_t* v, double offset) {
  for (std::size_t j = 0; j < logits.size(); ++j) {
    const double code = std::floor(8 * logits[j] + row.bias + 0.5 + offset);
    const double p = code_value(static_cast<int>(std::clamp(code, 0.0, 127.0)));
    row.total += p;
    for (std::size_t d = 0; d < row.o.size(); ++d) row.o[d] += p * code_value(v[j * row.o.size() + d]);
  }
}

// How many of the tiles after the first have made the wave raise references.
int model_wave(const std::vector<std::vector<double>>& logits, const std::uint8_t* v, std::vector<ModelRow>& rows) {
  constexpr double offset = -0.45;
  int raises = 0;
  for (std::size_t first = 0; first < logits.front().size(); first += keys_per_tile) {
    const auto tile = [&](std::size_t r) { return std::span(logits[r]).subspan(first, keys_per_tile); };
    bool raise = false;
    for (std::size_t r = 0; r < rows.size(); ++r)
      raise = raise || (first != 0 && 8 * find_peak(tile(r)).logit + rows[r].bias + 0.5 + offset >= 127);
    raises += raise;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      ModelRow& row = rows[r];
      const Peak peak = find_peak(tile(r));
      const double risen = 8 * peak.logit + row.bias - peak.code;
      if (first == 0 || (raise && 8 * peak.logit + row.bias > row.code)) {
        row.bias -= risen;
        row.code = peak.code;
        const double shrink = first == 0 ? 0 : std::exp2(-risen / 8);
        row.total *= shrink;
        for (double& x : row.o) x *= shrink;
      }
      add_tile(row, tile(r), v + first * row.o.size(), offset);
    }
  }
  return raises;
}

struct Modelled {
  std::vector<double> o;
  int raises = 0;
};
Modelled model_of(const AttentionInputs& inputs) {
  const AttentionShape& s = inputs.shape;
  const auto keys = static_cast<std::size_t>(s.seqlen_k), dim = static_cast<std::size_t>(s.head_dim);
  const double factor = inputs.logit_scale(0) * std::numbers::log2e;
  Modelled result;
  for (std::size_t first = 0; first < static_cast<std::size_t>(s.seqlen_q); first += rows_per_wave) {
    std::vector<std::vector<double>> logits(rows_per_wave, std::vector<double>(keys));
    for (std::size_t r = 0; r < rows_per_wave; ++r)
      for (std::size_t j = 0; j < keys; ++j) {
        double dot = 0;
        for (std::size_t d = 0; d < dim; ++d)
          dot += code_value(inputs.q[(first + r) * dim + d]) * code_value(inputs.k[j * dim + d]);
        logits[r][j] = factor * dot;
      }
    std::vector<ModelRow> rows(rows_per_wave, {.o = std::vector<double>(static_cast<std::size_t>(s.v_head_dim))});
    result.raises += model_wave(logits, inputs.v.data(), rows);
    for (const ModelRow& row : rows)
      for (const double x : row.o) {
        const auto real = static_cast<float>(x / row.total * static_cast<double>(inputs.v_descale[0]));
        result.o.push_back(static_cast<double>(isa::bf16_to_float(isa::float_to_bf16(real))));
      }
  }
  return result;
}

}  // namespace

TEST_CASE("Folded: the error at 4,096 keys is the model's", "[accuracy]") {
  struct Row {
    InputKind kind;
    double sigma, most;  // docs/numerics.md
  };
  const Kernel kernel = generate_kernel(folded());
  const AttentionShape shape{.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 64, .seqlen_k = 4096};
  int raises = 0;
  for (const Row& row : {Row{InputKind::gaussian, 1, 0.034}, Row{InputKind::gaussian, 2, 0.025},
                         Row{InputKind::sink, 1, 0.012}, Row{InputKind::sink, 2, 0.02}}) {
    double mean = 0;
    for (const std::uint64_t seed : {1, 2, 3}) {
      const AttentionInputs inputs =
          make_inputs(shape, row.kind, row.sigma, seed, {.power_of_two_factor = true, .threads = 2});
      const CheckedRun run = run_and_compare(kernel, inputs);
      const Modelled model = model_of(inputs);
      CAPTURE(to_string(row.kind), row.sigma, seed);
      CHECK(run.comparison.relative_error == Approx(relative_error(model.o, run.reference.o)).epsilon(0.005));
      mean += run.comparison.relative_error / 3;
      raises += model.raises;
    }
    CAPTURE(to_string(row.kind), row.sigma);
    CHECK(mean < row.most);
  }
  CHECK(raises > 10);
}

TEST_CASE("Folded: shapes, masks and layouts", "[folded]") {
  for (const QueryType q_dtype : {QueryType::fp8, QueryType::bf16})
    for (const bool causal : {false, true})
      for (const int head_dim : {128, 192}) {
        AttentionConfig config = folded(causal, q_dtype, head_dim);
        config.v_head_dim = 128;
        const Kernel kernel = generate_kernel(config);
        const Layout layout = causal ? Layout::bhsd : Layout::bshd;
        for (const auto& [queries, keys] : {std::pair{1, 1}, {300, 700}, {257, 5}, {130, 0}, {400, 150}, {513, 384}}) {
          const AttentionShape shape{.batch = 1,
                                     .heads = 3,
                                     .kv_heads = 1,
                                     .seqlen_q = queries,
                                     .seqlen_k = keys,
                                     .head_dim = head_dim,
                                     .causal = causal};
          CAPTURE(kernel.manifest.symbol, queries, keys);
          const AttentionInputs inputs =
              make_inputs(shape, InputKind::gaussian, 1.5, 12, suited(config, {.distinct_descales = true}));
          const Comparison c = run_and_compare(kernel, inputs, {.layout = layout, .emulator = {}}).comparison;
          CHECK(c.passed);
          CHECK(c.relative_error < (q_dtype == QueryType::fp8 ? 0.04 : 0.06));
        }
      }
}

TEST_CASE("Folded: a V of ones gives exactly 1", "[folded]") {
  for (const QueryType q_dtype : {QueryType::fp8, QueryType::bf16}) {
    const AttentionConfig config = folded(true, q_dtype);
    const Kernel kernel = generate_kernel(config);
    const AttentionShape shape{
        .batch = 1, .heads = 2, .kv_heads = 1, .seqlen_q = 300, .seqlen_k = 1111, .causal = true};
    for (const InputKind kind : {InputKind::gaussian, InputKind::sink, InputKind::peaked})
      for (const double sigma : {0.5, 2.0, 40.0}) {
        CAPTURE(name(q_dtype), to_string(kind), sigma);
        const AttentionInputs inputs =
            make_inputs(shape, kind, sigma, 4, suited(config, {.v_ones = true, .hot_key = 700}));
        CHECK(std::ranges::all_of(run_and_compare(kernel, inputs).run.o,
                                  [](std::uint16_t bits) { return bits == bf16_one; }));
      }
  }
}

TEST_CASE("Folded: logits that rise, fall, stay equal or jump", "[folded]") {
  constexpr int keys = 1100;
  struct Pattern {
    const char* name;
    int octaves_log2;  // of a unit
    std::function<int(int)> number;
  };
  const Pattern patterns[] = {
      {"up by an octave a tile", 0, [](int j) { return j / 128; }},
      {"up by 16 octaves a tile", 0, [](int j) { return 16 * (j / 128); }},
      {"up by 2,048 octaves a tile", 7, [](int j) { return 16 * (j / 128); }},
      {"down by 16 octaves a tile", 0, [](int j) { return -16 * (j / 128); }},
      {"equal", 1, [](int) { return 7; }},
      {"from -16,384 to 16,384 octaves", 5, [](int j) { return j * 7919 % 1025 - 512; }},
      {"one of 16,384 octaves in the last tile", 5, [](int j) { return j == keys - 3 ? 512 : 0; }},
      {"one just below the code of NaN, late", -3, [](int j) { return j == keys - 3 ? 30 : 0; }},
      {"one at the code of NaN, late", -3, [](int j) { return j == keys - 3 ? 31 : 0; }},
  };
  const AttentionConfig config = folded();
  const Kernel kernel = generate_kernel(config);
  const AttentionShape shape{.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 40, .seqlen_k = keys};
  for (const Pattern& pattern : patterns) {
    // A query of ones in its first 32 elements; a key's codes there sum to its number.
    AttentionInputs inputs = make_inputs(shape, InputKind::gaussian, 1, 14);
    std::ranges::fill(inputs.q, std::uint8_t{0});
    std::ranges::fill(inputs.k, std::uint8_t{0});
    inputs.q_descale = inputs.k_descale = {1.0F};
    inputs.softmax_scale = static_cast<float>(std::ldexp(std::numbers::ln2, pattern.octaves_log2));
    for (std::size_t row = 0; row < 40; ++row) std::fill_n(&inputs.q[row * 128], 32, isa::float_to_e4m3(1));
    for (int j = 0; j < keys; ++j)
      for (int d = 0; d < 32; ++d) {
        const int n = pattern.number(j), part = n / 32 + (d < std::abs(n % 32) ? (n < 0 ? -1 : 1) : 0);
        inputs.k[static_cast<std::size_t>(128 * j + d)] = isa::float_to_e4m3(static_cast<float>(part));
      }
    CAPTURE(pattern.name);
    const Comparison c = run_and_compare(kernel, inputs).comparison;
    CHECK(c.finite);
    CHECK(c.passed);
  }
}

TEST_CASE("Folded: logits of any size leave no NaN", "[folded]") {
  const AttentionShape shape{.batch = 1, .heads = 2, .kv_heads = 1, .seqlen_q = 200, .seqlen_k = 300};
  const Kernel kernel = generate_kernel(folded());
  const AttentionInputs inputs = make_inputs(shape, InputKind::gaussian, 2, 5, {.power_of_two_factor = true});
  for (const int grown_log2 : {-100, -40, 5, 10, 20, 23, 30, 66}) {
    CAPTURE(grown_log2);
    AttentionInputs other = inputs;
    for (float& descale : other.q_descale) descale = std::ldexp(descale, grown_log2);
    const Comparison c = run_and_compare(kernel, other).comparison;
    CHECK(c.finite);
    CHECK(c.passed);
  }
}

TEST_CASE("Folded: where matrix instructions flush denormals all of O is NaN", "[folded]") {
  for (const QueryType q_dtype : {QueryType::fp8, QueryType::bf16})
    for (const bool causal : {false, true}) {
      const AttentionConfig config = folded(causal, q_dtype);
      // Up to 128 keys all would come from the first tile alone, and might look right.
      for (const int keys : {0, 100, 300}) {
        const AttentionShape shape{
            .batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 200, .seqlen_k = keys, .causal = causal};
        EmulationOptions options;
        options.emulator.machine.mfma_denormals = isa::MfmaDenormals::flushed;
        const Kernel kernel = generate_kernel(config);
        const AttentionInputs inputs = make_inputs(shape, InputKind::gaussian, 1, 3, suited(config));
        CAPTURE(name(q_dtype), causal, keys);
        CHECK(all_nan(run_on_emulator(kernel, inputs, options).o));
        CHECK(run_on_emulator(kernel, inputs).o.size() > 0);
        CHECK_FALSE(all_nan(run_on_emulator(kernel, inputs).o));
      }
    }
}

TEST_CASE("Folded: a factor that is no power of two is refused, and by the kernel itself answered with NaN",
          "[folded]") {
  const Kernel kernel = generate_kernel(folded());
  const AttentionShape shape{.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 100, .seqlen_k = 200};
  const AttentionInputs plain = make_inputs(shape, InputKind::gaussian, 1, 3);
  REQUIRE_THROWS_AS(run_on_emulator(kernel, plain), Error);
  PlacedProblem problem(plain, {});
  problem.run(kernel);
  CHECK(all_nan(problem.o()));
  AttentionInputs good = make_inputs(shape, InputKind::gaussian, 1, 3, {.power_of_two_factor = true});
  for (const float off : {1.0F, 1 + 0x1p-22F, 1 - 0x1p-22F, 1 + 0x1p-18F, 1 - 0x1p-18F, 1.5F}) {
    AttentionInputs changed = good;
    changed.q_descale[0] *= off;
    PlacedProblem other(changed, {});
    other.run(kernel);
    CAPTURE(off);
    CHECK(all_nan(other.o()) == (std::abs(off - 1) > 0x1p-20F));
  }
}
