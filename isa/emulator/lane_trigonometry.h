// v_trig_preop_f64, with which compiled code reduces a large argument of a sine: 53 bits of 2 / pi from the middle.
#pragma once

#include "isa/emulator/lane_doubles.h"

namespace zyfa::emulator {

// The first 1,201 bits of 2 / pi behind the point, all that the instruction has (CDNA4 ISA pseudo code), then zeros.
inline constexpr std::uint32_t two_over_pi[] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a,
    0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41,
    0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf,
    0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08,
    0x56033046, 0xfc7b0000, 0,          0,          0};

// Bits 53 * part and following of 2 / pi at their own weight. Of an argument beyond 2^54 the bits that only make whole
// turns are skipped; results that would be lost as denormals come 2^128 times as large, for arguments that are to be
// made smaller by as much.
HWY_INLINE double two_over_pi_part(double x, std::uint32_t part) {
  constexpr std::int32_t first_skipping = 1077, first_scaled = 1968, scaled_by = 128, bits = 53;  // biased exponents
  constexpr std::uint32_t last_word = 38;
  const std::int32_t exponent = static_cast<std::int32_t>(bits_of(x) >> 52 & 0x7ff);
  const std::int32_t skipped = exponent > first_skipping ? exponent - first_skipping : 0;
  const std::uint32_t shift = (part & 31) * bits + static_cast<std::uint32_t>(skipped);
  const std::uint32_t word = shift / 32 < last_word ? shift / 32 : last_word;
  const std::uint64_t high = std::uint64_t{two_over_pi[word]} << 32 | two_over_pi[word + 1];
  const std::uint64_t low = std::uint64_t{two_over_pi[word + 2]} << 32;
  const std::uint32_t in_word = shift & 31;
  const std::uint64_t aligned = high << in_word | low >> 1 >> (63 - in_word);
  const std::int32_t scale = -bits - static_cast<std::int32_t>(shift) + (exponent >= first_scaled ? scaled_by : 0);
  return scale_by_power(static_cast<double>(static_cast<std::int64_t>(aligned >> 11)), scale);
}

}  // namespace zyfa::emulator
