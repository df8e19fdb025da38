#include "isa/emulator/matrix_models.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace zyfa::emulator {
namespace {

double product(const DotProduct& dot, int k) {
  return static_cast<double>(dot.a[k * dot.stride_a]) * dot.b[k * dot.stride_b];
}

float fma_chain(const DotProduct& dot, float c) {
  for (int k = 0; k < dot.depth; ++k) c = std::fma(dot.a[k * dot.stride_a], dot.b[k * dot.stride_b], c);
  return c;
}

// The sum is carried in two doubles, and the rest tells the rounding to float on which side of a tie it lies.
float exact(const DotProduct& dot, float c) {
  double sum = c, rest = 0;
  for (int k = 0; k < dot.depth; ++k) {
    const double next = product(dot, k), total = sum + next, back = total - sum;
    rest += (sum - (total - back)) + (next - back);
    sum = total;
  }
  const double high = sum + rest, low = rest - (high - sum);
  auto bits = std::bit_cast<std::uint64_t>(high);
  if (low != 0 && bits % 2 == 0 && high != 0) bits = (low > 0) == (high > 0) ? bits + 1 : bits - 1;
  return static_cast<float>(std::bit_cast<double>(bits));
}

float pairwise(const DotProduct& dot, float c) {
  std::vector<float> terms;
  for (int k = 0; k < dot.depth; ++k) terms.push_back(static_cast<float>(product(dot, k)));
  for (; terms.size() > 1; terms.resize((terms.size() + 1) / 2))
    for (std::size_t i = 0; i < terms.size(); i += 2)
      terms[i / 2] = i + 1 < terms.size() ? terms[i] + terms[i + 1] : terms[i];
  return c + terms.front();
}

// Down to a multiple of 2^exponent.
double floored(double x, int exponent) { return std::ldexp(std::floor(std::ldexp(x, -exponent)), exponent); }
double truncated(double x, int exponent) { return std::ldexp(std::trunc(std::ldexp(x, -exponent)), exponent); }

// As measured on CDNA3 for fp16 and bf16 (MMASIM; gfx950.md 4): the products of a group are aligned to the largest
// exponent and cut at 24 bits; their sum is floored at 31 bits and C at 24 below the larger exponent of both, and what
// that comes to is rounded once.
float aligned_24(const DotProduct& dot, float c) {
  for (int first = 0; first < dot.depth; first += dot.group) {
    const int last = std::min(first + dot.group, dot.depth);
    double largest = 0, sum = 0;
    for (int k = first; k < last; ++k) largest = std::max(largest, std::fabs(product(dot, k)));
    if (largest == 0) continue;
    const int exponent = std::ilogb(largest);
    for (int k = first; k < last; ++k) sum += truncated(product(dot, k), exponent - 24);
    const int both = c == 0 ? exponent : std::max(exponent, std::ilogb(c));
    c = static_cast<float>(floored(sum, both - 31) + floored(c, both - 24));
  }
  return c;
}

bool is_finite(const DotProduct& dot, float c) {
  bool finite = std::isfinite(c);
  for (int k = 0; k < dot.depth; ++k) finite &= std::isfinite(product(dot, k));
  return finite;
}

}  // namespace

float modelled_sum(isa::MfmaAccumulation model, const DotProduct& dot, float c) {
  if (model == isa::MfmaAccumulation::fma_chain || !is_finite(dot, c)) return fma_chain(dot, c);
  switch (model) {
    case isa::MfmaAccumulation::exact:
      return exact(dot, c);
    case isa::MfmaAccumulation::pairwise:
      return pairwise(dot, c);
    default:
      return aligned_24(dot, c);
  }
}

}  // namespace zyfa::emulator
