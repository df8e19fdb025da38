#include "isa/hazards.h"

#include "isa/isa.h"
#include "isa/text.h"

#include <algorithm>
#include <optional>

namespace zyfa::isa {
namespace {

// ---- Which instructions
// ----------------------------------------------------------------------------------------------

bool is_sgemm(const Inst& i) { return is_mfma(i) && desc(i.op).args[1].type == Type::f32; }
bool is_xdl(const Inst& i) { return is_mfma(i) && !is_sgemm(i); }
bool is_lds(const Inst& i) { return desc(i.op).cls == Class::LdsRead || desc(i.op).cls == Class::LdsWrite; }
bool is_salu(const Inst& i) { return desc(i.op).cls == Class::Salu; }
bool is_smem(const Inst& i) { return desc(i.op).cls == Class::Smem; }
bool is_trans(const Inst& i) { return desc(i.op).cls == Class::Trans; }
// May keep the old value of lanes, so the destination counts as read (LLVM's operand `old`).
bool is_dpp(const Inst& i) { return i.form == Form::dpp; }
bool is_swap(const Inst& i) { return desc(i.op).kind == Kind::SWAP_LANES; }
bool is_any(const Inst&) { return true; }

// LLVM counts matrix instructions and LDS-DMA loads among the vector ALU's.
bool is_valu_like(const Inst& i) { return is_valu(i) || is_mfma(i) || is_lds_dma(i); }
bool is_valu_like_not_trans(const Inst& i) { return is_valu_like(i) && !is_trans(i); }
bool is_valu_or_memory(const Inst& i) { return is_valu(i) || is_vmem(i) || is_lds(i); }

bool reads_lane(const Inst& i) {
  return desc(i.op).kind == Kind::READ_LANE || desc(i.op).kind == Kind::READ_FIRST_LANE;
}
bool accesses_lane(const Inst& i) { return reads_lane(i) || desc(i.op).kind == Kind::WRITE_LANE; }

// Results that must be moved into place within the destination register: conversions to FP8 and their like
// whichever half they write, op_sel's destination bit elsewhere, and SDWA, whose destination select we do not
// model and so distrust.
bool writes_part(const Inst& i) {
  const Kind k = desc(i.op).kind;
  if (k == Kind::HALF2 || k == Kind::HALF3 || i.form == Form::sdwa) return true;
  return is_valu(i) && desc(i.op).cls != Class::ValuPacked && (i.mods.op_sel & 8) != 0;
}
bool is_packed_by_halves(const Inst& i) {
  return desc(i.op).cls == Class::ValuPacked && (op_sel_hi(i) & 1) != 0;
}

// More than 64 bits of data. A scalar offset register costs a buffer store a cycle in which its data is safe.
bool is_wide_store(const Inst& i) {
  return desc(i.op).cls == Class::VmemStore && desc(i.op).memory_bytes > 8;
}
bool has_scalar_offset(const Inst& i) {
  return desc(i.op).kind == Kind::BUFFER_STORE && i.args[3].kind == OperandKind::sgpr;
}
bool is_wide_store_without_offset(const Inst& i) { return is_wide_store(i) && !has_scalar_offset(i); }

// ---- Which of their operands
// -----------------------------------------------------------------------------------------

bool in_vector_file(const Access& a) { return a.file != OperandKind::sgpr; }
bool is_exec(const Access& a) { return a.file == OperandKind::sgpr && a.first + a.count > exec.first; }
bool is_m0(const Access& a) {
  return a.file == OperandKind::sgpr && a.first <= m0.first && m0.first < a.first + a.count;
}

bool vgpr_write(const Inst&, const Access& a) { return a.write && in_vector_file(a); }
bool vgpr_read(const Inst&, const Access& a) { return !a.write && in_vector_file(a); }
bool sgpr_write(const Inst&, const Access& a) { return a.write && !in_vector_file(a); }
bool sgpr_read(const Inst&, const Access& a) { return !a.write && !in_vector_file(a); }
bool named_sgpr_read(const Inst& i, const Access& a) { return sgpr_read(i, a) && a.arg >= 0; }
bool vgpr_access(const Inst&, const Access& a) { return in_vector_file(a); }
bool exec_write(const Inst&, const Access& a) { return a.write && is_exec(a); }
bool exec_read(const Inst&, const Access& a) { return !a.write && is_exec(a); }
bool m0_write(const Inst&, const Access& a) { return a.write && is_m0(a); }
bool m0_read(const Inst&, const Access& a) { return !a.write && is_m0(a); }
bool matrix_c(const Inst& i, const Access& a) { return is_mfma(i) && !a.write && a.arg == 3; }
bool matrix_source(const Inst& i, const Access& a) {
  return vgpr_read(i, a) && a.arg != 3;
}  // A, B and scales
bool lane_select(const Inst& i, const Access& a) {
  const Kind k = desc(i.op).kind;
  return (k == Kind::READ_LANE || k == Kind::WRITE_LANE) && sgpr_read(i, a) && a.arg == 2;
}
bool store_data(const Inst& i, const Access& a) {
  return vgpr_read(i, a) && a.arg == (desc(i.op).kind == Kind::BUFFER_STORE ? 0 : 1);
}

// How the two operands must lie for the rule to hold. The same tuple as accumulator of the same opcode is
// forwarded.
enum class Meet : std::uint8_t { overlap, same, same_but_other_op, part };

using Wait = std::variant<int Machine::*, PerPass Machine::*>;

struct Rule {
  std::string_view name;
  bool (*producer)(const Inst&);
  bool (*produced)(const Inst&, const Access&);
  bool (*consumer)(const Inst&);
  bool (*consumed)(const Inst&, const Access&);
  Meet meet;
  Wait required;
};

using M = Machine;
using enum Meet;

// clang-format off
constexpr Rule rules[] = {
  // name                                        producer              consumer                                    required
  {"XDL result read by VALU or memory",          is_xdl, vgpr_write,   is_valu_or_memory, vgpr_read,      overlap, &M::xdl_write_to_read},
  {"XDL result overwritten by VALU or memory",   is_xdl, vgpr_write,   is_valu_or_memory, vgpr_write,     overlap, &M::xdl_write_to_write},
  {"XDL result as matrix source A, B or scale",  is_xdl, vgpr_write,   is_mfma, matrix_source,            overlap, &M::xdl_write_to_matrix_source},
  {"XDL result in part of an XDL's C",           is_xdl, vgpr_write,   is_xdl, matrix_c,                  part,    &M::xdl_write_to_part_of_xdl_c},
  {"XDL result in part of an FP32 MFMA's C",     is_xdl, vgpr_write,   is_sgemm, matrix_c,                part,    &M::xdl_write_to_part_of_sgemm_c},
  {"XDL result as C of another opcode",          is_xdl, vgpr_write,   is_mfma, matrix_c,    same_but_other_op,    &M::xdl_write_to_c_of_other_op},
  {"matrix result as C of the same opcode",      is_mfma, vgpr_write,  is_mfma, matrix_c,                 same,    &M::matrix_write_to_same_c},
  {"FP32 MFMA result used by VALU or memory",    is_sgemm, vgpr_write, is_valu_or_memory, vgpr_access,    overlap, &M::sgemm_write_to_access},
  {"FP32 MFMA result as matrix source",          is_sgemm, vgpr_write, is_mfma, matrix_source,            overlap, &M::sgemm_write_to_matrix_source},
  {"FP32 MFMA result in part of another's C",    is_sgemm, vgpr_write, is_sgemm, matrix_c,                part,    &M::sgemm_write_to_part_of_sgemm_c},
  {"C of an XDL overwritten by VALU or memory",  is_xdl, matrix_c,     is_valu_or_memory, vgpr_write,     overlap, &M::xdl_c_to_write},
  {"VALU result read by a matrix instruction",   is_valu, vgpr_write,  is_mfma, vgpr_read,                overlap, &M::valu_write_to_matrix_read},
  {"EXEC written by VALU before a matrix instruction", is_valu, exec_write, is_mfma, exec_read,           overlap, &M::valu_exec_to_matrix},
  {"transcendental result read by another VALU", is_trans, vgpr_write, is_valu_like_not_trans, vgpr_read, overlap, &M::trans_write_to_valu_read},
  {"partly written register used by VALU",       writes_part, vgpr_write, is_valu_like, vgpr_access,      overlap, &M::partial_write_to_valu},
  {"packed result used by VALU",                 is_packed_by_halves, vgpr_write, is_valu_like, vgpr_access, overlap, &M::packed_write_to_valu},
  {"VALU result swapped between lanes",          is_valu, vgpr_write,  is_swap, vgpr_read,                overlap, &M::valu_write_to_swap},
  {"EXEC written by VALU before a lane swap",    is_valu, exec_write,  is_swap, exec_read,                overlap, &M::valu_exec_to_swap},
  {"vector register used by a DPP instruction",  is_any, vgpr_write,   is_dpp, vgpr_access,               overlap, &M::vgpr_write_to_dpp_read},
  {"EXEC written by VALU before DPP",            is_valu, exec_write,  is_dpp, exec_read,                 overlap, &M::valu_exec_to_dpp},
  {"scalar register of VALU read by VMEM",       is_valu, sgpr_write,  is_vmem, sgpr_read,                overlap, &M::valu_sgpr_to_vmem},
  {"scalar register of VALU read by VALU",       is_valu, sgpr_write,  is_valu_like, named_sgpr_read,     overlap, &M::valu_sgpr_to_valu},
  {"scalar register of VALU selects a lane",     is_valu, sgpr_write,  accesses_lane, lane_select,        overlap, &M::valu_sgpr_to_lane_select},
  {"VALU result read from one lane",             is_valu, vgpr_write,  reads_lane, vgpr_read,             overlap, &M::valu_vgpr_to_read_lane},
  {"EXEC written by VALU before a lane access",  is_valu, exec_write,  accesses_lane, exec_read,          overlap, &M::valu_exec_to_lane_access},
  {"M0 written before LDS-DMA",                  is_salu, m0_write,    is_lds_dma, m0_read,               overlap, &M::salu_m0_to_lds_dma},
  {"data of a wide store overwritten by VALU",   is_wide_store_without_offset, store_data, is_valu_like, vgpr_write, overlap, &M::store_data_to_valu_write},
  {"data of a wide store with scalar offset overwritten by VALU", is_wide_store, store_data, is_valu_like, vgpr_write, overlap, &M::offset_store_data_to_valu_write},
};
// clang-format on
constexpr std::string_view clause_rule = "memory clause that cannot be replayed";

int required_by(const Rule& rule, const Inst& producer, const Machine& machine) {
  if (const auto* number = std::get_if<int M::*>(&rule.required)) return machine.*(*number);
  return (machine.*std::get<PerPass M::*>(rule.required)).at(passes(producer));
}

// The most that the rule asks of any producer.
int limit_of(const Rule& rule, const Machine& machine) {
  if (const auto* number = std::get_if<int M::*>(&rule.required)) return machine.*(*number);
  const PerPass& n = machine.*std::get<PerPass M::*>(rule.required);
  return std::max({n.p2, n.p4, n.p8, n.p16});
}

bool touch(const Access& a, const Access& b) {
  return a.file == b.file && a.first < b.first + b.count && b.first < a.first + a.count;
}

bool meets(Meet meet, const Inst& producer, const Access& a, const Inst& consumer, const Access& b) {
  if (!touch(a, b)) return false;
  const bool same_tuple = a.first == b.first && a.count == b.count;
  // Other formats of an f8f6f4 instruction, with other passes, are another instruction to the pipe (LLVM:
  // another opcode).
  const bool same_op = producer.op == consumer.op && passes(producer) == passes(consumer);
  switch (meet) {
    case overlap:
      return true;
    case same:
      return same_tuple && same_op;
    case same_but_other_op:
      return same_tuple && !same_op;
    case part:
      return !same_tuple;
  }
  return false;
}

int wait_states(const Inst& inst) {
  return inst.op == Op::s_nop ? static_cast<int>(inst.args[0].value & 15) + 1 : 1;
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
  Search(const Program& program, const Flow& flow, const std::vector<int>& idle_before,
         const Machine& machine)
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
    for (const Rule& rule : rules) {
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
  std::optional<std::uint32_t> clause_conflict() const {
    const Inst& consumer = inst(consumer_);
    if (machine_.clause_break == 0 || !(is_smem(consumer) || is_vmem(consumer))) return {};
    const std::vector<Access> own = accesses(consumer);
    std::vector<std::uint32_t> work{consumer_}, seen;
    while (!work.empty()) {
      const std::uint32_t position = work.back();
      work.pop_back();
      if (!idle_before_.empty() && idle_before_[position] > 0) continue;
      for (const std::uint32_t before : flow_.predecessors(position)) {
        const bool in_clause = is_smem(consumer) ? is_smem(inst(before)) : is_vmem(inst(before));
        if (!in_clause || before == consumer_ || std::ranges::find(seen, before) != seen.end()) continue;
        if (clashes(inst(before), own)) return before;
        seen.push_back(before);
        work.push_back(before);
      }
    }
    return {};
  }

  bool clashes(const Inst& earlier, const std::vector<Access>& own) const {
    std::vector<Access> all = accesses(earlier);
    const bool loads = std::ranges::any_of(all, &Access::write);
    const Inst& later = inst(consumer_);
    if (loads && (desc(later.op).cls == Class::VmemStore || is_lds_dma(later))) return true;
    all.insert(all.end(), own.begin(), own.end());
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
                     print(from, program), to_string(from.where), print(to, program), to_string(to.where),
                     required, found);
}

std::vector<std::string_view> hazard_rules() {
  std::vector<std::string_view> names{clause_rule};
  for (const Rule& rule : rules) names.push_back(rule.name);
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

}  // namespace zyfa::isa
