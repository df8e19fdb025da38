#include "isa/in_flight.h"

#include "isa/text.h"

#include <algorithm>
#include <optional>

namespace zyfa::isa {
namespace {

bool is_smem(const Inst& inst) { return desc(inst.op).cls == Class::Smem; }

// A load on its way at some point of the program, and how many instructions that return behind it have been
// issued since, on the path that has fewest.
// Flat loads hang on both counters, so what has been waited for counts too.
struct Entry {
  std::uint32_t producer;
  std::uint32_t younger;
  bool waited_vm = false, waited_lgkm = false;
  bool operator==(const Entry&) const = default;
};
using State = std::vector<Entry>;  // sorted by producer

// What an instruction does to the loads on their way.
struct Step {
  Counter counter = Counter::none;
  bool in_order = false;
  std::optional<Access> result;  // of a load into registers
  std::uint8_t vmcnt = Modifiers::not_waited, lgkmcnt = Modifiers::not_waited;
};

Step step_of(const Inst& inst) {
  Step step;
  step.counter = counter(inst);
  step.in_order = (step.counter == Counter::vm || step.counter == Counter::lgkm) && !is_smem(inst);
  if (step.counter != Counter::none)
    for (const Access& a : accesses(inst))
      if (a.write) step.result = a;
  step.vmcnt = inst.mods.vmcnt;
  step.lgkmcnt = inst.mods.lgkmcnt;
  return step;
}

class Analysis {
 public:
  explicit Analysis(const Program& program) : program_(program), flow_(program) {
    for (const Inst& inst : program.code) steps_.push_back(step_of(inst));
  }

  std::vector<InFlightFinding> run() {
    const auto advance_state = [this](std::uint32_t i, State& state) { advance(i, state); };
    const std::vector<State> at = flow_forward<State>(flow_, advance_state, join);
    State state;
    for (std::uint32_t i = 0; i < flow_.size(); ++i) {
      if (flow_.is_leader(i)) state = at[i];
      if (!state.empty()) inspect(i, state);
      advance(i, state);
    }
    return std::move(findings_);
  }

 private:
  bool completes(Entry& entry, const Step& wait) const {
    const Step& load = steps_[entry.producer];
    if (load.counter == Counter::both) {
      entry.waited_vm |= wait.vmcnt == 0;
      entry.waited_lgkm |= wait.lgkmcnt == 0;
      return entry.waited_vm && entry.waited_lgkm;
    }
    const std::uint32_t count = load.counter == Counter::vm ? wait.vmcnt : wait.lgkmcnt;
    if (count == Modifiers::not_waited) return false;
    return load.in_order ? entry.younger >= count : count == 0;
  }

  void advance(std::uint32_t position, State& state) const {
    const Step& step = steps_[position];
    std::erase_if(state, [&](Entry& entry) { return completes(entry, step); });
    if (step.counter == Counter::none) return;
    // Waits name at most 63, so what lies further back need not be told apart.
    for (Entry& entry : state)
      if (step.in_order && steps_[entry.producer].counter == step.counter && entry.younger < 64) ++entry.younger;
    if (!step.result) return;
    const auto place = std::ranges::lower_bound(state, position, {}, &Entry::producer);
    if (place != state.end() && place->producer == position)
      *place = {position, 0};
    else
      state.insert(place, {position, 0});
  }

  static Entry least(const Entry& a, const Entry& b) {
    return {a.producer, std::min(a.younger, b.younger), a.waited_vm && b.waited_vm, a.waited_lgkm && b.waited_lgkm};
  }

  static bool join(State& into, const State& from) {
    bool changed = false;
    for (const Entry& entry : from) {
      const auto place = std::ranges::lower_bound(into, entry.producer, {}, &Entry::producer);
      if (place == into.end() || place->producer != entry.producer)
        into.insert(place, entry);
      else if (const Entry less = least(*place, entry); less != *place)
        *place = less;
      else
        continue;
      changed = true;
    }
    return changed;
  }

  void inspect(std::uint32_t consumer, const State& state) {
    const std::vector<Access> touched = accesses(program_.code[consumer]);
    for (const Entry& entry : state) {
      const Step& load = steps_[entry.producer];
      for (const Access& a : touched) {
        const Access& result = *load.result;
        const auto first = std::max(a.first, result.first);
        if (a.file != result.file || first >= a.first + a.count || first >= result.first + result.count) continue;
        if (a.write && load.in_order && steps_[consumer].in_order && steps_[consumer].counter == load.counter) continue;
        const int wait = load.in_order ? static_cast<int>(entry.younger) : 0;
        findings_.push_back({entry.producer, consumer, a.file, first, load.counter, wait});
        break;
      }
    }
  }

  const Program& program_;
  const Flow flow_;
  std::vector<Step> steps_;
  std::vector<InFlightFinding> findings_;
};

}  // namespace

std::string InFlightFinding::message(const Program& program) const {
  const Inst& from = program.code[producer];
  const Inst& to = program.code[consumer];
  const char letter = file == OperandKind::vgpr ? 'v' : file == OperandKind::agpr ? 'a' : 's';
  return fmt::format(
      "{}{} is still to be written by `{}` ({}) when `{}` ({}) uses it; s_waitcnt {}({}) is missing on a "
      "path",
      letter, reg, print(from, program), to_string(from.where), print(to, program), to_string(to.where),
      counter == Counter::both ? "vmcnt(0) lgkmcnt"
      : counter == Counter::vm ? "vmcnt"
                               : "lgkmcnt",
      wait);
}

std::vector<InFlightFinding> check_in_flight(const Program& program) { return Analysis(program).run(); }

}  // namespace zyfa::isa
