#include "runtime_loader/dumps/recording.h"

#include <algorithm>

namespace zyfa::runtime {
namespace {

using isa::Class;
using isa::Modifiers;

// Memory instructions of a wave that one counter counts, in the order of issue.
struct Outstanding {
  std::vector<std::int32_t> executions;
  std::size_t waited_for = 0;  // so many from the front

  // The last to be there of those that a wait for `left` asks for.
  std::int32_t wait(std::size_t left, const WaveRecord& wave) {
    std::int32_t last = -1;
    while (waited_for + left < executions.size()) {
      const std::int32_t next = executions[waited_for++];
      const auto done = [&wave](std::int32_t i) { return wave.executed[static_cast<std::size_t>(i)].service.done; };
      if (last < 0 || done(next) >= done(last)) last = next;
    }
    return last;
  }
};

}  // namespace

Pipe pipe_of(const isa::Inst& inst) {
  switch (isa::desc(inst.op).cls) {
    case Class::Mfma:
      return Pipe::matrix;
    case Class::Trans:
      return Pipe::trans;
    case Class::Salu:
      return Pipe::salu;
    case Class::Smem:
      return Pipe::smem;
    case Class::VmemLoad:
    case Class::VmemStore:
      return Pipe::vmem;
    case Class::LdsRead:
    case Class::LdsWrite:
      return Pipe::lds;
    case Class::Branch:
      return Pipe::branch;
    case Class::Internal:
    case Class::Barrier:
      return Pipe::internal;
    default:
      return Pipe::valu;
  }
}

std::string_view name(Pipe pipe) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(Pipe::count)> names = {
      "MATRIX", "VALU", "TRANS", "SALU", "SMEM", "VMEM", "LDS", "BRANCH", "INTERNAL"};
  return names[static_cast<std::size_t>(pipe)];
}

std::span<const Wait> WaveRecord::waits_before(std::size_t execution) const {
  const std::size_t from = execution == 0 ? 0 : executed[execution - 1].waits_end;
  return std::span(waits).subspan(from, executed[execution].waits_end - from);
}

Recording record(const Simulation& simulation, const SimulatedMachine& run) {
  const isa::Program& program = simulation.program();
  Recording recording{run.machine, std::vector<WaveRecord>(run.result.waves.size())};
  std::vector<std::array<Outstanding, 2>> outstanding(recording.waves.size());
  pipes::Options options{.machine = run.machine};
  options.on_stall = [&](const pipes::StalledTurn& turn) {
    std::vector<Wait>& waits = recording.waves[turn.wave].waits;
    const bool goes_on = !waits.empty() && waits.back().reason == turn.reason && waits.back().end() == turn.clk &&
                         waits.back().instruction == turn.instruction;
    if (!goes_on) waits.push_back({turn.clk, 0, turn.instruction, turn.reason});
    waits.back().clocks += recording.turn();
  };
  options.on_issue = [&](const pipes::Issue& issue) {
    WaveRecord& wave = recording.waves[issue.wave];
    const isa::Inst& inst = program.code[issue.instruction];
    auto& [vm, lgkm] = outstanding[issue.wave];
    const auto position = static_cast<std::int32_t>(wave.executed.size());
    Executed executed{issue.clk, issue.instruction, issue.service, wave.waits.size()};
    if (inst.op == isa::Op::s_waitcnt) {
      if (inst.mods.vmcnt != Modifiers::not_waited) executed.asks_for[0] = vm.wait(inst.mods.vmcnt, wave);
      if (inst.mods.lgkmcnt != Modifiers::not_waited) executed.asks_for[1] = lgkm.wait(inst.mods.lgkmcnt, wave);
    }
    wave.executed.push_back(executed);
    const isa::Counter counter = isa::counter(inst);
    if (counter == isa::Counter::vm || counter == isa::Counter::both) vm.executions.push_back(position);
    if (counter == isa::Counter::lgkm || counter == isa::Counter::both) lgkm.executions.push_back(position);
  };
  simulation.run(run.workgroup, options);
  return recording;
}

Window loop_window(const SimulatedMachine& run, std::size_t iterations) {
  if (!run.loop) return {0, run.result.cycles};
  std::vector<pipes::Clk> laps;
  for (const pipes::Lap& lap : run.result.laps)
    if (lap.wave == run.loop->wave && lap.target == run.loop->target && lap.clk >= run.loop->first &&
        lap.clk <= run.loop->last && laps.size() <= iterations)
      laps.push_back(lap.clk);
  return {laps.front(), laps.back()};
}

}  // namespace zyfa::runtime
