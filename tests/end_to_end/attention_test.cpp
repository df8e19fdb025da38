// The generated kernels on real input, from the bytes of their code objects to the comparison with fp64 attention:
// shapes, strides, scales and masks.
#include "isa/error.h"
#include "tests/support/catch.h"
#include "tests/support/kernels.h"
#include "tests/support/placed_problem.h"
#include "tests/support/shapes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

using namespace zyfa;
using namespace zyfa::runtime;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::uint16_t bf16_one = 0x3f80;

// The comparison's own limits are for rounding in general; what the LSE loses is fp32 and the exponential alone.
void check_close(const Comparison& c) {
  CAPTURE(c.relative_error, c.max_abs_error, c.max_element_error, c.lse_max_error, c.finite, c.empty_rows_zero,
          c.lse_infinities_match, c.worst.batch, c.worst.row, c.worst.head, c.worst.dim);
  CHECK(c.passed);
  CHECK(c.relative_error < 0.04);
  CHECK(c.lse_max_error < 1e-4);
}

// The kernels of one mask, without and with LSE.
struct Kernels {
  explicit Kernels(bool causal) : plain(generate_kernel(causal, false)), with_lse(generate_kernel(causal, true)) {}
  Kernel plain, with_lse;
};

void check_shapes(const std::vector<AttentionShape>& shapes, InputKind kind = InputKind::gaussian) {
  const Kernels full(false), causal(true);
  for (AttentionShape shape : shapes)
    for (const bool mask : {false, true}) {
      shape.causal = mask;
      CAPTURE(shape.batch, shape.heads, shape.kv_heads, shape.seqlen_q, shape.seqlen_k, shape.causal);
      const AttentionInputs inputs = make_inputs(shape, kind, 1.5, 11, {.distinct_descales = true});
      const Kernels& kernels = mask ? causal : full;
      const CheckedRun with_lse = run_and_compare(kernels.with_lse, inputs);
      check_close(with_lse.comparison);
      const EmulatedRun plain = run_on_emulator(kernels.plain, inputs);
      REQUIRE_FALSE(plain.result.trap);
      CHECK(plain.o == with_lse.run.o);
      CHECK(plain.lse.empty());
    }
}

void check_placed(const Kernel& kernel, const AttentionInputs& inputs, PlacedProblem& problem) {
  problem.run(kernel);
  const std::vector<std::uint16_t> o = problem.o();
  const std::vector<float> lse = kernel.manifest.config.lse ? problem.lse() : std::vector<float>{};
  check_close(compare(reference_attention(inputs, {.threads = 2}), contiguous_output(inputs.shape, o, lse)));
  CHECK(problem.overwritten_bytes() == 0);
}

}  // namespace

TEST_CASE("Attention: the shapes of the first kernel", "[attention]") { check_shapes(first_shapes()); }

TEST_CASE("Attention: lengths around the tiles", "[quick][attention]") {
  std::vector<AttentionShape> shapes;
  for (const int length : {1, 31, 33, 127, 128, 129, 255, 257}) {
    shapes.push_back({.batch = 2, .heads = 2, .kv_heads = 2, .seqlen_q = length, .seqlen_k = length});
    shapes.push_back({.batch = 1, .heads = 2, .kv_heads = 1, .seqlen_q = 257, .seqlen_k = length});
    shapes.push_back({.batch = 1, .heads = 2, .kv_heads = 1, .seqlen_q = length, .seqlen_k = 257});
  }
  check_shapes(shapes);
}

TEST_CASE("Attention: AITER's test lengths", "[attention]") { check_shapes(aiter_shapes()); }

TEST_CASE("Attention: any number of query heads per key/value head", "[attention]") { check_shapes(grouped_shapes()); }

TEST_CASE("Attention: without keys O is 0 and the LSE -infinity", "[quick][attention]") {
  for (const bool causal : {false, true}) {
    const AttentionShape shape{.batch = 2, .heads = 2, .kv_heads = 1, .seqlen_q = 300, .seqlen_k = 0, .causal = causal};
    const CheckedRun checked =
        run_and_compare(generate_kernel(causal, true), make_inputs(shape, InputKind::gaussian, 1, 1));
    check_close(checked.comparison);
    CHECK(std::ranges::all_of(checked.run.o, [](std::uint16_t bits) { return bits == 0; }));
    CHECK(std::ranges::all_of(checked.run.lse, [](float lse) { return lse == -infinity; }));
  }
}

TEST_CASE("Attention: causal rows above the diagonal's start are empty", "[quick][attention]") {
  const AttentionShape shape{.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 400, .seqlen_k = 150, .causal = true};
  const CheckedRun checked = run_and_compare(generate_kernel(true, true), make_inputs(shape, InputKind::sink, 1, 1));
  check_close(checked.comparison);
  for (std::size_t row = 0; row < 400; ++row) {
    CAPTURE(row);
    REQUIRE((checked.run.lse[row] == -infinity) == (row < 250));
    const auto o = std::span(checked.run.o).subspan(row * 128, 128);
    REQUIRE(std::ranges::all_of(o, [](std::uint16_t bits) { return bits == 0; }) == (row < 250));
  }
}

TEST_CASE("Attention: no queries are no launch", "[quick][attention]") {
  const AttentionShape shape{.batch = 1, .heads = 2, .kv_heads = 1, .seqlen_q = 0, .seqlen_k = 100};
  const CheckedRun checked =
      run_and_compare(generate_kernel(false, true), make_inputs(shape, InputKind::gaussian, 1, 1));
  CHECK(checked.comparison.passed);
  CHECK(checked.run.result.instructions == 0);
}

TEST_CASE("Attention: layouts", "[attention]") {
  for (const bool causal : {false, true}) {
    const Kernel kernel = generate_kernel(causal, true);
    const AttentionShape shape{
        .batch = 2, .heads = 6, .kv_heads = 2, .seqlen_q = 333, .seqlen_k = 333, .causal = causal};
    const AttentionInputs inputs = make_inputs(shape, InputKind::gaussian, 1, 3, {.distinct_descales = true});
    for (const Layout layout : {Layout::bshd, Layout::bhsd, Layout::fused_qkv}) {
      CAPTURE(causal, std::string(to_string(layout)));
      check_close(run_and_compare(kernel, inputs, {.layout = layout, .emulator = {}}).comparison);
    }
  }
}

TEST_CASE("Attention: a descale per batch entry and head, or one for all by strides of 0", "[quick][attention]") {
  const Kernel kernel = generate_kernel(false, true);
  const AttentionShape shape{.batch = 2, .heads = 6, .kv_heads = 3, .seqlen_q = 100, .seqlen_k = 200};
  AttentionInputs inputs = make_inputs(shape, InputKind::gaussian, 1, 5, {.distinct_descales = true});
  REQUIRE(inputs.v_descale[0] != inputs.v_descale[1]);
  SECTION("distinct") {
    PlacedProblem problem(inputs, {});
    check_placed(kernel, inputs, problem);
  }
  SECTION("strides of 0") {
    PlacedProblem problem(inputs, {});
    problem.arguments.q_descale_stride = problem.arguments.k_descale_stride = problem.arguments.v_descale_stride = {};
    for (std::vector<float>* descale : {&inputs.q_descale, &inputs.k_descale, &inputs.v_descale})
      std::fill(descale->begin(), descale->end(), descale->front());
    check_placed(kernel, inputs, problem);
  }
  SECTION("one per batch entry") {
    PlacedProblem problem(inputs, {});
    problem.arguments.q_descale_stride.head = problem.arguments.k_descale_stride.head =
        problem.arguments.v_descale_stride.head = 0;
    for (std::vector<float>* descale : {&inputs.q_descale, &inputs.k_descale, &inputs.v_descale})
      for (std::size_t i = 0; i < descale->size(); ++i) (*descale)[i] = (*descale)[i / 3 * 3];
    check_placed(kernel, inputs, problem);
  }
}

TEST_CASE("Attention: padding is neither read nor written", "[quick][attention]") {
  for (const bool causal : {false, true}) {
    const Kernel kernel = generate_kernel(causal, true), plain = generate_kernel(causal, false);
    const AttentionShape shape{
        .batch = 2, .heads = 4, .kv_heads = 2, .seqlen_q = 300, .seqlen_k = 201, .causal = causal};
    const AttentionInputs inputs = make_inputs(shape, InputKind::gaussian, 1, 6, {.distinct_descales = true});
    for (const Placement& placement : {Placement{.pad_bytes = 16, .pad_rows = 256},
                                       Placement{.pad_bytes = 48, .pad_rows = 300, .heads_backwards = true},
                                       Placement{.pad_rows = 256, .heads_backwards = true, .batch_backwards = true}}) {
      CAPTURE(causal, placement.pad_bytes, placement.heads_backwards, placement.batch_backwards);
      PlacedProblem problem(inputs, placement);
      check_placed(kernel, inputs, problem);
      PlacedProblem without_lse(inputs, placement);
      check_placed(plain, inputs, without_lse);
      const std::vector<float> lse = without_lse.lse();
      CHECK(std::ranges::all_of(lse, [](float x) { return std::bit_cast<std::uint32_t>(x) == 0x5a5a5a5a; }));
    }
  }
}

TEST_CASE("Attention: a write into the padding is seen", "[quick][attention]") {
  const AttentionShape shape{.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 40, .seqlen_k = 64};
  PlacedProblem problem(make_inputs(shape, InputKind::gaussian, 1, 6), {.pad_rows = 256});
  problem.arguments.seqlen_q = 41;
  problem.run(generate_kernel(false, true));
  CHECK(problem.overwritten_bytes() == 256 + 4);
}

// users.md E2: one key every MiB puts the last of 4,097 just beyond 4 GiB. Nothing is mapped between the rows.
TEST_CASE("Attention: rows far apart, more than 4 GiB in all", "[attention]") {
  for (const bool causal : {false, true}) {
    const Kernel kernel = generate_kernel(causal, true);
    const AttentionShape shape{
        .batch = 1, .heads = 2, .kv_heads = 1, .seqlen_q = 4097, .seqlen_k = 4097, .causal = causal};
    const AttentionInputs inputs = make_inputs(shape, InputKind::gaussian, 1, 8, {.threads = 2});
    const AttentionResult reference = reference_attention(inputs, {.rows = {.stride = 128}, .threads = 2});
    for (const std::int64_t stride : {std::int64_t{1} << 20, generator::max_row_stride_bytes / 16 * 16}) {
      CAPTURE(causal, stride);
      PlacedProblem problem(inputs, {.sparse_row_stride = stride});
      problem.run(kernel);
      check_close(compare(reference, contiguous_output(shape, problem.o(), problem.lse())));
    }
  }
}

TEST_CASE("Attention: arguments beyond the manifest's limits are refused", "[quick][attention]") {
  const AttentionInputs inputs =
      make_inputs({.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 2, .seqlen_k = 2}, InputKind::ones, 1, 1);
  const Kernel kernel = generate_kernel(false, false);
  const auto refused = [&](auto change) {
    PlacedProblem problem(inputs, {});
    problem.run(kernel);
    change(problem.arguments);
    REQUIRE_THROWS_AS(problem.run(kernel), Error);
  };
  refused([](auto& args) { args.k_stride.row = generator::max_row_stride_bytes + 16; });
  refused([](auto& args) { args.q_stride.row = 112; });   // less than a row
  refused([](auto& args) { args.v_stride.row = -128; });  // rows may not run backwards
  refused([](auto& args) { args.o_stride.row = 264; });   // not a multiple of 16
  refused([](auto& args) { args.k_stride.head += 4; });
  refused([](auto& args) { args.q += 8; });
  refused([](auto& args) { args.seqlen_k = 0x7fffffff; });
  refused([](auto& args) { args.heads = 2; });
}

TEST_CASE("Attention: a V of ones gives exactly 1", "[quick][attention]") {
  for (const bool causal : {false, true}) {
    const Kernel kernel = generate_kernel(causal, true);
    for (const InputKind kind : {InputKind::gaussian, InputKind::sink, InputKind::ones, InputKind::peaked})
      for (const double sigma : {0.5, 2.0, 8.0})
        for (const auto& [queries, keys] : {std::pair{300, 1111}, std::pair{129, 2048}}) {
          CAPTURE(causal, to_string(kind), sigma, keys);
          const AttentionShape shape{
              .batch = 1, .heads = 2, .kv_heads = 1, .seqlen_q = queries, .seqlen_k = keys, .causal = causal};
          const AttentionInputs inputs =
              make_inputs(shape, kind, sigma, 4, {.v_ones = true, .distinct_descales = true, .hot_key = 700});
          const EmulatedRun run = run_on_emulator(kernel, inputs);
          REQUIRE_FALSE(run.result.trap);
          CHECK(std::ranges::all_of(run.o, [](std::uint16_t bits) { return bits == bf16_one; }));
        }
  }
}

// users.md A1: one logit of 0 and 2,047 of -7, V of ones. Probabilities rounded without a lift lose the sum of the
// small ones: 0.3496 came out of a kernel in use.
TEST_CASE("Attention: peaked rows keep their weight", "[quick][attention]") {
  const AttentionShape shape{.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 256, .seqlen_k = 2048};
  for (const int hot_key : {0, 1000, 2047}) {
    const CheckedRun checked = run_and_compare(generate_kernel(false, true),
                                               make_inputs(shape, InputKind::peaked, 1, 2, {.hot_key = hot_key}));
    CAPTURE(hot_key);
    check_close(checked.comparison);
    CHECK(std::ranges::all_of(checked.run.o, [](std::uint16_t bits) { return bits == bf16_one; }));
  }
}

TEST_CASE("Attention: softmax_scale is an argument", "[quick][attention]") {
  const Kernel kernel = generate_kernel(true, true);
  const AttentionShape shape{.batch = 1, .heads = 2, .kv_heads = 1, .seqlen_q = 200, .seqlen_k = 300, .causal = true};
  AttentionInputs inputs = make_inputs(shape, InputKind::gaussian, 2, 9);
  SECTION("0.65 / sqrt(128), as long-context models have") {
    inputs.softmax_scale = 0.5F / std::sqrt(128.0F) * 1.3F;
    check_close(run_and_compare(kernel, inputs).comparison);
  }
  SECTION("large: every row is one key's") {
    inputs.softmax_scale = 3;
    check_close(run_and_compare(kernel, inputs).comparison);
  }
  SECTION("0: every visible key weighs the same") {
    inputs.softmax_scale = 0;
    check_close(run_and_compare(kernel, inputs).comparison);
  }
}

TEST_CASE("Attention: logits of any size leave no NaN", "[quick][attention]") {
  // Where factor * maximum passes 2^24, a bias rounded to fp32 is off by octaves and would push P past e4m3's 448.
  const AttentionShape shape{.batch = 1, .heads = 2, .kv_heads = 1, .seqlen_q = 200, .seqlen_k = 300};
  const Kernel kernel = generate_kernel(false, true);
  AttentionInputs inputs = make_inputs(shape, InputKind::gaussian, 2, 5);
  for (const float grown : {1e3F, 1e6F, 1e7F, 1e9F, 1e20F}) {
    CAPTURE(grown);
    AttentionInputs large = inputs;
    for (float& descale : large.q_descale) descale *= grown;
    const Comparison c = run_and_compare(kernel, large).comparison;
    CAPTURE(c.relative_error, c.max_element_error, c.lse_max_error, c.lse_max_excess);
    CHECK(c.finite);
    CHECK(c.relative_error < 0.04);
    CHECK(c.passed);  // with an LSE as good as fp32 can be at that size
  }
}

TEST_CASE("Attention: the number of threads changes nothing", "[quick][attention]") {
  const Kernel kernel = generate_kernel(true, true);
  const AttentionShape shape{.batch = 2, .heads = 4, .kv_heads = 2, .seqlen_q = 700, .seqlen_k = 900, .causal = true};
  const AttentionInputs inputs = make_inputs(shape, InputKind::sink, 1, 10);
  EmulationOptions options;
  options.emulator.threads = 1;
  const EmulatedRun one = run_on_emulator(kernel, inputs, options);
  for (const int threads : {1, 2, 3}) {
    options.emulator.threads = threads;
    const EmulatedRun again = run_on_emulator(kernel, inputs, options);
    CAPTURE(threads);
    CHECK(again.o == one.o);
    CHECK(std::ranges::equal(again.lse, one.lse));
    CHECK(again.result.instructions == one.result.instructions);
  }
}
