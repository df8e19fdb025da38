// The arithmetic between a configuration and its kernel: tile sizes, the LDS map, names. No instructions.
#pragma once

#include "generator/config.h"
#include "generator/schedule_record.h"

#include <cstdint>
#include <span>
#include <string>

namespace zyfa::generator {

// LDS layout of K and V tiles (kernel.md 3, docs/kernel.md). A tile is cut into slices of 1 KiB, what one wave's
// LDS-DMA of 16 bytes per lane delivers; 16 bytes of padding behind each slice move the banks on, which makes the reads
// of both tiles conflict-free.
struct LdsPlan {
  static constexpr int slice_bytes = 1024;
  static constexpr int pad_bytes = 16;
  static constexpr int slice_stride = slice_bytes + pad_bytes;

  int k_slices = 0, v_slices = 0;    // per tile
  int k_offset = 0, v_offset = 0;    // within a buffer, bytes
  int buffer_stride = 0;             // from one buffer (K tile and V tile) to the next, bytes
  static constexpr int buffers = 3;  // schedules/walk.h: two are read, the third is filled
  int total_bytes() const { return buffers * buffer_stride; }
};

struct AttentionPlan {
  AttentionConfig config;
  Schedule schedule;
  std::optional<ScheduleRecord> record = {};  // that the schedule is from
  int keys_per_tile = 128;
  // Probabilities are multiplied by 2^lift before rounding to e4m3, to keep the small ones out of the subnormals
  // (kernel.md 4). A weight at the row's reference is then exactly 2^lift.
  int lift_log2 = 8;
  // Lean softmax: added to the code before rounding. Between powers of two the code's straight line lies above 2^x, by
  // 8 * (3/2 - 1 / ln 2) = 0.46 of a code on average; this value gave the least error (docs/numerics.md).
  float lean_offset = -0.45f;
  // A new maximum of a row becomes its reference where it weighs more than 1 / weighty_share of what the row's total
  // will be (schedules/softmax.h). A power of two. Lower values cost accuracy, higher ones clocks where sequences are
  // short: docs/numerics.md.
  int weighty_share = 256;
  // Exponents of 64 keys go down to here, in octaves below the row's reference, which is a largest weight. Weights
  // below 2^(least_exponent - 15) are 0 then: a million of them are less than what rounding the output to bf16 takes.
  int least_exponent = -24;
  LdsPlan lds;
  std::string symbol;  // unique per configuration

  // Folded scores: the code of a row's largest key in the tile that sets its reference, without the fraction. What lies
  // between it and 126 is how much a later score may be larger, at 8 codes an octave; what lies below is what small
  // weights have. A key that stands far above the others gets the larger one (schedules/softmax_folded.h).
  int folded_code = 96;
  int folded_code_of_lone_key = 120;
  int folded_lone_codes = 24;  // how far that is

  // Of a workgroup, as the family has them.
  int waves() const { return std::holds_alternative<Interleaved>(schedule) ? 4 : 8; }
  int queries_per_wave() const { return std::holds_alternative<Interleaved>(schedule) ? 64 : 32; }
  int queries_per_tile() const { return waves() * queries_per_wave(); }
  // With a causal mask a workgroup takes a tile from the front and one from the back, so that all have the same to do.
  int queries_per_workgroup() const { return config.causal ? 2 * queries_per_tile() : queries_per_tile(); }
  int workgroup_size() const { return waves() * 64; }
};

// Label of the way on which a matrix phase leaves out the output of 64 keys with a bit in `zero_blocks`, 0 to 3
// (schedules/softmax.h). The manifest says where these are, so that who runs the kernel can count.
std::string_view way_without(int zero_blocks);

// Names in the manifest's register map of what a wave holds of each 32 queries, so that who runs the kernel can look at
// its probabilities: two blocks of 64 keys, an exponent of each (none with folded scores), and what moves when a row's
// reference does.
inline constexpr std::string_view probability_registers = "P";
inline constexpr std::string_view exponent_register = "exponent of a block";
inline constexpr std::string_view reference_registers = "minus the row's reference";
inline constexpr std::string_view folded_reference_registers = "code of the reference minus the reference";

// Throws Error that lists the supported shapes if no schedule offers the configuration. The schedule is the
// configuration's choice (generator/schedule_record.h), or one that is given.
AttentionPlan make_plan(const AttentionConfig& config);
AttentionPlan make_plan(const AttentionConfig& config, const Schedule& schedule);

// Every combination that make_plan accepts, apart from the free choices (causal, lse, code object version).
struct SupportedShape {
  DataType dtype;
  int head_dim, v_head_dim;
  Softmax softmax;
  ScoreScaling score_scale = ScoreScaling::multiply_add;

  // Of blocks: the log-sum-exp and skipping need them.
  bool has_exponents() const { return score_scale == ScoreScaling::multiply_add; }
};
std::span<const SupportedShape> supported_shapes();
std::string describe(const SupportedShape& shape);  // "--dtype fp8 --head-dim 128 --v-head-dim 128 --softmax exact"

// Largest distance between rows of Q, K, V or O in bytes: a tile's offsets from its first row are 32-bit.
// A multiple of 16 below 2^24.
inline constexpr std::int64_t max_row_stride_bytes = (std::int64_t{1} << 24) - 16;

// Keys and queries are counted in 32 bits with sign, in steps of a workgroup.
inline constexpr std::int64_t max_seqlen = (std::int64_t{1} << 31) - 1 - 256;

// Which of a batch entry's `all` pieces of work the workgroup with that number does: head * workgroups of a head + x.
// Workgroup i runs on die i mod `dies` (gfx950.md 1). Each die gets consecutive pieces, in order, so that those which
// run on it at one time have a key/value head in common. A permutation of 0 .. all - 1; the identity if `dies` is no
// power of two and for more pieces than max_ordered_workgroups.
std::uint64_t work_of(std::uint64_t workgroup, std::uint64_t all, int dies);
inline constexpr std::uint64_t max_ordered_workgroups = std::uint64_t{1} << 20;

// Query heads and batch entries are y and z of the grid, of which HIP takes no more (hipModuleLaunchKernel).
inline constexpr std::int64_t max_heads = 65535;
inline constexpr std::int64_t max_batch = 65535;

}  // namespace zyfa::generator
