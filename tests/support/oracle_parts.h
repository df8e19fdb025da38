// What the oracle's files share: how a lane's operands and results stand in the wave.
#pragma once

#include "tests/support/oracle.h"

#include <cmath>

namespace zyfa::tests {

inline bool bit_of(std::uint64_t word, int i) { return word >> i & 1; }

inline bool is_vector_operand(const isa::Operand& operand) {
  return operand.kind == isa::OperandKind::vgpr || operand.kind == isa::OperandKind::agpr;
}
inline std::uint32_t& lane_word(emulator::Wave& wave, const isa::Operand& operand, int i, int lane) {
  return wave.vector[(operand.kind == isa::OperandKind::agpr ? 256U : 0U) + operand.value +
                     static_cast<std::uint32_t>(i)][static_cast<std::size_t>(lane)];
}
inline std::uint32_t lane_word(const emulator::Wave& wave, const isa::Operand& operand, int i, int lane) {
  return lane_word(const_cast<emulator::Wave&>(wave), operand, i, lane);
}

// minNum and maxNum with -0 below +0, and AMD's median, of float or double.
template <class F>
bool less_with_zeros(F a, F b) {
  return a < b || (a == b && std::signbit(a) && !std::signbit(b));
}
template <class F>
F least(F a, F b) {
  return std::isnan(a) ? b : std::isnan(b) || less_with_zeros(a, b) ? a : b;
}
template <class F>
F most(F a, F b) {
  return std::isnan(a) ? b : std::isnan(b) || less_with_zeros(b, a) ? a : b;
}
template <class F>
F middle(F a, F b, F c) {
  if (std::isnan(a) || std::isnan(b) || std::isnan(c)) return least(least(a, b), c);
  const F top = most(most(a, b), c);
  return top == a ? most(b, c) : top == b ? most(a, c) : most(a, b);
}

// A scalar source of a row whose elements have 16 bits: inline floats are of the element's format.
std::uint32_t half_scalar(const emulator::Wave& wave, const isa::Operand& operand, isa::Type type);
// The 16-bit code that a source of 16 bits stands for, modifiers and MODE applied; `word` is its register.
std::uint32_t half_code(const emulator::Wave& wave, const isa::Operand& operand, isa::Type type, std::uint32_t word,
                        bool high);
// Clamp, output modifier and flushing of a 16-bit float result.
std::uint32_t half_result(const emulator::Wave& wave, const isa::Inst& inst, std::uint32_t code);

// MODE and indexed registers, bit by bit. False for other rows than theirs.
bool run_mode_oracle(emulator::Wave& wave, const isa::Inst& inst, std::string_view name);

// The rows that the walk over lanes leaves to this: MIX, packed halves, dot products, v_bitop3, the wide conversions.
bool run_half_oracle(emulator::Wave& wave, const isa::Inst& inst);

// A float result's flushing, clamp and output modifier.
std::uint32_t float_result_of(const emulator::Wave& wave, const isa::Inst& inst, std::uint32_t bits);
// A float source's modifiers and flushing.
std::uint32_t float_source_of(const emulator::Wave& wave, const isa::Operand& operand, std::uint32_t bits);

// Floats of any format in double, from their definition.
struct FloatFormat {
  int exponent_bits, mantissa_bits, bias;
  bool has_infinity;
  std::uint32_t nan;  // the code that NaN becomes; 0: the format has none and takes its largest value
};
FloatFormat float_format(std::string_view name);  // "fp8", "bf6", "f16", ...
double decoded(const FloatFormat& format, std::uint32_t code);
// Nearest even; what is finite and too large saturates if `saturate`.
std::uint32_t encoded(const FloatFormat& format, double value, bool saturate);
std::uint32_t encoded_stochastic(const FloatFormat& format, double value, std::uint32_t random, bool saturate);

// The result of one lane of a scaled or stochastic conversion, by the words of its mnemonic; false if it is none.
bool convert_lane(std::string_view mnemonic, const LaneInput& in, std::uint64_t& result);

}  // namespace zyfa::tests
