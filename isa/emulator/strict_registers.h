// One wave's registers as strict mode sees them: which lanes have ever been written, and which registers a load on its
// way will still write. A load is on its way until an s_waitcnt that covers it, however early its data may come.
#pragma once

#include "isa/emulator/strict_log.h"
#include "isa/emulator/strict_program.h"
#include "isa/emulator/wave.h"

#include <deque>

namespace zyfa::emulator {

class StrictRegisters {
 public:
  StrictRegisters(const StrictProgram& program, StrictLog& log) : program_(program), log_(log) {}

  // Nothing is defined but EXEC and what the caller says.
  void clear();
  void define_scalar(int first, int count) { std::fill_n(scalar_defined_.begin() + first, count, true); }
  void define_vector(int index, std::uint64_t lanes) { low_[at(index)] = high_[at(index)] = lanes; }

  // Checks what the instruction reads and writes, then counts its results as written and, for loads, on their way.
  void issue(const Wave& wave, std::uint32_t index);
  void wait(const isa::Inst& inst);

  // Memory instructions of the two in-order queues since the start of the wave, and how many of them have been waited
  // for; LDS-DMA on its way at the moment.
  std::uint32_t issued_vm() const { return issued_vm_; }
  std::uint32_t issued_lds() const { return issued_lds_; }
  std::uint32_t completed_vm() const { return issued_vm_ - static_cast<std::uint32_t>(vm_.size()); }
  std::uint32_t completed_lds() const { return issued_lds_ - static_cast<std::uint32_t>(lds_.size()); }
  // Flat instructions, which only a wait for 0 of both counters is sure of.
  std::uint32_t issued_flat() const { return issued_flat_; }
  std::uint32_t completed_flat() const { return issued_flat_ - static_cast<std::uint32_t>(flat_.size()); }
  std::optional<std::uint32_t> pending_dma() const;

 private:
  struct Pending {
    std::uint32_t instruction = 0;
    Use result;  // count 0: writes no register
  };

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  void check_defined(const Wave& wave, std::uint32_t index, const Use& use);
  void check_arrived(const Wave& wave, std::uint32_t index, const Use& use, bool write);
  void define(const Wave& wave, const isa::Inst& inst, const Use& use);
  void count(const Wave& wave, std::uint32_t index);
  void mark(const Pending& pending, int change);
  const Pending* pending_on(const Use& use, std::size_t reg) const;

  const StrictProgram& program_;
  StrictLog& log_;
  std::array<std::uint64_t, 512> low_, high_;  // lanes defined, of the low and high 16 bits
  std::array<bool, isa::scalar_registers> scalar_defined_;
  bool scc_defined_ = false;
  std::array<std::uint16_t, 512> vm_on_way_, lds_on_way_, flat_on_way_;  // loads that will write the register
  std::array<std::uint16_t, isa::scalar_registers> scalar_on_way_;
  std::deque<Pending> vm_, lds_, flat_;
  std::size_t flat_waited_vm_ = 0, flat_waited_lgkm_ = 0;  // so many of the oldest
  std::vector<Pending> scalar_;
  std::uint32_t issued_vm_ = 0, issued_lds_ = 0, issued_flat_ = 0;
};

}  // namespace zyfa::emulator
