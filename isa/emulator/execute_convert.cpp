// Conversions whose source or destination is part of a register or many registers: bytes and halves picked by op_sel,
// and the 32 elements of v_cvt_scalef32_*pk32*.
#include "isa/emulator/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isa/emulator/execute_convert.cpp"
#include <hwy/foreach_target.h>

#include "isa/emulator/convert_math.h"
#include "isa/emulator/lane_results-inl.h"

HWY_BEFORE_NAMESPACE();
namespace zyfa::emulator::HWY_NAMESPACE {

namespace rows {
#define LANE_FUNCTION(name, ...)                                                                                       \
  struct name {                                                                                                        \
    template <class D>                                                                                                 \
    static HWY_INLINE D result(auto a, [[maybe_unused]] auto b, [[maybe_unused]] auto c, [[maybe_unused]] bool ovfl) { \
      return static_cast<D>(__VA_ARGS__);                                                                              \
    }                                                                                                                  \
  };
#define BYTE2(name, A, B, cls, ...) LANE_FUNCTION(name, __VA_ARGS__)
#define BYTE3(name, A, B, C, cls, ...) LANE_FUNCTION(name, __VA_ARGS__)
#define PART(name, bits, D, B, cls, ...) LANE_FUNCTION(name, __VA_ARGS__)
#define PART_TO_HALF(name, bits, B, cls, ...) LANE_FUNCTION(name, __VA_ARGS__)
#define LANE_EFFECT(name, ...)                                                                                        \
  struct name {                                                                                                       \
    static HWY_INLINE void apply(const u32* a, [[maybe_unused]] const u32* b, [[maybe_unused]] u32 seed, float scale, \
                                 [[maybe_unused]] bool ovfl, u32* r) {                                                \
      __VA_ARGS__;                                                                                                    \
    }                                                                                                                 \
  };
#define WIDE(name, to, from, ...) LANE_EFFECT(name, __VA_ARGS__)
#define WIDE_SR(name, to, from, ...) LANE_EFFECT(name, __VA_ARGS__)
#define WIDE_PAIR(name, to, from, ...) LANE_EFFECT(name, __VA_ARGS__)
#include "isa/gfx950.def"
#undef LANE_FUNCTION
#undef LANE_EFFECT
}  // namespace rows

// An 8-bit result into the byte of the destination that op_sel's bits 2 and 3 number (bit 3 is the higher one).
template <class Row, class A, class B, class C>
void each_byte(Wave& wave, const Inst& inst) {
  const Source<A> a(wave, inst, 1);
  const Source<B> b(wave, inst, 2);
  const Source<C> c(wave, inst, 3);
  const Source<u32> d(wave, inst, 0);
  const bool overflow_saturates = wave.mode.fp16_ovfl();
  const int shift = 8 * (inst.mods.op_sel >> 2 & 3);
  const u32 kept = ~(0xffU << shift);
  Result<u32> result;
  for (std::size_t i = 0; i < lanes; ++i)
    result.set(i, (d[i] & kept) | Row::template result<u32>(a[i], b[i], c[i], overflow_saturates) << shift);
  result.write(wave, inst);
}

// Where in source 0 the part lies: byte or half number by op_sel's lowest bits.
template <int bits>
int part_shift(const Inst& inst) {
  return bits == 8 ? 8 * (inst.mods.op_sel & 3) : 16 * (inst.mods.op_sel & 1);
}

template <class Row, int bits, class D, class B>
void each_part(Wave& wave, const Inst& inst) {
  const Source<u32> a(wave, inst, 1);
  const Source<B> b(wave, inst, 2);
  const bool overflow_saturates = wave.mode.fp16_ovfl();
  const int shift = part_shift<bits>(inst);
  constexpr u32 mask = (1U << bits) - 1;
  Result<D> result;
  for (std::size_t i = 0; i < lanes; ++i)
    result.set(i, Row::template result<D>(a[i] >> shift & mask, b[i], 0, overflow_saturates));
  result.write(wave, inst);
}

template <class Row, int bits, class B>
void each_part_to_half(Wave& wave, const Inst& inst) {
  const Source<u32> a(wave, inst, 1);
  const Source<B> b(wave, inst, 2);
  const bool overflow_saturates = wave.mode.fp16_ovfl();
  const int shift = part_shift<bits>(inst);
  constexpr u32 mask = (1U << bits) - 1;
  Words halves;
  for (std::size_t i = 0; i < lanes; ++i)
    halves.lane[i] = Row::template result<u32>(a[i] >> shift & mask, b[i], 0, overflow_saturates);
  write_half(wave.lanes_of(inst.args[0]), halves.lane, (inst.mods.op_sel & 8) != 0, wave.exec());
}

// Sources are read whole before the first register is written, so they may overlap the destination. The scale is the
// last argument, and what stands before it is the seed or a second source.
template <class Row, int to, int from, bool has_seed, bool has_pair>
void wide(Wave& wave, const Inst& inst) {
  const Source<float> scale(wave, inst, has_seed || has_pair ? 3 : 2);
  const std::conditional_t<has_seed, Source<u32>, Source<void>> seed(wave, inst, 2);
  const bool overflow_saturates = wave.mode.fp16_ovfl();
  Words results[to];
  for (std::size_t i = 0; i < lanes; ++i) {
    u32 a[from], b[from], r[to] = {};
    for (int j = 0; j < from; ++j) a[j] = wave.lanes_of(inst.args[1], j)[i];
    if (has_pair)
      for (int j = 0; j < from; ++j) b[j] = wave.lanes_of(inst.args[2], j)[i];
    Row::apply(a, b, static_cast<u32>(seed[i]), scale[i], overflow_saturates, r);
    for (int j = 0; j < to; ++j) results[j].lane[i] = r[j];
  }
  for (int j = 0; j < to; ++j) write_masked(wave.lanes_of(inst.args[0], j), results[j].lane, wave.exec());
}

// clang-format off
constexpr Execute functions[] = {
#define INSTRUCTION(name) nullptr,
#define BYTE2(name, A, B, ...) each_byte<rows::name, A, B, void>,
#define BYTE3(name, A, B, C, ...) each_byte<rows::name, A, B, C>,
#define PART(name, bits, D, B, ...) each_part<rows::name, bits, D, B>,
#define PART_TO_HALF(name, bits, B, ...) each_part_to_half<rows::name, bits, B>,
#define WIDE(name, to, from, ...) wide<rows::name, to, from, false, false>,
#define WIDE_SR(name, to, from, ...) wide<rows::name, to, from, true, false>,
#define WIDE_PAIR(name, to, from, ...) wide<rows::name, to, from, false, true>,
#include "isa/gfx950.def"
};
// clang-format on
static_assert(std::size(functions) == static_cast<std::size_t>(isa::Op::count));

Execute convert_function(isa::Op op) { return functions[static_cast<std::size_t>(op)]; }

}  // namespace zyfa::emulator::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zyfa::emulator {

HWY_EXPORT(convert_function);

Execute find_convert(isa::Op op) { return HWY_DYNAMIC_DISPATCH(convert_function)(op); }

}  // namespace zyfa::emulator
#endif
