// Conversions between fp32, fp16, bf16 and the formats of 8, 6 and 4 bits, through clang's builtins: every code where
// codes are converted, and values about every code where they are made. The expectation comes from the formats'
// definitions (tests/support/oracle_formats.cpp).
#include "tests/support/catch.h"
#include "tests/support/clang_kernel.h"
#include "tests/support/oracle_parts.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace zyfa::tests {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr std::size_t items = 65536;
constexpr u32 old_word = 0x89abcdef, seed = 0x9e3779b9;

// Words in whose halves and bytes every code occurs.
std::vector<u32> all_codes() {
  std::vector<u32> words(items);
  for (u32 i = 0; i < items; ++i) words[i] = i | (i * 40503 & 0xffff) << 16;
  return words;
}

// Floats at, just below and just above codes of the format and the middles between them, at `scale`; beyond its range;
// and anything.
std::vector<u32> floats_about(std::string_view format, float scale, std::size_t count) {
  std::vector<u32> words;
  const FloatFormat f = float_format(format);
  const u32 codes = 1U << (1 + f.exponent_bits + f.mantissa_bits);
  Rng rng(7);
  while (words.size() < count) {
    const u32 code = static_cast<u32>(rng()) % codes;
    const double here = decoded(f, code), next = decoded(f, code + 1 < codes ? code + 1 : code);
    const double value = rng() % 2 ? here : (here + next) / 2;
    const u32 bits = std::bit_cast<u32>(static_cast<float>(value * scale));
    words.push_back(bits + static_cast<u32>(rng() % 3) - 1);
    words.push_back(static_cast<u32>(rng()));
  }
  words.resize(count);
  return words;
}

u64 expected_of(const std::string& mnemonic, u64 a, u64 b, u64 c) {
  LaneInput in;
  in.s = {a, b, c};
  u64 result = 0;
  if (!convert_lane(mnemonic, in, result)) result = (*find_lane_oracle(mnemonic))(in);
  return result;
}
u64 expected_of(const std::string& mnemonic, u64 a, float scale) {
  return expected_of(mnemonic, a, std::bit_cast<u32>(scale), std::bit_cast<u32>(scale));
}
u64 expected_stochastic(const std::string& mnemonic, u64 a, float scale) {
  return expected_of(mnemonic, a, seed, std::bit_cast<u32>(scale));
}
u32 placed(u64 value, int bits, int part) {
  const u32 mask = (bits == 32 ? ~0U : (1U << bits) - 1) << bits * part;
  return (old_word & ~mask) | (static_cast<u32>(value) << bits * part & mask);
}

class Conversions {
 public:
  Conversions() : kernels_("conversions.c") {}

  // NaNs of fp32 results count as equal: the hardware's are not the same in all instructions.
  std::string run(const std::string& kernel, const std::vector<u32>& in, const std::vector<u32>& expected, float scale,
                  std::size_t work_items, bool floats = false) {
    KernelArguments arguments;
    arguments.add(std::vector<u32>(expected.size()));
    arguments.add(in);
    arguments.add(scale);
    arguments.add(seed);
    const auto groups = static_cast<std::uint32_t>(work_items / 256);
    if (std::string problem = kernels_.launch(kernel, {groups, 256, true}, arguments); !problem.empty()) return problem;
    std::vector<u32> got(expected.size());
    std::memcpy(got.data(), arguments.contents(0).data(), got.size() * 4);
    for (std::size_t i = 0; floats && i < got.size(); ++i)
      if (std::isnan(std::bit_cast<float>(got[i])) && std::isnan(std::bit_cast<float>(expected[i])))
        got[i] = expected[i];
    return bit_difference(kernel, expected, std::as_bytes(std::span(got)));
  }

 private:
  ClangKernels kernels_;
};

constexpr float scales[] = {1.0f, 0x1.8p3f, 0x1p-20f, 0x1p100f};

template <class Expected>
std::vector<u32> each(const std::vector<u32>& in, Expected expected) {
  std::vector<u32> out;
  for (const u32 word : in) out.push_back(expected(word));
  return out;
}
template <class Expected>
std::vector<u32> each_pair(const std::vector<u32>& in, Expected expected) {
  std::vector<u32> out;
  for (std::size_t i = 0; i < in.size(); i += 2) out.push_back(expected(in[i], in[i + 1]));
  return out;
}
std::vector<u32> split(const std::vector<u64>& pairs) {
  std::vector<u32> words;
  for (const u64 pair : pairs) {
    words.push_back(static_cast<u32>(pair));
    words.push_back(static_cast<u32>(pair >> 32));
  }
  return words;
}

}  // namespace

TEST_CASE("clang's conversions from FP8 and BF8, every code", "[quick]") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  Conversions conversions;
  const std::vector<u32> in = all_codes();
  const auto plain = [&](const std::string& kernel, const std::string& format, int byte) {
    CHECK(conversions.run(kernel, in,
                          each(in,
                               [&](u32 x) {
                                 return std::bit_cast<u32>(
                                     static_cast<float>(decoded(float_format(format), x >> 8 * byte & 255)));
                               }),
                          1, in.size(), true) == "");
  };
  plain("f32_fp8_0", "fp8", 0);
  plain("f32_fp8_3", "fp8", 3);
  plain("f32_bf8_1", "bf8", 1);
  const auto pairs_of = [&](const std::string& kernel, const std::string& format, int half) {
    std::vector<u32> pairs;
    for (const u32 x : in)
      for (const int byte : {0, 1})
        pairs.push_back(
            std::bit_cast<u32>(static_cast<float>(decoded(float_format(format), x >> (16 * half + 8 * byte) & 255))));
    CHECK(conversions.run(kernel, in, pairs, 1, in.size(), true) == "");
  };
  pairs_of("pk_f32_fp8_0", "fp8", 0);
  pairs_of("pk_f32_fp8_1", "fp8", 1);
  pairs_of("pk_f32_bf8_1", "bf8", 1);
  for (const std::string f : {"fp8", "bf8"})
    for (const float scale : scales) {
      CAPTURE(f, scale);
      const auto single = [&](u32 x) { return expected_of("v_cvt_scalef32_f32_" + f, x >> 16 & 255, scale); };
      CHECK(conversions.run("scalef32_f32_" + f, in, each(in, single), scale, in.size(), true) == "");
      const auto half = [&](u32 x) { return placed(expected_of("v_cvt_scalef32_f16_" + f, x >> 24, scale), 16, 1); };
      CHECK(conversions.run("scalef32_f16_" + f, in, each(in, half), scale, in.size()) == "");
      std::vector<u64> pairs;
      for (const u32 x : in) pairs.push_back(expected_of("v_cvt_scalef32_pk_f32_" + f, x >> 16, scale));
      CHECK(conversions.run("scalef32_pk_f32_" + f, in, split(pairs), scale, in.size(), true) == "");
      const auto halves = [&](u32 x) {
        return static_cast<u32>(expected_of("v_cvt_scalef32_pk_f16_" + f, x & 0xffff, scale));
      };
      CHECK(conversions.run("scalef32_pk_f16_" + f, in, each(in, halves), scale, in.size()) == "");
      const auto brains = [&](u32 x) {
        return static_cast<u32>(expected_of("v_cvt_scalef32_pk_bf16_" + f, x >> 16, scale));
      };
      CHECK(conversions.run("scalef32_pk_bf16_" + f, in, each(in, brains), scale, in.size()) == "");
    }
}

TEST_CASE("clang's conversions to FP8 and BF8, about every code", "[quick]") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  Conversions conversions;
  const std::vector<u32> codes = all_codes();
  for (const std::string f : {"fp8", "bf8"}) {
    const std::vector<u32> floats = floats_about(f, 1, items);
    const auto stochastic = [&](u32 x) {
      return placed(expected_of("v_cvt_sr_" + f + "_f32", x, seed, 0), 8, f == "fp8" ? 2 : 0);
    };
    CHECK(conversions.run("sr_" + f + (f == "fp8" ? "_f32_2" : "_f32_0"), floats, each(floats, stochastic), 1, items) ==
          "");
    const auto packed = [&](u32 x, u32 y) {
      const auto code = [&](u32 bits) { return encoded(float_format(f), std::bit_cast<float>(bits), false); };
      return placed(code(x) | code(y) << 8, 16, f == "fp8" ? 1 : 0);
    };
    CHECK(conversions.run("pk_" + f + (f == "fp8" ? "_f32_1" : "_f32_0"), floats, each_pair(floats, packed), 1,
                          items / 2) == "");
    for (const float scale : scales) {
      CAPTURE(f, scale);
      const std::vector<u32> about = floats_about(f, scale, items);
      const auto pair = [&](u32 x, u32 y) {
        return placed(expected_of("v_cvt_scalef32_pk_" + f + "_f32", x, y, std::bit_cast<u32>(scale)), 16, 1);
      };
      CHECK(conversions.run("scalef32_pk_" + f + "_f32", about, each_pair(about, pair), scale, items / 2) == "");
      const auto from = [&](const std::string& source, int part) {
        const auto two = [&](u32 x) {
          return placed(expected_of("v_cvt_scalef32_pk_" + f + "_" + source, x, scale), 16, part);
        };
        CHECK(conversions.run("scalef32_pk_" + f + "_" + source, codes, each(codes, two), scale, items) == "");
      };
      from("f16", 0);
      from("bf16", 1);
      const auto random = [&](const std::string& source, const std::vector<u32>& in, int part) {
        const auto one = [&](u32 x) {
          return placed(expected_stochastic("v_cvt_scalef32_sr_" + f + "_" + source, x, scale), 8, part);
        };
        CHECK(conversions.run("scalef32_sr_" + f + "_" + source, in, each(in, one), scale, items) == "");
      };
      random("f32", about, 3);
      random("f16", codes, 0);
      random("bf16", codes, 1);
    }
  }
}

TEST_CASE("clang's conversions to fp16 and bf16, about every code", "[quick]") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  Conversions conversions;
  for (const std::string f : {"f16", "bf16"}) {
    CAPTURE(f);
    std::vector<u32> floats = floats_about(f, 1, items);
    // NaNs become some NaN, whose payload is no matter here.
    for (u32& word : floats)
      if (std::isnan(std::bit_cast<float>(word))) word = 0x3f800001;
    const auto packed = [&](u32 x, u32 y) {
      const auto code = [&](u32 bits) { return encoded(float_format(f), std::bit_cast<float>(bits), false); };
      return code(x) | code(y) << 16;
    };
    CHECK(conversions.run("pk_" + f + "_f32", floats, each_pair(floats, packed), 1, items / 2) == "");
    const auto stochastic = [&](u32 x) {
      return placed(expected_of("v_cvt_sr_" + f + "_f32", x, seed, 0), 16, f == "f16" ? 1 : 0);
    };
    CHECK(conversions.run("sr_" + f + (f == "f16" ? "_f32_1" : "_f32_0"), floats, each(floats, stochastic), 1, items) ==
          "");
  }
}

TEST_CASE("clang's conversions to and from FP4", "[quick]") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  Conversions conversions;
  const std::vector<u32> codes = all_codes();
  for (const float scale : scales) {
    CAPTURE(scale);
    std::vector<u64> pairs;
    for (const u32 x : codes) pairs.push_back(expected_of("v_cvt_scalef32_pk_f32_fp4", x >> 24, scale));
    CHECK(conversions.run("scalef32_pk_f32_fp4", codes, split(pairs), scale, items, true) == "");
    const auto wide = [&](const std::string& to, int byte) {
      const auto two = [&](u32 x) {
        return static_cast<u32>(expected_of("v_cvt_scalef32_pk_" + to + "_fp4", x >> 8 * byte & 255, scale));
      };
      CHECK(conversions.run("scalef32_pk_" + to + "_fp4", codes, each(codes, two), scale, items) == "");
    };
    wide("f16", 1);
    wide("bf16", 2);
    const std::vector<u32> about = floats_about("fp4", scale, items);
    const auto pair = [&](u32 x, u32 y) {
      return placed(expected_of("v_cvt_scalef32_pk_fp4_f32", x, y, std::bit_cast<u32>(scale)), 8, 2);
    };
    CHECK(conversions.run("scalef32_pk_fp4_f32", about, each_pair(about, pair), scale, items / 2) == "");
    const auto narrow = [&](const std::string& from, int part) {
      const auto two = [&](u32 x) { return placed(expected_of("v_cvt_scalef32_pk_fp4_" + from, x, scale), 8, part); };
      CHECK(conversions.run("scalef32_pk_fp4_" + from, codes, each(codes, two), scale, items) == "");
    };
    narrow("f16", 0);
    narrow("bf16", 3);
  }
}

namespace {

int bits_of_element(std::string_view format) { return format == "f32" ? 32 : format.ends_with("f16") ? 16 : 6; }
// Of a vector of 32 elements in memory: 6 dwords take the room of 8.
std::size_t stride_of(std::string_view format) { return format == "f32" ? 32 : format.ends_with("f16") ? 16 : 8; }

u32 element_of(const u32* words, int bits, int index) {
  const int bit = bits * index;
  const u64 two = words[bit / 32] | (bit % 32 + bits > 32 ? u64{words[bit / 32 + 1]} << 32 : 0);
  return static_cast<u32>(two >> bit % 32 & ((u64{1} << bits) - 1));
}
void add_element(u32* words, int bits, int index, u32 code) {
  for (int i = 0; i < bits; ++i) words[(bits * index + i) / 32] |= (code >> i & 1) << (bits * index + i) % 32;
}

// What the kernel of 32 elements makes of each vector of `in`: the conversion of one element, element by element.
std::vector<u32> expected_wide(const std::vector<u32>& in, const std::string& to, const std::string& from, float scale,
                               bool stochastic, bool interleaved) {
  const std::size_t from_stride = stride_of(from), to_stride = stride_of(to), vectors = in.size() / from_stride;
  const std::string mnemonic = std::string("v_cvt_scalef32_") + (stochastic ? "sr_" : "") + to + "_" + from;
  std::vector<u32> out(vectors * to_stride);
  for (std::size_t vector = 0; vector < vectors; ++vector) {
    u32 random = seed;
    for (int i = 0; i < 32; ++i, random = random << 1 ^ (random >> 31) * 197) {
      const int source = interleaved ? i / 2 + 16 * (i % 2) : i;
      const u32 code = element_of(&in[vector * from_stride], bits_of_element(from), source);
      const u64 result = stochastic ? expected_of(mnemonic, code, random, std::bit_cast<u32>(scale))
                                    : expected_of(mnemonic, code, scale);
      add_element(&out[vector * to_stride], bits_of_element(to), i, static_cast<u32>(result));
    }
  }
  return out;
}

}  // namespace

TEST_CASE("clang's conversions of 32 elements of FP6 and BF6", "[quick]") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  Conversions conversions;
  constexpr std::size_t vectors = 2048;
  Rng rng(9);
  std::vector<u32> codes(vectors * 8);
  for (u32& word : codes) word = static_cast<u32>(rng());
  const std::vector<u32> halves = all_codes();
  for (const std::string f : {"fp6", "bf6"})
    for (const float scale : scales) {
      CAPTURE(f, scale);
      for (const std::string to : {"f32", "f16", "bf16"})
        CHECK(conversions.run("scalef32_pk32_" + to + "_" + f, codes, expected_wide(codes, to, f, scale, false, false),
                              scale, vectors, to == "f32") == "");
      for (const std::string from : {"f16", "bf16"}) {
        CHECK(conversions.run("scalef32_pk32_" + f + "_" + from, halves,
                              expected_wide(halves, f, from, scale, false, false), scale, halves.size() / 16) == "");
        CHECK(conversions.run("scalef32_sr_pk32_" + f + "_" + from, halves,
                              expected_wide(halves, f, from, scale, true, false), scale, halves.size() / 16) == "");
      }
      const std::vector<u32> floats = floats_about(f, scale, vectors * 32);
      CHECK(conversions.run("scalef32_sr_pk32_" + f + "_f32", floats,
                            expected_wide(floats, f, "f32", scale, true, false), scale, vectors) == "");
      CHECK(conversions.run("scalef32_2xpk16_" + f + "_f32", floats,
                            expected_wide(floats, f, "f32", scale, false, true), scale, vectors) == "");
    }
}

TEST_CASE("a wrong expectation of a conversion is noticed", "[quick]") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  Conversions conversions;
  const std::vector<u32> in = all_codes();
  auto expected =
      each(in, [](u32 x) { return static_cast<u32>(expected_of("v_cvt_scalef32_pk_f16_fp8", x & 0xffff, 1)); });
  CHECK(conversions.run("scalef32_pk_f16_fp8", in, expected, 1, in.size()) == "");
  expected[77] ^= 1;
  CHECK(conversions.run("scalef32_pk_f16_fp8", in, expected, 1, in.size()) != "");
}

}  // namespace zyfa::tests
