// What a run of the pipe model counted.
#pragma once

#include "isa/emulator/emulator.h"
#include "isa/pipes/clock.h"
#include "isa/pipes/timing.h"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace zyfa::pipes {

// Why a wave did not issue in a turn of its SIMD.
enum class Stall : std::uint8_t {
  fetch,         // its instruction has not come from the instruction cache
  own_pace,      // its last instruction takes longer than a turn: s_nop, a taken branch, s_sleep
  arbitration,   // another wave issued to the same category in this turn
  vector_port,   // the port is held, by a VALU instruction or a matrix instruction that reads its operands
  matrix_pipe,   // the matrix pipe is at work
  accumulator,   // a matrix result is not there yet
  dependency,    // a VALU result is not there yet
  after_matrix,  // packed FP32 waits for the matrix pipe to drain
  matrix_reads,  // LDS and vector memory instructions wait while a matrix instruction reads its operands
  lds_queue,
  vmem_queue,
  wait_vm,  // s_waitcnt
  wait_lgkm,
  barrier,
  count
};
std::string_view name(Stall stall);

inline constexpr std::size_t stalls = static_cast<std::size_t>(Stall::count);
using StallClk = std::array<std::uint64_t, stalls>;

inline constexpr std::size_t classes = static_cast<std::size_t>(isa::Class::VmemStore) + 1;

// What one SIMD did. Clocks at work in clk.
struct Busy {
  std::uint64_t matrix = 0;         // matrix pipe
  std::uint64_t useful_matrix = 0;  // of those, with A or B from LDS or memory: see docs/timing.md
  std::uint64_t valu = 0;           // vector port, other than transcendental
  std::uint64_t trans = 0;
  std::uint64_t matrix_reads = 0;  // vector port held by matrix instructions
  std::uint64_t matrix_flop = 0, useful_flop = 0;
  // For the energy (energy.h): bits that changed at the matrix pipe's ports, bytes at the vector registers' ports,
  // lanes that computed.
  std::uint64_t a_toggles = 0, b_toggles = 0, c_toggles = 0, d_toggles = 0;
  std::uint64_t register_bytes = 0, valu_lanes = 0, trans_lanes = 0;
  std::array<std::uint64_t, classes> issued{};  // instructions by isa::Class

  Busy& operator+=(const Busy& other);
  Busy operator-(const Busy& other) const;
};

// machine.def's simds_per_cu, which no file can change: the model's arrays are made of it.
inline constexpr std::size_t simds = 4;

struct Counts {
  std::array<Busy, simds> simd;
  // Of the compute unit.
  std::uint64_t lds_bytes_read = 0, lds_bytes_written = 0, lds_bank_clk = 0, vmem_bytes = 0;

  Counts operator-(const Counts& other) const;
  Busy all() const;  // sum of the SIMDs
};

// A backward branch that a wave took.
struct Lap {
  Clk clk = 0;
  std::uint32_t wave = 0;
  std::uint32_t target = 0;
  Counts counts;  // up to here
};

// The loop that the kernel spends its time in, from laps of one wave in its middle half.
struct Loop {
  std::uint32_t target = 0, wave = 0, iterations = 0;
  Clk first = 0, last = 0;
  Counts counts;  // between first and last
  double clk_per_iteration() const { return static_cast<double>(last - first) / iterations; }
};

struct InstructionClk {
  std::uint64_t issues = 0;
  StallClk stalls{};  // of all waves
};

struct Result {
  std::optional<emulator::Trap> trap;
  Clk cycles = 0;  // until the last wave ended
  Counts counts;
  std::vector<InstructionClk> instructions;  // one for each of the program
  std::vector<StallClk> waves;
  std::vector<Clk> wave_ends;
  std::vector<Lap> laps;
};

// The loop with the most iterations of any wave without a pause; nothing if none has more than `least`.
std::optional<Loop> find_loop(const Result& result, std::uint32_t least = 4);

}  // namespace zyfa::pipes
