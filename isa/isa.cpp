#include "isa/isa.h"

#include <algorithm>
#include <unordered_map>

namespace zyfa::isa {
namespace {

using enum Role;

constexpr std::uint8_t dwords_of(Type type) {
  return type == Type::u64 || type == Type::i64 || type == Type::f64 || type == Type::mask ? 2 : 1;
}
constexpr Arg out(Type t) { return {write, t, dwords_of(t)}; }
constexpr Arg in(Type t) { return {read, t, dwords_of(t)}; }
constexpr Arg both(Type t) { return {update, t, dwords_of(t)}; }
constexpr Arg wide(Role role, Type t, int dwords) { return {role, t, static_cast<std::uint8_t>(dwords)}; }
constexpr Arg number{read, Type::bits, 0};
// A destination of 16 bits leaves the other half as it was.
constexpr Arg of_halves(Type t) { return is_half_type(t) ? both(t) : out(t); }

constexpr int bits_of(Type t) {
  return t == Type::e4m3 || t == Type::e5m2 || t == Type::i8 ? 8 : is_half_type(t) ? 16 : 32 * dwords_of(t);
}
// Registers of a matrix operand of rows x columns elements over 64 lanes.
constexpr Arg matrix(Role role, Type t, int rows, int columns) {
  return wide(role, t, rows * columns * bits_of(t) / 64 / 32);
}

constexpr Class class_of(Effect e) {
  return e == Effect::barrier ? Class::Barrier : e == Effect::end ? Class::Branch : Class::Internal;
}

constexpr Class class_of(Type t) { return dwords_of(t) == 2 ? Class::Valu64 : Class::Valu; }

// A dword count becomes bytes per lane.
constexpr std::uint8_t bytes(int dwords) { return static_cast<std::uint8_t>(dwords * 4); }
constexpr std::uint8_t bytes_of(Type t) { return bytes(dwords_of(t)); }

using T = Type;
using C = Class;

// Each macro turns the columns of its kind into a Desc. clang-format would spread one line over six.
// clang-format off
constexpr Desc descs[] = {
#define HEAD(mnemonic, kind_, class_) .name = #mnemonic, .kind = Kind::kind_, .cls = C::class_
#define SOP1(op_, D, A, use, ...)         Desc{HEAD(op_, SOP1, Salu), .args = {out(T::D), in(T::A)}, .scc = SccUse::use},
#define SOP1_ACC(op_, D, A, use, ...)     Desc{HEAD(op_, SOP1_ACC, Salu), .args = {both(T::D), in(T::A)}, .scc = SccUse::use},
#define SOP2(op_, D, A, B, use, ...)      Desc{HEAD(op_, SOP2, Salu), .args = {out(T::D), in(T::A), in(T::B)}, .scc = SccUse::use},
#define SOPC(op_, A, B, ...)              Desc{HEAD(op_, SOPC, Salu), .args = {in(T::A), in(T::B)}, .scc = SccUse::writes},
#define SOPK(op_, D, role, use, ...)      Desc{HEAD(op_, SOPK, Salu), .args = {wide(role, T::D, 1), number}, .scc = SccUse::use},
#define SOPK_COMPARE(op_, A, ...)         Desc{HEAD(op_, SOPK_COMPARE, Salu), .args = {in(T::A), number}, .scc = SccUse::writes},
#define SAVEEXEC(op_, ...)                Desc{HEAD(op_, SAVEEXEC, Salu), .args = {out(T::u64), in(T::u64)}, .scc = SccUse::writes},
#define BRANCH(op_, ...)                  Desc{HEAD(op_, BRANCH, Branch), .args = {number}},
#define SOPP(op_, e)                      Desc{.name = #op_, .kind = Kind::SOPP, .cls = class_of(Effect::e), .effect = Effect::e},
#define SOPP_COUNT(op_, e)                Desc{HEAD(op_, SOPP_COUNT, Internal), .args = {number}, .effect = Effect::e},
#define WAITCNT(op_)                      Desc{HEAD(op_, WAITCNT, Internal)},
#define GET_PC(op_)                       Desc{HEAD(op_, GET_PC, Salu), .args = {out(T::u64)}},
#define SET_PC(op_)                       Desc{HEAD(op_, SET_PC, Branch), .args = {in(T::u64)}},
#define CALL(op_)                         Desc{HEAD(op_, CALL, Branch), .args = {out(T::u64), in(T::u64)}},
#define GET_REG(op_)                      Desc{HEAD(op_, GET_REG, Salu), .args = {out(T::u32), number}},
#define SET_REG(op_)                      Desc{HEAD(op_, SET_REG, Salu), .args = {number, in(T::u32)}},
#define SET_REG_LITERAL(op_)              Desc{HEAD(op_, SET_REG_LITERAL, Salu), .args = {number, number}},
#define INDEX_ON(op_)                     Desc{HEAD(op_, INDEX_ON, Salu), .args = {in(T::u32), number}},
#define INDEX_OFF(op_)                    Desc{HEAD(op_, INDEX_OFF, Salu)},
#define INDEX_OPERANDS(op_)               Desc{HEAD(op_, INDEX_OPERANDS, Salu), .args = {number}},
#define INDEX(op_)                        Desc{HEAD(op_, INDEX, Salu), .args = {in(T::u32)}},
#define SMEM_LOAD(op_, dw)                Desc{HEAD(op_, SMEM_LOAD, Smem), .args = {wide(write, T::bits, dw), in(T::u64), number}, .memory_bytes = bytes(dw)},
#define SMEM_BUFFER_LOAD(op_, dw)         Desc{HEAD(op_, SMEM_BUFFER_LOAD, Smem), .args = {wide(write, T::bits, dw), wide(read, T::bits, 4), number}, .memory_bytes = bytes(dw)},
#define SMEM_TIME(op_)                    Desc{HEAD(op_, SMEM_TIME, Smem), .args = {out(T::u64)}},
#define SMEM_CACHE(op_)                   Desc{HEAD(op_, SMEM_CACHE, Smem)},
#define VOP1(op_, D, A, c, ...)           Desc{HEAD(op_, VOP1, c), .args = {out(T::D), in(T::A)}},
#define VOP2(op_, D, A, B, c, ...)        Desc{HEAD(op_, VOP2, c), .args = {out(T::D), in(T::A), in(T::B)}},
#define VOP2_ACC(op_, D, A, B, c, ...)    Desc{HEAD(op_, VOP2_ACC, c), .args = {both(T::D), in(T::A), in(T::B)}},
#define VOP3_2(op_, D, A, B, c, ...)      Desc{HEAD(op_, VOP3_2, c), .args = {out(T::D), in(T::A), in(T::B)}},
#define VOP3_3(op_, D, A, B, C_, c, ...)  Desc{HEAD(op_, VOP3_3, c), .args = {out(T::D), in(T::A), in(T::B), in(T::C_)}},
#define VOP2_MK(op_, ...)                 Desc{HEAD(op_, VOP2_MK, Valu), .args = {out(T::f32), in(T::f32), in(T::f32), in(T::f32)}},
#define VOP2_AK(op_, ...)                 Desc{HEAD(op_, VOP2_AK, Valu), .args = {out(T::f32), in(T::f32), in(T::f32), in(T::f32)}},
#define BITOP3(op_, D)                    Desc{HEAD(op_, BITOP3, Valu), .args = {wide(is_16_bits(T::D) ? update : write, T::D, 1), in(T::D), in(T::D), in(T::D)}},
#define DIV_SCALE(op_, D, ...)            Desc{.name = #op_, .kind = Kind::DIV_SCALE, .cls = class_of(T::D), .args = {out(T::D), out(T::mask), in(T::D), in(T::D), in(T::D)}},
#define DIV_FMAS(op_, D, ...)             Desc{.name = #op_, .kind = Kind::DIV_FMAS, .cls = class_of(T::D), .args = {out(T::D), in(T::D), in(T::D), in(T::D)}},
#define MAD_WIDE(op_, D, A, ...)          Desc{HEAD(op_, MAD_WIDE, ValuQuarter), .args = {out(T::D), out(T::mask), in(T::A), in(T::A), in(T::D)}},
#define HALF2(op_, A, B, c, ...)          Desc{HEAD(op_, HALF2, c), .args = {both(T::u32), in(T::A), in(T::B)}},
#define HALF3(op_, A, B, C_, c, ...)      Desc{HEAD(op_, HALF3, c), .args = {both(T::u32), in(T::A), in(T::B), in(T::C_)}},
#define BYTE2(op_, A, B, c, ...)          Desc{HEAD(op_, BYTE2, c), .args = {both(T::u32), in(T::A), in(T::B)}},
#define BYTE3(op_, A, B, C_, c, ...)      Desc{HEAD(op_, BYTE3, c), .args = {both(T::u32), in(T::A), in(T::B), in(T::C_)}},
#define PART(op_, bits_, D, B, c, ...)    Desc{HEAD(op_, PART, c), .args = {out(T::D), in(T::u32), in(T::B)}, .part_bits = bits_},
#define PART_TO_HALF(op_, bits_, B, c, ...) Desc{HEAD(op_, PART_TO_HALF, c), .args = {both(T::f16), in(T::u32), in(T::B)}, .part_bits = bits_},
#define HALVES2(op_, D, A, B, c, ...)     Desc{HEAD(op_, HALVES2, c), .args = {of_halves(T::D), in(T::A), in(T::B)}},
#define HALVES3(op_, D, A, B, C_, c, ...) Desc{HEAD(op_, HALVES3, c), .args = {of_halves(T::D), in(T::A), in(T::B), in(T::C_)}},
#define PACK_U8(op_, D, A, B, C_, c, ...) Desc{HEAD(op_, PACK_U8, c), .args = {out(T::D), in(T::A), in(T::B), in(T::C_)}},
#define VOPC(op_, A, ...)                 Desc{HEAD(op_, VOPC, Valu), .args = {out(T::mask), in(T::A), in(T::A)}},
#define VOPC_CLASS(op_, A, ...)           Desc{HEAD(op_, VOPC, Valu), .args = {out(T::mask), in(T::A), in(T::u32)}},
#define CMPX(op_, A, ...)                 Desc{HEAD(op_, CMPX, Valu), .args = {out(T::mask), in(T::A), in(T::A)}},
#define CMPX_CLASS(op_, A, ...)           Desc{HEAD(op_, CMPX, Valu), .args = {out(T::mask), in(T::A), in(T::u32)}},
#define CARRY_OUT(op_, ...)               Desc{HEAD(op_, CARRY_OUT, Valu), .args = {out(T::u32), out(T::mask), in(T::u32), in(T::u32)}},
#define CARRY_IN(op_, ...)                Desc{HEAD(op_, CARRY_IN, Valu), .args = {out(T::u32), out(T::mask), in(T::u32), in(T::u32), in(T::mask)}},
#define SELECT(op_, ...)                  Desc{HEAD(op_, SELECT, Valu), .args = {out(T::u32), in(T::u32), in(T::u32), in(T::mask)}},
#define READ_FIRST_LANE(op_)              Desc{HEAD(op_, READ_FIRST_LANE, Valu), .args = {out(T::u32), in(T::u32)}},
#define READ_LANE(op_)                    Desc{HEAD(op_, READ_LANE, Valu), .args = {out(T::u32), in(T::u32), in(T::u32)}},
#define WRITE_LANE(op_)                   Desc{HEAD(op_, WRITE_LANE, Valu), .args = {both(T::u32), in(T::u32), in(T::u32)}},
#define SWAP_LANES(op_, row)              Desc{HEAD(op_, SWAP_LANES, Valu), .args = {both(T::u32), both(T::u32)}, .swap_row = row},
#define VNOP(op_)                         Desc{HEAD(op_, VNOP, Valu)},
#define MIX(op_, bits_, first)            Desc{HEAD(op_, MIX, Valu), .args = {bits_ == 32 ? out(T::f32) : both(T::f16), in(T::f32), in(T::f32), in(T::f32)}, \
    .result_bits = bits_, .result_bit = first},
#define PK16_2(op_, t, ...)               Desc{HEAD(op_, PK16_2, Valu), .args = {out(T::t##x2), in(T::t##x2), in(T::t##x2)}},
#define PK16_3(op_, t, ...)               Desc{HEAD(op_, PK16_3, Valu), .args = {out(T::t##x2), in(T::t##x2), in(T::t##x2), in(T::t##x2)}},
#define DOT(op_, D, A, ...)               Desc{HEAD(op_, DOT, Dot), .args = {out(T::D), in(T::A), in(T::A), in(T::D)}},
#define WIDE(op_, to, from, ...)          Desc{HEAD(op_, WIDE, Valu), .args = {wide(write, T::bits, to), wide(read, T::bits, from), in(T::f32)}},
#define WIDE_SR(op_, to, from, ...)       Desc{HEAD(op_, WIDE_SR, Valu), .args = {wide(write, T::bits, to), wide(read, T::bits, from), in(T::u32), in(T::f32)}},
#define WIDE_PAIR(op_, to, from, ...)     Desc{HEAD(op_, WIDE_PAIR, Valu), .args = {wide(write, T::bits, to), wide(read, T::bits, from), wide(read, T::bits, from), in(T::f32)}},
#define PK_F32_2(op_, ...)                Desc{HEAD(op_, PK_F32_2, ValuPacked), .args = {wide(write, T::f32, 2), wide(read, T::f32, 2), wide(read, T::f32, 2)}},
#define PK_F32_3(op_, ...)                Desc{HEAD(op_, PK_F32_3, ValuPacked), .args = {wide(write, T::f32, 2), wide(read, T::f32, 2), wide(read, T::f32, 2), wide(read, T::f32, 2)}},
#define PK_MOVE(op_)                      Desc{HEAD(op_, PK_MOVE, ValuPacked), .args = {wide(write, T::u32, 2), wide(read, T::u32, 2), wide(read, T::u32, 2)}},
#define ACC_READ(op_)                     Desc{HEAD(op_, ACC_READ, Valu), .args = {out(T::u32), in(T::u32)}},
#define ACC_WRITE(op_)                    Desc{HEAD(op_, ACC_WRITE, Valu), .args = {out(T::u32), in(T::u32)}},
#define MFMA(name_, CD, A, B, M, N, K, count, p) Desc{HEAD(name_, MFMA, Mfma), \
    .args = {matrix(write, T::CD, M * count, N), matrix(read, T::A, M * count, K), matrix(read, T::B, K, N * count), matrix(read, T::CD, M * count, N)}, \
    .m = M, .n = N, .k = K, .blocks = count, .passes = p, .passes_small = p},
#define SMFMAC(name_, CD, A, B, M, N, K, p) Desc{HEAD(name_, SMFMAC, Mfma), \
    .args = {matrix(update, T::CD, M, N), matrix(read, T::A, M, K / 2), matrix(read, T::B, K, N), in(T::u32)}, \
    .m = M, .n = N, .k = K, .passes = p, .passes_small = p},
#define F8F6F4(name_, M, N, K, p8, p4) Desc{HEAD(name_, F8F6F4, Mfma), \
    .args = {matrix(write, T::f32, M, N), wide(read, T::f8f6f4, 8), wide(read, T::f8f6f4, 8), matrix(read, T::f32, M, N)}, \
    .m = M, .n = N, .k = K, .passes = p8, .passes_small = p4},
#define F8F6F4_SCALED(name_, M, N, K, p8, p4) Desc{HEAD(name_, F8F6F4_SCALED, Mfma), \
    .args = {matrix(write, T::f32, M, N), wide(read, T::f8f6f4, 8), wide(read, T::f8f6f4, 8), matrix(read, T::f32, M, N), in(T::u32), in(T::u32)}, \
    .m = M, .n = N, .k = K, .passes = p8, .passes_small = p4},
#define DS_READ(op_, dw)                  Desc{HEAD(op_, DS_READ, LdsRead), .args = {wide(write, T::bits, dw), in(T::u32)}, .memory_bytes = bytes(dw), .data = 0, .address = 1},
#define DS_READ_PART(op_, b, sign)        Desc{HEAD(op_, DS_READ, LdsRead), .args = {wide(write, T::bits, 1), in(T::u32)}, .memory_bytes = b, .sign_extends = sign, .data = 0, .address = 1},
#define DS_READ_TR(op_, dw, element)      Desc{HEAD(op_, DS_READ_TR, LdsRead), .args = {wide(write, T::bits, dw), in(T::u32)}, .memory_bytes = bytes(dw), .element_bits = element, .data = 0, .address = 1},
#define DS_READ2(op_, dw, stride)         Desc{HEAD(op_, DS_READ2, LdsRead), .args = {wide(write, T::bits, 2 * dw), in(T::u32)}, .memory_bytes = bytes(dw), .pair_stride = stride, .data = 0, .address = 1},
#define DS_WRITE(op_, dw)                 Desc{HEAD(op_, DS_WRITE, LdsWrite), .args = {in(T::u32), wide(read, T::bits, dw)}, .memory_bytes = bytes(dw), .data = 1, .address = 0},
#define DS_WRITE_PART(op_, b, high)       Desc{HEAD(op_, DS_WRITE, LdsWrite), .args = {in(T::u32), wide(read, T::bits, 1)}, .memory_bytes = b, .high_half = high, .data = 1, .address = 0},
#define DS_WRITE2(op_, dw, stride)        Desc{HEAD(op_, DS_WRITE2, LdsWrite), .args = {in(T::u32), wide(read, T::bits, dw), wide(read, T::bits, dw)}, .memory_bytes = bytes(dw), .pair_stride = stride, .data = 1, .address = 0},
#define DS_ATOMIC(op_, t, ...)            Desc{HEAD(op_, DS_ATOMIC, LdsWrite), .args = {in(T::u32), in(T::t)}, .memory_bytes = bytes_of(T::t), .data = 1, .address = 0},
#define DS_ATOMIC_RTN(op_, t, ...)        Desc{HEAD(op_, DS_ATOMIC_RTN, LdsRead), .args = {out(T::t), in(T::u32), in(T::t)}, .memory_bytes = bytes_of(T::t), .data = 2, .address = 1},
#define DS_COMPARE(op_, t, ...)           Desc{HEAD(op_, DS_COMPARE, LdsWrite), .args = {in(T::u32), in(T::t), in(T::t)}, .memory_bytes = bytes_of(T::t), .data = 1, .address = 0},
#define DS_COMPARE_RTN(op_, t, ...)       Desc{HEAD(op_, DS_COMPARE_RTN, LdsRead), .args = {out(T::t), in(T::u32), in(T::t), in(T::t)}, .memory_bytes = bytes_of(T::t), .data = 2, .address = 1},
#define DS_COUNT(op_, ...)                Desc{HEAD(op_, DS_COUNT, LdsRead), .args = {out(T::u32)}, .memory_bytes = 4, .data = 0},
#define DS_PERMUTE(op_, pulls_)           Desc{HEAD(op_, DS_PERMUTE, LdsRead), .args = {out(T::u32), in(T::u32), in(T::u32)}, .pulls = pulls_, .data = 2, .address = 1},
#define DS_SWIZZLE(op_)                   Desc{HEAD(op_, DS_SWIZZLE, LdsRead), .args = {out(T::u32), in(T::u32)}, .address = 1},
#define BUFFER(role, dw)                  {wide(role, T::bits, dw), in(T::u32), wide(read, T::bits, 4), in(T::u32)}
#define BUFFER_LOAD(op_, dw)              Desc{HEAD(op_, BUFFER_LOAD, VmemLoad), .args = BUFFER(write, dw), .memory_bytes = bytes(dw), .data = 0, .address = 1},
#define BUFFER_LOAD_PART(op_, b, sign)    Desc{HEAD(op_, BUFFER_LOAD, VmemLoad), .args = BUFFER(write, 1), .memory_bytes = b, .sign_extends = sign, .data = 0, .address = 1},
#define BUFFER_STORE(op_, b)              Desc{HEAD(op_, BUFFER_STORE, VmemStore), .args = BUFFER(read, (b + 3) / 4), .memory_bytes = b, .data = 0, .address = 1},
#define BUFFER_STORE_HIGH(op_, b)         Desc{HEAD(op_, BUFFER_STORE, VmemStore), .args = BUFFER(read, 1), .memory_bytes = b, .high_half = true, .data = 0, .address = 1},
#define BUFFER_ATOMIC(op_, t, ...)        Desc{HEAD(op_, BUFFER_ATOMIC, VmemStore), .args = BUFFER(update, dwords_of(T::t)), .memory_bytes = bytes_of(T::t), .data = 0, .address = 1},
#define BUFFER_COMPARE(op_, t, ...)       Desc{HEAD(op_, BUFFER_ATOMIC, VmemStore), .args = BUFFER(update, 2 * dwords_of(T::t)), .memory_bytes = bytes_of(T::t), .data = 0, .address = 1},
#define GLOBAL_LOAD(op_, dw)              Desc{HEAD(op_, GLOBAL_LOAD, VmemLoad), .args = {wide(write, T::bits, dw), in(T::u64), in(T::u64)}, .memory_bytes = bytes(dw), .data = 0, .address = 1, .base = 2},
#define GLOBAL_LOAD_PART(op_, b, sign)    Desc{HEAD(op_, GLOBAL_LOAD, VmemLoad), .args = {wide(write, T::bits, 1), in(T::u64), in(T::u64)}, .memory_bytes = b, .sign_extends = sign, .data = 0, .address = 1, .base = 2},
#define GLOBAL_LOAD_LDS(op_, dw)          Desc{HEAD(op_, GLOBAL_LOAD_LDS, VmemLoad), .args = {in(T::u64), in(T::u64)}, .memory_bytes = bytes(dw), .address = 0, .base = 1},
#define GLOBAL_LOAD_LDS_PART(op_, b, sign) Desc{HEAD(op_, GLOBAL_LOAD_LDS, VmemLoad), .args = {in(T::u64), in(T::u64)}, .memory_bytes = b, .sign_extends = sign, .address = 0, .base = 1},
#define GLOBAL_STORE(op_, b)              Desc{HEAD(op_, GLOBAL_STORE, VmemStore), .args = {in(T::u64), wide(read, T::bits, (b + 3) / 4), in(T::u64)}, .memory_bytes = b, .data = 1, .address = 0, .base = 2},
#define GLOBAL_STORE_HIGH(op_, b)         Desc{HEAD(op_, GLOBAL_STORE, VmemStore), .args = {in(T::u64), in(T::bits), in(T::u64)}, .memory_bytes = b, .high_half = true, .data = 1, .address = 0, .base = 2},
#define GLOBAL_ATOMIC(op_, t, ...)        Desc{HEAD(op_, GLOBAL_ATOMIC, VmemStore), .args = {out(T::t), in(T::u64), in(T::t), in(T::u64)}, .memory_bytes = bytes_of(T::t), .data = 2, .address = 1, .base = 3},
#define GLOBAL_COMPARE(op_, t, ...)       Desc{HEAD(op_, GLOBAL_ATOMIC, VmemStore), .args = {out(T::t), in(T::u64), wide(read, T::bits, 2 * dwords_of(T::t)), in(T::u64)}, .memory_bytes = bytes_of(T::t), .data = 2, .address = 1, .base = 3},
#define FLAT_LOAD(op_, dw)                Desc{HEAD(op_, FLAT_LOAD, VmemLoad), .args = {wide(write, T::bits, dw), in(T::u64)}, .memory_bytes = bytes(dw), .data = 0, .address = 1},
#define FLAT_LOAD_PART(op_, b, sign)      Desc{HEAD(op_, FLAT_LOAD, VmemLoad), .args = {wide(write, T::bits, 1), in(T::u64)}, .memory_bytes = b, .sign_extends = sign, .data = 0, .address = 1},
#define FLAT_STORE(op_, b)                Desc{HEAD(op_, FLAT_STORE, VmemStore), .args = {in(T::u64), wide(read, T::bits, (b + 3) / 4)}, .memory_bytes = b, .data = 1, .address = 0},
#define FLAT_STORE_HIGH(op_, b)           Desc{HEAD(op_, FLAT_STORE, VmemStore), .args = {in(T::u64), in(T::bits)}, .memory_bytes = b, .high_half = true, .data = 1, .address = 0},
#define FLAT_ATOMIC(op_, t, ...)          Desc{HEAD(op_, FLAT_ATOMIC, VmemStore), .args = {out(T::t), in(T::u64), in(T::t)}, .memory_bytes = bytes_of(T::t), .data = 2, .address = 1},
#define FLAT_COMPARE(op_, t, ...)         Desc{HEAD(op_, FLAT_ATOMIC, VmemStore), .args = {out(T::t), in(T::u64), wide(read, T::bits, 2 * dwords_of(T::t))}, .memory_bytes = bytes_of(T::t), .data = 2, .address = 1},
#define SCRATCH_LOAD(op_, dw)             Desc{HEAD(op_, SCRATCH_LOAD, VmemLoad), .args = {wide(write, T::bits, dw), in(T::u32), in(T::u32)}, .memory_bytes = bytes(dw), .data = 0, .address = 1, .base = 2},
#define SCRATCH_LOAD_PART(op_, b, sign)   Desc{HEAD(op_, SCRATCH_LOAD, VmemLoad), .args = {wide(write, T::bits, 1), in(T::u32), in(T::u32)}, .memory_bytes = b, .sign_extends = sign, .data = 0, .address = 1, .base = 2},
#define SCRATCH_STORE(op_, b)             Desc{HEAD(op_, SCRATCH_STORE, VmemStore), .args = {in(T::u32), wide(read, T::bits, (b + 3) / 4), in(T::u32)}, .memory_bytes = b, .data = 1, .address = 0, .base = 2},
#define SCRATCH_STORE_HIGH(op_, b)        Desc{HEAD(op_, SCRATCH_STORE, VmemStore), .args = {in(T::u32), in(T::bits), in(T::u32)}, .memory_bytes = b, .high_half = true, .data = 1, .address = 0, .base = 2},
#define CACHE_WRITE_BACK(op_)             Desc{HEAD(op_, CACHE_WRITE_BACK, VmemStore)},
#define CACHE_INVALIDATE(op_)             Desc{HEAD(op_, CACHE_INVALIDATE, Internal)},
#include "isa/gfx950.def"
#undef HEAD
#undef BUFFER
};
// clang-format on

constexpr bool table_is_consistent() {
  for (const Desc& d : descs)
    if (d.cls == Class::Mfma &&
        (d.passes == 0 || 2048 * d.args[0].dwords != d.m * d.n * d.blocks * bits_of(d.args[0].type)))
      return false;
  return std::size(descs) == static_cast<std::size_t>(Op::count);
}
static_assert(table_is_consistent());

MatrixFormat source_format(const Inst& inst, int index) {
  return static_cast<MatrixFormat>(index == 1 ? inst.mods.cbsz : inst.mods.blgp);
}

bool is_f8f6f4(Kind kind) { return kind == Kind::F8F6F4 || kind == Kind::F8F6F4_SCALED; }

}  // namespace

const Desc& desc(Op op) { return descs[static_cast<std::size_t>(op)]; }

std::optional<Op> find_op(std::string_view mnemonic) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, Op> map;
    for (std::size_t i = 0; i < std::size(descs); ++i) map.emplace(descs[i].name, static_cast<Op>(i));
    return map;
  }();
  const auto found = by_name.find(mnemonic);
  if (found == by_name.end()) return std::nullopt;
  return found->second;
}

Arg arg(const Inst& inst, int index) {
  const Desc& d = desc(inst.op);
  Arg a = d.args[static_cast<std::size_t>(index)];
  if (a.type == Type::f8f6f4) a.dwords = static_cast<std::uint8_t>(format_bits(source_format(inst, index)));
  if (index == 0 && first_argument(inst) == 1) a = {};
  if (index == 0 && d.kind == Kind::BUFFER_ATOMIC && !inst.mods.sc0) a.role = Role::read;
  return a;
}

int first_argument(const Inst& inst) {
  const Kind kind = desc(inst.op).kind;
  if (kind == Kind::GLOBAL_ATOMIC || kind == Kind::FLAT_ATOMIC) return inst.mods.sc0 ? 0 : 1;
  return kind == Kind::BUFFER_LOAD && inst.mods.lds ? 1 : 0;
}

bool is_atomic(Kind kind) {
  return (kind >= Kind::DS_ATOMIC && kind <= Kind::DS_COUNT) || kind == Kind::BUFFER_ATOMIC ||
         kind == Kind::GLOBAL_ATOMIC || kind == Kind::FLAT_ATOMIC;
}

int passes(const Inst& inst) {
  const Desc& d = desc(inst.op);
  if (!is_f8f6f4(d.kind)) return d.passes;
  const bool has_8_bits = inst.mods.cbsz < 2 || inst.mods.blgp < 2;
  return has_8_bits ? d.passes : d.passes_small;
}

std::uint8_t op_sel_hi(const Inst& inst) {
  if (inst.mods.op_sel_hi != Modifiers::row_default) return inst.mods.op_sel_hi;
  switch (desc(inst.op).kind) {
    case Kind::PK_F32_2:
    case Kind::PK_MOVE:
    case Kind::PK16_2:
      return 3;
    case Kind::PK_F32_3:
    case Kind::PK16_3:
    case Kind::DOT:
      return 7;
    default:
      return 0;
  }
}

std::uint8_t op_sel_mask(const Desc& d) {
  int sources = 0;
  for (int i = 0; i < 3; ++i) sources |= is_16_bits(d.args[static_cast<std::size_t>(i + 1)].type) ? 1 << i : 0;
  const bool half_result = is_16_bits(d.args[0].type);
  switch (d.kind) {
    case Kind::HALF2:
    case Kind::HALF3:
      return static_cast<std::uint8_t>(sources | 8);
    case Kind::VOP3_3:
      return static_cast<std::uint8_t>(half_result ? 0 : sources);
    case Kind::BYTE2:
    case Kind::BYTE3:
      return 12;
    case Kind::PART:
      return d.part_bits == 8 ? 3 : 1;
    case Kind::PART_TO_HALF:
      return 11;
    case Kind::HALVES2:
    case Kind::HALVES3:
    case Kind::BITOP3:
      return static_cast<std::uint8_t>(sources | (half_result ? 8 : 0));
    case Kind::PK_F32_2:
    case Kind::PK_MOVE:
    case Kind::PK16_2:
    case Kind::F8F6F4_SCALED:
      return 3;
    case Kind::PK_F32_3:
    case Kind::PK16_3:
    case Kind::MIX:
      return 7;
    default:
      return 0;
  }
}

int op_sel_entries(const Desc& d) {
  switch (d.kind) {
    case Kind::PK_F32_2:
    case Kind::PK_MOVE:
    case Kind::PK16_2:
      return 2;
    case Kind::HALF3:
    case Kind::BYTE2:
    case Kind::BYTE3:
    case Kind::HALVES3:
    case Kind::VOP3_3:
    case Kind::BITOP3:
      return 4;
    default:
      return 3;
  }
}

bool lists_destination_third(const Desc& d) {
  return d.kind == Kind::HALF2 || d.kind == Kind::HALVES2 || d.kind == Kind::PART_TO_HALF;
}

std::uint8_t halves_touched(const Inst& inst, int index) {
  const Desc& d = desc(inst.op);
  const int op_sel = inst.mods.op_sel;
  const Type type = d.args[static_cast<std::size_t>(index)].type;
  if (d.kind == Kind::MIX) {
    if (index == 0) return d.result_bits == 32 ? 3 : d.result_bit == 0 ? 1 : 2;
    const bool is_half = (op_sel_hi(inst) >> (index - 1) & 1) != 0;
    return is_half ? static_cast<std::uint8_t>(op_sel >> (index - 1) & 1 ? 2 : 1) : 3;
  }
  if (d.kind == Kind::PK16_2 || d.kind == Kind::PK16_3) {
    if (index == 0) return 3;
    const auto half = [index](int bits) { return bits >> (index - 1) & 1 ? 2 : 1; };
    return static_cast<std::uint8_t>(half(op_sel) | half(op_sel_hi(inst)));
  }
  const bool writes_part = d.kind == Kind::HALF2 || d.kind == Kind::HALF3 || d.kind == Kind::BYTE2 ||
                           d.kind == Kind::BYTE3 || d.kind == Kind::PART_TO_HALF;
  if (index == 0) {
    if (writes_part || ((op_sel_mask(d) & 8) != 0)) return op_sel & 8 ? 2 : 1;
    return 3;
  }
  if (index == 1 && d.part_bits == 8) return op_sel & 2 ? 2 : 1;
  if (index == 1 && d.part_bits == 16) return op_sel & 1 ? 2 : 1;
  if (inst.form == Form::sdwa) return 3;
  if (is_half_type(type) && index >= first_source(d.kind))
    return op_sel >> (index - 1) & op_sel_mask(d) >> (index - 1) & 1 ? 2 : 1;
  return 3;
}

int first_source(Kind kind) {
  switch (kind) {
    case Kind::CARRY_OUT:
    case Kind::CARRY_IN:
    case Kind::DIV_SCALE:
    case Kind::MAD_WIDE:
      return 2;
    default:
      return 1;
  }
}

bool is_valu(const Inst& inst) {
  const Class c = desc(inst.op).cls;
  return c >= Class::Valu && c <= Class::Trans;
}
bool is_mfma(const Inst& inst) { return desc(inst.op).cls == Class::Mfma; }
bool is_vmem(const Inst& inst) {
  const Class c = desc(inst.op).cls;
  return c == Class::VmemLoad || c == Class::VmemStore;
}
bool is_lds_dma(const Inst& inst) {
  const Kind kind = desc(inst.op).kind;
  return kind == Kind::GLOBAL_LOAD_LDS || (inst.mods.lds && kind == Kind::BUFFER_LOAD);
}
std::uint32_t lds_dma_bytes(const Desc& d) { return (d.memory_bytes + 3u) / 4 * 4; }
bool is_branch(const Inst& inst) { return desc(inst.op).kind == Kind::BRANCH; }
bool uses_pc(Kind kind) { return kind == Kind::GET_PC || jumps(kind); }
bool jumps(Kind kind) { return kind == Kind::SET_PC || kind == Kind::CALL; }
bool names_hardware_register(Kind kind) { return kind >= Kind::GET_REG && kind <= Kind::SET_REG_LITERAL; }

HardwareField hardware_field(const Inst& inst) {
  return HardwareField::of(inst.args[static_cast<std::size_t>(hardware_field_argument(desc(inst.op).kind))].value);
}

int accumulator_argument(const Inst& inst) { return desc(inst.op).kind == Kind::SMFMAC ? 0 : 3; }

Counter counter(const Inst& inst) {
  const Desc& d = desc(inst.op);
  if (d.kind >= Kind::FLAT_LOAD && d.kind <= Kind::FLAT_ATOMIC) return Counter::both;
  switch (d.cls) {
    case Class::VmemLoad:
    case Class::VmemStore:
      return Counter::vm;
    case Class::LdsRead:
    case Class::LdsWrite:
    case Class::Smem:
      return Counter::lgkm;
    default:
      return Counter::none;
  }
}

}  // namespace zyfa::isa
