// A proxy for a kernel's energy: what it did, each kind of work times a weight of the machine (energy_* of
// machine.def). The weights are guesses; what they are for is to compare two kernels on the same input. docs/energy.md.
#pragma once

#include "isa/emulator/wave.h"
#include "isa/pipes/result.h"

#include <string_view>
#include <vector>

namespace zyfa::pipes {

// What last stood at the ports of one SIMD's matrix pipe. A port is as wide as a register of all 64 lanes; an
// instruction streams each operand register by register, and every bit that differs from the one before has toggled.
class MatrixPorts {
 public:
  // Counts A, B and C of a matrix instruction into `busy`, before it executes.
  void read(const emulator::Wave& wave, const isa::Inst& inst, Busy& busy);
  // Counts D, after it.
  void write(const emulator::Wave& wave, const isa::Inst& inst, Busy& busy);

 private:
  emulator::Lanes a_{}, b_{}, c_{}, d_{};
};

// Counts all else of an instruction that is about to execute: its kind, the lanes that compute, and the bytes of the
// vector registers that it reads and writes, so many dwords of each lane. Matrix instructions ignore exec.
void count_work(Busy& busy, const isa::Inst& inst, const Timing& timing, std::uint32_t register_dwords,
                std::uint64_t exec);

struct EnergyItem {
  std::string_view name, unit;  // what is counted
  double amount = 0, pj = 0;
};

struct Energy {
  std::vector<EnergyItem> items;
  double pj = 0;           // of all
  double useful_flop = 0;  // Busy::useful_flop
  double pj_per_flop() const { return useful_flop > 0 ? pj / useful_flop : 0; }
};

// Of what a compute unit did in `clk`. `missed_bytes` and `hbm_bytes` are the parts of its vector memory's bytes that
// L2 and the Infinity Cache did not have.
Energy energy(const Counts& counts, double clk, double missed_bytes, double hbm_bytes, const isa::Machine& machine);

}  // namespace zyfa::pipes
