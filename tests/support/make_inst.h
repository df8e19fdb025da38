// Short spellings for instructions in tests.
#pragma once

#include "isa/inst.h"

#include <algorithm>
#include <initializer_list>

namespace zyfa {

inline isa::Operand v(std::uint32_t first, int count = 1) { return {isa::OperandKind::vgpr, first, count}; }
inline isa::Operand a(std::uint32_t first, int count = 1) { return {isa::OperandKind::agpr, first, count}; }
inline isa::Operand s(std::uint32_t first, int count = 1) { return {isa::OperandKind::sgpr, first, count}; }
inline isa::Operand label(std::uint32_t target) { return {isa::OperandKind::label, target}; }
inline isa::Operand number(int n) { return isa::Operand::constant(n); }
inline constexpr isa::Operand off{};                                    // an absent address
inline constexpr isa::Operand no_offset{isa::OperandKind::literal, 0};  // of a scalar load

inline isa::Inst make(isa::Op op, isa::Form form, std::initializer_list<isa::Operand> args, isa::Modifiers mods = {}) {
  isa::Inst inst{.op = op, .form = form, .mods = mods};
  std::copy(args.begin(), args.end(), inst.args.begin());
  return inst;
}
inline isa::Inst make(isa::Op op, std::initializer_list<isa::Operand> args = {}, isa::Modifiers mods = {}) {
  return make(op, isa::Form::natural, args, mods);
}

// The instruction as if line `line` of a file t.cpp had emitted it.
inline isa::Inst at_line(isa::Inst inst, std::uint32_t line) {
  inst.where = {"t.cpp", line};
  return inst;
}

inline isa::Inst nop(int wait_states) { return make(isa::Op::s_nop, {number(wait_states - 1)}); }

// `wait_states` of idling, in instructions that each can hold.
inline void append_idle(std::vector<isa::Inst>& code, int wait_states) {
  for (; wait_states > 0; wait_states -= 16) code.push_back(nop(std::min(wait_states, 16)));
}

}  // namespace zyfa
