// The conversions of inner loops against the generic ones, which numeric_test.cpp holds to the standards, and
// f16 also against the compiler's own type.
#include <cmath>
#include <functional>
#include <vector>

#include "isa/numeric.h"
#include "tests/support/catch.h"

using namespace zyfa::isa;

namespace {

using Encoder = std::function<std::uint32_t(float)>;

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

Encoder generic(const Format& format, Overflow overflow = Overflow::to_nan,
                Rounding rounding = Rounding::nearest_even) {
  return [&format, overflow, rounding](float value) { return encode(format, value, overflow, rounding); };
}

// Bit patterns of floats: an even sample of all of them, and every value and midpoint of the format with the
// patterns next to it. Holds zeros, denormals, infinities and NaNs of both signs.
std::vector<std::uint32_t> dense_sample(const Format& format) {
  std::vector<std::uint32_t> sample;
  const auto add = [&](std::uint32_t magnitude) {
    for (const std::uint32_t near : {magnitude, magnitude + 1, magnitude - 1}) {
      sample.push_back(near & 0x7fffffffU);
      sample.push_back(near | 0x80000000U);
    }
  };
  for (std::uint64_t bits = 0; bits <= 0xffffffffU; bits += 4001) {
    sample.push_back(static_cast<std::uint32_t>(bits));
  }
  for (const std::uint32_t special : {0U, 0x00800000U, 0x7f800000U, 0x7fc00000U, 0x7fffffffU}) add(special);
  double step = 0;
  for (std::uint32_t code = 0; code <= format.max_finite(); ++code) {
    const double value = decode(format, code);
    // What would follow the last value lies one more step of its binade away.
    if (code < format.max_finite()) step = static_cast<double>(decode(format, code + 1)) - value;
    add(bits_of(static_cast<float>(value)));
    add(bits_of(static_cast<float>(value + step / 2)));
  }
  return sample;
}

int differences(const Encoder& first, const Encoder& second, const std::vector<std::uint32_t>& sample) {
  int count = 0;
  for (const std::uint32_t bits : sample) {
    const float value = std::bit_cast<float>(bits);
    count += first(value) == second(value) ? 0 : 1;
  }
  return count;
}

}  // namespace

TEST_CASE("the fast 8-bit encoders equal the generic one", "[numeric][quick]") {
  const auto e4m3_sample = dense_sample(e4m3_format);
  const auto e5m2_sample = dense_sample(e5m2_format);
  for (const Overflow overflow : {Overflow::to_nan, Overflow::saturate}) {
    CAPTURE(static_cast<int>(overflow));
    const Encoder to_e4m3 = [&](float value) { return float_to_e4m3(value, overflow); };
    const Encoder to_e5m2 = [&](float value) { return float_to_e5m2(value, overflow); };
    CHECK(differences(to_e4m3, generic(e4m3_format, overflow), e4m3_sample) == 0);
    CHECK(differences(to_e5m2, generic(e5m2_format, overflow), e5m2_sample) == 0);
    // The sample tells the overflow rules and the roundings apart.
    const Overflow other = overflow == Overflow::to_nan ? Overflow::saturate : Overflow::to_nan;
    CHECK(differences(to_e4m3, generic(e4m3_format, other), e4m3_sample) > 0);
    CHECK(differences(to_e5m2, generic(e5m2_format, other), e5m2_sample) > 0);
    const Encoder truncated_e4m3 = generic(e4m3_format, overflow, Rounding::toward_zero);
    const Encoder truncated_e5m2 = generic(e5m2_format, overflow, Rounding::toward_zero);
    CHECK(differences(to_e4m3, truncated_e4m3, e4m3_sample) > 0);
    CHECK(differences(to_e5m2, truncated_e5m2, e5m2_sample) > 0);
  }
}

TEST_CASE("the fast 16-bit encoders equal the generic one", "[numeric][quick]") {
  const auto f16_sample = dense_sample(f16_format);
  const auto bf16_sample = dense_sample(bf16_format);
  CHECK(differences(float_to_f16, generic(f16_format), f16_sample) == 0);
  CHECK(differences(float_to_bf16, generic(bf16_format), bf16_sample) == 0);
  const Encoder truncated_f16 = generic(f16_format, Overflow::to_nan, Rounding::toward_zero);
  const Encoder truncated_bf16 = generic(bf16_format, Overflow::to_nan, Rounding::toward_zero);
  CHECK(differences(float_to_f16, truncated_f16, f16_sample) > 0);
  CHECK(differences(float_to_bf16, truncated_bf16, bf16_sample) > 0);
}

TEST_CASE("the fast 8-bit decoders equal the generic one", "[numeric][quick]") {
  int wrong = 0, equal_across_formats = 0;
  for (std::uint32_t code = 0; code < 256; ++code) {
    const auto byte = static_cast<std::uint8_t>(code);
    wrong += bits_of(e4m3_to_float(byte)) == bits_of(decode(e4m3_format, code)) ? 0 : 1;
    wrong += bits_of(e5m2_to_float(byte)) == bits_of(decode(e5m2_format, code)) ? 0 : 1;
    wrong += bits_of(e4m3_values()[code]) == bits_of(decode(e4m3_format, code)) ? 0 : 1;
    wrong += bits_of(e5m2_values()[code]) == bits_of(decode(e5m2_format, code)) ? 0 : 1;
    equal_across_formats += bits_of(e4m3_to_float(byte)) == bits_of(e5m2_to_float(byte)) ? 1 : 0;
  }
  CHECK(wrong == 0);
  CHECK(equal_across_formats < 8);  // zeros, the last NaNs and few more: a swapped table would show
}

TEST_CASE("the fast 16-bit decoders equal the generic one", "[numeric][quick]") {
  int f16_wrong = 0, bf16_wrong = 0, quieted = 0;
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const auto half = static_cast<std::uint16_t>(code);
    f16_wrong += bits_of(f16_to_float(half)) == bits_of(decode(f16_format, code)) ? 0 : 1;
    const std::uint32_t shifted = bits_of(bf16_to_float(half));
    const std::uint32_t decoded = bits_of(decode(bf16_format, code));
    const bool only_quieted = bf16_format.is_nan(code) && decoded == (shifted | 0x00400000U);
    bf16_wrong += shifted == decoded || only_quieted ? 0 : 1;
    quieted += shifted != decoded && only_quieted ? 1 : 0;
  }
  CHECK(f16_wrong == 0);
  CHECK(bf16_wrong == 0);
  CHECK(quieted == 2 * 63);  // the signalling NaNs: quiet bit clear, six payload bits not all zero
}

#ifdef __FLT16_MAX__
TEST_CASE("f16 agrees with the compiler's own", "[numeric][quick]") {
  __extension__ typedef _Float16 Half;
  int decode_wrong = 0, encode_wrong = 0, truncated_wrong = 0;
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const auto half = static_cast<std::uint16_t>(code);
    const float expected = static_cast<float>(std::bit_cast<Half>(half));
    const float got = f16_to_float(half);
    const bool same = std::isnan(expected) ? std::isnan(got) : bits_of(expected) == bits_of(got);
    decode_wrong += same ? 0 : 1;
  }
  for (const std::uint32_t bits : dense_sample(f16_format)) {
    const float value = std::bit_cast<float>(bits);
    const auto expected = std::bit_cast<std::uint16_t>(static_cast<Half>(value));
    const std::uint16_t got = float_to_f16(value);
    const bool both_nan = f16_format.is_nan(expected) && f16_format.is_nan(got);
    encode_wrong += expected == got || both_nan ? 0 : 1;
    const std::uint32_t truncated = encode(f16_format, value, Overflow::to_nan, Rounding::toward_zero);
    truncated_wrong += expected == truncated || both_nan ? 0 : 1;
  }
  CHECK(decode_wrong == 0);
  CHECK(encode_wrong == 0);
  CHECK(truncated_wrong > 0);
}
#endif
