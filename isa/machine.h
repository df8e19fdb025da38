// The machine's numbers (machine.def) as a plain struct, and the list of them with unit, confidence and
// source for whoever prints or overrides them. Every number of the machine stands once, in machine.def.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

namespace zyfa::isa {

// A number that depends on how many passes (of 4 clk) the producing matrix instruction takes.
struct PerPass {
  int p2 = 0, p4 = 0, p8 = 0, p16 = 0;

  constexpr PerPass() = default;
  constexpr PerPass(int two, int four, int eight, int sixteen) : p2(two), p4(four), p8(eight), p16(sixteen) {}
  constexpr int at(int passes) const { return passes <= 2 ? p2 : passes <= 4 ? p4 : passes <= 8 ? p8 : p16; }
  constexpr bool operator==(const PerPass&) const = default;
};

// How v_cvt_pk_u8_f32 rounds.
enum class CvtRounding : std::uint8_t { nearest_even, truncate };

// How the products of one matrix instruction are summed. fma_chain: in the order of k, each step rounded once to fp32.
// exact: one rounding of the exact sum. pairwise: products of neighbouring k, then their sums and so on, each rounded
// to fp32, C last. aligned_24: groups of k (8, 16 with 8-bit sources) aligned to their largest exponent and cut at 24
// bits, as measured on CDNA3.
enum class MfmaAccumulation : std::uint8_t { fma_chain, exact, pairwise, aligned_24 };

enum class MfmaDenormals : std::uint8_t { kept, flushed };

// The names of a choice's values, in their order.
std::span<const std::string_view> value_names(CvtRounding);
std::span<const std::string_view> value_names(MfmaAccumulation);
std::span<const std::string_view> value_names(MfmaDenormals);

struct Machine {
#define PARAMETER(name, value, unit, confidence, source) decltype(value) name = value;
#include "isa/machine.def"

  bool operator==(const Machine&) const = default;
};

// The machine with the best or the worst answers to its open questions (machine_spread.def).
Machine optimistic_machine();
Machine pessimistic_machine();

// One open question and its other answers.
struct Spread {
  std::string_view name;
  int Machine::*member;
  int optimistic, pessimistic;
};
std::span<const Spread> machine_spread();

enum class Confidence : std::uint8_t { documented, measured, compiler, inferred, guess };
std::string_view name(Confidence confidence);

struct Parameter {
  std::string_view name, unit;
  Confidence confidence;
  std::string_view source;
  std::variant<int Machine::*, double Machine::*, PerPass Machine::*, CvtRounding Machine::*,
               MfmaAccumulation Machine::*, MfmaDenormals Machine::*>
      member;
};

// In the order of machine.def.
std::span<const Parameter> machine_parameters();

// The choices that arithmetic depends on, for whoever executes instructions.
struct Numerics {
  CvtRounding cvt_pk_u8_rounding = CvtRounding::nearest_even;
  MfmaAccumulation mfma_accumulation = MfmaAccumulation::fma_chain;
  MfmaDenormals mfma_denormals = MfmaDenormals::kept;
};
constexpr Numerics numerics(const Machine& machine) {
  return {machine.cvt_pk_u8_rounding, machine.mfma_accumulation, machine.mfma_denormals};
}

// Waves of `vgprs` registers (architected and accumulation together) that fit on one SIMD; 0 if not even one
// does. gfx950.md 1: min(8, 512 / granules).
int waves_per_simd(const Machine& machine, int vgprs);

}  // namespace zyfa::isa
