// The directory that ROCm's rocprof-compute-viewer opens, as its JSON loaders read it (src/data/json_emitter.cpp,
// src/data/wavemanager.cpp, src/code/codeload.cpp there). One shader engine, one compute unit.
#include "runtime_loader/dumps/writers.h"

#include <algorithm>
#include <set>

namespace zyfa::runtime {
namespace {

using nlohmann::ordered_json;
using pipes::Clk;
using pipes::Stall;

// The viewer's numbers for types of instructions and states of waves.
enum Type { smem = 1, salu, vmem, flat, lds, valu, jump, next, immediate, matrix = 13 };
enum State { idle = 1, exec, waiting, stalled };
constexpr const char* type_names[] = {"NONE", "SMEM", "SALU",  "VMEM", "FLAT", "LDS", "VALU",
                                      "JUMP", "NEXT", "IMMED", "TRAP", "MSG",  "BVH", "MATRIX"};

constexpr int kernel_id = 1, code_object = 1;
constexpr int first_line = 1;  // line 0 names the kernel

int line_of(std::uint32_t instruction) { return static_cast<int>(instruction) + first_line; }

Type type_of(const DumpSource& source, const WaveRecord& record, std::size_t i) {
  const std::uint32_t at = record.executed[i].instruction;
  const isa::Inst& inst = source.program().code[at];
  switch (pipe_of(inst)) {
    case Pipe::matrix:
      return matrix;
    case Pipe::salu:
      return salu;
    case Pipe::smem:
      return smem;
    case Pipe::vmem:
      return isa::counter(inst) == isa::Counter::both ? flat : vmem;
    case Pipe::lds:
      return lds;
    case Pipe::branch:
      return i + 1 < record.executed.size() && record.executed[i + 1].instruction == at + 1 ? next : jump;
    case Pipe::internal:
      return immediate;
    default:
      return valu;
  }
}

State state_of(Stall reason) {
  switch (reason) {
    case Stall::own_pace:
      return exec;
    case Stall::wait_vm:
    case Stall::wait_lgkm:
    case Stall::barrier:
      return waiting;
    default:
      return stalled;
  }
}

// Clocks of one execution: those before its issue, and all, which end where the next one's begin.
struct Span {
  Clk begin = 0, stall = 0, all = 0;
};

struct Totals {
  std::uint64_t hits = 0;
  Clk latency = 0, stall = 0;
};

// What the wave waits for behind an s_barrier, an s_nop or a taken branch belongs to those.
Span span_of(const DumpSource& source, const WaveRecord& record, std::size_t i) {
  const Executed& executed = record.executed[i];
  Span span{executed.clk, 0, source.recording.turn()};
  const auto is_own = [&](const Wait& wait) { return wait.instruction == executed.instruction; };
  for (const Wait& wait : record.waits_before(i))
    if (wait.reason != Stall::barrier && wait.reason != Stall::own_pace) {
      span.begin = std::min(span.begin, wait.clk);
      span.stall += wait.clocks;
    }
  span.all += span.stall;
  if (i + 1 < record.executed.size())
    for (const Wait& wait : record.waits_before(i + 1))
      if (is_own(wait) && (wait.reason == Stall::barrier || wait.reason == Stall::own_pace)) span.all += wait.clocks;
  return span;
}

ordered_json states_of(const DumpSource& source, const WaveRecord& record, std::size_t from, std::size_t to) {
  ordered_json states = ordered_json::array();
  const auto add = [&](State state, Clk clk) {
    if (!states.empty() && states.back()[0] == static_cast<int>(state))
      states.back()[1] = states.back()[1].get<Clk>() + clk;
    else
      states.push_back({static_cast<int>(state), clk});
  };
  for (std::size_t i = from; i < to; ++i) {
    for (const Wait& wait : record.waits_before(i))
      if (i > from || (wait.reason != Stall::barrier && wait.reason != Stall::own_pace))
        add(state_of(wait.reason), wait.clocks);
    add(exec, source.recording.turn());
  }
  return states;
}

ordered_json waits_of(const WaveRecord& record, std::size_t from, std::size_t to) {
  std::map<int, std::set<int>> producers;
  for (std::size_t i = from; i < to; ++i)
    for (const std::int32_t producer : record.executed[i].asks_for)
      if (producer >= 0)
        producers[line_of(record.executed[i].instruction)].insert(
            line_of(record.executed[static_cast<std::size_t>(producer)].instruction));
  ordered_json lists = ordered_json::array();
  for (const auto& [line, from_lines] : producers) {
    ordered_json sources = ordered_json::array();
    for (const int source : from_lines) sources.push_back({source, 0});
    lists.push_back({line, std::move(sources)});
  }
  return lists;
}

// A code object may name any file of the reader's machine: only what lies below the current directory is copied.
bool is_below_here(const std::filesystem::path& path) {
  return path.is_relative() && std::ranges::none_of(path, [](const auto& part) { return part == ".."; });
}

// Source files as they lie below the current directory, and the tree of names that leads to the copies.
void add_sources(const DumpSource& source, std::map<std::string, std::string>& files) {
  std::set<std::string> names;
  for (const isa::Inst& inst : source.program().code)
    if (inst.where) names.insert(inst.where.file);
  ordered_json tree = ordered_json::object();
  int number = 0;
  for (const std::string& name : names) {
    std::error_code error;
    const std::filesystem::path path(name);
    if (!is_below_here(path) || !std::filesystem::is_regular_file(path, error)) continue;
    const std::string copy = fmt::format("source_{}_{}", number++, path.filename().string());
    const std::vector<std::byte> bytes = read_file(path);
    files[copy] = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    ordered_json* node = &tree;
    for (const auto& part : path.parent_path()) node = &(*node)[part.string()];
    (*node)[path.filename().string()] = copy;
  }
  files["snapshots.json"] = tree.dump();
}

ordered_json code_json(const DumpSource& source, const std::vector<Totals>& totals) {
  ordered_json code = ordered_json::array();
  const auto add = [&](const std::string& text, int line, ordered_json where, const Totals& t) {
    constexpr int bytes = 4;  // of an instruction, as if all were short: the program does not know
    code.push_back({text, 0, line, std::move(where), code_object, bytes * std::max(0, line - first_line), t.hits,
                    t.latency, t.stall, 0});
  };
  add(fmt::format("; {} [model]", source.simulation.symbol()), 0, nullptr, {});
  for (std::uint32_t i = 0; i < totals.size(); ++i) {
    const SourceLine where = source.program().code[i].where;
    add(source.text(i), line_of(i), where ? ordered_json(to_string(where)) : ordered_json(), totals[i]);
  }
  return {{"header", {"ISA", "_", "LineNumber", "Source", "Codeobj", "Vaddr", "Hit", "Latency", "Stall", "Idle"}},
          {"code", std::move(code)}};
}

}  // namespace

std::map<std::string, std::string> viewer_files(const DumpSource& source, const Window& window) {
  std::map<std::string, std::string> files;
  std::vector<Totals> totals(source.program().code.size());
  ordered_json names = ordered_json::object(), occupancy = ordered_json::array();
  std::vector<std::array<Clk, 4>> comings;  // and goings: clk, SIMD, slot, 1 or 0
  for (std::size_t wave = 0; wave < source.recording.waves.size(); ++wave) {
    const WaveRecord& record = source.recording.waves[wave];
    const auto inside = [&](Clk clk) {
      return static_cast<std::size_t>(std::ranges::lower_bound(record.executed, clk, {}, &Executed::clk) -
                                      record.executed.begin());
    };
    const std::size_t from = inside(window.first), to = inside(window.last);
    if (from == to) continue;
    ordered_json instructions = ordered_json::array();
    std::map<Type, std::pair<std::uint64_t, Clk>> info_of;
    Span span;
    Clk begin = 0;
    for (std::size_t i = from; i < to; ++i) {
      span = span_of(source, record, i);
      if (i == from) begin = span.begin;
      const std::uint32_t at = record.executed[i].instruction;
      const Type type = type_of(source, record, i);
      instructions.push_back({span.begin, static_cast<int>(type), span.stall, span.all, line_of(at)});
      totals[at].hits += 1;
      totals[at].latency += span.all;
      totals[at].stall += span.stall;
      info_of[type].first += 1;
      info_of[type].second += span.stall;
    }
    ordered_json info = ordered_json::object();
    for (const auto& [type, counts] : info_of) {
      info[type_names[type]] = counts.first;
      info[fmt::format("{}_stall", type_names[type])] = counts.second;
    }
    const Clk end = record.executed[to - 1].clk + source.recording.turn();
    const std::size_t simd = wave % pipes::simds, slot = wave / pipes::simds;
    const std::string file = fmt::format("se0_sm{}_sl{}_wv0.json", simd, slot);
    const ordered_json json = {{"wave",
                                {{"id", 0},
                                 {"simd", simd},
                                 {"slot", slot},
                                 {"begin", begin},
                                 {"end", end},
                                 {"cu", 0},
                                 {"workgroup_id", source.run.workgroup},
                                 {"instructions", std::move(instructions)},
                                 {"timeline", states_of(source, record, from, to)},
                                 {"waitcnt", waits_of(record, from, to)},
                                 {"info", std::move(info)}}}};
    files[file] = json.dump();
    names["0"][std::to_string(simd)][std::to_string(slot)]["0"] = {file, begin, end};
    comings.push_back({begin, simd, slot, 1});
    comings.push_back({end, simd, slot, 0});
  }
  std::ranges::sort(comings);
  for (const auto& [clk, simd, slot, starts] : comings) occupancy.push_back({clk, 0, simd, slot, starts, kernel_id});
  const std::string title = source.simulation.symbol() + " [model]";
  files["occupancy.json"] =
      ordered_json{{"dispatches", {{std::to_string(kernel_id), title}}}, {"0", std::move(occupancy)}}.dump();
  files["filenames.json"] = ordered_json{
      {"version", "3.0.0"},
      {"modelled_by", fmt::format("zyfa {}, not measured", ZYFA_VERSION)},
      {"gfxip", 9},
      {"gfxv", "vega"},
      {"thread_trace", true},
      {"pc_sampling", false},
      {"is_pcs_stochastic", false},
      {"global_begin_time", 0},
      {"counter_names", ordered_json::array()},
      {"wave_filenames",
       std::move(names)}}.dump();
  files["code.json"] = code_json(source, totals).dump();
  add_sources(source, files);
  return files;
}

}  // namespace zyfa::runtime
