#include "tests/support/oracle_trigonometry.h"

#include <bit>
#include <cmath>
#include <vector>

namespace zyfa::tests {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr std::size_t words = 46;  // one of the whole part, the others behind the point
constexpr std::size_t known_bits = 1201;
using Fixed = std::vector<u32>;  // the highest word first

bool is_zero(const Fixed& x) {
  for (const u32 word : x)
    if (word != 0) return false;
  return true;
}
void divide(Fixed& x, u32 n) {
  u64 rest = 0;
  for (u32& word : x) {
    rest = rest << 32 | word;
    word = static_cast<u32>(rest / n);
    rest %= n;
  }
}
void multiply(Fixed& x, u32 n) {
  u64 carry = 0;
  for (std::size_t i = words; i-- > 0; carry >>= 32) {
    carry += u64{x[i]} * n;
    x[i] = static_cast<u32>(carry);
  }
}
void add(Fixed& x, const Fixed& y) {
  u64 carry = 0;
  for (std::size_t i = words; i-- > 0; carry >>= 32) {
    carry += u64{x[i]} + y[i];
    x[i] = static_cast<u32>(carry);
  }
}
void subtract(Fixed& x, const Fixed& y) {
  u64 borrow = 0;
  for (std::size_t i = words; i-- > 0;) {
    const u64 difference = u64{x[i]} - y[i] - borrow;
    x[i] = static_cast<u32>(difference);
    borrow = difference >> 63;
  }
}

// arctan(1 / n) = 1 / n - 1 / (3 n^3) + 1 / (5 n^5) - ...
Fixed arctan_of_inverse(u32 n) {
  Fixed power(words);
  power[0] = 1;
  divide(power, n);
  Fixed sum = power;
  for (u32 k = 3; !is_zero(power); k += 2) {
    divide(power, n * n);
    Fixed term = power;
    divide(term, k);
    k % 4 == 3 ? subtract(sum, term) : add(sum, term);
  }
  return sum;
}

// Machin: pi = 16 arctan(1 / 5) - 4 arctan(1 / 239).
Fixed pi() {
  Fixed sum = arctan_of_inverse(5), small = arctan_of_inverse(239);
  multiply(sum, 16);
  multiply(small, 4);
  subtract(sum, small);
  return sum;
}

// By long division.
std::vector<bool> make_bits() {
  const Fixed divisor = pi();
  Fixed rest(words);
  rest[0] = 2;
  std::vector<bool> bits;
  while (bits.size() < known_bits) {
    multiply(rest, 2);
    bits.push_back(rest >= divisor);
    if (bits.back()) subtract(rest, divisor);
  }
  return bits;
}

}  // namespace

double two_over_pi_bits(double x, u32 part) {
  static const std::vector<bool> bits = make_bits();
  const int exponent = static_cast<int>(std::bit_cast<u64>(x) >> 52) % 2048;
  std::size_t first = std::size_t{53} * (part % 32);
  if (exponent > 1077) first += static_cast<std::size_t>(exponent - 1077);
  double value = 0;
  for (std::size_t i = first; i < first + 53; ++i) value = 2 * value + (i < bits.size() && bits[i] ? 1 : 0);
  return std::ldexp(value, (exponent >= 1968 ? 128 : 0) - 53 - static_cast<int>(first));
}

}  // namespace zyfa::tests
