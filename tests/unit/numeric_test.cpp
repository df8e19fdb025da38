// Every code of every format against a definition that shares nothing with isa/numeric.h, and every rounding
// boundary from both sides. The checks are functions that count mismatches, so that each is also run on a
// format or an encoder that is wrong on purpose and has to be caught.
#include "isa/numeric.h"

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "isa/error.h"
#include "tests/support/catch.h"

using namespace zyfa::isa;

namespace {

// A format as its standard's table of values states it (OCP OFP8, OCP MX 1.0, IEEE 754): the least positive
// value, how many steps a binade has, the largest finite code and value.
struct Stated {
  const Format* format;
  int width_bits;
  double least;
  std::uint32_t steps_per_binade;
  std::uint32_t last_finite;
  double largest;
};

// clang-format off
const std::vector<Stated> stated_formats = {
    {&e4m3_format, 8,  0x1p-9,   8,    0x7e,   448},
    {&e5m2_format, 8,  0x1p-16,  4,    0x7b,   57344},
    {&e2m3_format, 6,  0.125,    8,    0x1f,   7.5},
    {&e3m2_format, 6,  0.0625,   4,    0x1f,   28},
    {&e2m1_format, 4,  0.5,      2,    0x7,    6},
    {&f16_format,  16, 0x1p-24,  1024, 0x7bff, 65504},
    {&bf16_format, 16, 0x1p-133, 128,  0x7f7f, 0x1.fep127},
};
// clang-format on

const Stated& stated_of(const Format& format) {
  for (const Stated& stated : stated_formats) {
    if (stated.format == &format) return stated;
  }
  throw zyfa::Error("no stated values for {}", format.name);
}

std::uint32_t sign_of(const Stated& stated) { return 1U << (stated.width_bits - 1); }

// The values of codes 0 .. last_finite + 1 by walking up: each code is one step above the one before, and the
// step doubles at each binade after the first normal one. The last entry is where the first overflowing value
// would be.
std::vector<double> walk(const Stated& stated) {
  std::vector<double> values = {0.0};
  double step = stated.least;
  for (std::uint32_t code = 1; code <= stated.last_finite + 1; ++code) {
    values.push_back(values.back() + step);
    if (code % stated.steps_per_binade == 0 && code > stated.steps_per_binade) step *= 2;
  }
  return values;
}

int decode_mismatches(const Format& format, const Stated& stated, bool stated_infinity) {
  const std::vector<double> values = walk(stated);
  int mismatches = 0;
  for (std::uint32_t code = 0; code < 2 * sign_of(stated); ++code) {
    const std::uint32_t magnitude = code & (sign_of(stated) - 1);
    const bool negative = magnitude != code;
    const float got = decode(format, code);
    bool good = std::isnan(got);
    if (magnitude <= stated.last_finite) {
      good = std::fabs(static_cast<double>(got)) == values[magnitude] && std::signbit(got) == negative;
    } else if (stated_infinity && magnitude == stated.last_finite + 1) {
      good = std::isinf(got) && std::signbit(got) == negative;
    }
    mismatches += good ? 0 : 1;
  }
  return mismatches;
}

using Encoder = std::function<std::uint32_t(float)>;

Encoder generic(const Format& format, Overflow overflow = Overflow::to_nan,
                Rounding rounding = Rounding::nearest_even) {
  return [&format, overflow, rounding](float value) { return encode(format, value, overflow, rounding); };
}

// Each finite value, each midpoint between neighbours and the floats next to it on both sides, in both signs.
// `overflow_code` is what a magnitude that rounds beyond the largest value has to become.
int nearest_even_mismatches(const Encoder& encoder, const Stated& stated, std::uint32_t overflow_code) {
  const std::vector<double> values = walk(stated);
  int mismatches = 0;
  const auto expect = [&](float magnitude, std::uint32_t code) {
    const std::uint32_t wanted = code <= stated.last_finite ? code : overflow_code;
    mismatches += encoder(magnitude) == wanted ? 0 : 1;
    mismatches += encoder(-magnitude) == (wanted | sign_of(stated)) ? 0 : 1;
  };
  for (std::uint32_t code = 0; code <= stated.last_finite; ++code) {
    const float middle = static_cast<float>((values[code] + values[code + 1]) / 2);
    expect(static_cast<float>(values[code]), code);
    expect(std::nextafter(middle, 0.0F), code);
    expect(middle, code % 2 == 0 ? code : code + 1);
    expect(std::nextafter(middle, std::numeric_limits<float>::infinity()), code + 1);
  }
  expect(std::numeric_limits<float>::max(), stated.last_finite + 1);
  return mismatches;
}

int toward_zero_mismatches(const Encoder& encoder, const Stated& stated) {
  const std::vector<double> values = walk(stated);
  int mismatches = 0;
  const auto expect = [&](float magnitude, std::uint32_t code) {
    mismatches += encoder(magnitude) == code ? 0 : 1;
    mismatches += encoder(-magnitude) == (code | sign_of(stated)) ? 0 : 1;
  };
  for (std::uint32_t code = 0; code <= stated.last_finite; ++code) {
    expect(static_cast<float>(values[code]), code);
    expect(static_cast<float>((values[code] + values[code + 1]) / 2), code);
    if (code < stated.last_finite) expect(std::nextafter(static_cast<float>(values[code + 1]), 0.0F), code);
  }
  expect(std::numeric_limits<float>::max(), stated.last_finite);
  return mismatches;
}

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

constexpr float infinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("each format has the values that its standard states", "[numeric][quick]") {
  REQUIRE(stated_formats.size() == formats.size());
  for (const Stated& stated : stated_formats) {
    CAPTURE(stated.format->name);
    CHECK(stated.format->width_bits() == stated.width_bits);
    CHECK(stated.format->max_finite() == stated.last_finite);
    CHECK(walk(stated)[stated.last_finite] == stated.largest);
    const bool has_infinity = stated.last_finite == 0x7b || stated.width_bits == 16;
    CHECK(decode_mismatches(*stated.format, stated, has_infinity) == 0);
  }
}

TEST_CASE("a format with one wrong property does not pass for the right one", "[numeric][quick]") {
  const Stated& stated = stated_of(e4m3_format);
  Format wrong = e4m3_format;
  SECTION("bias of the FNUZ variant: all finite values but zero differ") {
    wrong.bias = 8;
    CHECK(decode_mismatches(wrong, stated, false) == 2 * 0x7e);
  }
  SECTION("IEEE's NaN codes: 256 and what follows it are lost") {
    wrong.nan_kind = NanKind::ieee;
    wrong.has_infinity = true;
    CHECK(decode_mismatches(wrong, stated, false) == 2 * 7);
  }
  SECTION("no NaN: the last code of each sign is a number") {
    wrong.nan_kind = NanKind::none;
    CHECK(decode_mismatches(wrong, stated, false) == 2);
  }
  SECTION("E5M2 without infinity") {
    wrong = e5m2_format;
    wrong.has_infinity = false;
    CHECK(decode_mismatches(wrong, stated_of(e5m2_format), true) == 2);
  }
}

TEST_CASE("encoding a decoded value gives the code back, in order", "[numeric][quick]") {
  for (const Format& format : formats) {
    CAPTURE(format.name);
    const std::uint32_t sign = format.sign_bit();
    int lost = 0, unordered = 0, numbers = 0;
    float previous = -1;
    for (std::uint32_t code = 0; code < 2 * sign; ++code) {
      const float value = decode(format, code);
      if (std::isnan(value)) continue;
      ++numbers;
      for (const Overflow overflow : {Overflow::to_nan, Overflow::saturate}) {
        lost += encode(format, value, overflow) == code ? 0 : 1;
        lost += encode(format, value, overflow, Rounding::toward_zero) == code ? 0 : 1;
      }
      if (code >= sign) continue;
      unordered += value > previous ? 0 : 1;
      previous = value;
    }
    CHECK(lost == 0);
    CHECK(unordered == 0);
    CHECK(numbers >= static_cast<int>(2 * (format.max_finite() + 1)));
  }
}

TEST_CASE("rounding is to nearest even at every boundary", "[numeric][quick]") {
  for (const Stated& stated : stated_formats) {
    CAPTURE(stated.format->name);
    const bool has_more = stated.format->nan_kind != NanKind::none;
    const std::uint32_t beyond = has_more ? stated.last_finite + 1 : stated.last_finite;
    CHECK(nearest_even_mismatches(generic(*stated.format), stated, beyond) == 0);
    const Encoder saturating = generic(*stated.format, Overflow::saturate);
    CHECK(nearest_even_mismatches(saturating, stated, stated.last_finite) == 0);
    // The two overflow rules are told apart: at least by the float above the last midpoint and by the
    // largest.
    if (has_more) CHECK(nearest_even_mismatches(saturating, stated, beyond) >= 4);
  }
}

TEST_CASE("toward zero drops what does not fit and never overflows", "[numeric][quick]") {
  for (const Stated& stated : stated_formats) {
    CAPTURE(stated.format->name);
    for (const Overflow overflow : {Overflow::to_nan, Overflow::saturate}) {
      CHECK(toward_zero_mismatches(generic(*stated.format, overflow, Rounding::toward_zero), stated) == 0);
    }
  }
}

TEST_CASE("other roundings do not pass for the right one", "[numeric][quick]") {
  for (const Stated& stated : stated_formats) {
    CAPTURE(stated.format->name);
    const Format& format = *stated.format;
    const int codes = static_cast<int>(stated.last_finite) + 1;
    const Encoder truncating = generic(format, Overflow::saturate, Rounding::toward_zero);
    // Truncation is wrong just above every midpoint but the last, where saturation gives the same.
    CHECK(nearest_even_mismatches(truncating, stated, stated.last_finite) >= 2 * (codes - 1));
    // Half away from zero is wrong at the midpoints above an even code, and only there.
    const Encoder half_away = [&](float value) {
      const bool is_exact = decode(format, encode(format, value)) == value;
      const float away = std::nextafter(value, std::copysign(infinity, value));
      return encode(format, is_exact ? value : away, Overflow::saturate);
    };
    const int even_below_another = codes / 2;
    CHECK(nearest_even_mismatches(half_away, stated, stated.last_finite) >= 2 * (even_below_another - 1));
    CHECK(toward_zero_mismatches(generic(format, Overflow::saturate), stated) >= 2 * (codes - 1));
  }
}

TEST_CASE("E4M3 and E5M2: overflow, saturation, infinity and NaN", "[numeric][quick]") {
  const float not_a_number = std::numeric_limits<float>::quiet_NaN();
  const float above_464 = std::nextafter(464.0F, infinity);
  CHECK(float_to_e4m3(464.0F) == 0x7e);
  CHECK(float_to_e4m3(-464.0F) == 0xfe);
  CHECK(float_to_e4m3(above_464) == 0x7f);
  CHECK(float_to_e4m3(-above_464) == 0xff);
  CHECK(float_to_e4m3(above_464, Overflow::saturate) == 0x7e);
  CHECK(float_to_e4m3(-above_464, Overflow::saturate) == 0xfe);
  CHECK(float_to_e4m3(std::numeric_limits<float>::max(), Overflow::saturate) == 0x7e);
  CHECK(float_to_e4m3(infinity, Overflow::saturate) == 0x7f);
  CHECK(float_to_e4m3(-infinity, Overflow::saturate) == 0xff);
  CHECK(float_to_e4m3(not_a_number) == 0xff);
  CHECK(float_to_e4m3(not_a_number, Overflow::saturate) == 0xff);
  CHECK(float_to_e4m3(-0.0F) == 0x80);
  CHECK(float_to_e4m3(0x1p-9F) == 0x01);
  CHECK(float_to_e4m3(0x1p-10F) == 0x00);

  CHECK(float_to_e5m2(std::nextafter(61440.0F, 0.0F)) == 0x7b);
  CHECK(float_to_e5m2(61440.0F) == 0x7c);
  CHECK(float_to_e5m2(-61440.0F) == 0xfc);
  CHECK(float_to_e5m2(61440.0F, Overflow::saturate) == 0x7b);
  CHECK(float_to_e5m2(infinity, Overflow::saturate) == 0x7c);
  CHECK(float_to_e5m2(-infinity) == 0xfc);
  CHECK(float_to_e5m2(not_a_number) == 0xfe);

  CHECK(bits_of(e4m3_to_float(0x7f)) == 0xffc00000U);
  CHECK(bits_of(e5m2_to_float(0x7d)) == 0xffc00000U);
}

TEST_CASE("infinity and NaN in the other formats", "[numeric][quick]") {
  CHECK(encode(f16_format, infinity, Overflow::saturate) == 0x7c00);
  CHECK(encode(f16_format, 65520.0F, Overflow::saturate) == 0x7bff);
  CHECK(float_to_f16(65520.0F) == 0x7c00);
  CHECK(float_to_f16(std::nextafter(65520.0F, 0.0F)) == 0x7bff);
  CHECK(encode(bf16_format, -infinity, Overflow::saturate, Rounding::toward_zero) == 0xff80);
  for (const Format* format : {&e2m3_format, &e3m2_format, &e2m1_format}) {
    CAPTURE(format->name);
    CHECK(encode(*format, -infinity) == (format->sign_bit() | format->max_finite()));
    CHECK(encode(*format, std::bit_cast<float>(0xffc00000U)) == format->max_finite());
  }
  // A signalling NaN whose payload lies below what the format keeps must not turn into infinity.
  const float low_payload = std::bit_cast<float>(0xff800001U);
  CHECK(float_to_bf16(low_payload) == 0xffc0);
  CHECK(float_to_f16(low_payload) == 0xfe00);
  const float high_payload = std::bit_cast<float>(0x7fa00000U);
  CHECK(float_to_bf16(high_payload) == 0x7fe0);
  CHECK(float_to_f16(high_payload) == 0x7f00);
}

TEST_CASE("E8M0 scales are powers of two", "[numeric][quick]") {
  for (int scale = 0; scale < 255; ++scale) {
    CAPTURE(scale);
    const auto code = static_cast<std::uint8_t>(scale);
    CHECK(e8m0_to_float(code) == std::ldexp(1.0F, scale - 127));
    CHECK(float_to_e8m0(std::ldexp(1.0F, scale - 127)) == code);
  }
  CHECK(std::isnan(e8m0_to_float(255)));
  CHECK(float_to_e8m0(std::numeric_limits<float>::quiet_NaN()) == 255);
  CHECK(float_to_e8m0(infinity) == 255);
  CHECK(float_to_e8m0(-3.99F) == 128);  // 2^1: sign and mantissa are ignored
}
