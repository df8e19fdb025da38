// Packed streams of 4-, 6-, 8- and 16-bit elements against a plain vector of bits.
#include <limits>
#include <vector>

#include "isa/error.h"
#include "isa/numeric.h"
#include "tests/support/catch.h"

using namespace zyfa::isa;

namespace {

constexpr std::size_t stream_dwords = 6;

// Codes that use every bit and repeat nowhere near.
std::vector<std::uint32_t> some_codes(const Format& format) {
  std::vector<std::uint32_t> codes(stream_dwords * 32 / static_cast<std::size_t>(format.width_bits()));
  std::uint32_t state = 1;
  for (std::uint32_t& code : codes) {
    state = state * 1664525U + 1013904223U;
    code = (state >> 16) & (2 * format.sign_bit() - 1);
  }
  return codes;
}

// The stream bit by bit: element j at bits j * width and up, least significant first.
std::vector<bool> bits_of_stream(const std::vector<std::uint32_t>& codes, int width_bits) {
  std::vector<bool> bits;
  for (const std::uint32_t code : codes) {
    for (int bit = 0; bit < width_bits; ++bit) bits.push_back(((code >> bit) & 1) != 0);
  }
  bits.resize(stream_dwords * 32);
  return bits;
}

std::vector<std::uint32_t> dwords_of_bits(const std::vector<bool>& bits) {
  std::vector<std::uint32_t> dwords(bits.size() / 32);
  for (std::size_t bit = 0; bit < bits.size(); ++bit) {
    if (bits[bit]) dwords[bit / 32] |= 1U << (bit % 32);
  }
  return dwords;
}

}  // namespace

TEST_CASE("packed streams: element j starts at bit j * width", "[numeric][quick]") {
  for (const Format& format : formats) {
    CAPTURE(format.name);
    const int width = format.width_bits();
    const std::vector<std::uint32_t> codes = some_codes(format);
    const std::vector<std::uint32_t> dwords = dwords_of_bits(bits_of_stream(codes, width));
    std::vector<float> values(codes.size());
    unpack(format, dwords, values);
    int wrong_codes = 0, wrong_values = 0;
    for (std::size_t j = 0; j < codes.size(); ++j) {
      wrong_codes += packed_code(dwords, width, j) == codes[j] ? 0 : 1;
      const float expected = decode(format, codes[j]);
      wrong_values += std::bit_cast<std::uint32_t>(values[j]) == std::bit_cast<std::uint32_t>(expected) ? 0 : 1;
    }
    CHECK(wrong_codes == 0);
    CHECK(wrong_values == 0);

    // Written in order, over ones, with junk above the width: nothing may leak into a neighbour.
    std::vector<std::uint32_t> written(stream_dwords, ~0U);
    for (std::size_t j = 0; j < codes.size(); ++j) {
      set_packed_code(written, width, j, codes[j] | ~(2 * format.sign_bit() - 1));
    }
    CHECK(written == dwords);
    // And out of order: one element rewritten leaves the others as they were.
    const std::size_t middle = codes.size() / 2;
    set_packed_code(written, width, middle, ~codes[middle]);
    CHECK(written != dwords);
    set_packed_code(written, width, middle, codes[middle]);
    CHECK(written == dwords);
  }
}

TEST_CASE("packed streams refuse what lies outside", "[numeric][quick]") {
  std::vector<std::uint32_t> dwords = {0xffffffffU, 0xffffffffU};
  CHECK(packed_code(dwords, 6, 9) == 0x3f);
  REQUIRE_THROWS_AS(packed_code(dwords, 6, 10), zyfa::Error);
  REQUIRE_THROWS_AS(packed_code(dwords, 6, std::numeric_limits<std::size_t>::max()), zyfa::Error);
  REQUIRE_THROWS_AS(set_packed_code(dwords, 4, 16, 0), zyfa::Error);
  REQUIRE_THROWS_AS(packed_code(dwords, 0, 0), zyfa::Error);
  REQUIRE_THROWS_AS(packed_code(dwords, 33, 0), zyfa::Error);
  CHECK(packed_code(dwords, 32, 1) == 0xffffffffU);
  std::vector<float> values(11);
  REQUIRE_THROWS_AS(unpack(e2m3_format, dwords, values), zyfa::Error);
  values.resize(10);
  unpack(e2m3_format, dwords, values);
  CHECK(values[9] == -7.5F);
}
