// What one instruction asks of the machine's pipes, by its row's class, its operands and the machine's numbers. One
// value per instruction, made once per program; the rules of use are the compute unit's.
#pragma once

#include "isa/isa.h"
#include "isa/machine.h"

#include <cstdint>
#include <vector>

namespace zyfa::pipes {

// A SIMD's turn issues at most one instruction of each, from different waves (gfx950.md 2.2).
enum class Category : std::uint8_t { vector, scalar, scalar_memory, vector_memory, lds, branch, internal, count };

struct Timing {
  Category category{};
  isa::Class cls{};
  std::uint16_t port_clk = 0;    // vector and matrix instructions: how long the SIMD's vector port is theirs
  std::uint16_t matrix_clk = 0;  // matrix: how long the matrix pipe is theirs, from their start on
  std::uint16_t scale_clk = 0;   // scaled matrix: between issue and start, while the scales are loaded
  std::uint16_t result_clk = 0;  // VALU: until a dependent VALU instruction can issue
  std::uint16_t idle_clk = 0;    // s_nop, s_sleep: until the wave's next instruction, beyond its turn
  bool after_matrix = false;     // VALU: not while the matrix pipe is at work
  std::uint32_t flop = 0;        // matrix; sparse ones: what they really multiply
  std::uint32_t bytes = 0;       // memory: of all 64 lanes
};

// Reads the operand widths of matrix instructions: gfx950.md 2.2.
Timing timing(const isa::Inst& inst, const isa::Machine& machine);

std::vector<Timing> timings(const isa::Program& program, const isa::Machine& machine);

}  // namespace zyfa::pipes
