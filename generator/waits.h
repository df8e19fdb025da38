// Turns what a schedule waits for into what the machine is told: tokens become s_waitcnt values, settling points become
// s_nop of exactly the wait states that are missing. Schedules never state either number.
#pragma once

#include "isa/inst.h"
#include "isa/machine.h"

namespace zyfa::generator {

// Before instruction `position` all of `producers` (positions of memory instructions) must have completed.
struct WaitRequest {
  std::uint32_t position;
  std::vector<std::uint32_t> producers;
  SourceLine where;
};

// Here the program idles for the wait states that instruction `position` still needs.
struct SettleRequest {
  std::uint32_t position;
  SourceLine where;
};

// The program with one s_waitcnt per wait and s_nop where settling needs them; positions are those of the program
// given. At one position waits come first, in their order, then s_nop. Labels and branches to a position lead to what
// was inserted there. Each count is the smallest number of instructions of the counter on any path from a producer to
// the wait; lgkmcnt(0) where scalar loads are waited for or may be outstanding. A producer from which no path leads to
// the wait does not count. Throws Error with the wait's source line if that is so of all, or if a producer is no memory
// instruction.
isa::Program insert_waits(isa::Program program, std::vector<WaitRequest> waits, std::vector<SettleRequest> settles,
                          const isa::Machine& machine);

}  // namespace zyfa::generator
