// BF16 queries (schedules/queries.h): what the kernel rounds them to, and where they may lie.
#include "isa/error.h"
#include "isa/numeric.h"
#include "tests/support/catch.h"
#include "tests/support/kernels.h"
#include "tests/support/placed_problem.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace zyfa;
using namespace zyfa::runtime;
using generator::AttentionConfig;
using generator::QueryType;
using generator::Softmax;

namespace {

constexpr std::uint16_t bf16_one = 0x3f80;

AttentionConfig bf16(Softmax softmax = Softmax::lean, bool causal = false, int head_dim = 128) {
  return {.q_dtype = QueryType::bf16,
          .head_dim = head_dim,
          .v_head_dim = 128,
          .causal = causal,
          .softmax = softmax,
          .lse = true};
}

// The problem as the kernel sees it after rounding, by the header's definition.
RealInputs as_quantised(const AttentionInputs& inputs) {
  const AttentionShape& s = inputs.shape;
  const auto dim = static_cast<std::size_t>(s.head_dim);
  RealInputs real{.shape = s, .q = {}, .k = {}, .v = {}, .softmax_scale = 1};
  int exponent = 0;
  const float factor = inputs.softmax_scale * inputs.k_descale[0] * std::numbers::log2e_v<float>;
  const float mantissa = std::frexp(factor, &exponent);
  for (std::size_t first = 0; first < inputs.q_bf16->size(); first += dim) {
    float largest = 0x1p-100F;
    for (std::size_t d = 0; d < dim; ++d)
      largest = std::max(largest, std::abs(isa::bf16_to_float((*inputs.q_bf16)[first + d])));
    int r = 0;
    std::frexp(largest * mantissa, &r);
    r -= 8;
    for (std::size_t d = 0; d < dim; ++d) {
      const float scaled = isa::bf16_to_float((*inputs.q_bf16)[first + d]) * std::ldexp(mantissa, -r);
      const float code = isa::e4m3_to_float(isa::float_to_e4m3(scaled));
      // Logits are octaves times ln 2; 2^100 is as far as the kernel goes.
      real.q.push_back(static_cast<float>(
          std::ldexp(static_cast<double>(code) * std::numbers::ln2, std::clamp(r + exponent, -96, 100))));
    }
  }
  for (const std::uint8_t code : inputs.k) real.k.push_back(isa::e4m3_to_float(code));
  for (const std::uint8_t code : inputs.v) real.v.push_back(isa::e4m3_to_float(code) * inputs.v_descale[0]);
  return real;
}

Comparison compare_with_quantised(const AttentionConfig& config, const AttentionInputs& inputs) {
  const EmulatedRun run = run_and_compare(generate_kernel(config), inputs).run;
  return compare(reference_attention(as_quantised(inputs), {.threads = 2}), run.output());
}

}  // namespace

TEST_CASE("BF16 queries: codes and powers of two are those of the definition", "[bf16]") {
  // The log-sum-exp is as exact as the logits: a code that is off by one moves it by far more.
  for (const Softmax softmax : {Softmax::lean, Softmax::exact})
    for (const int head_dim : {128, 192}) {
      const AttentionShape shape{
          .batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 70, .seqlen_k = 300, .head_dim = head_dim};
      AttentionInputs inputs = make_inputs(shape, InputKind::gaussian, 2, 5, {.q_bf16 = true});
      for (const float scale : {inputs.softmax_scale, 0.7F, 1.0F, 0.0F}) {
        CAPTURE(name(softmax), head_dim, scale);
        inputs.softmax_scale = scale;
        const Comparison c = compare_with_quantised(bf16(softmax, false, head_dim), inputs);
        CHECK(c.passed);
        CHECK(c.relative_error < 0.035);
        CHECK(c.lse_max_error < 1e-4);
      }
      // It does tell: the reference of the queries as they came is further away.
      inputs.softmax_scale = 0.7F;
      CHECK(run_and_compare(generate_kernel(bf16(softmax, false, head_dim)), inputs).comparison.lse_max_error > 0.01);
    }
}

TEST_CASE("BF16 queries: zeros, denormals, huge elements and outliers", "[bf16]") {
  const AttentionShape shape{.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 64, .seqlen_k = 300};
  AttentionInputs inputs = make_inputs(shape, InputKind::gaussian, 2, 5, {.q_bf16 = true});
  const auto row = [&](std::size_t i) { return std::span(*inputs.q_bf16).subspan(128 * i, 128); };
  const auto scale = [&](std::size_t i, int log2) {
    for (std::uint16_t& x : row(i)) x = isa::float_to_bf16(std::ldexp(isa::bf16_to_float(x), log2));
  };
  std::ranges::fill(row(0), std::uint16_t{0});
  std::ranges::fill(row(1), std::uint16_t{0x8000});  // -0
  std::ranges::fill(row(2), std::uint16_t{1});       // the least denormal
  row(3)[7] = 0x7f7f;                                // the largest
  row(4)[127] = isa::float_to_bf16(1e4F);
  std::ranges::fill(row(5), std::uint16_t{0});
  row(5)[64] = isa::float_to_bf16(3);
  std::ranges::fill(row(6), bf16_one);
  for (std::size_t i = 7; i < 64; ++i) scale(i, static_cast<int>(i - 7) * 4 - 110);
  for (const Softmax softmax : {Softmax::lean, Softmax::exact}) {
    const Comparison c = compare_with_quantised(bf16(softmax), inputs);
    CAPTURE(name(softmax), c.relative_error, c.lse_max_error, c.lse_max_excess);
    CHECK(c.finite);
    CHECK(c.passed);
  }
  AttentionConfig folded = bf16();
  folded.lse = false;
  folded.score_scale = generator::ScoreScaling::folded;
  // Beyond 2^17 octaves it does not keep keys that are as large as the largest (docs/numerics.md): here, all whose
  // element 7 is.
  row(3)[7] = isa::float_to_bf16(1e3F);
  const Comparison c = compare_with_quantised(folded, inputs);
  CHECK(c.finite);
  CHECK(c.relative_error < 0.05);
}

TEST_CASE("BF16 queries: q_descale has no part, padding is not read, alignment is checked", "[bf16]") {
  for (const bool causal : {false, true}) {
    const Kernel kernel = generate_kernel(bf16(Softmax::lean, causal));
    const AttentionShape shape{
        .batch = 2, .heads = 4, .kv_heads = 2, .seqlen_q = 300, .seqlen_k = 201, .causal = causal};
    AttentionInputs inputs = make_inputs(shape, InputKind::gaussian, 1, 6, {.distinct_descales = true, .q_bf16 = true});
    const EmulatedRun expected = run_on_emulator(kernel, inputs);
    std::ranges::fill(inputs.q_descale, 17.0F);
    for (const Placement& placement : {Placement{.pad_bytes = 16, .pad_rows = 256},
                                       Placement{.pad_bytes = 48, .pad_rows = 300, .heads_backwards = true}}) {
      PlacedProblem problem(inputs, placement);
      problem.run(kernel);
      CHECK(problem.o() == expected.o);
      CHECK(problem.overwritten_bytes() == 0);
    }
    PlacedProblem problem(inputs, {});
    problem.arguments.q_stride.row = 128;  // half a row
    REQUIRE_THROWS_AS(problem.run(kernel), Error);
    problem.arguments.q_stride.row = 264;
    REQUIRE_THROWS_AS(problem.run(kernel), Error);
  }
}

TEST_CASE("BF16 queries: a V of ones gives exactly 1", "[bf16]") {
  for (const Softmax softmax : {Softmax::lean, Softmax::exact}) {
    const Kernel kernel = generate_kernel(bf16(softmax, true));
    const AttentionShape shape{.batch = 1, .heads = 2, .kv_heads = 1, .seqlen_q = 300, .seqlen_k = 700, .causal = true};
    for (const InputKind kind : {InputKind::gaussian, InputKind::peaked}) {
      const AttentionInputs inputs = make_inputs(shape, kind, 2, 4, {.v_ones = true, .q_bf16 = true, .hot_key = 500});
      CHECK(std::ranges::all_of(run_and_compare(kernel, inputs).run.o,
                                [](std::uint16_t bits) { return bits == bf16_one; }));
    }
  }
}

TEST_CASE("BF16 queries: a problem with queries of the other type is refused", "[quick][bf16]") {
  const AttentionShape shape{.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 2, .seqlen_k = 2};
  const AttentionInputs fp8 = make_inputs(shape, InputKind::gaussian, 1, 1);
  const AttentionInputs real = make_inputs(shape, InputKind::gaussian, 1, 1, {.q_bf16 = true});
  REQUIRE_THROWS_AS(run_on_emulator(generate_kernel(bf16()), fp8), Error);
  REQUIRE_THROWS_AS(run_on_emulator(generate_kernel(false, false), real), Error);
  REQUIRE_THROWS_AS(run_on_emulator(generate_kernel(bf16()), real, {.layout = Layout::fused_qkv, .emulator = {}}),
                    Error);
}
