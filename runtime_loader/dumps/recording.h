// What happened in a run of the pipe model, wave by wave: the material of every dump.
#pragma once

#include "runtime_loader/simulate.h"

#include <array>
#include <string_view>
#include <vector>

namespace zyfa::runtime {

// Where an instruction works, by the names that AMD's tools use.
enum class Pipe : std::uint8_t { matrix, valu, trans, salu, smem, vmem, lds, branch, internal, count };
Pipe pipe_of(const isa::Inst& inst);
std::string_view name(Pipe pipe);  // "MATRIX"

// A stretch of turns in which a wave did not issue, for one reason.
struct Wait {
  pipes::Clk clk = 0, clocks = 0;
  std::uint32_t instruction = 0;  // the one that waited; after own_pace and barrier the one before
  pipes::Stall reason{};

  pipes::Clk end() const { return clk + clocks; }
};

// One execution of an instruction.
struct Executed {
  pipes::Clk clk = 0;  // issued
  std::uint32_t instruction = 0;
  pipes::Service service;
  std::size_t waits_end = 0;  // the wave's waits from the execution before up to this one's end here
  // Of s_waitcnt: the execution of the same wave whose data it asks for and no earlier wait did, the last to come; for
  // vmcnt and for lgkmcnt. -1 if there is none.
  std::array<std::int32_t, 2> asks_for{-1, -1};
};

// Time is cut without gaps or overlaps: before each execution its waits, then a turn for itself.
struct WaveRecord {
  std::vector<Executed> executed;
  std::vector<Wait> waits;

  std::span<const Wait> waits_before(std::size_t execution) const;
};

struct Recording {
  isa::Machine machine;
  std::vector<WaveRecord> waves;

  pipes::Clk turn() const { return static_cast<pipes::Clk>(machine.turn_clk); }
};

// Runs the reported workgroup once more, which takes the same way.
Recording record(const Simulation& simulation, const SimulatedMachine& run);

// From first up to last, which is behind it.
struct Window {
  pipes::Clk first = 0, last = 0;

  bool contains(pipes::Clk clk) const { return first <= clk && clk < last; }
  bool meets(pipes::Clk from, pipes::Clk to) const { return from < last && first < to; }
};

// `iterations` of the reported loop, as its wave goes round it; the whole run where no loop is reported.
Window loop_window(const SimulatedMachine& run, std::size_t iterations);

}  // namespace zyfa::runtime
