#include "isa/pipes/result.h"

#include <algorithm>
#include <map>

namespace zyfa::pipes {

std::string_view name(Stall stall) {
  switch (stall) {
    case Stall::fetch:
      return "instruction fetch";
    case Stall::own_pace:
      return "own pace";
    case Stall::arbitration:
      return "arbitration";
    case Stall::vector_port:
      return "vector port";
    case Stall::matrix_pipe:
      return "matrix pipe";
    case Stall::accumulator:
      return "accumulator";
    case Stall::dependency:
      return "dependency";
    case Stall::after_matrix:
      return "after matrix";
    case Stall::matrix_reads:
      return "matrix reads";
    case Stall::lds_queue:
      return "LDS queue";
    case Stall::vmem_queue:
      return "VMEM queue";
    case Stall::wait_vm:
      return "vmcnt";
    case Stall::wait_lgkm:
      return "lgkmcnt";
    case Stall::barrier:
      return "barrier";
    case Stall::count:
      break;
  }
  return "";
}

namespace {

constexpr std::uint64_t Busy::*totals[] = {
    &Busy::matrix,      &Busy::useful_matrix,  &Busy::valu,       &Busy::trans,      &Busy::matrix_reads,
    &Busy::matrix_flop, &Busy::useful_flop,    &Busy::a_toggles,  &Busy::b_toggles,  &Busy::c_toggles,
    &Busy::d_toggles,   &Busy::register_bytes, &Busy::valu_lanes, &Busy::trans_lanes};
static_assert(sizeof(Busy) == (std::size(totals) + classes) * sizeof(std::uint64_t), "a total is missing");

}  // namespace

Busy& Busy::operator+=(const Busy& other) {
  for (const auto total : totals) this->*total += other.*total;
  for (std::size_t i = 0; i < classes; ++i) issued[i] += other.issued[i];
  return *this;
}

Busy Busy::operator-(const Busy& other) const {
  Busy d = *this;
  for (const auto total : totals) d.*total -= other.*total;
  for (std::size_t i = 0; i < classes; ++i) d.issued[i] -= other.issued[i];
  return d;
}

Counts Counts::operator-(const Counts& other) const {
  Counts d{{},
           lds_bytes_read - other.lds_bytes_read,
           lds_bytes_written - other.lds_bytes_written,
           lds_bank_clk - other.lds_bank_clk,
           vmem_bytes - other.vmem_bytes};
  for (std::size_t i = 0; i < simd.size(); ++i) d.simd[i] = simd[i] - other.simd[i];
  return d;
}

Busy Counts::all() const {
  Busy sum;
  for (const Busy& one : simd) sum += one;
  return sum;
}

namespace {

using Laps = std::vector<const Lap*>;

// The longest stretch of laps without a pause: a kernel may run its loop for one tile, do something else, and run it
// for the next.
Laps longest_run(const Laps& laps) {
  if (laps.size() < 2) return laps;
  std::vector<Clk> gaps;
  for (std::size_t i = 1; i < laps.size(); ++i) gaps.push_back(laps[i]->clk - laps[i - 1]->clk);
  std::vector<Clk> sorted = gaps;
  std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2));
  const Clk pause = sorted[sorted.size() / 2] * 3 / 2;
  std::size_t best = 0, best_size = 0;
  for (std::size_t first = 0, i = 0; i < laps.size(); ++i) {
    if (i > 0 && gaps[i - 1] > pause) first = i;
    if (i + 1 - first <= best_size) continue;
    best = first;
    best_size = i + 1 - first;
  }
  const auto begin = laps.begin() + static_cast<std::ptrdiff_t>(best);
  return {begin, begin + static_cast<std::ptrdiff_t>(best_size)};
}

}  // namespace

std::optional<Loop> find_loop(const Result& result, std::uint32_t least) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, Laps> loops;
  for (const Lap& lap : result.laps) loops[{lap.wave, lap.target}].push_back(&lap);
  Laps best;
  for (const auto& [where, laps] : loops)
    if (Laps run = longest_run(laps); run.size() > least && run.size() > best.size()) best = std::move(run);
  if (best.empty()) return std::nullopt;
  const std::size_t from = best.size() / 4, to = best.size() - 1 - from;
  const Lap &first = *best[from], &last = *best[to];
  return Loop{first.target, first.wave, static_cast<std::uint32_t>(to - from),
              first.clk,    last.clk,   last.counts - first.counts};
}

}  // namespace zyfa::pipes
