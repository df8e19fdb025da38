// Random numbers by counter: the value at an index depends on seed, stream and index only, so any thread may
// make any part of a tensor. Only correctly rounded operations are used (IEEE 754 + - * / sqrt), no libm: the
// values are the same bits on every host and standard library.
#pragma once

#include <cstdint>

namespace zyfa::runtime {

// The natural logarithm of a positive, normal number, within a few units of the last place.
double portable_log(double x);

class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint64_t stream);

  std::uint64_t bits(std::uint64_t index) const;
  double uniform(std::uint64_t index) const;   // in (0, 1)
  double gaussian(std::uint64_t index) const;  // mean 0, deviation 1; beyond +-6.8 never

 private:
  std::uint64_t key_;
};

}  // namespace zyfa::runtime
