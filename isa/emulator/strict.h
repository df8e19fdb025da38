// Strict mode of one workgroup: watches every instruction that its waves execute and notes what the architecture leaves
// undefined, and numbers that go wrong. It never changes what a program computes. docs/strict.md has the rules.
#pragma once

#include "isa/emulator/strict_lds.h"
#include "isa/emulator/strict_numbers.h"
#include "isa/emulator/strict_registers.h"
#include "isa/emulator/strict_trace.h"

namespace zyfa::emulator {

struct Launch;

class Strict {
 public:
  // Everything must outlive this.
  Strict(const StrictProgram& program, const Launch& launch);
  Strict(const Strict&) = delete;

  // A workgroup begins, then each of its waves, in their initial state.
  void start(std::array<std::uint32_t, 3> workgroup, std::size_t waves);
  void start_wave(const Wave& wave);

  // Before and after each instruction. `issue` sees the operands; waits, barriers and ends count at issue.
  void issue(const Wave& wave, std::uint32_t index);
  void executed(const Wave& wave, std::uint32_t index);

  // All waves that have not ended stand at a barrier and go on.
  void release_barrier();

  std::vector<Finding> take_findings() { return log_.take(); }

 private:
  struct Watched {
    StrictRegisters registers;
    StrictTrace::History history;
    std::optional<std::uint32_t> barrier, end;  // the instruction at which the wave stands
  };

  void end(const Wave& wave, std::uint32_t index);

  const StrictProgram& program_;
  const Launch& launch_;
  StrictLog log_;
  StrictTrace trace_;
  StrictLds lds_;
  StrictNumbers numbers_;
  std::vector<Watched> waves_;
};

}  // namespace zyfa::emulator
