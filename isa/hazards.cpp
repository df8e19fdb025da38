#include "isa/hazards.h"

#include "isa/hazard_rules.h"
#include "isa/text.h"

#include <algorithm>
#include <optional>

namespace zyfa::isa {
namespace {

constexpr std::string_view clause_rule = "memory clause that cannot be replayed";

bool is_smem(const Inst& inst) { return desc(inst.op).cls == Class::Smem; }

int required_by(const Rule& rule, const Inst& producer, const Machine& machine) {
  if (const auto* number = std::get_if<int Machine::*>(&rule.required)) return machine.*(*number);
  return (machine.*std::get<PerPass Machine::*>(rule.required)).at(passes(producer));
}

// The most that the rule asks of any producer.
int limit_of(const Rule& rule, const Machine& machine) {
  if (const auto* number = std::get_if<int Machine::*>(&rule.required)) return machine.*(*number);
  const PerPass& n = machine.*std::get<PerPass Machine::*>(rule.required);
  return std::max({n.p2, n.p4, n.p8, n.p16});
}

bool meets(Meet meet, const Inst& producer, const Access& a, const Inst& consumer, const Access& b) {
  if (!touch(a, b)) return false;
  const bool same_tuple = a.first == b.first && a.count == b.count;
  // Other formats of an f8f6f4 instruction, with other passes, are another instruction to the pipe (LLVM:
  // another opcode).
  const bool same_op = producer.op == consumer.op && passes(producer) == passes(consumer);
  const bool same_encoding = same_op && producer.form == consumer.form;
  switch (meet) {
    case Meet::overlap:
      return true;
    case Meet::same:
      return same_tuple && same_op;
    case Meet::same_but_other_op:
      return same_tuple && !same_op;
    case Meet::part:
      return !same_tuple;
    case Meet::same_op:
      return same_encoding;
    case Meet::other_op:
      return !same_encoding;
  }
  return false;
}

// A rule whose consumer's side fits the instruction looked at.
struct Candidate {
  const Rule& rule;
  int limit;
  std::vector<Access> consumed;
};

bool violates(const Candidate& candidate, const Inst& producer, const std::vector<Access>& touched,
              const Inst& consumer) {
  for (const Access& a : touched) {
    if (!candidate.rule.produced(producer, a)) continue;
    for (const Access& b : candidate.consumed)
      if (meets(candidate.rule.meet, producer, a, consumer, b)) return true;
  }
  return false;
}

// Walks from one instruction against the flow, on all paths, as far as any of its rules reaches.
class Search {
 public:
  Search(const Program& program, const Flow& flow, const std::vector<int>& idle_before, const Machine& machine)
      : program_(program), flow_(flow), idle_before_(idle_before), machine_(machine) {}

  std::vector<HazardFinding> findings(std::uint32_t consumer) {
    consumer_ = consumer;
    findings_.clear();
    nearest_.clear();
    choose_candidates();
    if (reach_ > 0) walk(consumer, 0);
    if (const auto producer = clause_conflict())
      findings_.push_back({clause_rule, *producer, consumer, machine_.clause_break, 0});
    return findings_;
  }

 private:
  const Inst& inst(std::uint32_t position) const { return program_.code[position]; }

  void choose_candidates() {
    candidates_.clear();
    reach_ = 0;
    const Inst& consumer = inst(consumer_);
    std::optional<std::vector<Access>> touched;
    for (const Rule& rule : wait_state_rules()) {
      if (!rule.consumer(consumer)) continue;
      if (!touched) touched = accesses(consumer);
      Candidate candidate{rule, limit_of(rule, machine_), {}};
      for (const Access& a : *touched)
        if (rule.consumed(consumer, a)) candidate.consumed.push_back(a);
      if (candidate.consumed.empty()) continue;
      reach_ = std::max(reach_, candidate.limit);
      candidates_.push_back(std::move(candidate));
    }
  }

  // Visits what can run right before `position`, which lies `distance` wait states before the consumer.
  void walk(std::uint32_t position, int distance) {
    distance += idle_before_.empty() ? 0 : idle_before_[position];
    if (distance >= reach_) return;
    for (const std::uint32_t before : flow_.predecessors(position)) {
      if (!is_nearer(before, distance)) continue;
      look_at(before, distance);
      walk(before, distance + wait_states(inst(before)));
    }
  }

  bool is_nearer(std::uint32_t position, int distance) {
    for (auto& [known, nearest] : nearest_) {
      if (known != position) continue;
      if (nearest <= distance) return false;
      nearest = distance;
      return true;
    }
    nearest_.emplace_back(position, distance);
    return true;
  }

  void look_at(std::uint32_t producer, int distance) {
    std::optional<std::vector<Access>> touched;
    for (const Candidate& candidate : candidates_) {
      if (candidate.limit <= distance || !candidate.rule.producer(inst(producer))) continue;
      const int required = required_by(candidate.rule, inst(producer), machine_);
      if (required <= distance) continue;
      if (!touched) touched = accesses(inst(producer));
      if (violates(candidate, inst(producer), *touched, inst(consumer_)))
        report({candidate.rule.name, producer, consumer_, required, distance});
    }
  }

  void report(const HazardFinding& finding) {
    for (HazardFinding& known : findings_)
      if (known.rule == finding.rule && known.producer == finding.producer) {
        known.found = std::min(known.found, finding.found);
        return;
      }
    findings_.push_back(finding);
  }

  // With XNACK, memory instructions of one kind in a row are replayed together after a page fault: none may
  // write what another reads, and a store must not follow a load. Any other instruction ends the row.
  // An instruction also extends a row in which others clash already.
  std::optional<std::uint32_t> clause_conflict() const {
    const Inst& consumer = inst(consumer_);
    if (machine_.clause_break == 0 || !(is_smem(consumer) || is_vmem(consumer))) return {};
    const std::vector<std::uint32_t> row = row_before(consumer_);
    const bool stores = desc(consumer.op).cls == Class::VmemStore || is_lds_dma(consumer);
    for (const std::uint32_t before : row)
      if ((stores && writes_registers(inst(before))) || clash(before, consumer_)) return before;
    for (const std::uint32_t member : row)
      for (const std::uint32_t before : row_before(member))
        if (clash(before, member)) return before;
    return {};
  }

  // The memory instructions of the same kind from which control comes straight down.
  std::vector<std::uint32_t> row_before(std::uint32_t last) const {
    const bool smem = is_smem(inst(last));
    std::vector<std::uint32_t> work{last}, row;
    while (!work.empty()) {
      const std::uint32_t position = work.back();
      work.pop_back();
      if (!idle_before_.empty() && idle_before_[position] > 0) continue;
      for (const std::uint32_t before : flow_.predecessors(position)) {
        const bool in_row = smem ? is_smem(inst(before)) : is_vmem(inst(before));
        if (!in_row || before == last || std::ranges::find(row, before) != row.end()) continue;
        row.push_back(before);
        work.push_back(before);
      }
    }
    return row;
  }

  static bool writes_registers(const Inst& inst) { return std::ranges::any_of(accesses(inst), &Access::write); }

  // Whether the two, taken together, write what they read.
  bool clash(std::uint32_t earlier, std::uint32_t later) const {
    std::vector<Access> all = accesses(inst(earlier));
    const std::vector<Access> more = accesses(inst(later));
    all.insert(all.end(), more.begin(), more.end());
    for (const Access& a : all)
      for (const Access& b : all)
        if (a.write && !b.write && touch(a, b)) return true;
    return false;
  }

  const Program& program_;
  const Flow& flow_;
  const std::vector<int>& idle_before_;
  const Machine& machine_;
  std::uint32_t consumer_ = 0;
  int reach_ = 0;
  std::vector<Candidate> candidates_;
  std::vector<std::pair<std::uint32_t, int>> nearest_;
  std::vector<HazardFinding> findings_;
};

}  // namespace

std::string HazardFinding::message(const Program& program) const {
  const Inst& from = program.code[producer];
  const Inst& to = program.code[consumer];
  return fmt::format("{}: `{}` ({}) then `{}` ({}) needs {} wait states between them, has {}", rule,
                     print(from, program), to_string(from.where), print(to, program), to_string(to.where), required,
                     found);
}

std::vector<std::string_view> hazard_rules() {
  std::vector<std::string_view> names{clause_rule};
  for (const Rule& rule : wait_state_rules()) names.push_back(rule.name);
  return names;
}

std::vector<HazardFinding> check_hazards(const Program& program, const Machine& machine) {
  const Flow flow(program);
  const std::vector<int> no_idling;
  Search search(program, flow, no_idling, machine);
  std::vector<HazardFinding> all;
  for (std::uint32_t i = 0; i < flow.size(); ++i) {
    const std::vector<HazardFinding> found = search.findings(i);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

int missing_wait_states(const Program& program, const Flow& flow, const std::vector<int>& idle_before,
                        std::uint32_t consumer, const Machine& machine) {
  int missing = 0;
  for (const HazardFinding& f : Search(program, flow, idle_before, machine).findings(consumer))
    missing = std::max(missing, f.required - f.found);
  return missing;
}

int missing_wait_states(const Program& program, std::uint32_t consumer, const Machine& machine) {
  return missing_wait_states(program, Flow(program), {}, consumer, machine);
}

int wait_states(const Inst& inst) { return inst.op == Op::s_nop ? static_cast<int>(inst.args[0].value & 15) + 1 : 1; }

int wait_state_reach(const Inst& consumer, const Machine& machine) {
  int reach = 0;
  for (const Rule& rule : wait_state_rules())
    if (rule.consumer(consumer)) reach = std::max(reach, limit_of(rule, machine));
  return reach;
}

PairRequirement required_wait_states(const Inst& producer, const Inst& consumer, const Machine& machine) {
  PairRequirement most;
  const std::vector<Access> touched = accesses(producer), used = accesses(consumer);
  for (const Rule& rule : wait_state_rules()) {
    if (!rule.producer(producer) || !rule.consumer(consumer)) continue;
    const int required = required_by(rule, producer, machine);
    if (required <= most.wait_states) continue;
    Candidate candidate{rule, required, {}};
    for (const Access& a : used)
      if (rule.consumed(consumer, a)) candidate.consumed.push_back(a);
    if (violates(candidate, producer, touched, consumer)) most = {rule.name, required};
  }
  return most;
}

}  // namespace zyfa::isa
