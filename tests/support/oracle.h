// A second, slow reading of AMD's CDNA4 ISA pseudo code, one lane at a time, that the emulator is compared
// with. It shares no code with the emulator's semantics: expressions are keyed by mnemonic, floats are
// computed in double.
#pragma once

#include "isa/emulator/wave.h"
#include "isa/isa.h"

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>

namespace zyfa::tests {

using Rng = std::mt19937_64;

// One lane's view of a vector instruction: sources (64 bits where the type is), old destination, and the bit
// that the row reads per lane (carry, selection) or per wave (MODE.FP16_OVFL).
struct LaneInput {
  std::array<std::uint64_t, 3> s{};
  std::uint64_t d = 0;
  int lane = 0;
  bool bit = false;
  std::uint8_t table = 0;  // v_bitop3
};
using LaneOracle = std::function<std::uint64_t(const LaneInput&)>;
using LaneOracles = std::map<std::string_view, LaneOracle>;

// Null if there is none. Rows with a carry return it as bit 32; the lane mask of rows with a result of 64 bits beside
// it is an oracle of its own, `mnemonic mask`.
const LaneOracle* find_lane_oracle(std::string_view mnemonic);
const LaneOracle* find_half_lane_oracle(std::string_view mnemonic);  // rows with elements of 16 bits

// The parts of what find_lane_oracle looks at.
const LaneOracles& compare_oracles();
const LaneOracles& double_oracles();
const LaneOracles& narrow_oracles();

// The value of a scalar operand of 32 or 64 bits as the ISA defines it.
std::uint64_t oracle_scalar(const emulator::Wave& wave, const isa::Operand& operand, isa::Type type);

// What the instruction does to the wave. False if there is no oracle for the row; matrix rows have one of
// their own.
bool run_oracle(emulator::Wave& wave, const isa::Inst& inst);
bool run_scalar_oracle(emulator::Wave& wave, const isa::Inst& inst);

// Allowed distance from the oracle's correctly rounded value: 1 for transcendental rows, 0 else.
int tolerance_ulps(isa::Op op);

// The first difference between two waves after `inst`, empty if none. NaNs of a float result count as equal;
// so do values within the tolerance, and (under flushing) a least normal value and the zero it is flushed to.
std::string difference(const emulator::Wave& expected, const emulator::Wave& actual, const isa::Inst& inst);

// The same for a matrix instruction, given the wave before it: D against the sum of products in double, which
// may differ by as much as a chain of float additions can. With `exact`, not at all.
std::string matrix_difference(const emulator::Wave& before, const emulator::Wave& actual, const isa::Inst& inst,
                              bool exact);

// A valid instruction of this row with random operands and modifiers, and a wave full of values that
// matter.
isa::Inst random_instruction(isa::Op op, Rng& rng);
void randomise(emulator::Wave& wave, Rng& rng);
void randomise_state(emulator::Wave& wave, Rng& rng);  // EXEC, SCC and MODE alone

// Finite random elements for A, B, C and scales; small integers that every format has, if `integers`.
void randomise_matrices(emulator::Wave& wave, const isa::Inst& inst, bool integers, Rng& rng);

}  // namespace zyfa::tests
