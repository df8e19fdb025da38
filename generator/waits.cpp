#include "generator/waits.h"

#include "isa/hazards.h"
#include "isa/isa.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>

namespace zyfa::generator {
namespace {

using namespace isa;

// Instructions to be put before each instruction; the last place is the end of the text.
using Insertions = std::vector<std::vector<Inst>>;

bool is_smem(const Inst& inst) { return desc(inst.op).cls == Class::Smem; }

// Inserts, and moves labels and branch targets along. `moved` receives where each old instruction stands now.
Program with_insertions(const Program& program, const Insertions& insertions, std::vector<std::uint32_t>& moved) {
  Program result;
  std::vector<std::uint32_t> landing(insertions.size());
  moved.assign(insertions.size(), 0);
  for (std::size_t i = 0; i < insertions.size(); ++i) {
    landing[i] = static_cast<std::uint32_t>(result.code.size());
    result.code.insert(result.code.end(), insertions[i].begin(), insertions[i].end());
    moved[i] = static_cast<std::uint32_t>(result.code.size());
    if (i < program.code.size()) result.code.push_back(program.code[i]);
  }
  for (Inst& inst : result.code)
    for (Operand& operand : inst.args)
      if (operand.kind == OperandKind::label) operand.value = landing[operand.value];
  for (const auto& [position, name] : program.labels) result.labels.emplace(landing.at(position), name);
  return result;
}

class WaitResolver {
 public:
  WaitResolver(const Program& program, const std::vector<WaitRequest>& waits, const Machine& machine)
      : program_(program), flow_(program), waits_(waits), machine_(machine), clears_lgkm_(flow_.size() + 1) {}

  Insertions resolve() {
    for (const WaitRequest& wait : waits_) check(wait);
    find_outstanding_smem();
    Insertions insertions(flow_.size() + 1);
    for (const WaitRequest& wait : waits_) insertions[wait.position].push_back(s_waitcnt(wait));
    return insertions;
  }

 private:
  const Inst& inst(std::uint32_t position) const { return program_.code[position]; }

  void check(const WaitRequest& wait) {
    if (wait.position > flow_.size()) throw Error("{}: the wait lies behind the program", to_string(wait.where));
    if (wait.producers.empty()) throw Error("{}: the wait is for nothing", to_string(wait.where));
    for (const std::uint32_t producer : wait.producers) {
      if (producer >= flow_.size() || counter(inst(producer)) == Counter::none)
        throw Error("{}: the wait is for something that is not a memory instruction", to_string(wait.where));
      if (counter(inst(producer)) != Counter::vm) clears_lgkm_[wait.position] = true;
    }
  }

  // Whether a scalar load may be outstanding before each position. A wait for anything that lgkmcnt counts leaves none:
  // if there were one, the wait would be lgkmcnt(0).
  void find_outstanding_smem() {
    const auto step = [this](std::uint32_t i, char& outstanding) {
      if (clears_lgkm_[i] || inst(i).mods.lgkmcnt == 0) outstanding = false;
      if (is_smem(inst(i))) outstanding = true;
    };
    const auto join = [](char& into, char from) {
      const bool changed = from && !into;
      if (from) into = true;
      return changed;
    };
    smem_outstanding_ = flow_forward<char>(flow_, step, join);
    char state = false;
    for (std::uint32_t i = 0; i <= flow_.size(); ++i) {
      if (flow_.is_leader(i)) state = smem_outstanding_[i];
      smem_outstanding_[i] = state;
      if (i < flow_.size()) step(i, state);
    }
  }

  Inst s_waitcnt(const WaitRequest& wait) const {
    Inst result{.op = Op::s_waitcnt, .where = wait.where};
    bool reached = false;
    for (const std::uint32_t producer : wait.producers) {
      if (counter(inst(producer)) == Counter::both) {
        // Flat instructions return in any order.
        reached |= issued_between(producer, wait).has_value();
        if (issued_between(producer, wait)) result.mods.vmcnt = result.mods.lgkmcnt = 0;
        continue;
      }
      const bool vm = counter(inst(producer)) == Counter::vm;
      std::uint8_t& count = vm ? result.mods.vmcnt : result.mods.lgkmcnt;
      const std::optional<int> between = issued_between(producer, wait);
      if (!between) continue;
      reached = true;
      int issued = *between;
      if (!vm && (is_smem(inst(producer)) || smem_outstanding_[wait.position])) issued = 0;
      // A counter at its limit cannot say how much more there is, so the limit itself is no wait.
      issued = std::min(issued, (vm ? machine_.vmcnt_limit : machine_.lgkmcnt_limit) - 1);
      count = std::min(count, static_cast<std::uint8_t>(issued));
    }
    if (!reached) {
      const Inst& producer = inst(wait.producers.front());
      throw Error("{}: no path leads to the wait from {} ({}), for which it waits", to_string(wait.where),
                  desc(producer.op).name, to_string(producer.where));
    }
    return result;
  }

  // The fewest instructions that return behind the producer, issued on a path from it to the wait; none if there is
  // no path. Breadth-first by that number.
  std::optional<int> issued_between(std::uint32_t producer, const WaitRequest& wait) const {
    constexpr int unreached = std::numeric_limits<int>::max();
    std::vector<int> issued(flow_.size() + 1, unreached);
    std::deque<std::uint32_t> work;
    const auto reach = [&](std::uint32_t position, int count, bool same_count) {
      if (issued[position] <= count) return;
      issued[position] = count;
      same_count ? work.push_front(position) : work.push_back(position);
    };
    for (const std::uint32_t next : flow_.successors(producer)) reach(next, 0, true);
    while (!work.empty()) {
      const std::uint32_t position = work.front();
      work.pop_front();
      if (position == wait.position) return issued[position];
      if (position == flow_.size()) continue;
      const bool counted = counter(inst(position)) == counter(inst(producer)) && !is_smem(inst(position));
      for (const std::uint32_t next : flow_.successors(position)) reach(next, issued[position] + counted, !counted);
    }
    return std::nullopt;
  }

  const Program& program_;
  const Flow flow_;
  const std::vector<WaitRequest>& waits_;
  const Machine& machine_;
  std::vector<bool> clears_lgkm_;
  std::vector<char> smem_outstanding_;
};

std::vector<Inst> s_nops(int wait_states, SourceLine where, const Machine& machine) {
  std::vector<Inst> result;
  for (; wait_states > 0; wait_states -= machine.nop_limit) {
    Inst nop{.op = Op::s_nop, .where = where};
    nop.args[0] = {OperandKind::integer, static_cast<std::uint32_t>(std::min(wait_states, machine.nop_limit) - 1)};
    result.push_back(nop);
  }
  return result;
}

// In the order of the text, each knowing the wait states that those before it have got. Then, as paths from further
// down were not settled yet, each gives back what it need not have; and gets again what it lacks without what others
// gave.
Insertions settle(const Program& program, const std::vector<SettleRequest>& settles,
                  const std::vector<std::uint32_t>& moved, const Machine& machine) {
  const Flow flow(program);
  Insertions insertions(flow.size() + 1);
  std::vector<int> idle_before(flow.size() + 1);
  for (const SettleRequest& request : settles)
    if (request.position >= moved.size())
      throw Error("{}: the settling point lies behind the program", to_string(request.where));
  for (const bool anew : {false, true, false})
    for (const SettleRequest& request : settles) {
      const std::uint32_t position = moved[request.position];
      if (position == flow.size()) continue;
      if (anew) idle_before[position] = 0;
      idle_before[position] += missing_wait_states(program, flow, idle_before, position, machine);
    }
  for (const SettleRequest& request : settles)
    if (std::vector<Inst>& nops = insertions[moved[request.position]]; nops.empty())
      nops = s_nops(idle_before[moved[request.position]], request.where, machine);
  return insertions;
}

}  // namespace

Program insert_waits(Program program, std::vector<WaitRequest> waits, std::vector<SettleRequest> settles,
                     const Machine& machine) {
  std::vector<std::uint32_t> moved, unused;
  program = with_insertions(program, WaitResolver(program, waits, machine).resolve(), moved);
  std::ranges::stable_sort(settles, {}, &SettleRequest::position);
  const Insertions nops = settle(program, settles, moved, machine);
  return with_insertions(program, nops, unused);
}

}  // namespace zyfa::generator
