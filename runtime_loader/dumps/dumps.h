// Files that show a run of the pipe model in forms that people know how to read. docs/dumps.md describes them.
#pragma once

#include "runtime_loader/simulate.h"

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace zyfa::runtime {

enum class Dump : std::uint8_t {
  timeline,  // <kernel>.timeline.txt: instructions against clocks, as llvm-mca prints them
  trace,     // <kernel>.trace.json: for Perfetto and chrome://tracing
  viewer,    // <kernel>.viewer/: for rocprof-compute-viewer
  page,      // <kernel>.html
};

// "timeline", "trace", "viewer", "page", several of them between commas, or "all". Throws Error that lists them.
std::set<Dump> parse_dumps(const std::string& text);

// "FROM:TO" in clk. Throws Error for anything else, and where FROM is not before TO.
std::pair<pipes::Clk, pipes::Clk> parse_window(const std::string& text);

struct DumpRequest {
  std::set<Dump> kinds;
  std::filesystem::path directory = ".";                     // created if need be
  std::optional<std::pair<pipes::Clk, pipes::Clk>> between;  // clk; none: of each kind its own (docs/dumps.md)
  std::string problem;                                       // a line that says what ran
};

// Runs the reported workgroup once more and writes what is asked for. Files and directories appear whole or not at all.
// Returns them. Throws Error that names what cannot be written.
std::vector<std::filesystem::path> write_dumps(const Simulation& simulation, const SimulatedMachine& run,
                                               const DumpRequest& request);

}  // namespace zyfa::runtime
