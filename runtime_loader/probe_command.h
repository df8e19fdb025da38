// zyfa-run --probe: the probes on a GPU, and the machine file that they make.
#pragma once

#include <filesystem>
#include <string>

namespace zyfa::runtime {

struct ProbeCommand {
  std::filesystem::path directory;  // probes are written there unless it has some
  int device = 0;
  std::string machine = "nominal";  // that the answers are compared with: a name or a file
  bool json = false;
};

// Runs all probes, stores what each recorded as <symbol>.out and their answers as machine.json beside them, and prints
// what differs. Returns the exit code: 0 if every answer agrees with the machine.
int run_probe_command(const ProbeCommand& command);

}  // namespace zyfa::runtime
