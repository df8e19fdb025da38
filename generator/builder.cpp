#include "generator/builder.h"

#include "isa/hazards.h"
#include "isa/in_flight.h"
#include "isa/text.h"

#include <algorithm>

namespace zyfa::generator {
namespace {

using isa::Form;
using isa::Inst;
using isa::Kind;
using isa::OperandKind;

// The default op_sel_hi has one spelling (inst.h).
void make_canonical(Inst& inst) {
  Inst plain = inst;
  plain.mods.op_sel_hi = Modifiers::row_default;
  if (inst.mods.op_sel_hi == isa::op_sel_hi(plain)) inst.mods.op_sel_hi = Modifiers::row_default;
}

// The encoding suffix follows from the operands: the short form where it is valid, VOP3 otherwise.
void choose_form(Inst& inst) {
  inst.form = Form::natural;
  if (isa::validate(inst).empty()) return;
  inst.form = Form::e32;
  if (isa::validate(inst).empty()) return;
  inst.form = Form::e64;
  if (isa::validate(inst).empty()) return;
  inst.form = Form::natural;
}

std::string first_line(std::string_view what, std::size_t count, const std::string& message) {
  return count == 1 ? fmt::format("{}: {}", what, message) : fmt::format("{} ({} in all): {}", what, count, message);
}

}  // namespace

Builder::Builder(const isa::Machine& machine)
    : machine_(machine),
      vgprs_('v', isa::vector_registers),
      agprs_('a', isa::vector_registers),
      sgprs_('s', isa::allocatable_scalar_registers) {}

void Builder::emit(Inst inst) {
  make_canonical(inst);
  choose_form(inst);
  if (const std::string problem = isa::validate(inst); !problem.empty())
    throw Error("{}: {} {}", to_string(inst.where), isa::desc(inst.op).name, problem);
  code_.push_back(inst);
}

Builder::AsideMark Builder::begin_aside() {
  if (aside_) throw Error("a strand within a strand");
  aside_ = true;
  return {code_.size(), settles_.size()};
}

Strand Builder::end_aside(const AsideMark& mark) {
  aside_ = false;
  Strand strand;
  for (std::size_t i = mark.code; i < code_.size(); ++i) {
    if (isa::counter(code_[i]) != isa::Counter::none)
      throw Error("{}: {} in a strand", to_string(code_[i].where), isa::desc(code_[i].op).name);
    strand.code_.push_back({code_[i], {}});
  }
  for (std::size_t i = mark.settles; i < settles_.size(); ++i)
    if (const std::size_t at = settles_[i].position - mark.code; at < strand.code_.size())
      strand.code_[at].settle = settles_[i].where;
  code_.resize(mark.code);
  settles_.resize(mark.settles);
  return strand;
}

void Builder::weave(const Strand& strand, std::size_t i) {
  const Strand::Step& step = strand.code_.at(i);
  if (step.settle) settle(*step.settle);
  code_.push_back(step.inst);
}

Label Builder::label(std::string_view name) {
  labels_.push_back({std::string(name)});
  return {static_cast<std::uint32_t>(labels_.size() - 1)};
}

void Builder::bind(Label label) {
  LabelInfo& info = labels_.at(label.id);
  if (aside_) throw Error("label '{}' is bound in a strand", info.name);
  if (info.position >= 0) throw Error("label '{}' is bound twice", info.name);
  info.position = static_cast<std::int64_t>(code_.size());
}

Label Builder::here(std::string_view name) {
  const Label top = label(name);
  bind(top);
  return top;
}

void Builder::wait(const Token& token, Where where) {
  if (token.producers.empty()) throw Error("{}: wait for nothing", to_string(where));
  if (aside_) throw Error("{}: a wait in a strand", to_string(where));
  waits_.push_back({static_cast<std::uint32_t>(code_.size()), token.producers, where});
}

Arrival Builder::arrival() {
  arrivals_.emplace_back();
  return {static_cast<std::uint32_t>(arrivals_.size() - 1)};
}

void Builder::join(Arrival arrival, const Token& token) { arrivals_.at(arrival.id) |= token; }

void Builder::wait(Arrival arrival, Where where) {
  arrival_waits_.push_back({waits_.size(), arrival.id});
  waits_.push_back({static_cast<std::uint32_t>(code_.size()), {}, where});
}

void Builder::settle(Where where) { settles_.push_back({static_cast<std::uint32_t>(code_.size()), where}); }

KernelBody Builder::finish() {
  isa::Program program{code_, {}};
  std::map<std::string, int> used;  // a step that runs twice binds two labels of one name
  for (const LabelInfo& info : labels_) {
    if (info.position < 0) throw Error("label '{}' is never bound", info.name);
    const int times = ++used[info.name];
    program.labels[static_cast<std::uint32_t>(info.position)] =
        times == 1 ? info.name : fmt::format("{}_{}", info.name, times);
  }
  for (Inst& inst : program.code)
    if (isa::is_branch(inst)) inst.args[0].value = static_cast<std::uint32_t>(labels_.at(inst.args[0].value).position);
  for (const ArrivalWait& pending : arrival_waits_)
    waits_[pending.request].producers = arrivals_[pending.arrival].producers;
  // Schedules settle where the built-in machine needs it and rely on the order of instructions elsewhere. A machine
  // with other wait states gets what it lacks before any instruction.
  std::vector<SettleRequest> settles = settles_;
  if (machine_ != isa::Machine{})
    for (std::uint32_t i = 0; i < code_.size(); ++i) settles.push_back({i, code_[i].where});
  program = insert_waits(std::move(program), waits_, std::move(settles), machine_);

  if (const auto found = isa::check_hazards(program, machine_); !found.empty())
    throw Error("{}", first_line("hazard", found.size(), found.front().message(program)));
  if (const auto found = isa::check_in_flight(program); !found.empty())
    throw Error("{}", first_line("read in flight", found.size(), found.front().message(program)));

  KernelBody body{std::move(program), vgprs_.peak(), agprs_.peak(), sgprs_.peak(), {}};
  for (const RegisterFile* file : {&sgprs_, &vgprs_, &agprs_})
    body.registers.insert(body.registers.end(), file->history().begin(), file->history().end());
  return body;
}

}  // namespace zyfa::generator
