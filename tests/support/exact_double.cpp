#include "tests/support/exact_double.h"

#include <algorithm>
#include <bit>

namespace zyfa::tests {
namespace {

using u64 = std::uint64_t;
__extension__ using u128 = unsigned __int128;

constexpr u64 infinity = 0x7ff0000000000000, nan = 0x7ff8000000000000, sign_bit = u64{1} << 63;

// (-1)^negative * mantissa * 2^exponent. The lowest bit of a mantissa that was shifted is sticky.
struct Number {
  bool negative = false;
  u128 mantissa = 0;
  int exponent = 0;
};

Number finite(u64 bits) {
  const int field = static_cast<int>(bits >> 52 & 0x7ff);
  const u64 fraction = bits & ((u64{1} << 52) - 1);
  return {bits >> 63 != 0, field ? fraction | u64{1} << 52 : fraction, (field ? field : 1) - 1075};
}

void shift_right_sticky(Number& x, int n) {
  const bool lost = n >= 128 ? x.mantissa != 0 : (x.mantissa & ((u128{1} << n) - 1)) != 0;
  x.mantissa = (n >= 128 ? 0 : x.mantissa >> n) | (lost ? 1 : 0);
  x.exponent += n;
}

int top_bit(u128 x) {
  int n = -1;
  for (; x != 0; x >>= 1) ++n;
  return n;
}

// The highest bit to position 125, which leaves room for a carry.
void normalise(Number& x) {
  if (x.mantissa == 0) return;
  const int shift = 125 - top_bit(x.mantissa);
  if (shift >= 0)
    x.mantissa <<= shift;
  else
    return shift_right_sticky(x, -shift);
  x.exponent -= shift;
}

Number sum(Number a, Number b) {
  normalise(a);
  normalise(b);
  if (a.mantissa == 0 && b.mantissa == 0) return {a.negative && b.negative, 0, 0};
  if (a.mantissa == 0) return b;
  if (b.mantissa == 0) return a;
  if (a.exponent < b.exponent) std::swap(a, b);
  shift_right_sticky(b, a.exponent - b.exponent);
  if (a.negative == b.negative) return {a.negative, a.mantissa + b.mantissa, a.exponent};
  if (a.mantissa == b.mantissa) return {false, 0, 0};
  if (a.mantissa > b.mantissa) return {a.negative, a.mantissa - b.mantissa, a.exponent};
  return {b.negative, b.mantissa - a.mantissa, a.exponent};
}

struct Format {
  int fraction_bits, bias, top_field;
};
constexpr Format fp64 = {52, 1023, 0x7ff}, fp32 = {23, 127, 0xff};

// Nearest even, without the sign.
u64 rounded(Number x, const Format& format) {
  if (x.mantissa == 0) return 0;
  normalise(x);
  // The exponent of the last place, which is never below the denormals' one.
  const int last = std::max(x.exponent + 125 - format.fraction_bits, 1 - format.bias - format.fraction_bits);
  const int dropped = last - x.exponent;
  if (dropped > 126) return 0;
  u128 kept = x.mantissa >> dropped;
  const u128 rest = x.mantissa & ((u128{1} << dropped) - 1), half = u128{1} << (dropped - 1);
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  const auto mantissa = static_cast<u64>(kept);
  // A carry into the exponent field is the next power of two; without its top bit the number is denormal.
  const int field = last + format.bias + format.fraction_bits - 1;
  if (field + static_cast<int>(mantissa >> format.fraction_bits) >= format.top_field)
    return static_cast<u64>(format.top_field) << format.fraction_bits;
  return (static_cast<u64>(field) << format.fraction_bits) + mantissa;
}

bool is_nan(u64 x) { return (x & ~sign_bit) > infinity; }
bool is_infinite(u64 x) { return (x & ~sign_bit) == infinity; }
bool is_zero(u64 x) { return (x & ~sign_bit) == 0; }

}  // namespace

namespace {

// The results that are no sum of finite numbers.
bool is_special(u64 a, u64 b, u64 c, u64& result) {
  const u64 sign = (a ^ b) & sign_bit;
  const bool infinite = is_infinite(a) || is_infinite(b);
  const bool no_number = infinite && (is_zero(a) || is_zero(b) || (is_infinite(c) && (c & sign_bit) != sign));
  if (is_nan(a) || is_nan(b) || is_nan(c) || no_number)
    result = nan;
  else if (infinite)
    result = sign | infinity;
  else if (is_infinite(c))
    result = c;
  else
    return false;
  return true;
}

Number exact_sum(u64 a, u64 b, u64 c, int power) {
  const Number x = finite(a), y = finite(b);
  Number result = sum({x.negative != y.negative, x.mantissa * y.mantissa, x.exponent + y.exponent}, finite(c));
  result.exponent += power;
  return result;
}

}  // namespace

u64 exact_fma(u64 a, u64 b, u64 c, int power) {
  u64 special = 0;
  if (is_special(a, b, c, special)) return special;
  const Number result = exact_sum(a, b, c, power);
  return rounded(result, fp64) | (result.negative ? sign_bit : 0);
}

std::uint32_t exact_fma_f32(float a, float b, float c, int power) {
  const auto wide = [](float x) { return std::bit_cast<u64>(static_cast<double>(x)); };
  u64 special = 0;
  if (is_special(wide(a), wide(b), wide(c), special))
    return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(special)));
  const Number result = exact_sum(wide(a), wide(b), wide(c), power);
  return static_cast<std::uint32_t>(rounded(result, fp32)) | (result.negative ? 0x80000000U : 0U);
}

}  // namespace zyfa::tests
