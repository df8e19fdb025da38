// Other ways than the usual chain in which a matrix instruction might sum its products, for machines that say so
// (isa::MfmaAccumulation). Written for one element at a time, not for speed.
#pragma once

#include "isa/machine.h"

#include <cmath>

namespace zyfa::emulator {

// What one element of D is made of: `depth` products a[k * stride_a] * b[k * stride_b], in groups of `group` k where
// the model has groups.
struct DotProduct {
  const float* a;
  const float* b;
  int stride_a, stride_b;
  int depth;
  int group;
};

// c plus the products as `model` sums and rounds them.
float modelled_sum(isa::MfmaAccumulation model, const DotProduct& dot, float c);

// A zero of the same sign instead of what is below the format's least normal number (isa::MfmaDenormals::flushed).
inline float without_denormal(float x, float least_normal) {
  return std::fabs(x) < least_normal ? std::copysign(0.0f, x) : x;
}

}  // namespace zyfa::emulator
