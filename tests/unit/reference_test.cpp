// The blocked reference against the definition written as plain loops, and against results known without
// computing.
#include "runtime_loader/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "isa/error.h"
#include "isa/numeric.h"
#include "tests/support/catch.h"

using namespace zyfa;
using namespace zyfa::runtime;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double value(const std::vector<std::uint8_t>& codes, float descale, int index) {
  return static_cast<double>(isa::e4m3_to_float(codes[static_cast<std::size_t>(index)])) * descale;
}

// exp(logit) without taking a maximum first, dequantised values multiplied one by one. `shift` moves the
// causal diagonal: seqlen_k - seqlen_q is bottom-right, 0 would be top-left.
AttentionResult naive_attention(const AttentionInputs& in, int shift) {
  const AttentionShape& s = in.shape;
  AttentionResult result{s, {}, {}, {}};
  result.o.resize(static_cast<std::size_t>(s.batch * s.seqlen_q * s.heads * s.v_head_dim));
  result.lse.resize(static_cast<std::size_t>(s.batch * s.heads * s.seqlen_q));
  for (int b = 0; b < s.batch; ++b) {
    for (int h = 0; h < s.heads; ++h) {
      const int kv = h / (s.heads / s.kv_heads);
      const auto scale = static_cast<std::size_t>(b * s.kv_heads + kv);
      for (int i = 0; i < s.seqlen_q; ++i) {
        double sum = 0;
        double* o = result.o.data() + ((b * s.seqlen_q + i) * s.heads + h) * s.v_head_dim;
        for (int j = 0; j < s.seqlen_k; ++j) {
          if (s.causal && j > i + shift) continue;
          double logit = 0;
          for (int d = 0; d < s.head_dim; ++d) {
            logit += value(in.q, in.q_descale[scale], ((b * s.seqlen_q + i) * s.heads + h) * s.head_dim + d) *
                     value(in.k, in.k_descale[scale], ((b * s.seqlen_k + j) * s.kv_heads + kv) * s.head_dim + d);
          }
          const double weight = std::exp(in.softmax_scale * logit);
          sum += weight;
          for (int d = 0; d < s.v_head_dim; ++d) {
            o[d] +=
                weight * value(in.v, in.v_descale[scale], ((b * s.seqlen_k + j) * s.kv_heads + kv) * s.v_head_dim + d);
          }
        }
        for (int d = 0; d < s.v_head_dim && sum > 0; ++d) o[d] /= sum;
        result.lse[static_cast<std::size_t>((b * s.heads + h) * s.seqlen_q + i)] = std::log(sum);
      }
    }
  }
  return result;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) largest = std::max(largest, std::abs(a[i] - b[i]));
    if (std::isnan(a[i]) || std::isnan(b[i])) largest = infinity;
  }
  return largest;
}

AttentionInputs distinct_inputs(const AttentionShape& shape, InputKind kind = InputKind::gaussian) {
  return make_inputs(shape, kind, 1.5, 7, {.distinct_descales = true});
}

}  // namespace

TEST_CASE("reference: equals the definition on every kind of shape", "[quick][reference]") {
  // clang-format off
  const AttentionShape shapes[] = {
      // batch heads kv  Sq  Sk  D   Dv
      {1, 1, 1,  1,  1,   1,  1, false},
      {2, 4, 2, 19, 37,  24, 10, false},
      {2, 4, 2, 19, 37,  24, 10, true},
      {1, 3, 1, 37, 19,   7,  5, true},
      {1, 6, 3, 33, 33, 128, 64, true},
      {3, 2, 2,  1, 50,  16, 16, true},
      {1, 2, 1,  5,  0,  16,  8, false},
      {1, 2, 1,  5,  0,  16,  8, true},
      {1, 2, 1,  0, 16,  16,  8, true},
      {1, 1, 1, 16, 16, 192, 128, true},
  };
  // clang-format on
  for (const AttentionShape& shape : shapes) {
    CAPTURE(shape.batch, shape.heads, shape.kv_heads, shape.seqlen_q, shape.seqlen_k, shape.causal);
    const AttentionInputs inputs = distinct_inputs(shape);
    const AttentionResult blocked = reference_attention(inputs);
    const AttentionResult plain = naive_attention(inputs, shape.seqlen_k - shape.seqlen_q);
    CHECK(largest_difference(blocked.o, plain.o) < 1e-12);
    CHECK(largest_difference(blocked.lse, plain.lse) < 1e-12);
  }
}

TEST_CASE("reference: a top-left mask, another kv head or another descale would differ", "[quick][reference]") {
  const AttentionShape shape{2, 4, 2, 19, 37, 24, 10, true};
  const AttentionInputs inputs = distinct_inputs(shape);
  const AttentionResult reference = reference_attention(inputs);
  CHECK(largest_difference(reference.o, naive_attention(inputs, 0).o) > 0.1);
  CHECK(largest_difference(reference.o, naive_attention(inputs, 37 - 19 + 1).o) > 0.1);

  AttentionInputs swapped = inputs;
  std::swap(swapped.k_descale[0], swapped.k_descale[1]);
  CHECK(largest_difference(reference.o, reference_attention(swapped).o) > 0.1);
  swapped = inputs;
  std::swap(swapped.v_descale[0], swapped.v_descale[1]);
  CHECK(largest_difference(reference.o, reference_attention(swapped).o) > 0.1);
}

TEST_CASE("reference: rows without keys are 0 with LSE -infinity", "[quick][reference]") {
  const AttentionShape shape{1, 2, 1, 40, 8, 16, 16, true};
  const AttentionResult result = reference_attention(distinct_inputs(shape));
  for (int h = 0; h < 2; ++h) {
    for (int i = 0; i < 40; ++i) {
      const double lse = result.lse[static_cast<std::size_t>(h * 40 + i)];
      const double* o = result.o.data() + (i * 2 + h) * 16;
      const bool zero = std::all_of(o, o + 16, [](double x) { return x == 0; });
      CAPTURE(h, i);
      CHECK((lse == -infinity) == (i < 32));
      CHECK(zero == (i < 32));
      if (i >= 32) CHECK(std::isfinite(lse));
    }
  }
}

TEST_CASE("reference: known results", "[quick][reference]") {
  SECTION("peaked: one weight of 1 and 2,047 of exp(-7)") {
    const AttentionInputs inputs = make_inputs({1, 2, 1, 4, 2048, 128, 128, false}, InputKind::peaked, 1, 3);
    const AttentionResult result = reference_attention(inputs);
    for (const double o : result.o) REQUIRE(o == Approx(1.0).epsilon(1e-14));
    for (const double lse : result.lse) REQUIRE(lse == Approx(std::log(1 + 2047 * std::exp(-7.0))).epsilon(1e-6));
  }
  SECTION("equal logits: the mean of V, LSE log(Sk)") {
    const AttentionShape shape{1, 1, 1, 3, 64, 128, 4, false};
    const AttentionInputs inputs = make_inputs(shape, InputKind::gaussian, 0, 3);
    const AttentionResult result = reference_attention(inputs);
    double mean = 0;
    for (int j = 0; j < 64; ++j) mean += value(inputs.v, inputs.v_descale[0], j * 4 + 1) / 64;
    CHECK(result.o[1] == Approx(mean).epsilon(1e-12));
    CHECK(result.lse[0] == Approx(std::log(64.0)).epsilon(1e-12));
  }
  SECTION("logits of some thousands do not overflow") {
    const AttentionShape shape{1, 1, 1, 8, 64, 128, 8, true};
    const AttentionResult result = reference_attention(make_inputs(shape, InputKind::gaussian, 3000, 3));
    for (const double o : result.o) REQUIRE(std::isfinite(o));
    CHECK(std::abs(result.lse[7]) > 1000);
  }
}

TEST_CASE("reference: selected rows, threads and progress", "[quick][reference]") {
  const AttentionShape shape{2, 4, 2, 101, 77, 16, 8, true};
  const AttentionInputs inputs = distinct_inputs(shape);
  const AttentionResult all = reference_attention(inputs);
  CHECK(reference_attention(inputs, {.threads = 4}).o == all.o);

  const RowSelection rows{7, 3};
  const int count = selected_rows(rows, 101);
  REQUIRE(count == 14);
  std::atomic<std::int64_t> done{0};
  const AttentionResult some = reference_attention(inputs, {.rows = rows, .threads = 2, .rows_done = &done});
  CHECK(done == 2 * 4 * count);
  REQUIRE(some.o.size() == static_cast<std::size_t>(2 * count * 4 * 8));
  for (int b = 0; b < 2; ++b) {
    for (int r = 0; r < count; ++r) {
      for (int h = 0; h < 4; ++h) {
        const int row = 3 + 7 * r;
        CHECK(some.lse[static_cast<std::size_t>((b * 4 + h) * count + r)] ==
              all.lse[static_cast<std::size_t>((b * 4 + h) * 101 + row)]);
        const double* mine = some.o.data() + ((b * count + r) * 4 + h) * 8;
        const double* theirs = all.o.data() + ((b * 101 + row) * 4 + h) * 8;
        // A block adds zeros behind a row, never another order of its terms: sums agree to the bit.
        CHECK(std::equal(mine, mine + 8, theirs));
      }
    }
  }
  CHECK(selected_rows({10, 101}, 101) == 0);
  CHECK(selected_rows({1, 0}, 0) == 0);
  CHECK(selected_rows({2'000'000'000, 100}, 101) == 1);
  REQUIRE_THROWS_AS(selected_rows({0, 0}, 5), Error);
  REQUIRE_THROWS_AS(selected_rows({1, -1}, 5), Error);
}

TEST_CASE("reference: bad inputs are refused", "[quick][reference]") {
  AttentionInputs inputs = make_inputs({1, 2, 1, 4, 4, 8, 8, false}, InputKind::gaussian, 1, 1);
  SECTION("NaN code") { inputs.v[3] = 0xff; }
  SECTION("short tensor") { inputs.k.pop_back(); }
  SECTION("missing descale") { inputs.q_descale.clear(); }
  SECTION("negative scale") { inputs.softmax_scale = -1; }
  REQUIRE_THROWS_AS(reference_attention(inputs), Error);
}
