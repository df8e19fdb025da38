// The LDS as a server: a FIFO and a data bus for each pair of SIMDs {0, 2} and {1, 3}, and banks that both pairs share.
// gfx950.md 1.1: lanes are served in phases, and lanes of a phase that want different words of one bank take turns.
#pragma once

#include "isa/emulator/wave.h"
#include "isa/isa.h"
#include "isa/machine.h"
#include "isa/pipes/clock.h"

#include <array>
#include <deque>
#include <vector>

namespace zyfa::pipes {

// Clocks that the banks need for one access of a wave: one for each phase with an active lane, more where lanes of a
// phase collide. `address` in bytes, of lanes that are in exec.
int bank_clk(const isa::Inst& inst, const emulator::Lanes& address, std::uint64_t exec, const isa::Machine& machine);

class LdsPipe {
 public:
  explicit LdsPipe(const isa::Machine& machine) : machine_(machine), taken_(horizon) {}

  // Whether an LDS instruction of a SIMD can enter its pair's FIFO now. The last place goes to the SIMDs in turn.
  bool accepts(int simd, Clk now);
  // The service is that of the pair's data bus; done: the data is in registers, or in LDS.
  Service issue(int simd, Clk now, bool reads, std::uint32_t bytes, int banks_clk);
  // LDS-DMA writes behind the FIFOs' back, at the banks' rate for writes.
  Clk land(Clk now, std::uint32_t bytes);

  std::uint64_t bank_busy_clk() const { return bank_busy_; }
  std::uint64_t bytes_read() const { return bytes_read_; }
  std::uint64_t bytes_written() const { return bytes_written_; }

 private:
  struct Pair {
    std::deque<Clk> waiting;  // when each instruction in the FIFO will start
    Clk free = 0;
    int last_simd = -1;                 // whose instruction came last
    std::array<bool, 4> was_refused{};  // SIMDs that found the FIFO full
  };
  Clk reserve(Clk from, int clocks);

  static constexpr std::size_t horizon = 1 << 15;  // clocks ahead that reservations may reach

  const isa::Machine& machine_;
  std::array<Pair, 2> pairs_;
  std::vector<Clk> taken_;  // taken_[t % horizon] == t + 1: the banks are busy at clock t
  std::uint64_t bank_busy_ = 0, bytes_read_ = 0, bytes_written_ = 0;
};

}  // namespace zyfa::pipes
