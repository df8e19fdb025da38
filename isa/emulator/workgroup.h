// One workgroup at a time on one host thread: its waves take turns, its LDS, its barrier. What a program does
// wrong comes back as a Trap.
#pragma once

#include "isa/emulator/arrivals.h"
#include "isa/emulator/emulator.h"
#include "isa/emulator/execute.h"
#include "isa/emulator/fault.h"
#include "isa/emulator/lds.h"
#include "isa/emulator/shuffle.h"
#include "isa/emulator/strict.h"

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace zyfa::emulator {

enum class StepKind : std::uint8_t {
  alu,
  matrix,
  memory,
  branch,
  code_address,  // s_getpc_b64, s_setpc_b64, s_swappc_b64
  mode,          // s_setreg_b32: may ask for what is not modelled
  trap,
  wait,
  barrier,
  end,
  nothing,      // s_nop, s_setprio, s_sleep: no effect on values
  off_program,  // stands behind the last instruction
};

// An instruction with everything decided that does not depend on the wave's state.
struct Step {
  StepKind kind = StepKind::off_program;
  bool target_is_good = false;  // branches
  bool may_be_indexed = false;  // vector instructions: MODE may add an index to their registers
  std::uint32_t target = 0;
  Execute execute = nullptr;
  const isa::Inst* inst = nullptr;
};

// One step per instruction and one behind the last. Throws Error that names an instruction whose operands
// cannot be encoded. The program must outlive the steps.
std::vector<Step> decode(const isa::Program& program);

class Workgroup {
 public:
  // Everything must outlive the workgroup; `strict` is null if nobody watches.
  Workgroup(const isa::Program& program, std::span<const Step> steps, const Launch& launch, const GlobalMemory& memory,
            const Options& options, const StrictProgram* strict);
  Workgroup(const Workgroup&) = delete;  // parts of it know each other by address

  // Runs the workgroup with this number in grid order (x fastest) from its initial state. Gives up without a
  // result as soon as `first_trap` holds a smaller number: what this one does no longer matters.
  std::optional<Trap> run(std::uint64_t number, const std::atomic<std::uint64_t>& first_trap);

  // One instruction at a time, for whoever decides by himself whose turn it is (isa/pipes): start(), then step() of any
  // wave that neither stands at the barrier nor has ended. An s_waitcnt takes all that it waits for as arrived, and
  // s_memtime reads `clock`.
  void start(std::uint64_t number);
  std::optional<Trap> step(std::size_t wave, std::uint64_t clock);
  void release_barrier();  // if no wave is left that could still arrive
  std::size_t waves() const { return waves_.size(); }
  const Wave& wave(std::size_t i) const { return waves_[i].wave; }
  bool is_at_barrier(std::size_t i) const { return waves_[i].state == State::at_barrier; }
  bool has_ended(std::size_t i) const { return waves_[i].state == State::ended; }

  std::uint64_t instructions() const;  // of the last run
  std::uint64_t matrix_instructions() const;
  std::vector<Finding> take_findings();  // since the last call; in the order in which they showed

 private:
  enum class State : std::uint8_t { ready, at_barrier, ended };
  struct WaveRun {
    Wave wave;
    Arrivals arrivals;
    State state;
    std::uint64_t instructions, matrix_instructions;
    bool let_others_first;  // has given up a turn at the s_waitcnt it stands at
  };

  void start_wave(WaveRun& run, std::uint32_t id);
  std::optional<Trap> run_in_turns(std::uint64_t number, const std::atomic<std::uint64_t>& first_trap);
  std::optional<Trap> run_shuffled(std::uint64_t number, const std::atomic<std::uint64_t>& first_trap);
  // One turn: until the barrier, the end or `turn` instructions. Watched: by strict mode, shuffling or an observer.
  template <bool watched>
  std::optional<Trap> advance(WaveRun& run, std::uint64_t turn);
  bool lands_later(const isa::Inst& inst, WaveRun& run);
  void wait(const isa::Inst& inst, WaveRun& run);
  std::optional<Fault> use_code_address(const isa::Inst& inst, std::uint32_t index, Wave& wave) const;
  std::optional<Trap> pass_time();
  Trap trap(Fault fault, const Wave& wave, std::uint32_t instruction) const;
  std::string loop_around(std::uint32_t instruction) const;

  const isa::Program& program_;
  std::span<const Step> steps_;
  const Launch& launch_;
  const GlobalMemory& memory_;
  std::uint64_t max_instructions_;
  isa::Numerics numerics_;
  const Observer* observer_;  // null: nobody
  std::uint64_t number_ = 0;  // in grid order
  std::array<std::uint32_t, 3> id_{};
  std::optional<std::uint64_t> clock_;  // of whoever steps; without one, instructions count
  Lds lds_;
  std::vector<WaveRun> waves_;
  std::unique_ptr<Strict> strict_;
  std::unique_ptr<Shuffle> shuffle_;
};

}  // namespace zyfa::emulator
