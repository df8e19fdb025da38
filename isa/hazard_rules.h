// The table of required wait states: between which instructions, on which of their operands, how many.
#pragma once

#include "isa/isa.h"
#include "isa/machine.h"

#include <span>
#include <string_view>

namespace zyfa::isa {

// How the two operands must lie for the rule to hold. The same tuple as accumulator of the same opcode is
// forwarded. same_op and other_op overlap.
enum class Meet : std::uint8_t { overlap, same, same_but_other_op, part, same_op, other_op };

using Wait = std::variant<int Machine::*, PerPass Machine::*>;

struct Rule {
  std::string_view name;
  bool (*producer)(const Inst&);
  bool (*produced)(const Inst&, const Access&);
  bool (*consumer)(const Inst&);
  bool (*consumed)(const Inst&, const Access&);
  Meet meet;
  Wait required;
};

std::span<const Rule> wait_state_rules();

}  // namespace zyfa::isa
