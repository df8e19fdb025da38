// What strict mode says about a program: one rule broken at one instruction, as a value. docs/strict.md lists the
// rules, where each is from and what it leaves out.
#pragma once

#include "isa/error.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zyfa::emulator {

enum class StrictRule : std::uint8_t {
  register_in_flight,
  wait_states,
  undefined_register,
  undefined_lds,
  lds_race,
  barrier_divergence,
  vmcnt_overflow,
  nan_born,
  infinity_born,
  dma_at_end,
};

// In lower case, as reports show it: "register in flight".
std::string_view name(StrictRule rule);

// An instruction as a wave executed it.
struct Party {
  std::uint32_t instruction = 0;
  std::uint32_t wave = 0;
  SourceLine where;
};

struct Finding {
  StrictRule rule{};
  std::string_view row;        // wait_states: the row of isa/hazard_rules.cpp; empty with other rules
  std::string message;         // one line: rule, instructions, waves, source lines, what is wrong
  Party at;                    // where it showed
  std::optional<Party> other;  // the earlier instruction that it conflicts with
  std::array<std::uint32_t, 3> workgroup{};

  // What findings are counted by: "LDS race", "missing wait states: M0 written before LDS-DMA".
  std::string kind() const;
};

}  // namespace zyfa::emulator
