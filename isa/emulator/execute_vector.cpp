// Vector ALU rows: each row's expression becomes one function of a lane, inlined into the flat loop that its
// kind prescribes. All 64 lanes are computed and EXEC is applied at the write, which keeps the loops free of
// branches.
#include "isa/emulator/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isa/emulator/execute_vector.cpp"
#include <hwy/foreach_target.h>

#include "isa/emulator/lane_results-inl.h"
#include "isa/modifiers.h"

#include <limits>

HWY_BEFORE_NAMESPACE();
namespace zyfa::emulator::HWY_NAMESPACE {

// The rows' expressions. Parameters are generic so that an integer sum can also be evaluated exactly, in 64
// bits.
namespace rows {
#define LANE_FUNCTION(name, ...)                                                                                \
  struct name {                                                                                                 \
    static constexpr isa::Op op = isa::Op::name;                                                                \
    template <class D>                                                                                          \
    static HWY_INLINE D result([[maybe_unused]] auto a, [[maybe_unused]] auto b, [[maybe_unused]] auto c,       \
                               [[maybe_unused]] auto d, [[maybe_unused]] int lane, [[maybe_unused]] bool bit) { \
      __VA_ARGS__                                                                                               \
    }                                                                                                           \
  };
#define RETURN(name, ...) LANE_FUNCTION(name, const D r = __VA_ARGS__; return r;)
#define VOP1(name, D, A, cls, ...) RETURN(name, __VA_ARGS__)
#define VOP2(name, D, A, B, cls, ...) RETURN(name, __VA_ARGS__)
#define VOP2_ACC(name, D, A, B, cls, ...) RETURN(name, __VA_ARGS__)
#define VOP3_2(name, D, A, B, cls, ...) RETURN(name, __VA_ARGS__)
#define VOP3_3(name, D, A, B, C, cls, ...) RETURN(name, __VA_ARGS__)
#define DIV_FMAS(name, D, ...) LANE_FUNCTION(name, const bool mask = bit; const D r = __VA_ARGS__; return r;)
#define HALF2(name, A, B, cls, ...) \
  LANE_FUNCTION(name, [[maybe_unused]] const bool ovfl = bit; const D r = __VA_ARGS__; return r;)
#define HALF3(name, A, B, C, cls, ...) \
  LANE_FUNCTION(name, [[maybe_unused]] const bool ovfl = bit; const D r = __VA_ARGS__; return r;)
#define HALVES2(name, D, A, B, cls, ...) RETURN(name, __VA_ARGS__)
#define HALVES3(name, D, A, B, C, cls, ...) RETURN(name, __VA_ARGS__)
#define PACK_U8(name, D, A, B, C, cls, ...) \
  LANE_FUNCTION(name, const bool truncates = bit; const D r = __VA_ARGS__; return r;)
#define LITERAL_FUNCTION(name, second, third, ...)                                 \
  struct name {                                                                    \
    static constexpr isa::Op op = isa::Op::name;                                   \
    template <class D>                                                             \
    static HWY_INLINE D result(auto a, auto second, auto third, auto, int, bool) { \
      return __VA_ARGS__;                                                          \
    }                                                                              \
  };
#define VOP2_MK(name, ...) LITERAL_FUNCTION(name, k, b, __VA_ARGS__)
#define VOP2_AK(name, ...) LITERAL_FUNCTION(name, b, k, __VA_ARGS__)
#define TWO_RESULTS(name, value, flag)                                                                              \
  struct name {                                                                                                     \
    static HWY_INLINE auto result(auto a, auto b, auto c) { return value; }                                         \
    static HWY_INLINE bool bit([[maybe_unused]] auto a, [[maybe_unused]] auto b, auto c, [[maybe_unused]] auto r) { \
      return flag;                                                                                                  \
    }                                                                                                               \
  };
#define DIV_SCALE(name, D, value, flag) TWO_RESULTS(name, value, flag)
#define MAD_WIDE(name, D, A, value, flag) TWO_RESULTS(name, value, flag)
#define VOPC(name, A, ...) RETURN(name, __VA_ARGS__)
#define VOPC_CLASS(name, A, ...) RETURN(name, __VA_ARGS__)
#define CMPX(name, A, ...) RETURN(name, __VA_ARGS__)
#define CMPX_CLASS(name, A, ...) RETURN(name, __VA_ARGS__)
#define CARRY_OUT(name, ...) RETURN(name, __VA_ARGS__)
#define CARRY_IN(name, ...) LANE_FUNCTION(name, const bool carry = bit; const D r = __VA_ARGS__; return r;)
#define SELECT(name, ...) LANE_FUNCTION(name, const bool mask = bit; const D r = __VA_ARGS__; return r;)
#define PK_F32_2(name, ...) RETURN(name, __VA_ARGS__)
#define PK_F32_3(name, ...) RETURN(name, __VA_ARGS__)
#include "isa/gfx950.def"
#undef LANE_FUNCTION
#undef RETURN
#undef LITERAL_FUNCTION
#undef TWO_RESULTS
}  // namespace rows

template <class D>
HWY_INLINE D saturated(i64 exact) {
  return static_cast<D>(held_between<D>(exact));
}

// VOP1, VOP2, VOP3: D = f(A, B, C). `d`, the old destination, is read by the rows of kind VOP2_ACC only.
template <class Row, class D, class A, class B, class C, class Old>
void each_lane(Wave& wave, const Inst& inst) {
  const Source<A> a(wave, inst, 1, true);
  const Source<B> b(wave, inst, 2);
  const Source<C> c(wave, inst, 3);
  const Source<Old> d(wave, inst, 0);
  Result<D> result;
  if constexpr (isa::saturates(Row::op)) {
    if (HWY_UNLIKELY(inst.mods.clamp)) {
      for (std::size_t i = 0; i < lanes; ++i)
        result.set(i, saturated<D>(Row::template result<i64>(static_cast<i64>(a[i]), static_cast<i64>(b[i]),
                                                             static_cast<i64>(c[i]), 0, 0, false)));
      return result.write(wave, inst);
    }
  }
  for (std::size_t i = 0; i < lanes; ++i)
    result.set(i, Row::template result<typename ResultOf<D>::Type>(a[i], b[i], c[i], d[i], static_cast<int>(i), false));
  result.write(wave, inst);
}

// VOP3 with op_sel. A result of 16 bits goes to the half that its last bit says.
template <class Row, class D, class A, class B, class C>
void each_lane_of_halves(Wave& wave, const Inst& inst) {
  const Source<A> a(wave, inst, 1);
  const Source<B> b(wave, inst, 2);
  const Source<C> c(wave, inst, 3);
  Result<D> result;
  for (std::size_t i = 0; i < lanes; ++i)
    result.set(i, Row::template result<typename ResultOf<D>::Type>(a[i], b[i], c[i], 0, 0, false));
  if constexpr (is_half<D>)
    write_half(wave.lanes_of(inst.args[0]), result.finished(wave, inst), (inst.mods.op_sel & 8) != 0, wave.exec());
  else
    result.write(wave, inst);
}

// v_cvt_pk_u8_f32: how it rounds is the machine's business.
template <class Row, class D, class A, class B, class C>
void pack_u8(Wave& wave, const Inst& inst) {
  const Source<A> a(wave, inst, 1);
  const Source<B> b(wave, inst, 2);
  const Source<C> c(wave, inst, 3);
  Result<D> result;
  if (HWY_LIKELY(wave.numerics.cvt_pk_u8_rounding == isa::CvtRounding::nearest_even)) {
    for (std::size_t i = 0; i < lanes; ++i) result.set(i, Row::template result<D>(a[i], b[i], c[i], 0, 0, false));
  } else {
    for (std::size_t i = 0; i < lanes; ++i) result.set(i, Row::template result<D>(a[i], b[i], c[i], 0, 0, true));
  }
  result.write(wave, inst);
}

// A 16-bit result into one half of the destination.
template <class Row, class A, class B, class C>
void each_half(Wave& wave, const Inst& inst) {
  const Source<A> a(wave, inst, 1);
  const Source<B> b(wave, inst, 2);
  const Source<C> c(wave, inst, 3);
  const Source<u32> d(wave, inst, 0);
  const bool overflow_saturates = wave.mode.fp16_ovfl();
  const int shift = inst.mods.op_sel & 8 ? 16 : 0;
  const u32 kept = inst.mods.op_sel & 8 ? 0x0000ffffU : 0xffff0000U;
  Result<u32> result;
  if constexpr (isa::saturates(Row::op)) {
    if (HWY_UNLIKELY(inst.mods.clamp)) {
      for (std::size_t i = 0; i < lanes; ++i) {
        const i64 exact = Row::template result<i64>(static_cast<i64>(a[i]), static_cast<i64>(b[i]),
                                                    static_cast<i64>(c[i]), 0, 0, false);
        result.set(i, (d[i] & kept) | u32{static_cast<u16>(saturated<A>(exact))} << shift);
      }
      return result.write(wave, inst);
    }
  }
  for (std::size_t i = 0; i < lanes; ++i)
    result.set(i, (d[i] & kept) | (Row::template result<u32>(a[i], b[i], c[i], 0, 0, overflow_saturates) & 0xffffU)
                                      << shift);
  result.write(wave, inst);
}

// A lane mask as result: inactive lanes give 0. CMPX writes it to EXEC, too.
template <class Row, class A, class B, bool to_exec>
void compare(Wave& wave, const Inst& inst) {
  const Source<A> a(wave, inst, 1, true);
  const Source<B> b(wave, inst, 2);
  alignas(64) std::array<std::uint8_t, lanes> bit;
  for (std::size_t i = 0; i < lanes; ++i) bit[i] = Row::template result<bool>(a[i], b[i], 0, 0, 0, false);
  const u64 mask = lane_mask(bit) & written_lanes(wave, inst);
  wave.set_scalar64(static_cast<int>(inst.args[0].value), mask);
  if constexpr (to_exec) wave.set_scalar64(isa::exec.first, mask);
}

// A value and a lane mask from three sources.
template <class Row, class D, class A>
void two_results(Wave& wave, const Inst& inst) {
  const Source<A> a(wave, inst, 2);
  const Source<A> b(wave, inst, 3);
  const Source<D> c(wave, inst, 4);
  Result<D> result;
  alignas(64) std::array<std::uint8_t, lanes> bit;
  for (std::size_t i = 0; i < lanes; ++i) {
    const D value = Row::result(a[i], b[i], c[i]);
    result.set(i, value);
    bit[i] = Row::bit(a[i], b[i], c[i], value);
  }
  const u64 mask = lane_mask(bit) & written_lanes(wave, inst);
  result.write(wave, inst);
  wave.set_scalar64(static_cast<int>(inst.args[1].value), mask);
}

// VCC says which lanes scale.
template <class Row, class T>
void divide_step(Wave& wave, const Inst& inst) {
  const Source<T> a(wave, inst, 1);
  const Source<T> b(wave, inst, 2);
  const Source<T> c(wave, inst, 3);
  const u64 mask = wave.vcc();
  Result<T> result;
  for (std::size_t i = 0; i < lanes; ++i) result.set(i, Row::template result<T>(a[i], b[i], c[i], 0, 0, mask >> i & 1));
  result.write(wave, inst);
}

// Any function of three bits, as the sum of its minterms.
template <class T>
void combine_bits(Wave& wave, const Inst& inst) {
  const Source<T> a(wave, inst, 1);
  const Source<T> b(wave, inst, 2);
  const Source<T> c(wave, inst, 3);
  const Source<u32> d(wave, inst, 0);
  std::array<u32, 8> term;
  for (std::size_t i = 0; i < 8; ++i) term[i] = inst.mods.bitop3 >> i & 1 ? ~0U : 0U;
  const int shift = inst.mods.op_sel & 8 ? 16 : 0;
  const u32 kept = sizeof(T) == 4 ? 0U : inst.mods.op_sel & 8 ? 0x0000ffffU : 0xffff0000U;
  Result<u32> result;
  for (std::size_t i = 0; i < lanes; ++i) {
    const u32 x = a[i], y = b[i], z = c[i];
    const u32 without_x = (~y & ~z & term[0]) | (~y & z & term[1]) | (y & ~z & term[2]) | (y & z & term[3]);
    const u32 with_x = (~y & ~z & term[4]) | (~y & z & term[5]) | (y & ~z & term[6]) | (y & z & term[7]);
    const u32 value = (~x & without_x) | (x & with_x);
    result.set(i, (d[i] & kept) | (value << shift & ~kept));
  }
  result.write(wave, inst);
}

// Sums and differences of 33 bits. The borrow of a difference is bit 32 of the 64-bit one; `carry_arg` is the
// mask read or 0. clamp saturates to 0 or all ones, whichever side was left.
template <class Row, int carry_arg, bool subtracts>
void with_carry(Wave& wave, const Inst& inst) {
  const Source<u32> a(wave, inst, 2, true);
  const Source<u32> b(wave, inst, 3);
  const u64 carries = carry_arg == 0 ? 0 : wave.scalar64(static_cast<int>(inst.args[carry_arg].value));
  Result<u32> result;
  alignas(64) std::array<std::uint8_t, lanes> bit;
  for (std::size_t i = 0; i < lanes; ++i) {
    const u64 exact = Row::template result<u64>(u64{a[i]}, u64{b[i]}, 0, 0, 0, carries >> i & 1);
    const auto over = static_cast<u32>(exact >> 32 & 1);
    const u32 limit = subtracts ? 0U : ~0U;
    result.set(i, inst.mods.clamp && over ? limit : static_cast<u32>(exact));
    bit[i] = static_cast<std::uint8_t>(over);
  }
  const u64 mask = lane_mask(bit) & written_lanes(wave, inst);
  result.write(wave, inst);
  wave.set_scalar64(static_cast<int>(inst.args[1].value), mask);
}

template <class Row>
void select(Wave& wave, const Inst& inst) {
  const Source<u32> a(wave, inst, 1, true);
  const Source<u32> b(wave, inst, 2);
  const u64 mask = wave.scalar64(static_cast<int>(inst.args[3].value));
  Result<u32> result;
  for (std::size_t i = 0; i < lanes; ++i) result.set(i, Row::template result<u32>(a[i], b[i], 0, 0, 0, mask >> i & 1));
  result.write(wave, inst);
}

// Packed: two results, each of which picks one half of every source's register pair (gfx950.md 4)

// The half of source `i` (from 0) that the low or high result takes. Constants are the same for both.
HWY_INLINE const u32* packed_source(const Wave& wave, const Inst& inst, int i, bool high, bool is_f32, Lanes& buffer) {
  const Operand& operand = inst.args[static_cast<std::size_t>(i + 1)];
  const u32 selection = high ? isa::op_sel_hi(inst) : inst.mods.op_sel;
  const u32 negation = high ? inst.mods.neg_hi : inst.mods.neg_lo;
  const int half = selection >> i & 1;
  SourceModifiers modifiers = source_modifiers(wave, operand, is_f32);
  if (is_f32 && (negation >> i & 1)) modifiers.flip = 0x80000000U;
  const bool is_scalar = operand.kind == isa::OperandKind::sgpr;
  const u32 scalar = is_scalar ? wave.scalar[operand.value + static_cast<u32>(half)] : operand.value;
  return source_words(wave, operand, half, scalar, modifiers, buffer);
}

template <class Row, int sources>
void packed(Wave& wave, const Inst& inst) {
  Words result[2];
  for (int half = 0; half < 2; ++half) {
    Words buffer[3];
    const u32* a = packed_source(wave, inst, 0, half == 1, true, buffer[0].lane);
    const u32* b = packed_source(wave, inst, 1, half == 1, true, buffer[1].lane);
    const u32* c = sources == 3 ? packed_source(wave, inst, 2, half == 1, true, buffer[2].lane) : a;
    for (std::size_t i = 0; i < lanes; ++i)
      result[half].lane[i] =
          canonical(Row::template result<float>(float_of(a[i]), float_of(b[i]), float_of(c[i]), 0, 0, false));
    modify_result(wave, inst, result[half].lane);
  }
  for (int half = 0; half < 2; ++half) write_masked(wave.lanes_of(inst.args[0], half), result[half].lane, wave.exec());
}

// D.lo is a half of source 0, D.hi one of source 1, both picked by op_sel (CDNA4 ISA pseudo code).
inline void packed_move(Wave& wave, const Inst& inst) {
  Words result[2];
  for (int half = 0; half < 2; ++half) {
    Words buffer;
    const u32* source = packed_source(wave, inst, half, false, false, buffer.lane);
    std::copy_n(source, lanes, result[half].lane.data());
  }
  for (int half = 0; half < 2; ++half) write_masked(wave.lanes_of(inst.args[0], half), result[half].lane, wave.exec());
}

// Lane exchange

inline u32 selected_lane(const Wave& wave, const Operand& operand) { return scalar_source(wave, operand) & 63; }

inline void read_lane(Wave& wave, const Inst& inst) {
  wave.scalar[inst.args[0].value] = wave.lanes_of(inst.args[1])[selected_lane(wave, inst.args[2])];
}
// The lowest active lane, lane 0 if none is (CDNA4 ISA pseudo code).
inline void read_first_lane(Wave& wave, const Inst& inst) {
  const u64 exec = wave.exec();
  const auto lane = static_cast<std::size_t>(exec == 0 ? 0 : std::countr_zero(exec));
  wave.scalar[inst.args[0].value] = wave.lanes_of(inst.args[1])[lane];
}
// EXEC does not matter here.
inline void write_lane(Wave& wave, const Inst& inst) {
  wave.lanes_of(inst.args[0])[selected_lane(wave, inst.args[2])] = scalar_source(wave, inst.args[1]);
}
// In each block of 2 * row lanes the destination's upper row and the source's lower row change places,
// whatever EXEC says (CDNA4 ISA pseudo code of v_permlane16_swap and v_permlane32_swap).
template <int row>
void swap_lanes(Wave& wave, const Inst& inst) {
  Lanes& d = wave.lanes_of(inst.args[0]);
  Lanes& a = wave.lanes_of(inst.args[1]);
  for (int block = 0; block < lanes; block += 2 * row)
    std::swap_ranges(d.begin() + block + row, d.begin() + block + 2 * row, a.begin() + block);
}

inline void copy(Wave& wave, const Inst& inst) {
  const Source<u32> a(wave, inst, 1);
  Result<u32> result;
  for (std::size_t i = 0; i < lanes; ++i) result.set(i, a[i]);
  result.write(wave, inst);
}
inline void nothing(Wave&, const Inst&) {}

constexpr bool is_subtraction(isa::Op op) { return op != isa::Op::v_add_co_u32 && op != isa::Op::v_addc_co_u32; }

// clang-format off
constexpr Execute functions[] = {
#define INSTRUCTION(name) nullptr,
#define VOP1(name, D, A, ...) each_lane<rows::name, D, A, void, void, void>,
#define VOP2(name, D, A, B, ...) each_lane<rows::name, D, A, B, void, void>,
#define VOP2_ACC(name, D, A, B, ...) each_lane<rows::name, D, A, B, void, D>,
#define VOP3_2(name, D, A, B, ...) each_lane<rows::name, D, A, B, void, void>,
#define VOP3_3(name, D, A, B, C, ...) each_lane<rows::name, D, A, B, C, void>,
#define HALF2(name, A, B, ...) each_half<rows::name, A, B, void>,
#define HALF3(name, A, B, C, ...) each_half<rows::name, A, B, C>,
#define HALVES2(name, D, A, B, ...) each_lane_of_halves<rows::name, D, A, B, void>,
#define HALVES3(name, D, A, B, C, ...) each_lane_of_halves<rows::name, D, A, B, C>,
#define PACK_U8(name, D, A, B, C, ...) pack_u8<rows::name, D, A, B, C>,
#define VOPC(name, A, ...) compare<rows::name, A, A, false>,
#define VOPC_CLASS(name, A, ...) compare<rows::name, A, u32, false>,
#define CMPX(name, A, ...) compare<rows::name, A, A, true>,
#define CMPX_CLASS(name, A, ...) compare<rows::name, A, u32, true>,
#define VOP2_MK(name, ...) each_lane<rows::name, f32, f32, f32, f32, void>,
#define VOP2_AK(name, ...) each_lane<rows::name, f32, f32, f32, f32, void>,
#define BITOP3(name, T) combine_bits<T>,
#define DIV_SCALE(name, T, ...) two_results<rows::name, T, T>,
#define DIV_FMAS(name, T, ...) divide_step<rows::name, T>,
#define MAD_WIDE(name, D, A, ...) two_results<rows::name, D, A>,
#define CARRY_OUT(name, ...) with_carry<rows::name, 0, is_subtraction(isa::Op::name)>,
#define CARRY_IN(name, ...) with_carry<rows::name, 4, is_subtraction(isa::Op::name)>,
#define SELECT(name, ...) select<rows::name>,
#define READ_FIRST_LANE(name) read_first_lane,
#define READ_LANE(name) read_lane,
#define WRITE_LANE(name) write_lane,
#define SWAP_LANES(name, row) swap_lanes<row>,
#define VNOP(name) nothing,
#define PK_F32_2(name, ...) packed<rows::name, 2>,
#define PK_F32_3(name, ...) packed<rows::name, 3>,
#define PK_MOVE(name) packed_move,
#define ACC_READ(name) copy,
#define ACC_WRITE(name) copy,
#include "isa/gfx950.def"
};
// clang-format on
static_assert(std::size(functions) == static_cast<std::size_t>(isa::Op::count));

Execute function(isa::Op op) { return functions[static_cast<std::size_t>(op)]; }
const char* extension() { return hwy::TargetName(HWY_TARGET); }

}  // namespace zyfa::emulator::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zyfa::emulator {

HWY_EXPORT(function);
HWY_EXPORT(extension);

Execute find_vector(isa::Op op) { return HWY_DYNAMIC_DISPATCH(function)(op); }
const char* vector_extension() { return HWY_DYNAMIC_DISPATCH(extension)(); }

}  // namespace zyfa::emulator
#endif
