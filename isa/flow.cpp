#include "isa/flow.h"

#include "isa/isa.h"

namespace zyfa::isa {
namespace {

std::uint32_t target_of(const Program& program, const Inst& branch) {
  const Operand& label = branch.args[0];
  if (label.kind != OperandKind::label || label.value > program.code.size())
    throw Error("{}: {} has no label inside the program", to_string(branch.where), desc(branch.op).name);
  return label.value;
}

}  // namespace

Flow::Flow(const Program& program)
    : next_(program.code.size()), before_first_(program.code.size() + 2), leader_(program.code.size() + 1) {
  leader_[0] = true;
  for (std::uint32_t i = 0; i < size(); ++i) {
    const Inst& inst = program.code[i];
    const auto follow = [&](std::uint32_t successor) {
      next_[i].position[next_[i].count++] = successor;
      ++before_first_[successor + 1];
    };
    if (desc(inst.op).effect == Effect::end || desc(inst.op).kind == Kind::SET_PC) {
      leader_[i + 1] = true;
      continue;
    }
    if (!is_branch(inst)) {
      follow(i + 1);
      continue;
    }
    const std::uint32_t target = target_of(program, inst);
    follow(target);
    if (inst.op != Op::s_branch && target != i + 1) follow(i + 1);
    leader_[target] = leader_[i + 1] = true;
  }
  for (std::uint32_t i = 0; i <= size(); ++i) before_first_[i + 1] += before_first_[i];
  before_.resize(before_first_[size() + 1]);
  std::vector<std::uint32_t> place(before_first_.begin(), before_first_.end());
  for (std::uint32_t i = 0; i < size(); ++i)
    for (const std::uint32_t successor : successors(i)) before_[place[successor]++] = i;
}

std::span<const std::uint32_t> Flow::successors(std::uint32_t position) const {
  return {next_[position].position.data(), next_[position].count};
}

std::span<const std::uint32_t> Flow::predecessors(std::uint32_t position) const {
  return std::span(before_).subspan(before_first_[position], before_first_[position + 1] - before_first_[position]);
}

}  // namespace zyfa::isa
