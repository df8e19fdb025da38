#include "runtime_loader/probability_statistics.h"

#include "isa/emulator/wave.h"
#include "isa/error.h"

#include <algorithm>
#include <numeric>

namespace zyfa::runtime {
namespace {

constexpr int keys_per_tile = 128, keys_per_block = 64, queries_per_block = 32;
constexpr std::uint8_t least_normal_code = 8, largest_finite_code = 126, magnitude = 127;

std::uint64_t sum(std::span<const std::uint64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

// Codes with a magnitude from `first` to `last`, of either sign.
std::uint64_t count_codes(const ProbabilityCounts& counts, std::size_t first, std::size_t last) {
  const std::span<const std::uint64_t> codes = counts.codes;
  return sum(codes.subspan(first, last - first + 1)) + sum(codes.subspan(128 + first, last - first + 1));
}

std::vector<int> registers_called(const generator::Manifest& manifest, std::string_view name, int count) {
  std::vector<int> first;
  for (const generator::NamedRegisters& range : manifest.register_map)
    if (range.file == 'v' && range.count == count && range.name == name) first.push_back(range.first);
  return first;
}

}  // namespace

void ProbabilityCounts::add(const ProbabilityCounts& other) {
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] += other.codes[i];
  for (std::size_t i = 0; i < shifts.size(); ++i) shifts[i] += other.shifts[i];
  blocks += other.blocks;
  zero_blocks += other.zero_blocks;
  skipped_blocks += other.skipped_blocks;
  rows += other.rows;
  moves += other.moves;
  most_moves = std::max(most_moves, other.most_moves);
  later_tiles += other.later_tiles;
  rising_tiles += other.rising_tiles;
}

std::uint64_t ProbabilityCounts::all_codes() const { return sum(codes); }
std::uint64_t ProbabilityCounts::zeros() const { return count_codes(*this, 0, 0); }
std::uint64_t ProbabilityCounts::subnormals() const { return count_codes(*this, 1, least_normal_code - 1); }
std::uint64_t ProbabilityCounts::saturated() const { return count_codes(*this, largest_finite_code, magnitude); }
int ProbabilityCounts::largest_code() const {
  for (std::size_t code = magnitude; code > 0; --code)
    if (codes[code] + codes[128 + code] > 0) return static_cast<int>(code);
  return 0;
}

ProbabilityCounts ProbabilityStatistics::all() const {
  ProbabilityCounts counts;
  for (const ProbabilityCounts& head : heads) counts.add(head);
  return counts;
}

// One wave on its way along its passes. `lost` says that it did not do what was expected of it.
class ProbabilityObserver::WaveTrack {
 public:
  WaveTrack(const ProbabilityObserver& observer, std::vector<Pass> passes)
      : observer_(observer), passes_(std::move(passes)), queries_(observer.registers_.size()) {}

  // The next tile begins.
  void open(const emulator::Wave& wave) {
    close();
    if (tile_ < 0 || tile_ + 1 == passes_[pass_].tiles)
      start_pass(tile_ < 0 ? 0 : pass_ + 1);
    else
      ++tile_;
    if (lost) return;
    rising_ = false;
    for (std::size_t i = 0; i < queries_.size(); ++i) {
      queries_[i].done = {};
      for (std::size_t half = 0; half < 2; ++half)
        if (const int exponent = observer_.registers_[i].exponents[half]; exponent >= 0)
          queries_[i].exponents[half] = wave.vector[static_cast<std::size_t>(exponent)];
    }
    if (observer_.skips_) follow_references(wave, 0);
  }

  // P of a block is used.
  void use(const emulator::Wave& wave, std::size_t i, std::size_t half) {
    if (tile_ < 0) lost = true;
    if (lost) return;
    Queries& queries = queries_[i];
    queries.done[half] = true;
    follow_references(wave, i);
    const Registers& registers = observer_.registers_[i];
    if (registers.exponents[half] >= 0)
      queries.exponents[half] = wave.vector[static_cast<std::size_t>(registers.exponents[half])];
    if (!count_block(i, half)) return;
    // Byte t of register r in lane l is key 8*r + 4*(l/32) + t of query l%32 (schedules/softmax.h).
    bool zero = true;
    for (std::size_t lane = 0; lane < 64; ++lane) {
      const int visible = visible_of(i, half, lane % queries_per_block);
      for (int key = 4 * static_cast<int>(lane / queries_per_block), r = 0; key < visible; key += 8, ++r) {
        const std::uint32_t four =
            wave.vector[static_cast<std::size_t>(registers.p + 8 * static_cast<int>(half) + r)][lane];
        for (int t = 0; t < std::min(4, visible - key); ++t) {
          const std::uint32_t code = four >> (8 * t) & 0xff;
          ++counts.codes[code];
          zero = zero && (code & magnitude) == 0;
        }
      }
    }
    counts.zero_blocks += zero;
  }

  void finish() {
    close();
    if (tile_ >= 0) end_pass();
    const bool at_end = passes_.empty() ? tile_ < 0 : pass_ + 1 == passes_.size() && tile_ + 1 == passes_[pass_].tiles;
    if (!at_end) lost = true;
  }

  ProbabilityCounts counts;
  bool lost = false;

 private:
  struct Queries {  // 32
    std::array<bool, 2> done{};
    std::array<emulator::Lanes, 2> exponents{};
    std::array<int, queries_per_block> visible{};              // keys
    std::array<std::uint32_t, queries_per_block> reference{};  // bits of its register
    std::array<std::uint64_t, queries_per_block> moves{};
    bool has_reference = false;
  };

  void start_pass(std::size_t pass) {
    if (tile_ >= 0) end_pass();
    if (pass >= passes_.size()) {
      lost = true;
      return;
    }
    pass_ = pass;
    tile_ = 0;
    for (std::size_t i = 0; i < queries_.size(); ++i) {
      queries_[i] = {};
      for (std::size_t r = 0; r < queries_per_block; ++r) {
        const int query = passes_[pass].first_query + static_cast<int>(i * queries_per_block + r);
        queries_[i].visible[r] = query < observer_.shape_.seqlen_q ? visible_keys(observer_.shape_, query) : 0;
      }
    }
  }

  void end_pass() {
    for (const Queries& queries : queries_)
      for (std::size_t r = 0; r < queries_per_block; ++r) {
        counts.rows += queries.visible[r] > 0;
        counts.moves += queries.moves[r];
        counts.most_moves = std::max(counts.most_moves, queries.moves[r]);
      }
  }

  // What was not used by now has been left out.
  void close() {
    if (tile_ < 0 || lost) return;
    for (std::size_t i = 0; i < queries_.size(); ++i)
      for (std::size_t half = 0; half < 2; ++half) {
        if (queries_[i].done[half] || !count_block(i, half)) continue;
        if (!observer_.skips_) lost = true;
        ++counts.zero_blocks;
        ++counts.skipped_blocks;
        for (std::size_t r = 0; r < queries_per_block; ++r)
          counts.codes[0] += static_cast<std::uint64_t>(visible_of(i, half, r));
      }
    counts.later_tiles += tile_ > 0;
    counts.rising_tiles += tile_ > 0 && rising_;
  }

  // Keys of the block that a query sees.
  int visible_of(std::size_t i, std::size_t half, std::size_t r) const {
    const int first = keys_per_tile * tile_ + keys_per_block * static_cast<int>(half);
    return std::clamp(queries_[i].visible[r] - first, 0, keys_per_block);
  }

  // The block and its shifts; false if nobody sees any of it.
  bool count_block(std::size_t i, std::size_t half) {
    bool any = false;
    for (std::size_t r = 0; r < queries_per_block; ++r) {
      if (visible_of(i, half, r) == 0) continue;
      any = true;
      if (observer_.registers_[i].exponents[half] >= 0) ++counts.shifts[queries_[i].exponents[half][r] & 0xff];
    }
    counts.blocks += any;
    return any;
  }

  void follow_references(const emulator::Wave& wave, std::size_t i) {
    Queries& queries = queries_[i];
    const emulator::Lanes& now = wave.vector[static_cast<std::size_t>(observer_.registers_[i].reference)];
    for (std::size_t r = 0; r < queries_per_block; ++r) {
      const bool moved = queries.has_reference && queries.visible[r] > 0 && now[r] != queries.reference[r];
      queries.moves[r] += moved;
      rising_ = rising_ || moved;
      queries.reference[r] = now[r];
    }
    queries.has_reference = true;
  }

  const ProbabilityObserver& observer_;
  std::vector<Pass> passes_;
  std::vector<Queries> queries_;
  std::size_t pass_ = 0;
  int tile_ = -1;  // of the pass; -1: nothing has begun
  bool rising_ = false;
};

struct ProbabilityObserver::WorkgroupTrack {
  std::vector<WaveTrack> waves;
};

ProbabilityObserver::ProbabilityObserver(const Kernel& kernel, const AttentionShape& shape)
    : shape_(shape),
      waves_(kernel.manifest.workgroup_size / emulator::lanes),
      queries_per_tile_(static_cast<int>(kernel.manifest.queries_per_workgroup) / (shape.causal ? 2 : 1)),
      queries_per_wave_(queries_per_tile_ / static_cast<int>(std::max(waves_, 1u))),
      tiles_per_head_((static_cast<std::uint64_t>(shape.seqlen_q) + kernel.manifest.queries_per_workgroup - 1) /
                      kernel.manifest.queries_per_workgroup),
      dies_(kernel.manifest.dies),
      skips_(!kernel.manifest.skipping_ways.empty()) {
  const generator::Manifest& manifest = kernel.manifest;
  const std::vector<int> p = registers_called(manifest, generator::probability_registers, 16),
                         exponents = registers_called(manifest, generator::exponent_register, 1);
  std::vector<int> references = registers_called(manifest, generator::reference_registers, 16);
  if (references.empty()) references = registers_called(manifest, generator::folded_reference_registers, 16);
  const auto each = static_cast<std::size_t>(queries_per_wave_ / queries_per_block);
  if (each == 0 || p.size() != each || references.size() != each ||
      (!exponents.empty() && exponents.size() != 2 * each))
    throw Error("the manifest of {} does not say where P is: its register_map needs '{}' for each 32 queries of a wave",
                manifest.symbol, generator::probability_registers);
  for (std::size_t i = 0; i < each; ++i) {
    Registers registers{p[i], references[i], {}};
    for (std::size_t half = 0; half < 2; ++half)
      registers.exponents[half] = exponents.empty() ? -1 : exponents[2 * i + half];
    registers_.push_back(registers);
  }
  const std::vector<isa::Inst>& code = kernel.code.program.code;
  for (std::uint32_t at = 0; at < code.size(); ++at) {
    if (code[at].op != isa::Op::v_smfmac_f32_16x16x128_fp8_fp8) continue;
    for (std::size_t i = 0; i < each; ++i)
      for (std::size_t half = 0; half < 2; ++half)
        if (code[at].args[2] == isa::Operand(isa::OperandKind::vgpr,
                                             static_cast<std::uint32_t>(p[i]) + 8 * static_cast<std::uint32_t>(half),
                                             8))
          events_[at] = {false, i, half};
  }
  for (const generator::SkippingWay& way : manifest.skipping_ways) {
    if (events_.contains(way.instruction))
      throw Error("the manifest of {}: instruction {} uses P, no way begins there", manifest.symbol, way.instruction);
    events_[way.instruction] = {true, 0, 0};
  }
  workgroups_.resize(tiles_per_head_ * static_cast<std::uint64_t>(shape.heads) *
                     static_cast<std::uint64_t>(shape.batch));
}

ProbabilityObserver::~ProbabilityObserver() = default;

emulator::Observer ProbabilityObserver::observer() {
  emulator::Observer observer;
  if (!events_.empty()) observer.instructions.resize(events_.rbegin()->first + 1);
  for (const auto& [instruction, event] : events_) observer.instructions[instruction] = true;
  observer.before = [this](std::uint64_t workgroup, const emulator::Wave& wave, std::uint32_t instruction) {
    look(workgroup, wave, instruction);
  };
  return observer;
}

// Which piece of its batch entry a workgroup does: head * workgroups of a head + x.
std::uint64_t ProbabilityObserver::piece_of(std::uint64_t workgroup) const {
  const std::uint64_t all = tiles_per_head_ * static_cast<std::uint64_t>(shape_.heads);
  return generator::work_of(workgroup % all, all, dies_);
}

int ProbabilityObserver::head_of(std::uint64_t workgroup) const {
  return static_cast<int>(piece_of(workgroup) / tiles_per_head_);
}

std::vector<ProbabilityObserver::Pass> ProbabilityObserver::passes(std::uint64_t workgroup, std::uint32_t wave) const {
  const auto x = static_cast<int>(piece_of(workgroup) % tiles_per_head_);
  const int tiles = (shape_.seqlen_q + queries_per_tile_ - 1) / queries_per_tile_;
  std::vector<int> mine{x};
  if (shape_.causal && tiles - 1 - x != x) mine.insert(mine.begin(), tiles - 1 - x);
  std::vector<Pass> passes;
  for (const int tile : mine) {
    const int first = tile * queries_per_tile_ + static_cast<int>(wave) * queries_per_wave_;
    const int end = std::min(first + queries_per_wave_, shape_.seqlen_q);
    const int keys = first < end ? visible_keys(shape_, end - 1) : 0;
    if (keys > 0) passes.push_back({first, (keys + keys_per_tile - 1) / keys_per_tile});
  }
  return passes;
}

void ProbabilityObserver::look(std::uint64_t workgroup, const emulator::Wave& wave, std::uint32_t instruction) {
  std::unique_ptr<WorkgroupTrack>& track = workgroups_.at(workgroup);
  if (!track) {
    track = std::make_unique<WorkgroupTrack>();
    for (std::uint32_t w = 0; w < waves_; ++w) track->waves.emplace_back(*this, passes(workgroup, w));
  }
  WaveTrack& of_wave = track->waves.at(wave.id);
  const Event& event = events_.at(instruction);
  // Without ways to tell by, a tile begins with its first half, which is never left out.
  if (skips_ ? event.way : event.queries == 0 && event.half == 0) of_wave.open(wave);
  if (!event.way) of_wave.use(wave, event.queries, event.half);
}

ProbabilityStatistics ProbabilityObserver::statistics() {
  ProbabilityStatistics statistics;
  statistics.heads.resize(static_cast<std::size_t>(shape_.heads));
  for (std::uint64_t workgroup = 0; workgroup < workgroups_.size(); ++workgroup)
    for (std::uint32_t w = 0; w < waves_; ++w) {
      WaveTrack unseen(*this, passes(workgroup, w));
      WaveTrack& wave = workgroups_[workgroup] ? workgroups_[workgroup]->waves[w] : unseen;
      wave.finish();
      if (wave.lost)
        throw Error("wave {} of workgroup {} does not use P as its manifest and its shape say", w, workgroup);
      statistics.heads[static_cast<std::size_t>(head_of(workgroup))].add(wave.counts);
    }
  return statistics;
}

}  // namespace zyfa::runtime
