#include "runtime_loader/grid_estimate.h"

#include "generator/plan.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace zyfa::runtime {
namespace {

template <class Value>
double interpolate(const std::vector<GridSample>& samples, std::uint32_t x, Value value) {
  auto right = std::ranges::lower_bound(samples, x, {}, &GridSample::workgroup);
  if (right == samples.end()) right = std::prev(right);
  if (right->workgroup == x || right == samples.begin()) return value(*right);
  const auto left = std::prev(right);
  const double t = static_cast<double>(x - left->workgroup) / static_cast<double>(right->workgroup - left->workgroup);
  return value(*left) * (1 - t) + value(*right) * t;
}

// One entry for each workgroup of a head.
template <class Value>
std::vector<double> per_workgroup(const GridProblem& problem, const std::vector<GridSample>& samples, Value value) {
  std::vector<double> all(problem.per_head);
  for (std::uint32_t x = 0; x < problem.per_head; ++x) all[x] = interpolate(samples, x, value);
  return all;
}

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// What runs on a compute unit, or ran there last.
struct Slot {
  double start = 0, end = 0;
  std::uint64_t kv_head = 0;
  double rate = 0;  // bytes of K and V that it walks through in a clk
};

struct Walk {
  double start = 0, bytes = 0;
};

// An L2 keeps what it read until it has read as much again as it can hold. All workgroups walk through their keys from
// the first on, so one that follows another of its head finds there what that one read if their distance in time, times
// what the die reads in that time, is less than the cache.
class DieL2 {
 public:
  explicit DieL2(double capacity) : capacity_(capacity) {}

  // Bytes that a workgroup which begins now must fetch; `slots` are the die's, its own among them.
  double fetch(const Slot& begun, double bytes, const std::vector<Slot>& slots) {
    Walk& last = walks_[begun.kv_head];
    const double between = (begun.start - last.start) * rate(begun.start, slots);
    const double found = last.bytes > 0 && between <= capacity_ ? std::min(last.bytes, bytes) : 0;
    last = {begun.start, bytes};
    return bytes - found;
  }

 private:
  // Of all heads being read, each once.
  static double rate(double now, const std::vector<Slot>& slots) {
    std::map<std::uint64_t, double> heads;
    for (const Slot& slot : slots)
      if (slot.end > now) heads[slot.kv_head] = std::max(heads[slot.kv_head], slot.rate);
    double all = 0;
    for (const auto& [head, one] : heads) all += one;
    return all;
  }

  double capacity_;
  std::map<std::uint64_t, Walk> walks_;
};

struct Dispatch {
  double end = 0, first_idle = 0, work = 0, missed_bytes = 0;
};

// Workgroup x of each head takes clk[x] and reads kv_bytes[x]; `order` says which x comes when.
Dispatch dispatch(const GridProblem& problem, const std::vector<std::uint32_t>& order, const std::vector<double>& clk,
                  const std::vector<double>& kv_bytes, const isa::Machine& machine) {
  const auto dies = static_cast<std::size_t>(machine.dies);
  const auto units = std::max<std::size_t>(static_cast<std::size_t>(machine.compute_units) / dies, 1);
  std::vector<std::vector<Slot>> slots(dies, std::vector<Slot>(units));
  std::vector<DieL2> caches(dies, DieL2(machine.l2_bytes));
  const std::uint64_t all = static_cast<std::uint64_t>(problem.heads) * order.size();
  const auto per_kv_head = static_cast<std::uint64_t>(problem.heads / problem.kv_heads);
  Dispatch result;
  std::uint64_t index = 0;
  for (std::uint64_t entry = 0; entry < static_cast<std::uint64_t>(problem.batch); ++entry)
    for (std::uint64_t i = 0; i < all; ++i) {
      const std::uint64_t work = problem.by_die ? generator::work_of(i, all, machine.dies) : i;
      const std::uint64_t head = entry * static_cast<std::uint64_t>(problem.heads) + work / order.size();
      const std::uint32_t x = order[work % order.size()];
      const std::size_t die = index++ % dies;
      Slot& slot = *std::ranges::min_element(slots[die], {}, &Slot::end);
      slot = {slot.end, slot.end + clk[x], head / per_kv_head, clk[x] > 0 ? kv_bytes[x] / clk[x] : 0};
      result.missed_bytes += caches[die].fetch(slot, kv_bytes[x], slots[die]) + problem.own_bytes;
      result.work += clk[x];
    }
  result.first_idle = slots[0][0].end;
  for (const std::vector<Slot>& die : slots)
    for (const Slot& slot : die) {
      result.end = std::max(result.end, slot.end);
      result.first_idle = std::min(result.first_idle, slot.end);
    }
  return result;
}

std::vector<DispatchOrder> other_orders(const GridProblem& problem, const std::vector<double>& clk,
                                        const std::vector<double>& kv_bytes, const isa::Machine& machine,
                                        double plain) {
  std::vector<std::uint32_t> order(clk.size());
  std::iota(order.begin(), order.end(), 0u);
  std::vector<DispatchOrder> all{{"plain", plain}};
  std::vector<std::uint32_t> heavy = order;
  std::ranges::stable_sort(heavy, std::greater{}, [&](std::uint32_t x) { return clk[x]; });
  all.push_back({"heavy_first", dispatch(problem, heavy, clk, kv_bytes, machine).end});
  std::vector<double> pairs((clk.size() + 1) / 2);
  for (std::size_t x = 0; x < clk.size(); ++x) pairs[std::min(x, clk.size() - 1 - x)] += clk[x];
  order.resize(pairs.size());
  const std::vector<double> unread(pairs.size());
  all.push_back({"paired", dispatch(problem, order, pairs, unread, machine).end});
  order.resize(clk.size());
  std::iota(order.begin(), order.end(), 0u);
  for (const bool by_die : {false, true}) {
    GridProblem other = problem;
    other.by_die = by_die;
    const Dispatch run = dispatch(other, order, clk, kv_bytes, machine);
    all.push_back({by_die ? "by_die" : "round_robin", run.end, run.missed_bytes});
  }
  return all;
}

// All of the grid's K and V that are read at one time, from the first compute unit's head to the last one's.
bool fits_infinity_cache(const GridProblem& problem, const isa::Machine& machine) {
  const int at_once = machine.compute_units / static_cast<int>(problem.per_head) + 2;
  const int kv_heads = std::min(at_once / (problem.heads / problem.kv_heads) + 1, problem.kv_heads * problem.batch);
  return problem.kv_head_bytes * kv_heads <= machine.infinity_cache_bytes;
}

// Clocks for so many bytes at GB/s.
double clocks(double bytes, double gbps, double ghz) { return bytes / gbps * ghz; }

void add_energy(GridEstimate& estimate, const GridProblem& problem, const std::vector<GridSample>& samples,
                const isa::Machine& machine, double work, double heads) {
  const double missed_share = estimate.l2_bytes > 0 ? estimate.missed_bytes / estimate.l2_bytes : 0;
  const double hbm_share = estimate.l2_bytes > 0 ? estimate.hbm_bytes / estimate.l2_bytes : 0;
  const double idle = (estimate.clk * machine.compute_units - work) * machine.energy_cu_clk;
  const double pj = idle + heads * sum(per_workgroup(problem, samples, [&](const GridSample& s) {
                             const auto bytes = static_cast<double>(s.counts.vmem_bytes);
                             return energy(s.counts, s.clk, missed_share * bytes, hbm_share * bytes, machine).pj;
                           }));
  const double watts_per_ghz = pj / estimate.clk * 1e-3;
  estimate.pj_per_flop = estimate.flop > 0 ? pj / estimate.flop : 0;
  estimate.watts = watts_per_ghz * estimate.clock_ghz;
  estimate.power_limited_ghz = watts_per_ghz > 0 ? machine.board_power_w / watts_per_ghz : 0;
}

}  // namespace

GridEstimate estimate_grid(const GridProblem& problem, const std::vector<GridSample>& samples,
                           const isa::Machine& machine, double clock_ghz) {
  const std::vector<double> clk = per_workgroup(problem, samples, [](const GridSample& s) { return s.clk; });
  const std::vector<double> bytes =
      per_workgroup(problem, samples, [](const GridSample& s) { return static_cast<double>(s.counts.vmem_bytes); });
  std::vector<double> kv_bytes = bytes;
  for (double& b : kv_bytes) b = std::clamp(b - problem.own_bytes, 0.0, problem.kv_head_bytes);
  std::vector<std::uint32_t> order(problem.per_head);
  std::iota(order.begin(), order.end(), 0u);
  const Dispatch run = dispatch(problem, order, clk, kv_bytes, machine);
  const double heads = static_cast<double>(problem.heads) * problem.batch;

  GridEstimate e;
  e.clock_ghz = clock_ghz;
  e.pipe_clk = run.end;
  e.busy = run.work / (run.end * machine.compute_units);
  e.tail_clk = run.end - run.first_idle;
  e.l2_bytes = heads * sum(bytes);
  e.missed_bytes = std::min(std::max(run.missed_bytes, problem.footprint), e.l2_bytes);
  e.hbm_bytes = fits_infinity_cache(problem, machine) ? std::min(problem.footprint, e.missed_bytes) : e.missed_bytes;
  e.l2_clk = e.l2_bytes / machine.dies / machine.l2_bytes_per_clk;
  e.fabric_clk = clocks(e.missed_bytes, machine.infinity_cache_gbps, clock_ghz);
  e.hbm_clk = clocks(e.hbm_bytes, machine.hbm_gbps, clock_ghz);
  const std::pair<double, std::string_view> limits[] = {
      {e.pipe_clk, "pipes"}, {e.l2_clk, "l2"}, {e.fabric_clk, "infinity_cache"}, {e.hbm_clk, "hbm"}};
  std::tie(e.clk, e.bound) = *std::ranges::max_element(limits, {}, &std::pair<double, std::string_view>::first);
  e.flop = problem.flop > 0 ? problem.flop : heads * sum(per_workgroup(problem, samples, [](const GridSample& s) {
                                               return static_cast<double>(s.counts.all().useful_flop);
                                             }));
  e.tflops = e.flop / e.clk * clock_ghz * 1e-3;
  e.peak_percent = 100 * e.flop / (e.clk * machine.compute_units * problem.flop_per_clk);
  e.orders = other_orders(problem, clk, kv_bytes, machine, run.end);
  add_energy(e, problem, samples, machine, run.work, heads);
  return e;
}

}  // namespace zyfa::runtime
