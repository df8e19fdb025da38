// Required wait states over the instructions that waves really executed: the table of hazard_rules.h applied to each
// instruction and those within its reach before it. What the text alone decides, because control came straight down
// far enough, is decided once per run.
#pragma once

#include "isa/emulator/strict_log.h"
#include "isa/emulator/strict_program.h"
#include "isa/hazards.h"

#include <unordered_map>

namespace zyfa::emulator {

class StrictTrace {
 public:
  // Of one wave: its last instructions, and when each ended in wait states since the wave's start.
  class History {
   public:
    void clear() { *this = {}; }

   private:
    friend class StrictTrace;
    // As many as the largest number of wait states in the table: every instruction is one at least.
    static constexpr std::size_t capacity = 32;
    struct Executed {
      std::uint32_t index = 0;
      std::uint64_t end = 0;
    };
    std::array<Executed, capacity> last_{};
    std::uint64_t count_ = 0, now_ = 0;
    std::uint32_t straight_ = 0;  // instructions executed in the text's order up to now
  };

  StrictTrace(const StrictProgram& program, StrictLog& log) : program_(program), log_(log) {
    decided_.resize(program.size());
  }

  // An instruction that the wave is about to execute.
  void step(History& history, std::uint32_t index, std::uint32_t wave);

 private:
  void look_back(const History& history, std::uint32_t index, std::uint32_t wave);
  const isa::PairRequirement& requirement(std::uint32_t producer, std::uint32_t consumer);

  const StrictProgram& program_;
  StrictLog& log_;
  std::vector<bool> decided_;
  std::unordered_map<std::uint64_t, isa::PairRequirement> requirements_;
};

}  // namespace zyfa::emulator
