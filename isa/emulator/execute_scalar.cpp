// Scalar ALU rows. SCC's next value is computed before the destination is written, as both may be the same
// register.
#include "isa/emulator/execute_parts.h"
#include "isa/emulator/lane_math.h"
#include "isa/isa.h"

#include <type_traits>

namespace zyfa::emulator {
namespace {

using isa::Inst;
using isa::Op;
using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

template <class T>
T source(const Wave& wave, const isa::Operand& operand) {
  if constexpr (sizeof(T) == 8)
    return static_cast<T>(scalar_source64(wave, operand, std::is_signed_v<T>));
  else
    return static_cast<T>(scalar_source(wave, operand));
}

template <class T>
void write(Wave& wave, const isa::Operand& operand, T value) {
  if constexpr (sizeof(T) == 8)
    wave.set_scalar64(static_cast<int>(operand.value), static_cast<u64>(value));
  else
    wave.scalar[operand.value] = static_cast<u32>(value);
}

// SOPK's number: 16 bits, sign-extended (CDNA4 ISA pseudo code).
u32 immediate(const isa::Operand& operand) { return sign_extend(operand.value, 16); }

// Fields of MODE, the one hardware register that there is here; bits past the last are zero and go nowhere.
u32 read_field(const Wave& wave, isa::HardwareField field) {
  return static_cast<u32>(u64{wave.mode.bits} >> field.offset & ((u64{1} << field.bits) - 1));
}
void write_field(Wave& wave, isa::HardwareField field, u32 value) {
  const u64 mask = ((u64{1} << field.bits) - 1) << field.offset;
  wave.mode.bits = static_cast<u32>((wave.mode.bits & ~mask) | (u64{value} << field.offset & mask));
}

// The index of indexed registers in M0[7:0], the operands that it is added to in M0[15:12].
void set_index(Wave& wave, u32 index) {
  u32& m0 = wave.scalar[isa::m0.first];
  m0 = (m0 & ~u32{0xff}) | (index & 0xff);
}
void set_indexed_operands(Wave& wave, u32 operands) {
  u32& m0 = wave.scalar[isa::m0.first];
  m0 = (m0 & ~u32{0xf000}) | operands << 12;
}

// A row's function, made in a switch so that its result and next SCC share one scope.
// clang-format off
#define EXECUTE(name, ...) \
  case Op::name: return [](Wave& wave, const Inst& inst) { [[maybe_unused]] const bool scc = wave.scc; __VA_ARGS__ };
#define SOP1(name, D, A, use, result, next_scc) EXECUTE(name, \
  const A a = source<A>(wave, inst.args[1]); \
  const D r = result; \
  wave.scc = next_scc; \
  write<D>(wave, inst.args[0], r);)
#define SOP1_ACC(name, D, A, use, result, next_scc) EXECUTE(name, \
  const A a = source<A>(wave, inst.args[1]); \
  const D d = source<D>(wave, inst.args[0]); \
  const D r = result; \
  wave.scc = next_scc; \
  write<D>(wave, inst.args[0], r);)
#define SOPK_COMPARE(name, A, next_scc) EXECUTE(name, \
  const A a = source<A>(wave, inst.args[0]); \
  const A b = static_cast<A>(std::is_signed_v<A> ? immediate(inst.args[1]) : inst.args[1].value & 0xffff); \
  wave.scc = next_scc;)
#define SOP2(name, D, A, B, use, result, next_scc) EXECUTE(name, \
  const A a = source<A>(wave, inst.args[1]); \
  const B b = source<B>(wave, inst.args[2]); \
  const D r = result; \
  wave.scc = next_scc; \
  write<D>(wave, inst.args[0], r);)
#define SOPC(name, A, B, next_scc) EXECUTE(name, \
  const A a = source<A>(wave, inst.args[0]); \
  const B b = source<B>(wave, inst.args[1]); \
  wave.scc = next_scc;)
#define SOPK(name, D, role, use, result, next_scc) EXECUTE(name, \
  const u32 a = immediate(inst.args[1]); \
  [[maybe_unused]] const D d = source<D>(wave, inst.args[0]); \
  const D r = result; \
  wave.scc = next_scc; \
  write<D>(wave, inst.args[0], r);)
#define SAVEEXEC(name, next_exec) EXECUTE(name, \
  const u64 a = source<u64>(wave, inst.args[1]); \
  const u64 exec = wave.exec(); \
  const u64 next = next_exec; \
  write<u64>(wave, isa::Operand(isa::exec), next); \
  write<u64>(wave, inst.args[0], exec); \
  wave.scc = next != 0;)
#define GET_REG(name) EXECUTE(name, write<u32>(wave, inst.args[0], read_field(wave, isa::hardware_field(inst)));)
#define SET_REG(name) EXECUTE(name, write_field(wave, isa::hardware_field(inst), scalar_source(wave, inst.args[1]));)
#define SET_REG_LITERAL(name) EXECUTE(name, write_field(wave, isa::hardware_field(inst), inst.args[1].value);)
#define INDEX_ON(name) EXECUTE(name, \
  set_index(wave, scalar_source(wave, inst.args[0])); \
  set_indexed_operands(wave, inst.args[1].value); \
  wave.mode.bits |= Mode::gpr_idx_en;)
#define INDEX_OFF(name) EXECUTE(name, wave.mode.bits &= ~Mode::gpr_idx_en; static_cast<void>(inst);)
#define INDEX_OPERANDS(name) EXECUTE(name, set_indexed_operands(wave, inst.args[0].value);)
#define INDEX(name) EXECUTE(name, set_index(wave, scalar_source(wave, inst.args[0]));)
// clang-format on

}  // namespace

Execute find_scalar(Op op) {
  switch (op) {
#include "isa/gfx950.def"
    default:
      return nullptr;
  }
}
#undef EXECUTE

}  // namespace zyfa::emulator
