// One function for each kind of dump: from a recording to the contents of its files.
#pragma once

#include "runtime_loader/dumps/recording.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string>

namespace zyfa::runtime {

struct DumpSource {
  const Simulation& simulation;
  const SimulatedMachine& run;
  const Recording& recording;
  std::string problem;  // a line that says what ran

  const isa::Program& program() const { return simulation.program(); }
  std::string text(std::uint32_t instruction) const;
  std::string source(std::uint32_t instruction) const;
};

std::string timeline_text(const DumpSource& source, const Window& window);

// Chrome's trace event format: docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
nlohmann::ordered_json trace_json(const DumpSource& source, const Window& window);

// The directory's files by name.
std::map<std::string, std::string> viewer_files(const DumpSource& source, const Window& window);

// The clocks by reason of waits, "matrix pipe" first where that is most.
std::vector<std::pair<pipes::Stall, pipes::Clk>> by_reason(std::span<const Wait> waits);

std::string page_html(const DumpSource& source, const Window& window);

}  // namespace zyfa::runtime
