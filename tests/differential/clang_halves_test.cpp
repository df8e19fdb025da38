// fp16, pairs of 16 bits, dot products and mixed precision, compiled by clang, against the same C on the host.
#include "tests/support/catch.h"
#include "tests/support/clang_kernel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace zyfa::tests {
namespace {

using Half = _Float16;
__extension__ typedef __float128 Exact;  // holds any product and sum of halves

// What clang's vectors of two are to the kernels.
template <class T>
struct Pair {
  T x, y;
};
using Half2 = Pair<Half>;
using Short2 = Pair<std::int16_t>;
using UShort2 = Pair<std::uint16_t>;

template <class T, class Operation>
Pair<T> each(Pair<T> a, Pair<T> b, Operation operation) {
  return {static_cast<T>(operation(a.x, b.x)), static_cast<T>(operation(a.y, b.y))};
}
#define ELEMENTWISE(op)                                       \
  template <class T>                                          \
  Pair<T> operator op(Pair<T> a, Pair<T> b) {                 \
    return each(a, b, [](auto x, auto y) { return x op y; }); \
  }
ELEMENTWISE(+)
ELEMENTWISE(-)
ELEMENTWISE(&)
ELEMENTWISE(<<)
ELEMENTWISE(>>)
#undef ELEMENTWISE
// Two 16-bit integers promote to int, in which their product may overflow.
template <class T>
Pair<T> operator*(Pair<T> a, Pair<T> b) {
  return each(a, b, [](auto x, auto y) {
    if constexpr (std::is_integral_v<decltype(x)>)
      return std::uint32_t{static_cast<std::uint16_t>(x)} * static_cast<std::uint16_t>(y);
    else
      return x * y;
  });
}
Half2 operator-(Half2 a) { return {-a.x, -a.y}; }

Half fma_half(Half a, Half b, Half c) { return static_cast<Half>(Exact{a} * Exact{b} + Exact{c}); }
Half2 fma_half(Half2 a, Half2 b, Half2 c) { return {fma_half(a.x, b.x, c.x), fma_half(a.y, b.y, c.y)}; }
Half least_half(Half a, Half b) { return static_cast<Half>(std::fmin(static_cast<float>(a), static_cast<float>(b))); }
Half most_half(Half a, Half b) { return static_cast<Half>(std::fmax(static_cast<float>(a), static_cast<float>(b))); }
template <class T>
T held(std::int64_t value) {
  return static_cast<T>(std::clamp<std::int64_t>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

// Sum of products of the parts of a and b, each of `bits`, and c.
template <bool is_signed>
std::int32_t dot(int bits, std::uint32_t a, std::uint32_t b, std::int32_t c, bool is_held) {
  std::int64_t sum = is_signed ? std::int64_t{c} : std::int64_t{static_cast<std::uint32_t>(c)};
  for (int first = 0; first < 32; first += bits) {
    const auto part = [&](std::uint32_t word) {
      const std::int64_t unsigned_part = word >> first & ((1u << bits) - 1);
      return is_signed && unsigned_part >> (bits - 1) ? unsigned_part - (std::int64_t{1} << bits) : unsigned_part;
    };
    sum += part(a) * part(b);
  }
  if (!is_held) return static_cast<std::int32_t>(sum);
  return is_signed ? held<std::int32_t>(sum) : static_cast<std::int32_t>(held<std::uint32_t>(sum));
}

float half_of(std::uint32_t word, int index) {
  return static_cast<float>(std::bit_cast<Half>(static_cast<std::uint16_t>(word >> 16 * index)));
}
float bfloat_of(std::uint32_t word, int index) { return std::bit_cast<float>(index ? word & 0xffff0000 : word << 16); }
float dot_floats(double sum, bool clamps) { return static_cast<float>(clamps ? std::clamp(sum, 0.0, 1.0) : sum); }

#define BITS(type, x) std::bit_cast<type>(x)
#define SWAPPED(v) \
  decltype(v) { (v).y, (v).x }
#define TWICE_LOW(v) \
  decltype(v) { (v).x, (v).x }
#define FMA(a, b, c) fma_half(a, b, c)
#define FMA2(a, b, c) fma_half(a, b, c)
#define SQRT(a) static_cast<Half>(std::sqrt(static_cast<double>(a)))
#define FLOOR(a) static_cast<Half>(std::floor(static_cast<float>(a)))
#define CEIL(a) static_cast<Half>(std::ceil(static_cast<float>(a)))
#define TRUNC(a) static_cast<Half>(std::trunc(static_cast<float>(a)))
#define NEAREST(a) static_cast<Half>(std::nearbyint(static_cast<float>(a)))
#define ABS(a) static_cast<Half>(std::fabs(static_cast<float>(a)))
#define LEAST(a, b) least_half(a, b)
#define MOST(a, b) most_half(a, b)
#define LEAST2(a, b) each(a, b, least_half)
#define MOST2(a, b) each(a, b, most_half)
#define MIN2(a, b) each(a, b, [](auto x, auto y) { return std::min(x, y); })
#define MAX2(a, b) each(a, b, [](auto x, auto y) { return std::max(x, y); })
#define ADD_HELD2(a, b) each(a, b, [](auto x, auto y) { return held<decltype(x)>(std::int64_t{x} + y); })
#define SUB_HELD2(a, b) each(a, b, [](auto x, auto y) { return held<decltype(x)>(std::int64_t{x} - y); })
#define SPLAT(type, x) \
  type { (x), (x) }
#define DOT_SIGNED_16(a, b, c, held) dot<true>(16, a, b, c, held)
#define DOT_UNSIGNED_16(a, b, c, held) dot<false>(16, a, b, c, held)
#define DOT_SIGNED_8(a, b, c, held) dot<true>(8, a, b, c, held)
#define DOT_UNSIGNED_8(a, b, c, held) dot<false>(8, a, b, c, held)
#define DOT_SIGNED_4(a, b, c, held) dot<true>(4, a, b, c, held)
#define DOT_UNSIGNED_4(a, b, c, held) dot<false>(4, a, b, c, held)
#define PRODUCTS(of, a, b) (double{of(a, 0)} * of(b, 0) + double{of(a, 1)} * of(b, 1))
#define DOT_HALVES(a, b, c, held) dot_floats(PRODUCTS(half_of, a, b) + (c), held)
#define DOT_BFLOATS(a, b, c, held) dot_floats(PRODUCTS(bfloat_of, a, b) + (c), held)

#include "tests/differential/kernels/halves.c"

constexpr Grid grid{.workgroups = 8, .makes_infinities = true};
constexpr std::uint32_t items = 8 * workgroup_items;
constexpr std::size_t most_planes = 24;

std::uint32_t rng() {
  static std::mt19937 random(1);
  return static_cast<std::uint32_t>(random());
}

std::uint16_t random_half() {
  constexpr std::uint16_t special[] = {0,      0x8000, 1,      0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00,
                                       0x3800, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x4248, 0x6400};
  const std::uint32_t random = rng();
  if (random % 4 == 0) return special[random / 4 % std::size(special)];
  if (random % 4 == 1) return static_cast<std::uint16_t>(random >> 16);
  return static_cast<std::uint16_t>((random >> 16 & 0x83ff) | (10 + random / 4 % 10) << 10);  // of moderate size
}
template <class T>
std::vector<T> words_of_halves() {
  std::vector<T> values(items);
  for (T& value : values) {
    if constexpr (sizeof(T) == 2)
      value = std::bit_cast<T>(random_half());
    else
      value = std::bit_cast<T>(std::uint32_t{random_half()} << 16 | random_half());
  }
  return values;
}
template <class T>
std::vector<T> random_words() {
  constexpr std::uint32_t special[] = {0, ~0u, 0x80008000, 0x7fff7fff, 0x80808080, 0x7f7f7f7f, 0x88888888, 0x77777777};
  std::vector<T> values(items);
  for (T& value : values) value = std::bit_cast<T>(rng() % 4 ? rng() : special[rng() % 8]);
  return values;
}
// Integers up to 255 in steps of 1/16: sums of few products are exact in fp32.
std::vector<float> small_numbers() {
  std::vector<float> values(items);
  for (float& value : values) value = static_cast<float>(static_cast<int>(rng() % 511) - 255) / 16;
  return values;
}
template <class Encode>
std::vector<std::uint32_t> pairs_of(Encode encode) {
  const std::vector<float> low = small_numbers(), high = small_numbers();
  std::vector<std::uint32_t> words(items);
  for (std::size_t i = 0; i < items; ++i) words[i] = encode(low[i]) | std::uint32_t{encode(high[i])} << 16;
  return words;
}
std::uint16_t half_code(float x) { return std::bit_cast<std::uint16_t>(static_cast<Half>(x)); }
std::uint16_t bfloat_code(float x) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16); }

bool skips() {
  if (!have_clang()) WARN(no_clang);
  return !have_clang();
}

template <class T>
std::vector<T> planes() {
  return std::vector<T>(items * most_planes);
}

void require_mnemonics(const ClangKernels& kernels, const std::string& kernel,
                       std::initializer_list<const char*> wanted) {
  const auto names = kernels.mnemonics(kernel);
  for (const char* name : wanted) {
    CAPTURE(kernel, name);
    CHECK(names.contains(name));
  }
}

}  // namespace

TEST_CASE("clang's fp16 arithmetic computes what the host computes", "[quick]") {
  if (skips()) return;
  const ClangKernels kernels("halves.c");
  CHECK(compare_with_host(kernels, "halves", halves, grid, planes<Half>(), words_of_halves<Half>(),
                          words_of_halves<Half>(), words_of_halves<Half>(), items) == "");
  CHECK(compare_with_host(kernels, "pairs_of_halves", pairs_of_halves, grid, planes<Half2>(), words_of_halves<Half2>(),
                          words_of_halves<Half2>(), words_of_halves<Half2>(), items) == "");
  require_mnemonics(kernels, "halves", {"v_fma_f16", "v_div_fixup_f16", "v_sqrt_f16", "v_rcp_f16"});
  require_mnemonics(kernels, "pairs_of_halves",
                    {"v_pk_add_f16", "v_pk_mul_f16", "v_pk_fma_f16", "v_pk_min_f16", "v_pk_max_f16"});
}

TEST_CASE("clang's pairs of 16-bit integers and integer dot products are the host's", "[quick]") {
  if (skips()) return;
  const ClangKernels kernels("halves.c");
  CHECK(compare_with_host(kernels, "pairs_of_integers", pairs_of_integers, grid, planes<UShort2>(),
                          random_words<UShort2>(), random_words<UShort2>(), random_words<UShort2>(), items) == "");
  CHECK(compare_with_host(kernels, "integer_dots", integer_dots, grid, planes<std::int32_t>(),
                          random_words<std::uint32_t>(), random_words<std::uint32_t>(), random_words<std::int32_t>(),
                          items) == "");
  require_mnemonics(kernels, "pairs_of_integers",
                    {"v_pk_mad_u16", "v_pk_mul_lo_u16", "v_pk_lshlrev_b16", "v_pk_lshrrev_b16", "v_pk_ashrrev_i16",
                     "v_pk_min_i16", "v_pk_max_u16", "v_pk_sub_i16", "v_pk_add_u16"});
  require_mnemonics(kernels, "integer_dots",
                    {"v_dot2_i32_i16", "v_dot2_u32_u16", "v_dot4_i32_i8", "v_dot4_u32_u8", "v_dot8_i32_i4",
                     "v_dot8_u32_u4", "v_dot4c_i32_i8"});
}

TEST_CASE("clang's dot products and mixed precision of floats are the host's", "[quick]") {
  if (skips()) return;
  const ClangKernels kernels("halves.c");
  CHECK(compare_with_host(kernels, "float_dots", float_dots, grid, planes<float>(), pairs_of(half_code),
                          pairs_of(half_code), pairs_of(bfloat_code), pairs_of(bfloat_code), small_numbers(),
                          items) == "");
  const auto random_floats = [] {
    std::vector<float> values = small_numbers();
    for (float& value : values) value *= 1 + 0x1p-22f * static_cast<float>(rng() % 1024);
    return values;
  };
  const auto finite_halves = [] {
    std::vector<Half2> values;
    for (const std::uint32_t word : pairs_of(half_code)) values.push_back(std::bit_cast<Half2>(word + rng() % 64));
    return values;
  };
  CHECK(compare_with_host(kernels, "mixed_precision", mixed_precision, grid, planes<float>(), std::vector<Half2>(items),
                          finite_halves(), finite_halves(), random_floats(), random_floats(), items) == "");
  require_mnemonics(kernels, "float_dots",
                    {"v_dot2_f32_f16", "v_dot2c_f32_f16", "v_dot2_f32_bf16", "v_dot2c_f32_bf16"});
  require_mnemonics(kernels, "mixed_precision", {"v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"});
}

}  // namespace zyfa::tests
