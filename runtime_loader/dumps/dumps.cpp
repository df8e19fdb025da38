#include "runtime_loader/dumps/dumps.h"

#include "generator/generate.h"
#include "isa/text.h"
#include "runtime_loader/dumps/writers.h"
#include "runtime_loader/progress.h"

#include <algorithm>
#include <charconv>

namespace zyfa::runtime {

namespace fs = std::filesystem;

namespace {

constexpr std::pair<std::string_view, Dump> dump_names[] = {
    {"timeline", Dump::timeline}, {"trace", Dump::trace}, {"viewer", Dump::viewer}, {"page", Dump::page}};

// Iterations of the loop that are shown unless it is said what is.
constexpr std::size_t timeline_iterations = 1, traced_iterations = 4;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// Symbols of foreign objects may hold anything.
std::string file_name(std::string symbol) {
  for (char& c : symbol)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.' && c != '-') c = '_';
  return symbol;
}

// A directory that takes the place of the one written before. Anybody else's is left alone.
void write_directory(const fs::path& directory, const std::map<std::string, std::string>& files) {
  std::error_code error;
  if (fs::exists(directory, error) && !fs::exists(directory / "filenames.json", error))
    throw Error("{} is there already and is no dump for rocprof-compute-viewer: not replaced", directory.string());
  const fs::path partial = directory.string() + ".partial";
  fs::remove_all(partial, error);
  generator::make_directory(partial);
  try {
    for (const auto& [name, contents] : files) generator::write_file(partial / name, bytes_of(contents));
    fs::remove_all(directory, error);
    fs::rename(partial, directory, error);
    if (error) throw Error("cannot write {}: {}", directory.string(), error.message());
  } catch (...) {
    fs::remove_all(partial, error);
    throw;
  }
}

pipes::Clk clk_of(std::string_view digits, const std::string& text) {
  pipes::Clk clk = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), clk);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty())
    throw Error("'{}' is not a span of time: accepted is FROM:TO in clk", text);
  return clk;
}

}  // namespace

std::set<Dump> parse_dumps(const std::string& text) {
  std::set<Dump> kinds;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const std::string word = text.substr(from, comma - from);
    from = comma + 1;
    const auto found = std::ranges::find(dump_names, word, &std::pair<std::string_view, Dump>::first);
    if (word == "all")
      for (const auto& [name, kind] : dump_names) kinds.insert(kind);
    else if (found == std::end(dump_names))
      throw Error("there is no dump '{}'; accepted: timeline, trace, viewer, page, all", word);
    else
      kinds.insert(found->second);
  }
  return kinds;
}

std::pair<pipes::Clk, pipes::Clk> parse_window(const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const pipes::Clk from = clk_of(std::string_view(text).substr(0, colon), text);
  const pipes::Clk to = clk_of(std::string_view(text).substr(std::min(colon + 1, text.size())), text);
  if (from >= to) throw Error("the span {} of clk is empty", text);
  return {from, to};
}

std::string DumpSource::text(std::uint32_t instruction) const {
  return isa::print(program().code[instruction], program());
}

std::string DumpSource::source(std::uint32_t instruction) const { return to_string(program().code[instruction].where); }

std::vector<std::pair<pipes::Stall, pipes::Clk>> by_reason(std::span<const Wait> waits) {
  std::vector<std::pair<pipes::Stall, pipes::Clk>> reasons;
  for (const Wait& wait : waits) {
    const auto known = std::ranges::find(reasons, wait.reason, &std::pair<pipes::Stall, pipes::Clk>::first);
    if (known == reasons.end())
      reasons.emplace_back(wait.reason, wait.clocks);
    else
      known->second += wait.clocks;
  }
  std::ranges::stable_sort(reasons, std::greater{}, &std::pair<pipes::Stall, pipes::Clk>::second);
  return reasons;
}

std::vector<fs::path> write_dumps(const Simulation& simulation, const SimulatedMachine& run,
                                  const DumpRequest& request) {
  generator::make_directory(request.directory);
  if (request.between && request.between->first >= run.result.cycles)
    throw Error("the workgroup ends after {} clk: none from {} on to dump", run.result.cycles, request.between->first);
  ProgressBar bar("dumping", request.kinds.size() + 1);
  const Recording recording = record(simulation, run);
  ++bar.done();
  const DumpSource source{simulation, run, recording, request.problem};
  const auto window = [&](std::size_t iterations) {
    return request.between ? Window{request.between->first, request.between->second} : loop_window(run, iterations);
  };
  const std::string stem = (request.directory / file_name(simulation.symbol())).string();
  std::vector<fs::path> written;
  const auto write = [&](const char* extension, const std::string& contents) {
    written.emplace_back(stem + extension);
    generator::write_file(written.back(), bytes_of(contents));
  };
  for (const Dump kind : request.kinds) {
    switch (kind) {
      case Dump::timeline:
        write(".timeline.txt", timeline_text(source, window(timeline_iterations)));
        break;
      case Dump::trace:
        write(".trace.json", trace_json(source, window(traced_iterations)).dump());
        break;
      case Dump::viewer:
        written.emplace_back(stem + ".viewer");
        write_directory(written.back(),
                        viewer_files(source, request.between ? window(0) : Window{0, run.result.cycles}));
        break;
      case Dump::page:
        write(".html", page_html(source, window(traced_iterations)));
        break;
    }
    ++bar.done();
  }
  return written;
}

}  // namespace zyfa::runtime
