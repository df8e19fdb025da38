// v_trig_preop_f64 from the definition of pi, for the lane oracle and for kernels that reduce angles.
#pragma once

#include <cstdint>

namespace zyfa::tests {

// Bits 53 * part to 53 * part + 52 of 2 / pi behind the point at their own weight, as CDNA4's pseudo code picks them
// for the argument x.
double two_over_pi_bits(double x, std::uint32_t part);

}  // namespace zyfa::tests
