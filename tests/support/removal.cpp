#include "tests/support/removal.h"

namespace zyfa {

isa::Program without(isa::Program program, std::uint32_t position) {
  program.code.erase(program.code.begin() + position);
  for (isa::Inst& inst : program.code)
    for (isa::Operand& operand : inst.args)
      if (operand.kind == isa::OperandKind::label && operand.value > position) --operand.value;
  std::map<std::uint32_t, std::string> labels;
  for (const auto& [at, name] : program.labels) labels.emplace(at > position ? at - 1 : at, name);
  program.labels = labels;
  return program;
}

}  // namespace zyfa
