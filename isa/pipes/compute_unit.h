// One compute unit that runs one workgroup, clock by clock. Each SIMD has a turn every 4 clk, in which at most one
// instruction of each category issues, from different waves. Instructions take effect when they issue, by the
// emulator's semantics, so branches go the way they really go. The rules and their sources: docs/timing.md.
#pragma once

#include "isa/emulator/workgroup.h"
#include "isa/pipes/energy.h"
#include "isa/pipes/fetch.h"
#include "isa/pipes/lds_pipe.h"
#include "isa/pipes/result.h"
#include "isa/pipes/vmem_pipe.h"

#include <bitset>
#include <deque>
#include <functional>
#include <ranges>

namespace zyfa::pipes {

// An instruction that issued. For timelines.
struct Issue {
  Clk clk = 0;
  std::uint32_t wave = 0, instruction = 0;
  // Of the matrix pipe; of the vector port; of the LDS's data bus of its pair of SIMDs; of vector memory's bus, on
  // which data returns; of other categories a turn. Done: its data is there, or a barrier's wave may go on at the
  // earliest.
  Service service;
};

// A turn of its SIMD in which a wave did not issue.
struct StalledTurn {
  Clk clk = 0;
  std::uint32_t wave = 0;
  std::uint32_t instruction = 0;  // that waits; of own_pace and barrier the one that issued last
  Stall reason{};
};

struct Options {
  isa::Machine machine;
  std::uint64_t max_clk = 1'000'000'000;
  std::function<void(const Issue&)> on_issue = {};  // both in the order of time
  std::function<void(const StalledTurn&)> on_stall = {};
};

// Runs the workgroup of this number in grid order. What the program does wrong is in the result's trap; Throws Error
// for an empty program, for an instruction that cannot be executed, and if max_clk pass.
Result simulate(const isa::Program& program, const emulator::Launch& launch, const emulator::GlobalMemory& memory,
                std::uint64_t workgroup, const Options& options = {});

class ComputeUnit {
 public:
  ComputeUnit(const isa::Program& program, const emulator::Launch& launch, const emulator::GlobalMemory& memory,
              const Options& options);
  ComputeUnit(const ComputeUnit&) = delete;

  Result run(std::uint64_t workgroup);

 private:
  static constexpr std::size_t vector_registers = 512;  // architected, then accumulation

  struct Range {
    std::uint16_t first, count;
    auto registers() const { return std::views::iota(std::size_t{first}, std::size_t{first} + count); }
  };
  // An instruction's vector registers, and what it does with them.
  struct Registers {
    std::vector<Range> reads, writes;
    Range accumulates{0, 0};   // matrix: C
    std::uint16_t dwords = 0;  // of all
    bool copies = false;       // moves a value unchanged
  };
  struct WaveState {
    Clk next = 0;                 // may issue from here on
    std::uint32_t last = 0;       // the instruction that it issued last
    std::uint32_t priority = 0;   // s_setprio
    bool behind_barrier = false;  // what it waits for until `next` is a barrier's release
    std::array<Clk, vector_registers> valu_ready{}, matrix_ready{};
    std::bitset<vector_registers> loaded;  // last written from LDS or memory
    std::deque<Clk> vm, lds, scalar;       // when what is outstanding is done
  };
  struct Simd {
    Clk port_free = 0, matrix_free = 0, reads_until = 0;
  };

  static Registers registers_of(const isa::Inst& inst);

  void turn(int simd);
  std::optional<Stall> obstacle(Standing at, const Timing& timing);
  std::optional<Stall> result_obstacle(const WaveState& wave, const Registers& regs) const;
  std::optional<Stall> vector_obstacle(const WaveState& wave, const Simd& simd, const Timing& timing,
                                       const Registers& regs) const;
  std::optional<Stall> wait_obstacle(const WaveState& wave, const isa::Inst& inst) const;
  void issue(std::size_t wave, std::uint32_t index);
  Service occupy(std::size_t wave, const isa::Inst& inst, const Timing& timing, const Registers& regs);
  Service occupy_vector(WaveState& wave, int simd, const Timing& timing, const Registers& regs);
  Service occupy_lds(std::size_t wave, const isa::Inst& inst, const Timing& timing);
  void release_barrier();
  Counts counts() const;

  const isa::Program& program_;
  const Options options_;
  const isa::Machine& machine_;
  std::vector<emulator::Step> steps_;
  emulator::Options emulator_options_;
  emulator::Workgroup workgroup_;
  std::vector<Timing> timings_;
  std::vector<Registers> registers_;

  Clk now_ = 0;
  std::array<Simd, simds> simd_{};
  std::vector<WaveState> waves_;
  LdsPipe lds_;
  VmemPipe vmem_;
  Fetch fetch_;
  std::array<MatrixPorts, simds> ports_{};
  Result result_;
};

}  // namespace zyfa::pipes
