// Microbenchmarks that ask a machine for its parameters (machine.def) and for the facts that kernels rely on. A probe
// is a small kernel of one workgroup that stores what it measured, and the reading of what it stored. docs/probes.md.
#pragma once

#include "generator/builder.h"

#include <functional>
#include <span>
#include <variant>

namespace zyfa::schedules {

// A parameter of machine.def, as the probe found it: a number in the parameter's unit, or the name of a choice.
struct Answer {
  std::string_view parameter;
  std::variant<double, std::string_view> value;
  bool at_most = false;  // hidden behind another parameter: no larger than this, and smaller makes no difference
};

// Anything else that a kernel relies on. `assumed` is what the emulator and the generator take for granted; empty where
// nothing hangs on it.
struct Fact {
  std::string what, found, assumed;
};

struct Findings {
  std::vector<Answer> answers;
  std::vector<Fact> facts;
};

using Words = std::span<const std::uint32_t>;

struct Probe {
  std::string_view name;                     // as zyfa-gen --probe takes it
  std::string_view question;                 // one line
  std::vector<std::string_view> parameters;  // of machine.def, which the answers may name
  int waves = 1;                             // of its workgroup
  int lds_bytes = 0;
  bool fp16_overflow = false;  // MODE.FP16_OVFL at the start
  std::uint32_t out_bytes = 0, in_bytes = 0;
  std::function<generator::KernelBody()> build;
  std::function<Findings(Words)> evaluate;  // from the out_bytes that the kernel stored
};

// What probes are built for, whichever machine they are run on: they are one set of files.
inline constexpr isa::Machine probe_machine;

// Arguments of every probe's kernel: two addresses.
inline constexpr std::uint32_t probe_out_offset = 0, probe_in_offset = 8, probe_kernarg_bytes = 16;

// All of them, in the order of the documentation.
std::vector<Probe> all_probes();

// Why no probe asks for a parameter, which names one or, by its unit, all of a kind. Empty for one that a probe
// answers.
std::string_view why_not_probed(std::string_view parameter, std::string_view unit);

}  // namespace zyfa::schedules
