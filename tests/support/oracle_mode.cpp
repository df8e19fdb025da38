#include "tests/support/oracle_parts.h"

namespace zyfa::tests {

using isa::Inst;
using u32 = std::uint32_t;

bool run_mode_oracle(emulator::Wave& wave, const Inst& inst, std::string_view name) {
  u32& mode = wave.mode.bits;
  const auto put = [](u32& word, u32 bit, bool value) { word = (word | 1U << bit) - (value ? 0 : 1U << bit); };
  const auto put_m0 = [&](u32 first, u32 last, u32 value) {
    for (u32 bit = first; bit <= last; ++bit) put(wave.scalar[124], bit, value >> (bit - first) & 1);
  };
  const auto operand = [&](std::size_t i) {
    return static_cast<u32>(oracle_scalar(wave, inst.args[i], isa::Type::u32));
  };
  // SIMM16: number of the register, then the first bit, then how many less one.
  const bool reads = name == "s_getreg_b32";
  if (reads || name.starts_with("s_setreg")) {
    const u32 simm = inst.args[reads ? 1 : 0].value, first = simm / 64 % 32, count = simm / 2048 + 1;
    u32 value = reads ? 0 : operand(1);
    for (u32 i = 0; i < count && first + i < 32; ++i) {
      if (reads) put(value, i, mode >> (first + i) & 1);
      if (!reads) put(mode, first + i, value >> i & 1);
    }
    if (reads) wave.scalar[inst.args[0].value] = value;
  } else if (name == "s_set_gpr_idx_on") {
    const u32 index = operand(0);
    put_m0(0, 7, index);
    put_m0(12, 15, inst.args[1].value);
    put(mode, 27, true);
  } else if (name == "s_set_gpr_idx_off") {
    put(mode, 27, false);
  } else if (name == "s_set_gpr_idx_mode") {
    put_m0(12, 15, inst.args[0].value);
  } else if (name == "s_set_gpr_idx_idx") {
    put_m0(0, 7, operand(0));
  } else {
    return false;
  }
  return true;
}

}  // namespace zyfa::tests
