// Strict runs of hand-built programs.
#pragma once

#include "tests/support/catch.h"
#include "tests/unit/emulator_programs.h"

namespace zyfa::emulator {

// Findings of a program that must not trap.
inline std::vector<Finding> strict(const Code& code, Machine& machine) {
  machine.options.strict = true;
  Result result = machine.run(code);
  INFO((result.trap ? result.trap->message : ""));
  REQUIRE_FALSE(result.trap);
  return std::move(result.findings);
}
inline std::vector<Finding> strict(const Code& code) {
  Machine machine;
  return strict(code, machine);
}

// Of two waves, after a wait for all and the program's end have been added.
inline std::vector<Finding> strict_pair(Code& code) {
  code.wait(0, 0);
  code.end();
  Machine machine;
  machine.launch.workgroup_size = {128, 1, 1};
  return strict(code, machine);
}

inline bool has(const std::vector<Finding>& findings, StrictRule rule, std::uint32_t at, std::uint32_t other) {
  return std::ranges::any_of(findings, [&](const Finding& f) {
    return f.rule == rule && f.at.instruction == at && f.other && f.other->instruction == other &&
           f.at.where.line == at && f.other->where.line == other;
  });
}
inline bool has(const std::vector<Finding>& findings, StrictRule rule) {
  return std::ranges::any_of(findings, [&](const Finding& f) { return f.rule == rule; });
}

}  // namespace zyfa::emulator
