// Instruction fetch of a compute unit. Each SIMD fetches once a turn, an aligned piece of the code for the wave that
// has the least ahead; it comes after a latency, later if its line is not in the instruction cache. The cache starts
// out with the kernel in it, as far as that fits: workgroups before this one ran the same code. docs/timing.md.
#pragma once

#include "isa/inst.h"
#include "isa/machine.h"
#include "isa/pipes/clock.h"

#include <deque>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

namespace zyfa::pipes {

class InstructionCache {
 public:
  // Holds the first lines of the code.
  InstructionCache(std::uint32_t code_bytes, const isa::Machine& machine);

  // Whether the line with this byte is there; if not, it and the next one come in and the least recently used go.
  bool has(std::uint32_t byte);

 private:
  void touch(std::uint32_t line);

  std::uint32_t line_bytes_;
  std::size_t code_lines_, lines_;
  std::list<std::uint32_t> recent_;  // the most recently used first
  std::unordered_map<std::uint32_t, std::list<std::uint32_t>::iterator> where_;
};

// A wave and the instruction that it stands at.
struct Standing {
  std::size_t wave = 0;
  std::uint32_t instruction = 0;
};

class Fetch {
 public:
  Fetch(const isa::Program& program, const isa::Machine& machine);

  // Every wave has the piece of the code with its first instruction.
  void start(std::size_t waves, std::uint32_t entry);
  // A taken branch: what is ahead is dropped, and the piece with the target comes after `latency`.
  void restart(Standing at, Clk now, Clk latency);
  // Whether all bytes of the instruction have come.
  bool has(Standing at, Clk now);
  // One turn of the SIMD with these waves.
  void turn(std::span<const Standing> waves, Clk now);

  std::uint64_t misses() const { return misses_; }

 private:
  struct Piece {
    Clk comes = 0;
    std::uint32_t end = 0;  // in bytes
  };
  struct Buffer {
    std::uint32_t end = 0, requested = 0;  // bytes before these have come, and have been asked for
    std::deque<Piece> pieces;              // on their way, in order
  };
  void request(Buffer& buffer, Clk now, Clk latency);

  const isa::Machine& machine_;
  std::vector<std::uint32_t> begin_;  // of each instruction, and the end of the code
  InstructionCache cache_;
  std::vector<Buffer> buffers_;
  std::uint64_t misses_ = 0;
};

}  // namespace zyfa::pipes
