// Probes from zyfa-gen --probe: read, run, evaluated. What runs them is the caller's choice; the evaluation takes what
// was recorded, wherever that was.
#pragma once

#include "isa/machine.h"
#include "runtime_loader/emulate.h"
#include "schedules/probes/probe.h"

#include <nlohmann/json.hpp>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace zyfa::runtime {

// One entry of probes.json with its code object.
struct LoadedProbe {
  std::string name, symbol;
  std::uint32_t out_bytes = 0, in_bytes = 0;
  int launches = 1;         // the last of them counts
  emulator::Launch launch;  // kernarg_address is set by run_probe
  generator::DecodedKernel code;
  std::vector<std::byte> code_object;
};

// The arguments of every probe: two addresses.
using ProbeArguments = std::array<std::uint64_t, schedules::probe_kernarg_bytes / sizeof(std::uint64_t)>;
ProbeArguments probe_arguments(std::uint64_t out, std::uint64_t in);

// Everything that `directory`/probes.json lists. Throws Error naming the file for what is missing, damaged or of
// another version of the probes than this program's.
std::vector<LoadedProbe> load_probes(const std::filesystem::path& directory);

struct Recorded {
  std::string name;
  std::vector<std::uint32_t> words;  // what the kernel stored
};

// Buffers, arguments and one launch, which `runner` makes: the pipe model or the emulator. Throws Error for a trap.
Recorded run_probe(const LoadedProbe& probe, const Runner& runner);

// On the pipe model of a machine.
Recorded simulate_probe(const LoadedProbe& probe, const isa::Machine& machine);

// Reads and writes the recorded words of each probe as `directory`/<symbol>.out, little-endian. Throws Error that names
// a file which is missing or of another size.
std::vector<Recorded> read_recorded(const std::vector<LoadedProbe>& probes, const std::filesystem::path& directory);
void write_recorded(const std::vector<LoadedProbe>& probes, const std::vector<Recorded>& recorded,
                    const std::filesystem::path& directory);

struct ProbeResult {
  std::string name;
  schedules::Findings findings;
};

// Throws Error for a name that is no probe's, for a record of another size, and for one that is no answer.
ProbeResult evaluate_probe(const Recorded& recorded);
std::vector<ProbeResult> evaluate_probes(const std::vector<Recorded>& recorded);

}  // namespace zyfa::runtime
