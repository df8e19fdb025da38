#include "runtime_loader/dumps/writers.h"

#include <algorithm>
#include <set>

namespace zyfa::runtime {
namespace {

using nlohmann::ordered_json;
using pipes::Clk;

// Processes are the SIMDs, then what the compute unit has once.
constexpr std::size_t cu_process = pipes::simds;

struct Track {
  std::size_t process, thread;
};

constexpr std::size_t first_wave_thread = 100;

Track wave_track(std::size_t wave) { return {wave % pipes::simds, first_wave_thread + wave / pipes::simds}; }

// Each pair of SIMDs has an LDS data bus of its own.
Track pipe_track(std::size_t wave, Pipe pipe) {
  const std::size_t simd = wave % pipes::simds;
  if (pipe == Pipe::lds) return {cu_process, 1 + simd % 2};
  if (pipe == Pipe::vmem) return {cu_process, 3};
  return {simd, 1 + static_cast<std::size_t>(pipe)};
}

ordered_json named(const char* kind, Track track, const std::string& name) {
  return {{"name", kind}, {"ph", "M"}, {"pid", track.process}, {"tid", track.thread}, {"args", {{"name", name}}}};
}

void add_names(ordered_json& events, std::size_t waves) {
  for (std::size_t simd = 0; simd < pipes::simds; ++simd) {
    events.push_back(named("process_name", {simd, 0}, fmt::format("SIMD {} [model]", simd)));
    for (const Pipe pipe : {Pipe::matrix, Pipe::valu, Pipe::trans, Pipe::salu, Pipe::smem, Pipe::branch})
      events.push_back(named("thread_name", pipe_track(simd, pipe), std::string(name(pipe))));
  }
  events.push_back(named("process_name", {cu_process, 0}, "compute unit [model]"));
  events.push_back(named("thread_name", {cu_process, 1}, "LDS bus, SIMDs 0 and 2"));
  events.push_back(named("thread_name", {cu_process, 2}, "LDS bus, SIMDs 1 and 3"));
  events.push_back(named("thread_name", {cu_process, 3}, "VMEM return bus"));
  for (std::size_t wave = 0; wave < waves; ++wave)
    events.push_back(named("thread_name", wave_track(wave), fmt::format("wave {}", wave)));
}

ordered_json slice(Track track, std::string_view name, const char* category, Clk from, Clk to, ordered_json args) {
  return {{"name", name},     {"cat", category},      {"ph", "X"},           {"ts", from},
          {"dur", to - from}, {"pid", track.process}, {"tid", track.thread}, {"args", std::move(args)}};
}

std::string mnemonic(const isa::Inst& inst) { return std::string(isa::desc(inst.op).name); }

void add_execution(ordered_json& events, const DumpSource& source, std::size_t wave, std::size_t i) {
  const WaveRecord& record = source.recording.waves[wave];
  const Executed& executed = record.executed[i];
  const isa::Inst& inst = source.program().code[executed.instruction];
  ordered_json args = {{"text", source.text(executed.instruction)},
                       {"source", source.source(executed.instruction)},
                       {"instruction", executed.instruction},
                       {"wave", wave},
                       {"done", executed.service.done}};
  for (const auto& [reason, clk] : by_reason(record.waits_before(i)))
    args["stall_before_clk"][std::string(name(reason))] = clk;
  const Pipe pipe = pipe_of(inst);
  events.push_back(
      slice(wave_track(wave), mnemonic(inst), "issue", executed.clk, executed.clk + source.recording.turn(), args));
  if (pipe != Pipe::internal)
    events.push_back(slice(pipe_track(wave, pipe), mnemonic(inst), "pipe", executed.service.start, executed.service.end,
                           std::move(args)));
}

// Arrows from the memory instruction to the s_waitcnt that asked for its data.
void add_flows(ordered_json& events, const DumpSource& source, std::size_t wave, const Window& window, int& id) {
  constexpr const char* counters[] = {"vmcnt", "lgkmcnt"};
  const WaveRecord& record = source.recording.waves[wave];
  const Track track = wave_track(wave);
  for (const Executed& waiter : record.executed)
    for (std::size_t c = 0; c < waiter.asks_for.size(); ++c) {
      if (waiter.asks_for[c] < 0 || !window.contains(waiter.clk)) continue;
      const Executed& producer = record.executed[static_cast<std::size_t>(waiter.asks_for[c])];
      if (!window.contains(producer.clk)) continue;
      ordered_json start = {{"name", counters[c]}, {"cat", "data"},        {"ph", "s"},          {"id", id},
                            {"ts", producer.clk},  {"pid", track.process}, {"tid", track.thread}};
      ordered_json end = start;
      end["ph"] = "f";
      end["bp"] = "e";
      end["ts"] = waiter.clk;
      events.push_back(std::move(start));
      events.push_back(std::move(end));
      ++id;
    }
}

void add_counters(ordered_json& events, const DumpSource& source, std::size_t wave, const Window& window) {
  using isa::Counter;
  for (const auto& [counter, label] : {std::pair{Counter::vm, "vmcnt"}, std::pair{Counter::lgkm, "lgkmcnt"}}) {
    std::map<Clk, int> changes;
    for (const Executed& executed : source.recording.waves[wave].executed) {
      const Counter raised = isa::counter(source.program().code[executed.instruction]);
      if (raised != counter && raised != Counter::both) continue;
      ++changes[executed.clk];
      --changes[executed.service.done];
    }
    int outstanding = 0;
    const auto add = [&](Clk clk) {
      events.push_back({{"name", fmt::format("wave {} {}", wave, label)},
                        {"ph", "C"},
                        {"ts", clk},
                        {"pid", wave % pipes::simds},
                        {"args", {{"outstanding", outstanding}}}});
    };
    auto change = changes.begin();
    for (; change != changes.end() && change->first <= window.first; ++change) outstanding += change->second;
    add(window.first);
    for (; change != changes.end() && change->first < window.last; ++change) {
      if (change->second == 0) continue;
      outstanding += change->second;
      add(change->first);
    }
  }
}

}  // namespace

ordered_json trace_json(const DumpSource& source, const Window& window) {
  ordered_json events = ordered_json::array();
  add_names(events, source.recording.waves.size());
  int flow = 1;
  for (std::size_t wave = 0; wave < source.recording.waves.size(); ++wave) {
    const WaveRecord& record = source.recording.waves[wave];
    for (const Wait& wait : record.waits)
      if (window.meets(wait.clk, wait.end()))
        events.push_back(slice(wave_track(wave), fmt::format("waits: {}", name(wait.reason)), "stall",
                               std::max(wait.clk, window.first), std::min(wait.end(), window.last),
                               {{"instruction", wait.instruction}, {"text", source.text(wait.instruction)}}));
    for (std::size_t i = 0; i < record.executed.size(); ++i)
      if (window.contains(record.executed[i].clk)) add_execution(events, source, wave, i);
    add_flows(events, source, wave, window, flow);
    add_counters(events, source, wave, window);
  }
  return {{"traceEvents", std::move(events)},
          {"displayTimeUnit", "ns"},
          {"otherData",
           {{"time", "1 us in this file is 1 engine clock (clk)"},
            {"modelled", "by zyfa's pipe model, not measured"},
            {"kernel", source.simulation.symbol()},
            {"problem", source.problem},
            {"machine", source.run.name}}}};
}

}  // namespace zyfa::runtime
