// Pairs of instructions with a hazard between them, at least one per rule of isa/hazard_rules.cpp, as our values
// and as LLVM's machine IR: the unit test checks the rule at its edge, the differential test asks LLVM's
// hazard recogniser.
#pragma once

#include "isa/inst.h"

#include <string_view>
#include <vector>

namespace zyfa {

struct HazardPair {
  std::string_view rule;
  int required;  // wait states
  isa::Inst producer;
  std::string_view producer_mir;  // register tuples in short: $v[0:3], $a[0:3], $s[0:3]
  isa::Inst consumer;
  std::string_view consumer_mir;
};

std::vector<HazardPair> hazard_pairs();

}  // namespace zyfa
