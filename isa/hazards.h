// Wait states that the hardware does not insert by itself: a static check over all paths of a program. The
// rules are a table in hazard_rules.cpp, their numbers stand in machine.def, docs/hazards.md says where each is
// from.
//
// One wait state is one instruction slot between producer and consumer: every instruction counts 1, s_nop N
// counts N + 1.
#pragma once

#include "isa/flow.h"
#include "isa/machine.h"

#include <string_view>

namespace zyfa::isa {

struct HazardFinding {
  std::string_view rule;
  std::uint32_t producer, consumer;  // positions in the program
  int required, found;               // wait states between the two, `found` on the shortest path

  // One line: the rule, both instructions with their source lines, required and found wait states.
  std::string message(const Program& program) const;
};

// The names of all rules.
std::vector<std::string_view> hazard_rules();

// All violations, by consumer. Empty for a correct program.
std::vector<HazardFinding> check_hazards(const Program& program, const Machine& machine);

// How many more wait states are needed right before the instruction; 0 = none.
int missing_wait_states(const Program& program, std::uint32_t consumer, const Machine& machine);

// The same for a program that is to get idle_before[i] wait states right before its instruction i.
int missing_wait_states(const Program& program, const Flow& flow, const std::vector<int>& idle_before,
                        std::uint32_t consumer, const Machine& machine);

// For whoever walks executed instructions instead of paths. How many wait states an instruction itself is; the most
// that any rule asks for before it; and the rule that asks for most between two instructions, 0 if none does.
struct PairRequirement {
  std::string_view rule;
  int wait_states = 0;
};
int wait_states(const Inst& inst);
int wait_state_reach(const Inst& consumer, const Machine& machine);
PairRequirement required_wait_states(const Inst& producer, const Inst& consumer, const Machine& machine);

}  // namespace zyfa::isa
