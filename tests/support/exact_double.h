// 2^power (a b + c) rounded once, in integers: what the oracle computes fp64 and the steps of division with.
#pragma once

#include <cstdint>

namespace zyfa::tests {

// All are the bits of doubles, nearest even, denormals kept; NaN results are 0x7ff8000000000000.
std::uint64_t exact_fma(std::uint64_t a, std::uint64_t b, std::uint64_t c, int power = 0);

// The bits of the result rounded to fp32.
std::uint32_t exact_fma_f32(float a, float b, float c, int power = 0);

}  // namespace zyfa::tests
