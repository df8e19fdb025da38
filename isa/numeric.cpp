// The generic encoder, written for any format and rounding rather than for speed, and packed element streams.
#include "isa/numeric.h"

#include <algorithm>

#include "isa/error.h"

namespace zyfa::isa {
namespace {

constexpr std::uint32_t float_infinity = 0x7f800000U;

// What a value too large for the format becomes when it does not saturate.
std::uint32_t beyond_finite(const Format& format) {
  if (format.has_infinity) return format.exponent_mask();
  return format.nan_kind == NanKind::all_ones ? format.sign_bit() - 1 : format.max_finite();
}

std::uint32_t encode_nan(const Format& format, std::uint32_t bits, std::uint32_t sign) {
  if (format.nan_kind == NanKind::none) return format.max_finite();
  if (format.canonical_nan != 0) return format.canonical_nan;
  const std::uint32_t quiet_bit = 1U << (format.mantissa_bits - 1);
  const std::uint32_t payload = (bits & 0x7fffffU) >> (23 - format.mantissa_bits);
  return sign | format.exponent_mask() | quiet_bit | payload;
}

// The magnitude in steps of the format's last place, then with the exponent field added: a carry out of the
// mantissa moves to the next exponent by itself, and from the denormals to the first normal value.
std::uint32_t round_finite(const Format& format, std::uint32_t magnitude, Rounding rounding) {
  const int field = static_cast<int>(magnitude >> 23);
  const std::uint32_t significand = (magnitude & 0x7fffffU) | (field != 0 ? 0x800000U : 0);
  const int exponent = std::max(field, 1) - 127;
  const int step_exponent = std::max(exponent, 1 - format.bias) - format.mantissa_bits;
  // A 24-bit significand shifted by 25 or more is less than half a step.
  const int shift = std::min(step_exponent - (exponent - 23), 25);
  std::uint32_t steps = significand >> shift;
  if (rounding == Rounding::nearest_even) {
    const std::uint32_t rest = significand - (steps << shift);
    const std::uint32_t half = 1U << (shift - 1);
    if (rest > half || (rest == half && (steps & 1) != 0)) ++steps;
  }
  const int exponent_field = std::max(exponent, 1 - format.bias) + format.bias - 1;
  return (static_cast<std::uint32_t>(exponent_field) << format.mantissa_bits) + steps;
}

// How many elements a packed stream holds.
std::size_t packed_capacity(std::size_t dwords, int width_bits) {
  if (width_bits < 1 || width_bits > 32) {
    throw Error("packed element of {} bits: 1 to 32 are accepted", width_bits);
  }
  return dwords * 32 / static_cast<std::size_t>(width_bits);
}

void check_index(std::size_t dwords, int width_bits, std::size_t index) {
  const std::size_t capacity = packed_capacity(dwords, width_bits);
  if (index < capacity) return;
  throw Error("packed element {}: {} dwords hold {} elements of {} bits", index, dwords, capacity, width_bits);
}

std::uint32_t code_at(std::span<const std::uint32_t> dwords, int width_bits, std::size_t index) {
  const std::size_t bit = index * static_cast<std::size_t>(width_bits);
  const std::size_t word = bit / 32;
  std::uint64_t window = dwords[word];
  if (bit % 32 + static_cast<std::size_t>(width_bits) > 32) {
    window |= static_cast<std::uint64_t>(dwords[word + 1]) << 32;
  }
  return static_cast<std::uint32_t>((window >> (bit % 32)) & ((std::uint64_t{1} << width_bits) - 1));
}

}  // namespace

std::uint32_t encode(const Format& format, float value, Overflow overflow, Rounding rounding) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 31) != 0 ? format.sign_bit() : 0;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > float_infinity) return encode_nan(format, bits, sign);
  if (magnitude == float_infinity) return sign | beyond_finite(format);
  const std::uint32_t rounded = round_finite(format, magnitude, rounding);
  if (rounded <= format.max_finite()) return sign | rounded;
  const bool stop = overflow == Overflow::saturate || rounding == Rounding::toward_zero;
  return sign | (stop ? format.max_finite() : beyond_finite(format));
}

std::uint32_t packed_code(std::span<const std::uint32_t> dwords, int width_bits, std::size_t index) {
  check_index(dwords.size(), width_bits, index);
  return code_at(dwords, width_bits, index);
}

void set_packed_code(std::span<std::uint32_t> dwords, int width_bits, std::size_t index, std::uint32_t code) {
  check_index(dwords.size(), width_bits, index);
  const std::size_t bit = index * static_cast<std::size_t>(width_bits);
  const std::uint64_t mask = ((std::uint64_t{1} << width_bits) - 1) << (bit % 32);
  const std::uint64_t field = (static_cast<std::uint64_t>(code) << (bit % 32)) & mask;
  std::uint32_t& low = dwords[bit / 32];
  low = (low & ~static_cast<std::uint32_t>(mask)) | static_cast<std::uint32_t>(field);
  if ((mask >> 32) == 0) return;
  std::uint32_t& high = dwords[bit / 32 + 1];
  high = (high & ~static_cast<std::uint32_t>(mask >> 32)) | static_cast<std::uint32_t>(field >> 32);
}

void unpack(const Format& format, std::span<const std::uint32_t> dwords, std::span<float> values) {
  const std::size_t capacity = packed_capacity(dwords.size(), format.width_bits());
  if (values.size() > capacity) {
    throw Error("{} values of {} wanted: {} dwords hold {}", values.size(), format.name, dwords.size(), capacity);
  }
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = decode(format, code_at(dwords, format.width_bits(), i));
}

}  // namespace zyfa::isa
