// The architected state of one wave of 64 lanes, as instructions see it.
#pragma once

#include "isa/inst.h"
#include "isa/machine.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace zyfa::emulator {

inline constexpr int lanes = 64;
// Instructions that the counters of s_waitcnt can tell.
inline constexpr auto vm_limit = static_cast<std::size_t>(isa::Machine{}.vmcnt_limit);
inline constexpr auto lgkm_limit = static_cast<std::size_t>(isa::Machine{}.lgkmcnt_limit);
using Lanes = std::array<std::uint32_t, lanes>;  // one 32-bit vector register

// MODE register fields (CDNA4 ISA 3.4; gfx950.md 4).
struct Mode {
  std::uint32_t bits = 0;
  bool flushes_f32_inputs() const { return (bits & 0x10) == 0; }   // [5:4] = 0 or 2 flush inputs, 1 or 3 keep them
  bool flushes_f32_results() const { return (bits & 0x20) == 0; }  // [5:4] = 0 or 1 flush results
  bool flushes_f64_inputs() const { return (bits & 0x40) == 0; }   // [7:6] the same for fp64 and fp16
  bool flushes_f64_results() const { return (bits & 0x80) == 0; }
  bool flushes_f16_inputs() const { return flushes_f64_inputs(); }
  bool flushes_f16_results() const { return flushes_f64_results(); }
  bool dx10_clamp() const { return bits >> 8 & 1; }
  bool ieee() const { return bits >> 9 & 1; }
  bool fp16_ovfl() const { return bits >> 23 & 1; }
  bool indexes_registers() const { return (bits & gpr_idx_en) != 0; }
  static constexpr std::uint32_t gpr_idx_en = 1u << 27;
  // The fields above. Of the others, rounding [3:0] is always to nearest even and exceptions never trap: a program that
  // wants them otherwise is stopped.
  static constexpr std::uint32_t modelled = 0x008003f0 | gpr_idx_en;
};

struct Wave {
  alignas(64) std::array<Lanes, 512> vector;                // v0..v255, then a0..a255
  std::array<std::uint32_t, isa::scalar_registers> scalar;  // vcc, m0 and exec at their encodings (regs.h)
  bool scc = false;
  Mode mode;
  isa::Numerics numerics;          // what the machine's arithmetic is where that is not settled
  std::uint32_t pc = 0;            // index of the next instruction in the program
  std::uint32_t id = 0;            // number within its workgroup
  std::uint64_t clock = 0;         // what s_memtime reads
  std::vector<std::byte> scratch;  // private memory: lane l has the l'th of 64 parts

  std::uint64_t scalar64(int first) const {
    std::uint64_t value;
    std::memcpy(&value, &scalar[static_cast<std::size_t>(first)], sizeof value);
    return value;
  }
  void set_scalar64(int first, std::uint64_t value) {
    std::memcpy(&scalar[static_cast<std::size_t>(first)], &value, sizeof value);
  }
  std::uint64_t exec() const { return scalar64(isa::exec.first); }
  std::uint64_t vcc() const { return scalar64(isa::vcc.first); }

  // The register file index of operand register i: accumulation registers follow the architected ones.
  Lanes& lanes_of(const isa::Operand& operand, int i = 0) {
    const std::size_t bank = operand.kind == isa::OperandKind::agpr ? 256 : 0;
    return vector[bank + operand.value + static_cast<std::size_t>(i)];
  }
  const Lanes& lanes_of(const isa::Operand& operand, int i = 0) const {
    return const_cast<Wave*>(this)->lanes_of(operand, i);
  }
};

}  // namespace zyfa::emulator
