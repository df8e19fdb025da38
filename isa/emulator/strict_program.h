// What strict mode needs to know of each instruction, worked out once per run: registers read and written with their
// lanes, memory counters, wait states, how its numbers are checked. Shared by all host threads, never changed.
#pragma once

#include "isa/isa.h"
#include "isa/machine.h"

#include <span>
#include <vector>

namespace zyfa::emulator {

enum class UsedLanes : std::uint8_t { active, all, first_active, selected };

// A range of registers of one file that an instruction reads or writes.
struct Use {
  std::uint16_t first = 0;  // index into Wave::vector or Wave::scalar
  std::uint8_t count = 0;
  bool is_vector = false;
  UsedLanes lanes = UsedLanes::active;
  std::uint8_t halves = 3;        // 1: low 16 bits, 2: high 16 bits
  bool may_be_undefined = false;  // the old value is kept, not used
  std::int8_t arg = -1;           // of the instruction; -1: implicit
};

// In Facts::behind: too near to the program's start.
inline constexpr std::uint8_t never_covered = 255;

// How the result's numbers are looked at for NaN and infinity.
enum class Numbers : std::uint8_t {
  none,
  f32,
  packed_f32,
  matrix_f32,
  f64,
  f16,
  packed_f16,
  // Conversions of two floats.
  fp8_pair,
  bf8_pair,
  bf16_pair,
  f16_pair
};

struct Facts {
  std::uint32_t use = 0;  // first in the list of uses: reads, then writes
  std::uint8_t reads = 0, writes = 0;
  bool reads_scc = false, writes_scc = false;
  isa::Counter counter = isa::Counter::none;
  bool in_order = false;  // returns in the order of its counter
  bool is_lds_dma = false;
  Numbers numbers = Numbers::none;
  bool result_overlaps_source = false;
  bool copies = false;  // whole registers: a half that was never written may be copied along
  std::uint8_t wait_states = 1;
  std::uint8_t reach = 0;   // as consumer: wait states that a rule may ask for before it
  std::uint8_t behind = 0;  // instructions before it in the text that cover the reach
};

class StrictProgram {
 public:
  // The program must outlive this.
  // LDS is watched byte by byte if accesses may be unaligned.
  StrictProgram(const isa::Program& program, const isa::Machine& machine, bool unaligned = false);

  const isa::Program& program() const { return program_; }
  const isa::Machine& machine() const { return machine_; }
  const isa::Inst& inst(std::uint32_t index) const { return program_.code[index]; }
  const Facts& facts(std::uint32_t index) const { return facts_[index]; }
  std::span<const Use> reads(const Facts& f) const { return std::span(uses_).subspan(f.use, f.reads); }
  std::span<const Use> writes(const Facts& f) const { return std::span(uses_).subspan(f.use + f.reads, f.writes); }
  std::size_t size() const { return facts_.size(); }
  // log2 of the bytes that one LDS access moves at least: what LDS is watched in.
  int lds_granule_log2() const { return lds_granule_log2_; }
  bool has_lds_atomics() const { return has_lds_atomics_; }
  bool has_calls() const { return has_calls_; }

 private:
  Facts facts_of(const isa::Inst& inst);
  void cover_reach(std::uint32_t index);

  const isa::Program& program_;
  isa::Machine machine_;
  std::vector<Facts> facts_;
  std::vector<Use> uses_;
  int lds_granule_log2_ = 2;
  bool has_lds_atomics_ = false;
  bool has_calls_ = false;
};

}  // namespace zyfa::emulator
