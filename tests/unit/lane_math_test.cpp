// The functions behind the semantic expressions against the C library in double, over all exponents and at
// the edges.
#include "isa/emulator/lane_math.h"

#include "tests/support/catch.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace zyfa::emulator {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Distance of a result from the exact value, in units in the last place of a float of that size.
double error_ulps(float result, double exact) {
  if (std::isnan(exact)) return std::isnan(result) ? 0 : 1e9;
  if (std::isinf(result) || std::isinf(static_cast<float>(exact))) return result == static_cast<float>(exact) ? 0 : 1e9;
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::fabs(result - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

std::vector<float> many_floats() {
  std::vector<float> values = {0.0f, -0.0f, infinity, -infinity, nan, 1.0f, -1.0f, 0.5f, -0.5f, 1.5f, 2.5f, -2.5f};
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent)
    for (const std::uint32_t mantissa : {0U, 1U, 0x3504f3U, 0x3504f4U, 0x400000U, 0x7fffffU})
      for (const std::uint32_t sign : {0U, 0x80000000U}) values.push_back(float_of(sign | exponent << 23 | mantissa));
  std::mt19937 rng(1);
  for (int i = 0; i < 200000; ++i) values.push_back(float_of(static_cast<std::uint32_t>(rng())));
  return values;
}

bool same(float a, float b) { return bits_of(a) == bits_of(b) || (std::isnan(a) && std::isnan(b)); }

}  // namespace

TEST_CASE("exp2_of is within 1 ulp and exact at integers", "[quick]") {
  double worst = 0;
  std::mt19937 rng(2);
  std::uniform_real_distribution<float> argument(-151, 129);
  for (int i = 0; i < 2000000; ++i) {
    const float x = argument(rng);
    worst = std::max(worst, error_ulps(exp2_of(x), std::exp2(static_cast<double>(x))));
  }
  for (const float x : many_floats())
    worst = std::max(worst, error_ulps(exp2_of(x), std::exp2(static_cast<double>(x))));
  CHECK(worst < 1.0);
  for (int n = -160; n <= 140; ++n) CHECK(exp2_of(static_cast<float>(n)) == static_cast<float>(std::ldexp(1.0, n)));
  CHECK(exp2_of(-infinity) == 0.0f);
  CHECK(exp2_of(infinity) == infinity);
  CHECK(std::isnan(exp2_of(nan)));
  CHECK(error_ulps(1.0f, 1.0 + 0x1p-22) > 1.0);  // the measure notices two ulps
}

TEST_CASE("log2_of is within 1 ulp and exact at powers of two", "[quick]") {
  double worst = 0;
  for (const float x : many_floats())
    if (x > 0 && x < infinity) worst = std::max(worst, error_ulps(log2_of(x), std::log2(static_cast<double>(x))));
  for (std::uint32_t bits = 0x3f7f0000; bits < 0x3f810000; ++bits)  // around 1, where the result is small
    worst = std::max(worst, error_ulps(log2_of(float_of(bits)), std::log2(static_cast<double>(float_of(bits)))));
  CHECK(worst < 1.0);
  for (int n = -149; n < 128; ++n) CHECK(log2_of(std::ldexp(1.0f, n)) == static_cast<float>(n));
  CHECK(log2_of(0.0f) == -infinity);
  CHECK(log2_of(-0.0f) == -infinity);
  CHECK(log2_of(infinity) == infinity);
  CHECK(std::isnan(log2_of(-1.0f)));
  CHECK(std::isnan(log2_of(-infinity)));
  CHECK(std::isnan(log2_of(nan)));
}

TEST_CASE("rounding functions equal the C library's", "[quick]") {
  int differences = 0;
  for (const float x : many_floats()) {
    differences += !same(round_even(x), std::nearbyint(x));
    differences += !same(trunc_of(x), std::trunc(x));
    differences += !same(floor_of(x), std::floor(x));
    differences += !same(ceil_of(x), std::ceil(x));
  }
  CHECK(differences == 0);
  CHECK_FALSE(same(floor_of(-0.5f), trunc_of(-0.5f)));
  CHECK_FALSE(same(0.0f, -0.0f));
}

TEST_CASE("scale_by_power rounds once", "[quick]") {
  int differences = 0;
  std::mt19937 rng(3);
  for (const float x : many_floats()) {
    const int n = static_cast<int>(rng() % 600) - 300;
    differences += !same(scale_by_power(x, n), std::ldexp(x, n));
  }
  CHECK(differences == 0);
  CHECK(scale_by_power(1.0f, std::numeric_limits<std::int32_t>::min()) == 0.0f);
  CHECK(scale_by_power(1.0f, std::numeric_limits<std::int32_t>::max()) == infinity);
}

TEST_CASE("conversions to integers clamp, and NaN gives 0", "[quick]") {
  CHECK(float_to_u32(-1.0f) == 0);
  CHECK(float_to_u32(4294967040.0f) == 4294967040U);
  CHECK(float_to_u32(4294967296.0f) == 0xffffffffU);
  CHECK(float_to_u32(nan) == 0);
  CHECK(float_to_i32(-infinity) == std::numeric_limits<std::int32_t>::min());
  CHECK(float_to_i32(2147483648.0f) == std::numeric_limits<std::int32_t>::max());
  CHECK(float_to_i32(-1.9f) == -1);
  CHECK(float_to_i32(nan) == 0);
  CHECK(float_to_u8(2.5f) == 2);
  CHECK(float_to_u8(3.5f) == 4);
  CHECK(float_to_u8(1e9f) == 255);
  CHECK(float_to_u8(-3.0f) == 0);
  CHECK(float_to_u8(nan) == 0);
}

TEST_CASE("minimum, maximum and median ignore NaN and order zeros", "[quick]") {
  CHECK(same(min_num(0.0f, -0.0f), -0.0f));
  CHECK(same(max_num(-0.0f, 0.0f), 0.0f));
  CHECK(min_num(nan, 3.0f) == 3.0f);
  CHECK(max_num(3.0f, nan) == 3.0f);
  CHECK(std::isnan(max_num(nan, nan)));
  CHECK(median(3.0f, 1.0f, 2.0f) == 2.0f);
  CHECK(median(1.0f, infinity, -infinity) == 1.0f);
  CHECK(median(nan, 5.0f, 4.0f) == 4.0f);
}

TEST_CASE("scaled FP8 conversion saturates only what is finite", "[quick]") {
  const float tiny_scale = float_of(0);  // exponent field 0: divides by 2^-127
  CHECK(pack_fp8_scaled(1e30f, -1e30f, tiny_scale, true) == 0xfe7e);
  CHECK(pack_fp8_scaled(1e30f, -1e30f, tiny_scale, false) == 0xff7f);
  CHECK(pack_fp8_scaled(infinity, 1.0f, 1.0f, true) == 0x387f);
  CHECK(pack_fp8_scaled(2.0f, 3.0f, 2.9f, false) == (pack_fp8(1.0f, 1.5f, false)));
}

}  // namespace zyfa::emulator
