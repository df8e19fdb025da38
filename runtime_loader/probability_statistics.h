// What a kernel made of its probabilities P, as the emulator sees it in the kernel's own registers: codes, the
// exponents of 64 keys each, how often references move.
//
// Each 64 keys of 32 queries pass through v_smfmac_f32_16x16x128_fp8_fp8 once, which adds up P for the row sums
// (schedules/softmax.h): that is where they are looked at. Where the other registers are says the manifest's
// register_map. Which queries and keys they are follows from the launch, and is checked: a wave that has not passed the
// expected blocks is an Error. With --skip-zero-blocks, the manifest's skipping_ways tell tiles apart.
#pragma once

#include "isa/emulator/emulator.h"
#include "runtime_loader/attention_problem.h"
#include "runtime_loader/kernel.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace zyfa::runtime {

// Of pairs of a query and a key that it sees, unless said otherwise. A block is 64 keys of 32 queries, of which some
// query sees some key.
struct ProbabilityCounts {
  std::array<std::uint64_t, 256> codes{};   // by e4m3 code
  std::array<std::uint64_t, 256> shifts{};  // rows of blocks, by E8M0 exponent: 2^(i - 127); none with folded scores
  std::uint64_t blocks = 0, zero_blocks = 0;
  std::uint64_t skipped_blocks = 0;  // of the zero blocks: those that the kernel left out
  std::uint64_t rows = 0;            // queries that see a key
  std::uint64_t moves = 0;           // of references after the first tile's, a row's each counted
  std::uint64_t most_moves = 0;      // of a row
  std::uint64_t later_tiles = 0;     // tiles of 128 keys that a wave went through, but the first of its queries
  std::uint64_t rising_tiles = 0;    // of these: where a reference moved

  void add(const ProbabilityCounts& other);
  std::uint64_t all_codes() const;
  std::uint64_t zeros() const;       // codes
  std::uint64_t subnormals() const;  // codes below 2^-6, but 0
  std::uint64_t saturated() const;   // codes of 448, e4m3's largest number, or NaN
  int largest_code() const;          // 0 without codes
};

struct ProbabilityStatistics {
  std::vector<ProbabilityCounts> heads;  // by query head, over all batch entries
  ProbabilityCounts all() const;
};

class ProbabilityObserver {
 public:
  // Throws Error if the manifest does not say where P is.
  ProbabilityObserver(const Kernel& kernel, const AttentionShape& shape);
  ~ProbabilityObserver();
  ProbabilityObserver(const ProbabilityObserver&) = delete;
  ProbabilityObserver& operator=(const ProbabilityObserver&) = delete;

  // For emulator::Options, for one run that this outlives.
  emulator::Observer observer();

  // After a run that came to its end.
  ProbabilityStatistics statistics();

 private:
  // Queries of a wave, and how many tiles of 128 keys some of them see: at least one.
  struct Pass {
    int first_query = 0, tiles = 0;
  };
  // Registers of each 32 queries.
  struct Registers {
    int p = 0, reference = 0;
    std::array<int, 2> exponents{-1, -1};  // -1: none
  };
  // What an instruction says: that P of these 32 queries and half of a tile is used, or that a tile's way begins.
  struct Event {
    bool way = false;
    std::size_t queries = 0;
    std::size_t half = 0;
  };
  class WaveTrack;
  struct WorkgroupTrack;

  std::vector<Pass> passes(std::uint64_t workgroup, std::uint32_t wave) const;
  int head_of(std::uint64_t workgroup) const;
  std::uint64_t piece_of(std::uint64_t workgroup) const;
  void look(std::uint64_t workgroup, const emulator::Wave& wave, std::uint32_t instruction);

  AttentionShape shape_;
  std::uint32_t waves_;           // of a workgroup
  int queries_per_tile_;          // of a workgroup
  int queries_per_wave_;          //
  std::uint64_t tiles_per_head_;  // workgroups
  int dies_;
  std::vector<Registers> registers_;
  bool skips_;
  std::map<std::uint32_t, Event> events_;
  std::vector<std::unique_ptr<WorkgroupTrack>> workgroups_;  // in grid order; null as long as nothing was seen of it
};

}  // namespace zyfa::runtime
