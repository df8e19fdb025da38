// What probes found beside what a machine file says.
#pragma once

#include "runtime_loader/probe_run.h"

namespace zyfa::runtime {

// Whether a machine with this parameter would give this answer. Instructions issue every 4 clk, so clocks are found
// rounded up to that; a number hidden behind another is anything up to the answer.
bool agrees(const schedules::Answer& answer, const isa::Machine& machine);

bool all_agree(const std::vector<ProbeResult>& results, const isa::Machine& machine);

// The answers as a machine file (generator::load_machine), `source` being each number's source. Throws Error naming an
// answer below 0.
nlohmann::ordered_json machine_file(const std::vector<ProbeResult>& results, isa::Confidence confidence,
                                    std::string_view source);

// Keys: parameters (name, probe, found, machine, at_most, agrees), facts (probe, what, found, assumed).
nlohmann::ordered_json probe_json(const std::vector<ProbeResult>& results, const isa::Machine& machine);

// The same for people.
void print_probes(const std::vector<ProbeResult>& results, const isa::Machine& machine);

// Where answers are from, for the machine file that they make.
struct ProbeSource {
  std::string text;
  isa::Confidence confidence = isa::Confidence::inferred;
};

// Writes the answers as a machine file. Throws Error, and leaves what was there, if they are no machine's.
void write_machine(const std::vector<ProbeResult>& results, const ProbeSource& source,
                   const std::filesystem::path& file);

}  // namespace zyfa::runtime
