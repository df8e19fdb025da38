#include "runtime_loader/random.h"

#include <cmath>
#include <numbers>

namespace zyfa::runtime {
namespace {

// SplitMix64's output function (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;  // 2^64 / golden ratio, SplitMix64's step

// cos and sin for |x| <= pi/4 by their Taylor series; the first term left out is below 1e-16.
double short_cos(double x) {
  const double square = x * x;
  double sum = 0;
  for (int n = 16; n >= 2; n -= 2) sum = (1 - sum) * square / (n * (n - 1));
  return 1 - sum;
}

double short_sin(double x) {
  const double square = x * x;
  double sum = 0;
  for (int n = 17; n >= 3; n -= 2) sum = (1 - sum) * square / (n * (n - 1));
  return x * (1 - sum);
}

// cos of a whole turn's fraction `turns` / 2^32. Wrapping integers reduce the angle without error.
double cos_of_turn(std::uint32_t turns) {
  const std::uint32_t quadrant = (turns + (1U << 29)) >> 30;
  const auto rest = static_cast<std::int32_t>(turns - (quadrant << 30));
  const double x = rest * (2 * std::numbers::pi / 4294967296.0);
  switch (quadrant & 3) {
    case 0:
      return short_cos(x);
    case 1:
      return -short_sin(x);
    case 2:
      return -short_cos(x);
    default:
      return short_sin(x);
  }
}

}  // namespace

double portable_log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < std::numbers::sqrt2 / 2) {
    mantissa *= 2;
    --exponent;
  }
  // log m = 2 artanh s; |s| < 0.172, so the first term left out is below 1e-17.
  const double s = (mantissa - 1) / (mantissa + 1);
  double sum = 0;
  for (int n = 19; n >= 1; n -= 2) sum = sum * s * s + 1.0 / n;
  return exponent * std::numbers::ln2 + 2 * s * sum;
}

RandomStream::RandomStream(std::uint64_t seed, std::uint64_t stream)
    : key_(mix(mix(seed + golden) + golden * (stream + 1))) {}

std::uint64_t RandomStream::bits(std::uint64_t index) const { return mix(key_ + golden * (index + 1)); }

double RandomStream::uniform(std::uint64_t index) const {
  return (static_cast<double>(bits(index) >> 12) + 0.5) * 0x1p-52;
}

// Box-Muller: the upper half of the bits is the radius' uniform, the lower half the angle.
double RandomStream::gaussian(std::uint64_t index) const {
  const std::uint64_t word = bits(index);
  const double u = (static_cast<double>(word >> 32) + 0.5) * 0x1p-32;
  return std::sqrt(-2 * portable_log(u)) * cos_of_turn(static_cast<std::uint32_t>(word));
}

}  // namespace zyfa::runtime
