// The LDS of one workgroup as strict mode sees it: who wrote and read each piece last, and whether a new access is
// ordered behind that. Two accesses of different waves are ordered only if the first wave waited for its own, and a
// barrier followed, before the second issues; an access takes place anywhere between its issue and that wait.
#pragma once

#include "isa/emulator/strict_registers.h"

namespace zyfa::emulator {

class StrictLds {
 public:
  StrictLds(const StrictProgram& program, StrictLog& log) : program_(program), log_(log) {}

  // Nothing is written, nobody has read.
  void start(std::size_t bytes, std::size_t waves);

  // An LDS instruction or LDS-DMA that the wave is about to execute; `own` has counted it already.
  void access(const Wave& wave, std::uint32_t index, const StrictRegisters& own);

  // The wave has passed a barrier with so many of its accesses waited for.
  void pass_barrier(std::uint32_t wave, const StrictRegisters& registers);

 private:
  enum Queue : std::uint8_t { vm, lds, flat };  // the counters that LDS accesses hang on: flat is both
  enum class Way : std::uint8_t { read, write, atomic };
  // An access: its number in its wave's queue, from 1; 0 is none.
  struct Mark {
    std::uint32_t number = 0;
    std::uint32_t instruction = 0;
    Queue queue = lds;
  };
  struct Write {
    Mark mark;
    std::uint8_t wave = 0;
  };
  struct Access {
    const Wave& wave;
    const StrictRegisters& own;
    std::uint32_t index;
    Mark mark;
  };

  void access_flat(const Wave& wave, std::uint32_t index, const StrictRegisters& own);
  void each_piece(const Access& access, std::uint64_t address, std::uint32_t bytes, Way way);
  void read(const Access& access, std::size_t piece);
  void write(const Access& access, std::size_t piece);
  void update(const Access& access, std::size_t piece);
  void check_defined(const Access& access, std::size_t piece);
  bool is_ordered(const Access& access, const Mark& earlier, std::uint32_t wave) const;
  void race(const Access& access, std::size_t piece, const Mark& earlier, std::uint32_t wave, const char* what);
  std::size_t address_of(std::size_t piece) const { return piece << program_.lds_granule_log2(); }

  const StrictProgram& program_;
  StrictLog& log_;
  std::size_t bytes_ = 0;
  std::vector<Write> written_;                         // by piece
  std::vector<std::vector<Mark>> read_;                // by wave and piece
  std::vector<std::vector<Mark>> updated_;             // the same for atomics, if the program has any
  std::vector<std::array<std::uint32_t, 3>> visible_;  // by wave and queue: the last access that a barrier followed
};

}  // namespace zyfa::emulator
