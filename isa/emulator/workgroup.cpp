#include "isa/emulator/workgroup.h"

#include "isa/emulator/address.h"
#include "isa/emulator/execute_memory.h"
#include "isa/emulator/indexing.h"
#include "isa/isa.h"
#include "isa/kinds.h"
#include "isa/text.h"

#include <algorithm>
#include <cstring>

namespace zyfa::emulator {
namespace {

// Instructions until the next wave's turn, for waves that do not reach a barrier: long enough to keep a
// wave's registers in the host's cache, short enough for waves that spin on what another one writes.
constexpr std::uint64_t quantum = 4096;

const char* name(TrapKind kind) {
  switch (kind) {
    case TrapKind::memory_out_of_bounds:
      return "memory out of bounds";
    case TrapKind::lds_out_of_bounds:
      return "LDS out of bounds";
    case TrapKind::misaligned:
      return "misaligned access";
    case TrapKind::lds_in_flight:
      return "LDS in flight";
    case TrapKind::bad_branch:
      return "bad branch";
    case TrapKind::ran_off_end:
      return "ran off the end";
    case TrapKind::too_many_instructions:
      return "too many instructions";
    case TrapKind::bad_exec:
      return "bad exec";
    case TrapKind::bad_register:
      return "bad register";
    case TrapKind::bad_mode:
      return "bad mode";
    case TrapKind::trap_handler:
      return "trap handler";
  }
  return "trap";
}

StepKind kind_of(const isa::Inst& inst) {
  const isa::Desc& d = isa::desc(inst.op);
  if (is_memory_row(inst.op)) return StepKind::memory;
  if (isa::is_branch(inst)) return StepKind::branch;
  if (d.kind == isa::Kind::WAITCNT) return StepKind::wait;
  if (d.effect == isa::Effect::barrier) return StepKind::barrier;
  if (d.effect == isa::Effect::end) return StepKind::end;
  if (d.effect == isa::Effect::trap) return StepKind::trap;
  if (isa::uses_pc(d.kind)) return StepKind::code_address;
  if (d.kind == isa::Kind::SET_REG || d.kind == isa::Kind::SET_REG_LITERAL) return StepKind::mode;
  if (d.kind == isa::Kind::SOPP || d.kind == isa::Kind::SOPP_COUNT) return StepKind::nothing;
  return isa::is_mfma(inst) ? StepKind::matrix : StepKind::alu;
}

Step decode(const isa::Inst& inst, const isa::Program& program, std::size_t index) {
  std::string problem = isa::validate(inst);
  // gfx950 widens LDS-DMA to 3 and 4 dwords, 2 does not exist (gfx950.md 4).
  if (problem.empty() && isa::is_lds_dma(inst) && isa::desc(inst.op).memory_bytes == 8)
    problem = "LDS-DMA moves 1, 3 or 4 dwords per lane";
  const isa::Kind kind = isa::desc(inst.op).kind;
  if (problem.empty() && isa::names_hardware_register(kind) && isa::hardware_field(inst).id != isa::mode_register)
    problem = "of the hardware registers the emulator has MODE alone";
  if (problem.empty() && isa::uses_pc(kind) && program.offsets.size() != program.code.size())
    problem = "the program has no code addresses, which only a decoded code object has";
  Step step{.kind = kind_of(inst), .inst = &inst};
  step.may_be_indexed = isa::is_vector_alu_kind(kind) || isa::is_matrix_kind(kind);
  if (step.kind == StepKind::alu || step.kind == StepKind::matrix || step.kind == StepKind::mode) {
    step.execute = find_execute(inst.op);
    if (problem.empty() && !step.execute) problem = "the emulator has no execution for it";
  }
  if (step.kind == StepKind::branch) {
    step.target = inst.args[0].value;
    step.target_is_good = inst.args[0].kind == isa::OperandKind::label && step.target < program.code.size();
  }
  if (!problem.empty())
    throw Error("cannot execute instruction {} `{}` ({}): {}", index, isa::print(inst, program), to_string(inst.where),
                problem);
  return step;
}

}  // namespace

std::vector<Step> decode(const isa::Program& program) {
  std::vector<Step> steps;
  steps.reserve(program.code.size() + 1);
  for (const isa::Inst& inst : program.code) steps.push_back(decode(inst, program, steps.size()));
  steps.emplace_back();
  return steps;
}

Workgroup::Workgroup(const isa::Program& program, std::span<const Step> steps, const Launch& launch,
                     const GlobalMemory& memory, const Options& options, const StrictProgram* strict)
    : program_(program),
      steps_(steps),
      launch_(launch),
      memory_(memory),
      max_instructions_(options.max_instructions),
      numerics_(isa::numerics(options.machine)),
      observer_(options.observer.instructions.empty() ? nullptr : &options.observer) {
  const auto& size = launch.workgroup_size;
  waves_.resize((std::size_t{size[0]} * size[1] * size[2] + lanes - 1) / lanes);
  if (strict) strict_ = std::make_unique<Strict>(*strict, launch);
  if (options.shuffle_seed) shuffle_ = std::make_unique<Shuffle>(*options.shuffle_seed, program, memory, lds_);
}

// LLVM AMDGPUUsage, "Initial Kernel Execution State". What it leaves undefined is all ones: NaN as a number,
// out of every bound as an address.
void Workgroup::start_wave(WaveRun& run, std::uint32_t id) {
  run.arrivals.clear();
  run.state = State::ready;
  run.instructions = run.matrix_instructions = 0;
  run.let_others_first = false;
  Wave& wave = run.wave;
  std::memset(wave.vector.data(), 0xff, sizeof wave.vector);
  wave.scalar.fill(~0u);
  wave.scc = false;
  wave.mode.bits = launch_.mode;
  wave.numerics = numerics_;
  wave.pc = launch_.entry;
  wave.id = id;
  wave.clock = 0;
  wave.set_scalar64(isa::shared_base.first, shared_aperture);
  wave.set_scalar64(isa::private_base.first, private_aperture);
  wave.scratch.assign(std::size_t{launch_.private_bytes} * lanes, std::byte{0xff});

  int next = 0;
  const auto pass = [&](bool wanted, std::uint64_t value) {
    if (!wanted) return;
    wave.set_scalar64(next, value);
    next += 2;
  };
  pass(launch_.pass_dispatch_ptr, launch_.dispatch_address);
  pass(launch_.pass_queue_ptr, 0);
  pass(launch_.pass_kernarg_ptr, launch_.kernarg_address);
  pass(launch_.pass_dispatch_id, 0);
  std::size_t scalar = launch_.user_sgprs;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (launch_.pass_workgroup_id[axis]) wave.scalar[scalar++] = id_[axis];

  const auto& size = launch_.workgroup_size;
  const std::uint32_t first = id * lanes;
  const std::uint32_t active = std::min<std::uint32_t>(lanes, size[0] * size[1] * size[2] - first);
  wave.set_scalar64(isa::exec.first, active == lanes ? ~0ull : (1ull << active) - 1);
  // gfx90a and later pack the three ids into v0, 10 bits each.
  for (std::uint32_t lane = 0; lane < active; ++lane) {
    const std::uint32_t item = first + lane;
    const std::uint32_t x = item % size[0], y = item / size[0] % size[1], z = item / size[0] / size[1];
    wave.vector[0][lane] = x | y << 10 | z << 20;
  }
}

void Workgroup::start(std::uint64_t number) {
  lds_.follow_hardware(launch_.memory_model == MemoryModel::hardware);
  lds_.take_unaligned(launch_.unaligned_access);
  const auto& grid = launch_.grid;
  number_ = number;
  id_ = {static_cast<std::uint32_t>(number % grid[0]), static_cast<std::uint32_t>(number / grid[0] % grid[1]),
         static_cast<std::uint32_t>(number / grid[0] / grid[1])};
  lds_.reset(launch_.lds_bytes);
  if (strict_) strict_->start(id_, waves_.size());
  for (std::size_t i = 0; i < waves_.size(); ++i) {
    start_wave(waves_[i], static_cast<std::uint32_t>(i));
    if (strict_) strict_->start_wave(waves_[i].wave);
  }
  if (shuffle_) shuffle_->start(number, waves_.size());
}

std::optional<Trap> Workgroup::run(std::uint64_t number, const std::atomic<std::uint64_t>& first_trap) {
  start(number);
  return shuffle_ ? run_shuffled(number, first_trap) : run_in_turns(number, first_trap);
}

std::optional<Trap> Workgroup::step(std::size_t wave, std::uint64_t clock) {
  clock_ = clock;
  waves_[wave].let_others_first = true;  // the others have had their turn
  return advance<false>(waves_[wave], 1);
}

std::optional<Trap> Workgroup::run_in_turns(std::uint64_t number, const std::atomic<std::uint64_t>& first_trap) {
  for (bool alive = true; alive;) {
    alive = false;
    for (WaveRun& run : waves_) {
      if (run.state != State::ready) continue;
      if (first_trap.load(std::memory_order_relaxed) < number) return std::nullopt;
      if (auto trap = strict_ || observer_ ? advance<true>(run, quantum) : advance<false>(run, quantum)) return trap;
      alive = true;
    }
    release_barrier();
    for (const WaveRun& run : waves_) alive = alive || run.state == State::ready;
  }
  return std::nullopt;
}

// A random wave for a random number of instructions, again and again. What a wave has issued goes on while it stands at
// a barrier or has ended.
std::optional<Trap> Workgroup::run_shuffled(std::uint64_t number, const std::atomic<std::uint64_t>& first_trap) {
  constexpr std::uint64_t longest_turn_log2 = 10;
  for (;;) {
    std::vector<WaveRun*> ready;
    for (WaveRun& run : waves_)
      if (run.state == State::ready) ready.push_back(&run);
    if (ready.empty()) break;
    if (first_trap.load(std::memory_order_relaxed) < number) return std::nullopt;
    const std::uint64_t turn = std::uint64_t{1} << shuffle_->below(longest_turn_log2 + 1);
    if (auto trap = advance<true>(*ready[shuffle_->below(ready.size())], turn)) return trap;
    if (auto trap = pass_time()) return trap;
    release_barrier();
  }
  for (WaveRun& run : waves_)
    if (auto late = shuffle_->finish(run.wave)) return trap(std::move(late->fault), run.wave, late->instruction);
  return std::nullopt;
}

std::optional<Trap> Workgroup::pass_time() {
  for (WaveRun& run : waves_)
    if (auto late = shuffle_->drift(run.wave)) return trap(std::move(late->fault), run.wave, late->instruction);
  return std::nullopt;
}

// A wave that has ended no longer counts (CDNA4 ISA, S_BARRIER).
void Workgroup::release_barrier() {
  const bool all_arrived =
      std::none_of(waves_.begin(), waves_.end(), [](const WaveRun& run) { return run.state == State::ready; });
  if (!all_arrived) return;
  if (strict_) strict_->release_barrier();
  for (WaveRun& run : waves_)
    if (run.state == State::at_barrier) run.state = State::ready;
}

// MemoryModel::hardware: global memory is slower than what the other waves do in the meantime, so they have a turn
// before the wave's transfers land in LDS.
bool Workgroup::lands_later(const isa::Inst& inst, WaveRun& run) {
  const bool lands = lds_.follows_hardware() && inst.mods.vmcnt != isa::Modifiers::not_waited &&
                     run.arrivals.waits_for_lds_dma(inst.mods.vmcnt);
  run.let_others_first = lands && !run.let_others_first;
  return run.let_others_first;
}

void Workgroup::wait(const isa::Inst& inst, WaveRun& run) {
  // expcnt needs nothing: stores take their data at issue.
  if (inst.mods.vmcnt != isa::Modifiers::not_waited) run.arrivals.wait_vector_memory(inst.mods.vmcnt, run.wave, lds_);
  if (inst.mods.lgkmcnt != isa::Modifiers::not_waited) run.arrivals.wait_lgkm(inst.mods.lgkmcnt, run.wave, lds_);
}

// Each of the three is one dword long.
std::optional<Fault> Workgroup::use_code_address(const isa::Inst& inst, std::uint32_t index, Wave& wave) const {
  constexpr std::uint64_t bytes = 4;
  const isa::Kind kind = isa::desc(inst.op).kind;
  const std::uint64_t next = launch_.code_address + program_.offsets[index] + bytes;
  const std::uint64_t target = wave.scalar64(static_cast<int>(inst.args[kind == isa::Kind::CALL ? 1 : 0].value));
  if (kind != isa::Kind::SET_PC) wave.set_scalar64(static_cast<int>(inst.args[0].value), next);
  if (!isa::jumps(kind)) return std::nullopt;
  const std::uint64_t offset = target - launch_.code_address;
  const auto found = std::ranges::lower_bound(program_.offsets, offset);
  if (found == program_.offsets.end() || *found != offset)
    return Fault{TrapKind::bad_branch, -1,
                 fmt::format("no instruction of the program begins at address {:#x}", target)};
  wave.pc = static_cast<std::uint32_t>(found - program_.offsets.begin());
  return std::nullopt;
}

template <bool watched>
std::optional<Trap> Workgroup::advance(WaveRun& run, std::uint64_t turn) {
  Wave& wave = run.wave;
  const Surroundings around{memory_, lds_, run.arrivals};
  turn = std::min(turn, max_instructions_ - run.instructions);
  std::uint64_t left = turn;
  for (; left > 0; --left) {
    const std::uint32_t index = wave.pc;
    const Step& step = steps_[index];
    if constexpr (watched) {
      // An s_waitcnt at which the wave gave up a turn has been issued already.
      if (strict_ && step.kind != StepKind::off_program && !run.let_others_first) strict_->issue(wave, index);
      if (shuffle_)
        if (auto late = shuffle_->drift(wave)) return trap(std::move(late->fault), wave, late->instruction);
      if (observer_ && observer_->looks_at(index)) observer_->before(number_, wave, index);
    }
    wave.pc = index + 1;
    switch (step.kind) {
      case StepKind::matrix:
        ++run.matrix_instructions;
        [[fallthrough]];
      case StepKind::alu:
        if (step.may_be_indexed && wave.mode.indexes_registers()) {
          if (auto fault = execute_indexed(step.execute, *step.inst, wave)) return trap(std::move(*fault), wave, index);
          continue;
        }
        step.execute(wave, *step.inst);
        if constexpr (watched)
          if (strict_) strict_->executed(wave, index);
        continue;
      case StepKind::mode:
        step.execute(wave, *step.inst);
        if ((wave.mode.bits & ~Mode::modelled) != 0)
          return trap({TrapKind::bad_mode, -1,
                       fmt::format("MODE becomes {:#x}, the emulator takes the bits {:#x}: no rounding but to nearest "
                                   "even, no exceptions",
                                   wave.mode.bits, Mode::modelled)},
                      wave, index);
        continue;
      case StepKind::code_address:
        if (auto fault = use_code_address(*step.inst, index, wave)) return trap(std::move(*fault), wave, index);
        continue;
      case StepKind::trap:
        return trap({TrapKind::trap_handler, -1, "the program calls for help, of which there is none"}, wave, index);
      case StepKind::memory:
        wave.clock = clock_.value_or(run.instructions + turn - left);
        if constexpr (watched) {
          if (shuffle_) {
            if (auto late = shuffle_->issue(wave, index)) return trap(std::move(late->fault), wave, late->instruction);
            continue;
          }
        }
        if (auto fault = execute_memory(*step.inst, index, wave, around)) return trap(std::move(*fault), wave, index);
        continue;
      case StepKind::branch:
        if (!branch_taken(step.inst->op, wave)) continue;
        if (!step.target_is_good)
          return trap(
              {TrapKind::bad_branch, -1,
               fmt::format("the program has {} instructions, the target is not one of them", program_.code.size())},
              wave, index);
        wave.pc = step.target;
        continue;
      case StepKind::wait:
        if constexpr (watched) {
          if (shuffle_) {
            if (auto late = shuffle_->wait(wave, *step.inst))
              return trap(std::move(late->fault), wave, late->instruction);
            continue;
          }
        }
        if (lands_later(*step.inst, run)) {
          wave.pc = index;
          ++left;
          break;
        }
        wait(*step.inst, run);
        continue;
      case StepKind::nothing:
        continue;
      case StepKind::barrier:
        run.state = State::at_barrier;
        break;
      case StepKind::end:
        run.state = State::ended;
        run.arrivals.clear();
        lds_.drop(wave.id);
        break;
      case StepKind::off_program:
        return trap({TrapKind::ran_off_end, -1, "there is no s_endpgm on this path"}, wave, index);
    }
    --left;
    break;
  }
  run.instructions += turn - left;
  if (run.state == State::ready && run.instructions >= max_instructions_)
    return trap({TrapKind::too_many_instructions, -1,
                 fmt::format("stopped after {} instructions{}", run.instructions, loop_around(wave.pc))},
                wave, wave.pc);
  return std::nullopt;
}

// The innermost backward branch that jumps over the instruction, for reports of endless loops.
std::string Workgroup::loop_around(std::uint32_t instruction) const {
  std::size_t best = steps_.size();
  for (std::size_t i = instruction; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (step.kind != StepKind::branch || !step.target_is_good || step.target > instruction) continue;
    if (best == steps_.size() || i - step.target < best - steps_[best].target) best = i;
  }
  if (best == steps_.size()) return {};
  return fmt::format(", in the loop of instructions {}..{} that `{}` ({}) closes", steps_[best].target, best,
                     isa::print(*steps_[best].inst, program_), to_string(steps_[best].inst->where));
}

Trap Workgroup::trap(Fault fault, const Wave& wave, std::uint32_t instruction) const {
  // Behind the last instruction, that one is what the reader looks for.
  const std::size_t shown = std::min<std::size_t>(instruction, program_.code.empty() ? 0 : program_.code.size() - 1);
  const auto named = [this](std::size_t index) {
    if (index >= program_.code.size()) return std::string("of an empty program");
    const isa::Inst& inst = program_.code[index];
    return fmt::format("{} `{}` ({})", index, isa::print(inst, program_), to_string(inst.where));
  };
  Trap trap{.kind = fault.kind,
            .message = {},
            .instruction = static_cast<std::uint32_t>(shown),
            .where = program_.code.empty() ? SourceLine{} : program_.code[shown].where,
            .workgroup = id_,
            .wave = wave.id,
            .lane = fault.lane};
  trap.message = fmt::format("{} at instruction {}, workgroup ({}, {}, {}), wave {}", name(fault.kind), named(shown),
                             id_[0], id_[1], id_[2], wave.id);
  if (fault.lane >= 0) trap.message += fmt::format(", lane {}", fault.lane);
  trap.message += ": " + fault.detail;
  if (fault.in_flight)
    trap.message +=
        fmt::format(", which LDS-DMA in flight will write: instruction {} of wave {}, which has not waited for it",
                    named(fault.in_flight->instruction), fault.in_flight->wave);
  return trap;
}

std::vector<Finding> Workgroup::take_findings() { return strict_ ? strict_->take_findings() : std::vector<Finding>(); }

std::uint64_t Workgroup::instructions() const {
  std::uint64_t sum = 0;
  for (const WaveRun& run : waves_) sum += run.instructions;
  return sum;
}

std::uint64_t Workgroup::matrix_instructions() const {
  std::uint64_t sum = 0;
  for (const WaveRun& run : waves_) sum += run.matrix_instructions;
  return sum;
}

}  // namespace zyfa::emulator
