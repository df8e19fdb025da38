#include "isa/emulator/indexing.h"

#include "isa/isa.h"

namespace zyfa::emulator {

std::uint32_t register_index(const Wave& wave, int arg) {
  constexpr int destination_bit = 3;
  const std::uint32_t m0 = wave.scalar[isa::m0.first];
  const int bit = arg == 0 ? destination_bit : arg - 1;
  return wave.mode.indexes_registers() && (m0 >> (12 + bit) & 1) ? m0 & 0xff : 0;
}

std::optional<Fault> execute_indexed(Execute execute, const isa::Inst& inst, Wave& wave) {
  if (inst.op != isa::Op::v_mov_b32 || (inst.form != isa::Form::e32 && inst.form != isa::Form::e64))
    return Fault{TrapKind::bad_register, -1, "the emulator indexes registers of v_mov_b32 alone"};
  isa::Inst resolved = inst;
  for (int arg = 0; arg < 2; ++arg) {
    isa::Operand& operand = resolved.args[static_cast<std::size_t>(arg)];
    if (operand.kind != isa::OperandKind::vgpr) continue;
    const std::uint32_t index = register_index(wave, arg);
    operand.value += index;
    if (operand.value >= isa::vector_registers)
      return Fault{TrapKind::bad_register, -1,
                   fmt::format("index {} makes v{} of v{}, there are {}", index, operand.value, operand.value - index,
                               isa::vector_registers)};
  }
  execute(wave, resolved);
  return std::nullopt;
}

}  // namespace zyfa::emulator
