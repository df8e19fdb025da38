// zyfa-run --abi aiter-...: runs an object of AITER's and reports like zyfa-run does for ours.
#pragma once

#include "isa/machine.h"
#include "runtime_loader/aiter_inputs.h"
#include "runtime_loader/compare.h"

#include <optional>
#include <string>

namespace zyfa::runtime {

struct AiterCommand {
  std::string kernel, abi;
  AiterProblem problem;
  InputKind input = InputKind::gaussian;
  double v_mean = 0;
  std::optional<double> tolerance;  // of the relative error; the format's by default
  bool check = true, json = false;
  int threads = 1, check_stride = 1;
  std::uint64_t max_instructions = 0;
  bool strict = false;
  std::optional<std::uint64_t> shuffle_seed;
  isa::Machine machine;
};

// The exit code: 0 if the kernel ran to its end and passed, or was not checked, and nothing was found. Throws Error for
// a trap.
int run_aiter_command(const AiterCommand& command);

// "100,200,7" as numbers; throws Error naming `option`.
std::vector<int> parse_lengths(const std::string& option, const std::string& text);

}  // namespace zyfa::runtime
