// Typed register ranges. The width of an operand is part of its type, so giving a matrix instruction an accumulator
// of the wrong size does not compile.
#pragma once

#include <cstdint>

namespace zyfa::isa {

// N consecutive registers starting at `first`. `r[i]` is one of them, `r.at<M>(i)` a named slice of M.
template <class File, int N>
struct Registers {
  std::uint16_t first = 0;

  static constexpr int count = N;
  constexpr Registers<File, 1> operator[](int i) const { return {static_cast<std::uint16_t>(first + i)}; }
  template <int M>
  constexpr Registers<File, M> at(int i) const {
    static_assert(M <= N);
    return {static_cast<std::uint16_t>(first + i)};
  }
  constexpr bool operator==(const Registers&) const = default;
};

struct VectorFile;       // architected vector registers v0..v255
struct AccumulatorFile;  // accumulation registers a0..a255
struct ScalarFile;       // s0..s101, then vcc, m0, exec and the apertures at their hardware encodings

template <int N>
using V = Registers<VectorFile, N>;
template <int N>
using A = Registers<AccumulatorFile, N>;
template <int N>
using S = Registers<ScalarFile, N>;

// CDNA4 ISA 5.1: operand encodings 106..127 name special registers, so they are simply high scalar registers.
inline constexpr int vector_registers = 256;
inline constexpr int scalar_registers = 239;
inline constexpr int allocatable_scalar_registers = 102;
inline constexpr S<2> flat_scratch{102};
inline constexpr S<2> vcc{106};
inline constexpr S<1> m0{124};
inline constexpr S<2> exec{126};
inline constexpr int first_hardware_register = 256;  // register 0 of s_getreg_b32, in lists of accesses
inline constexpr std::uint32_t mode_register = 1;    // its number there
inline constexpr S<1> exec_hi{127};                  // lanes 32..63
// Where LDS and private memory begin in the flat address space. Readable as 64 bits only: LLVM's SIRegisterInfo.td
// calls the 32-bit reads broken, and the limits overlap the bases here, so they are left out.
inline constexpr S<2> shared_base{235}, private_base{237};

}  // namespace zyfa::isa
