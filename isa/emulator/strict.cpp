#include "isa/emulator/strict.h"

#include "isa/emulator/emulator.h"

#include <algorithm>

namespace zyfa::emulator {

Strict::Strict(const StrictProgram& program, const Launch& launch)
    : program_(program),
      launch_(launch),
      log_(program.program()),
      trace_(program, log_),
      lds_(program, log_),
      numbers_(program, log_) {}

void Strict::start(std::array<std::uint32_t, 3> workgroup, std::size_t waves) {
  log_.start(workgroup);
  lds_.start(launch_.lds_bytes, waves);
  while (waves_.size() < waves) waves_.push_back({StrictRegisters(program_, log_), {}, {}, {}});
}

// LLVM AMDGPUUsage, "Initial Kernel Execution State": user scalar registers, workgroup ids, and v0 of the lanes that
// there are.
void Strict::start_wave(const Wave& wave) {
  Watched& watched = waves_[wave.id];
  watched.history.clear();
  watched.barrier.reset();
  watched.end.reset();
  StrictRegisters& registers = watched.registers;
  registers.clear();
  const int pointers =
      launch_.pass_dispatch_ptr + launch_.pass_queue_ptr + launch_.pass_kernarg_ptr + launch_.pass_dispatch_id;
  registers.define_scalar(0, 2 * pointers);
  const auto ids = std::ranges::count(launch_.pass_workgroup_id, true);
  registers.define_scalar(static_cast<int>(launch_.user_sgprs), static_cast<int>(ids));
  registers.define_vector(0, wave.exec());
  // The frame pointer, which a function saves before it sets its own (LLVM AMDGPUUsage, "Non-Kernel Functions").
  constexpr int frame_pointer = 33;
  if (program_.has_calls()) registers.define_scalar(frame_pointer, 1);
}

void Strict::issue(const Wave& wave, std::uint32_t index) {
  Watched& watched = waves_[wave.id];
  const Facts& facts = program_.facts(index);
  const isa::Inst& inst = program_.inst(index);
  trace_.step(watched.history, index, wave.id);
  watched.registers.issue(wave, index);
  if (facts.in_order || facts.counter == isa::Counter::both) lds_.access(wave, index, watched.registers);
  if (facts.numbers != Numbers::none) return numbers_.before(wave, index);
  const isa::Desc& d = isa::desc(inst.op);
  if (d.kind == isa::Kind::WAITCNT) watched.registers.wait(inst);
  if (d.effect == isa::Effect::barrier) watched.barrier = index;
  if (d.effect == isa::Effect::end) end(wave, index);
}

void Strict::executed(const Wave& wave, std::uint32_t index) {
  if (program_.facts(index).numbers != Numbers::none) numbers_.after(wave, index);
}

void Strict::end(const Wave& wave, std::uint32_t index) {
  Watched& watched = waves_[wave.id];
  watched.end = index;
  const auto transfer = watched.registers.pending_dma();
  if (!transfer) return;
  const Party at{index, wave.id, {}}, other{*transfer, wave.id, {}};
  if (log_.is_new(StrictRule::dma_at_end, at, other))
    log_.add(StrictRule::dma_at_end, at, other,
             "an LDS-DMA may still be on its way and would write into the next workgroup's LDS");
}

void Strict::release_barrier() {
  const auto ended = std::ranges::find_if(waves_, [](const Watched& w) { return w.end.has_value(); });
  for (std::uint32_t wave = 0; wave < waves_.size(); ++wave) {
    Watched& watched = waves_[wave];
    if (!watched.barrier) continue;
    lds_.pass_barrier(wave, watched.registers);
    const Party at{*watched.barrier, wave, {}};
    watched.barrier.reset();
    if (ended == waves_.end()) continue;
    const Party other{*ended->end, static_cast<std::uint32_t>(ended - waves_.begin()), {}};
    if (log_.is_new(StrictRule::barrier_divergence, at, other))
      log_.add(StrictRule::barrier_divergence, at, other, "a wave of the workgroup has ended and never comes here");
  }
}

}  // namespace zyfa::emulator
