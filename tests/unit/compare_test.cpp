// What passes and, for each way to be wrong, that it does not.
#include "runtime_loader/compare.h"

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
constexpr std::uint16_t bf16_nan = 0x7fc0;

// The reference itself, rounded to bf16 and float as a perfect kernel would write it.
struct PerfectOutput {
  std::vector<std::uint16_t> o;
  std::vector<float> lse;

  explicit PerfectOutput(const AttentionResult& reference) {
    for (const double value : reference.o) o.push_back(isa::float_to_bf16(static_cast<float>(value)));
    for (const double value : reference.lse) lse.push_back(static_cast<float>(value));
  }
  Comparison against(const AttentionResult& reference, const Tolerances& tolerances = {}) const {
    return compare(reference, contiguous_output(reference.shape, o, lse), tolerances);
  }
};

AttentionResult reference_of(const AttentionShape& shape, RowSelection rows = {}) {
  return reference_attention(make_inputs(shape, InputKind::gaussian, 1, 5), {.rows = rows});
}

const AttentionShape plain_shape{2, 4, 2, 33, 50, 64, 64, true};
const AttentionShape empty_rows_shape{1, 2, 1, 20, 8, 64, 64, true};  // rows 0 to 11 see no key

}  // namespace

TEST_CASE("compare: the rounded reference passes with bf16's error", "[quick][compare]") {
  for (const AttentionShape& shape : {plain_shape, empty_rows_shape}) {
    const AttentionResult reference = reference_of(shape);
    const Comparison result = PerfectOutput(reference).against(reference);
    CHECK(result.passed);
    CHECK(result.finite);
    CHECK(result.relative_error > 0.0005);
    CHECK(result.relative_error < 0.0025);
    CHECK(result.max_abs_error < 0.02);
    CHECK(result.lse_max_error < 1e-6);
  }
}

TEST_CASE("compare: relative error is the ratio of Frobenius norms", "[quick][compare]") {
  AttentionResult reference{{1, 1, 1, 1, 1, 4, 4, false}, {}, {3, 0, 4, 0}, {0}};
  PerfectOutput output(reference);
  output.o[1] = isa::float_to_bf16(0.5F);
  const Comparison result = output.against(reference);
  CHECK(result.relative_error == Approx(0.1));
  CHECK(result.max_abs_error == 0.5);
  CHECK(result.max_element_error == Approx(0.5 / 2.5));
  CHECK(!result.passed);
  CHECK(output.against(reference, {.relative = 0.11}).passed);
}

TEST_CASE("compare: one wrong element among thousands is found, and where it is", "[quick][compare]") {
  const AttentionResult reference = reference_of({1, 2, 1, 256, 256, 64, 64, false});
  PerfectOutput output(reference);
  const auto begin = reference.o.begin() + (100 * 2 + 1) * 64;
  const auto largest =
      std::max_element(begin, begin + 64, [](double a, double b) { return std::abs(a) < std::abs(b); });
  output.o[static_cast<std::size_t>(largest - reference.o.begin())] ^= 0x8000;
  const Comparison result = output.against(reference);
  CHECK(result.relative_error < 0.05);
  CHECK(!result.passed);
  CHECK(result.worst.row == 100);
  CHECK(result.worst.head == 1);
  CHECK(result.worst.dim == static_cast<int>(largest - begin));
}

TEST_CASE("compare: a systematic error fails by its size", "[quick][compare]") {
  const AttentionResult reference = reference_of(plain_shape);
  for (const double factor : {1.04, 1.07, 0.5, 0.0}) {
    PerfectOutput output(reference);
    for (std::size_t i = 0; i < output.o.size(); ++i) {
      output.o[i] = isa::float_to_bf16(static_cast<float>(reference.o[i] * factor));
    }
    const Comparison result = output.against(reference);
    CAPTURE(factor, result.relative_error);
    CHECK(result.relative_error == Approx(std::abs(1 - factor)).margin(0.003));
    CHECK(result.passed == (factor == 1.04));
  }
}

TEST_CASE("compare: rows or heads in each other's place, and no mask, fail", "[quick][compare]") {
  const AttentionResult reference = reference_of(plain_shape);
  PerfectOutput output(reference);
  SECTION("two heads of one row swapped") {
    std::swap_ranges(output.o.begin(), output.o.begin() + 64, output.o.begin() + 2 * 64);
    CHECK(!output.against(reference).passed);
  }
  SECTION("LSE of two rows swapped") {
    std::swap(output.lse[0], output.lse[30]);
    CHECK(!output.against(reference).passed);
  }
  SECTION("no mask") {
    AttentionInputs inputs = make_inputs(plain_shape, InputKind::gaussian, 1, 5);
    inputs.shape.causal = false;
    CHECK(!PerfectOutput(reference_attention(inputs)).against(reference).passed);
  }
}

TEST_CASE("compare: anything not finite fails", "[quick][compare]") {
  const AttentionResult reference = reference_of(plain_shape);
  const std::size_t at = ((1 * 33 + 5) * 4 + 2) * 64 + 9;
  for (const std::uint16_t code : {bf16_nan, std::uint16_t{0x7f80}, std::uint16_t{0xff80}}) {
    PerfectOutput output(reference);
    output.o[at] = code;
    const Comparison result = output.against(reference, {infinity, infinity, infinity});
    CHECK(!result.finite);
    CHECK(!result.passed);
    CHECK(result.relative_error == infinity);
    CHECK(result.worst.batch == 1);
    CHECK(result.worst.row == 5);
    CHECK(result.worst.head == 2);
    CHECK(result.worst.dim == 9);
  }
  PerfectOutput output(reference);
  output.lse[3] = std::numeric_limits<float>::quiet_NaN();
  CHECK(!output.against(reference).finite);
  CHECK(!output.against(reference).passed);
}

TEST_CASE("compare: rows that see no key must be exactly 0 and -infinity", "[quick][compare]") {
  const AttentionResult reference = reference_of(empty_rows_shape);
  PerfectOutput output(reference);
  SECTION("a tiny O") {
    output.o[5] = 0x0001;
    const Comparison result = output.against(reference);
    CHECK(!result.empty_rows_zero);
    CHECK(!result.passed);
  }
  SECTION("-0 is 0") {
    output.o[5] = 0x8000;
    CHECK(output.against(reference).passed);
  }
  SECTION("a large negative LSE in place of -infinity") { output.lse[0] = -1e30F; }
  SECTION("+infinity in place of -infinity") { output.lse[0] = std::numeric_limits<float>::infinity(); }
  SECTION("-infinity where a key is seen") { output.lse[15] = -std::numeric_limits<float>::infinity(); }
  if (output.o[5] == 0 && output.lse != PerfectOutput(reference).lse) {
    const Comparison result = output.against(reference);
    CHECK(!result.lse_infinities_match);
    CHECK(!result.passed);
  }
}

TEST_CASE("compare: LSE beyond its tolerance fails, absent LSE is not compared", "[quick][compare]") {
  const AttentionResult reference = reference_of(plain_shape);
  PerfectOutput output(reference);
  output.lse[40] += 0.02F;
  const Comparison result = output.against(reference);
  CHECK(result.lse_max_error == Approx(0.02).epsilon(1e-4));
  CHECK(!result.passed);
  CHECK(compare(reference, contiguous_output(plain_shape, output.o)).passed);
}

TEST_CASE("compare: a zero reference", "[quick][compare]") {
  const AttentionShape shape{1, 1, 1, 4, 0, 64, 64, false};
  const AttentionResult reference = reference_of(shape);
  PerfectOutput output(reference);
  CHECK(output.against(reference).relative_error == 0);
  CHECK(output.against(reference).passed);
  output.o[0] = isa::float_to_bf16(1e-30F);
  CHECK(output.against(reference).relative_error == infinity);
  CHECK(!output.against(reference).passed);
  CHECK(PerfectOutput(reference_of({1, 1, 1, 0, 5, 64, 64, false}))
            .against(reference_of({1, 1, 1, 0, 5, 64, 64, false}))
            .passed);
}

TEST_CASE("compare: strided output and selected rows", "[quick][compare]") {
  const AttentionShape shape{2, 3, 1, 21, 30, 16, 16, true};
  const AttentionResult all = reference_of(shape);
  // (batch, heads, seq, dim + 8) with NaN in the gaps, which no comparison may read.
  const std::int64_t width = 24;
  std::vector<std::uint16_t> strided(static_cast<std::size_t>(2 * 3 * 21 * width), bf16_nan);
  for (int b = 0; b < 2; ++b) {
    for (int i = 0; i < 21; ++i) {
      for (int h = 0; h < 3; ++h) {
        for (int d = 0; d < 16; ++d) {
          const double value = all.o[static_cast<std::size_t>(((b * 21 + i) * 3 + h) * 16 + d)];
          strided[static_cast<std::size_t>(((b * 3 + h) * 21 + i) * width + d)] =
              isa::float_to_bf16(static_cast<float>(value));
        }
      }
    }
  }
  AttentionOutput output{strided, 3 * 21 * width, width, 21 * width, {}};
  CHECK(compare(all, output).passed);
  std::swap(output.row_stride, output.head_stride);
  CHECK_THROWS_AS(compare(all, output), Error);
  std::swap(output.row_stride, output.head_stride);

  const AttentionResult some = reference_of(shape, {4, 1});
  CHECK(compare(some, output).passed);
  strided[static_cast<std::size_t>(2 * width)] = bf16_nan;  // row 2 is not selected
  CHECK(compare(some, output).passed);
  strided[static_cast<std::size_t>(5 * width)] = bf16_nan;  // row 5 is
  CHECK(!compare(some, output).passed);
}

TEST_CASE("compare: spans that do not fit the shape are refused", "[quick][compare]") {
  const AttentionResult reference = reference_of(plain_shape);
  PerfectOutput output(reference);
  output.o.pop_back();
  REQUIRE_THROWS_AS(output.against(reference), Error);
  output.o.push_back(0);
  output.lse.pop_back();
  REQUIRE_THROWS_AS(output.against(reference), Error);
}
