// Adversarial timing: memory instructions take effect at a random moment between their issue and the s_waitcnt that
// covers them, in the order that their counter promises and no other. The operands are those at issue, memory and LDS
// those of that moment. The order of waves is random too. All of it follows from a seed and the workgroup's number.
#pragma once

#include "isa/emulator/execute_memory.h"

#include <deque>
#include <memory>
#include <vector>

namespace zyfa::emulator {

// What stopped a memory instruction, and which one it was.
struct LateFault {
  Fault fault;
  std::uint32_t instruction = 0;
};

class Shuffle {
 public:
  Shuffle(std::uint64_t seed, const isa::Program& program, const GlobalMemory& memory, Lds& lds)
      : seed_(seed), program_(program), memory_(memory), lds_(lds), scratch_(std::make_unique<Arrivals>()) {}

  void start(std::uint64_t workgroup, std::size_t waves);

  std::uint64_t below(std::uint64_t limit);  // a random number

  // A memory instruction issues. When its counter is at its limit the oldest takes effect first.
  std::optional<LateFault> issue(Wave& wave, std::uint32_t index);
  // Time passes for a wave: some of what it has issued takes effect.
  std::optional<LateFault> drift(Wave& wave);
  std::optional<LateFault> wait(Wave& wave, const isa::Inst& inst);
  // Everything that the wave has issued takes effect.
  std::optional<LateFault> finish(Wave& wave);

 private:
  // Registers that an instruction read at issue.
  struct Kept {
    bool is_vector = false;
    std::size_t first = 0, count = 0;
    std::vector<std::uint32_t> words;
  };
  struct Issued {
    std::uint32_t instruction = 0;
    std::vector<Kept> operands;
  };
  struct Queues {
    std::deque<Issued> vm, lds;
    std::vector<Issued> scalar;
    std::array<std::uint32_t, 3> rate{};  // of 64 instructions, so many let one of the queue take effect
    std::uint32_t instructions_at_rate = 0;
  };

  std::uint64_t random();
  void choose_rates(Queues& queues);
  std::optional<LateFault> oldest(std::deque<Issued>& queue, Wave& wave);
  std::optional<LateFault> any(std::vector<Issued>& queue, Wave& wave);
  std::optional<LateFault> take_effect(Issued& issued, Wave& wave);
  std::optional<LateFault> all_in_order(Wave& wave);

  std::uint64_t seed_, state_ = 0;
  const isa::Program& program_;
  const GlobalMemory& memory_;
  Lds& lds_;
  std::unique_ptr<Arrivals> scratch_;
  std::vector<Queues> waves_;
};

}  // namespace zyfa::emulator
