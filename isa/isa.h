// What the table says about each instruction, for every tool that asks without executing: encoding kind, arguments with
// role, type and width, implicit state, timing class.
#pragma once

#include "isa/inst.h"

#include <optional>
#include <string_view>

namespace zyfa::isa {

// The row kinds of gfx950.def.
enum class Kind : std::uint8_t {
  // clang-format off
  SOP1, SOP1_ACC, SOP2, SOPC, SOPK, SOPK_COMPARE, SAVEEXEC, BRANCH, SOPP, SOPP_COUNT, WAITCNT,
  GET_PC, SET_PC, CALL, GET_REG, SET_REG, SET_REG_LITERAL, INDEX_ON, INDEX_OFF, INDEX_OPERANDS, INDEX,
  SMEM_LOAD, SMEM_BUFFER_LOAD, SMEM_TIME, SMEM_CACHE,
  VOP1, VOP2, VOP2_ACC, VOP3_2, VOP3_3, DIV_FMAS, DIV_SCALE, MAD_WIDE, HALF2, HALF3, BYTE2, BYTE3,
  PART, PART_TO_HALF, HALVES2, HALVES3, PACK_U8, VOPC, CMPX, VOP2_MK, VOP2_AK, BITOP3,
  CARRY_OUT, CARRY_IN, SELECT,
  READ_FIRST_LANE, READ_LANE, WRITE_LANE, SWAP_LANES, VNOP,
  MIX, PK16_2, PK16_3, DOT, WIDE, WIDE_SR, WIDE_PAIR, PK_F32_2, PK_F32_3, PK_MOVE,
  ACC_READ, ACC_WRITE, MFMA, SMFMAC, F8F6F4, F8F6F4_SCALED,
  DS_READ, DS_READ_TR, DS_READ2, DS_WRITE, DS_WRITE2, DS_ATOMIC, DS_ATOMIC_RTN, DS_COMPARE, DS_COMPARE_RTN, DS_COUNT, DS_PERMUTE, DS_SWIZZLE,
  BUFFER_LOAD, BUFFER_STORE, BUFFER_ATOMIC, GLOBAL_LOAD, GLOBAL_LOAD_LDS, GLOBAL_STORE, GLOBAL_ATOMIC,
  FLAT_LOAD, FLAT_STORE, FLAT_ATOMIC, SCRATCH_LOAD, SCRATCH_STORE, CACHE_WRITE_BACK, CACHE_INVALIDATE,
  // clang-format on
};

// What kind of work an instruction is to the machine. Wait states (hazards.h) and clocks hang on the class, not the
// row.
enum class Class : std::uint8_t {
  Salu,         // scalar ALU
  Smem,         // scalar memory
  Branch,       // s_branch, s_cbranch_*, s_endpgm
  Internal,     // s_nop, s_waitcnt, s_sleep, s_setprio
  Barrier,      // s_barrier
  Valu,         // vector ALU, full rate
  ValuQuarter,  // 32-bit integer multiplication
  Valu64,       // 64-bit shifts, adds and floating point
  ValuPacked,   // v_pk_*_f32: never overlaps a matrix instruction (gfx950.md 2.2)
  Dot,          // dot products of parts of registers
  Trans,        // transcendentals
  Mfma,         // matrix; passes(inst) says how long
  LdsRead,
  LdsWrite,
  VmemLoad,   // buffer, global, flat and private loads, LDS-DMA included
  VmemStore,  // stores and atomics, also those that return something
};

// Types of 16 bits name the low half of a register, or the half that op_sel picks; f16x2 and its like both.
// clang-format off
enum class Type : std::uint8_t {
  none, u16, i16, u32, i32, u64, i64, f16, bf16, f16x2, bf16x2, i16x2, u16x2, f32, f64, i8, e4m3, e5m2, f8f6f4, mask, bits
};
// clang-format on
// Sources and results of which op_sel may pick the half: integers or fp16. bf16 never is.
constexpr bool is_16_bits(Type t) { return t == Type::u16 || t == Type::i16 || t == Type::f16; }
constexpr bool is_half_type(Type t) { return is_16_bits(t) || t == Type::bf16; }

enum class Role : std::uint8_t { none, write, read, update };

enum class SccUse : std::uint8_t { keeps, reads, writes, updates };

// How a SOPP instruction acts on the wave.
enum class Effect : std::uint8_t { none, barrier, end, trap };

struct Arg {
  Role role = Role::none;
  Type type = Type::none;
  std::uint8_t dwords = 0;  // 0: not a register operand (label, count, offset)
  bool operator==(const Arg&) const = default;
};

struct Desc {
  std::string_view name;
  Kind kind{};
  Class cls{};
  std::array<Arg, max_args> args{};  // in text order, destination first
  SccUse scc = SccUse::keeps;
  Effect effect = Effect::none;
  std::uint16_t m = 0, n = 0, k = 0;          // matrix shape
  std::uint8_t blocks = 1;                    // independent products of that shape
  std::uint8_t passes = 0, passes_small = 0;  // 1 pass = 4 clk; passes_small: f8f6f4 with neither source FP8/BF8
  std::uint8_t memory_bytes = 0;              // per lane (vector memory, LDS) or in all (scalar memory)
  std::uint8_t element_bits = 0;              // transposing LDS reads
  std::uint8_t swap_row = 0;                  // SWAP_LANES
  std::uint8_t part_bits = 0;                 // PART, PART_TO_HALF: of source 0
  std::uint8_t result_bits = 0;               // MIX: 16 or 32, from result_bit on
  std::uint8_t result_bit = 0;
  bool sign_extends = false;      // loads of less than a dword
  bool high_half = false;         // stores of less than a dword take it from bits 16 and up
  bool pulls = false;             // DS_PERMUTE: the address names where data comes from, not where it goes
  std::uint16_t pair_stride = 0;  // DS_READ2, DS_WRITE2: bytes that offset and offset1 count
  std::int8_t data = -1, address = -1, base = -1;  // arguments of memory rows: (first) vector data, vector address,
                                                   // scalar base that may be absent
};

const Desc& desc(Op op);
std::optional<Op> find_op(std::string_view mnemonic);

// The argument as this instruction uses it: f8f6f4 sources are as wide as their format (8, 6 or 4 dwords), LDS-DMA
// loads have no data register, global and flat atomics have a result with sc0 only.
Arg arg(const Inst& inst, int index);

// The first argument in the text: 1 where argument 0 is one of those that are not there.
int first_argument(const Inst& inst);

// Reads memory, writes what it computes from that and its data, all at once.
bool is_atomic(Kind kind);

// Formats of the f8f6f4 instructions' A and B (cbsz and blgp): CDNA4 ISA 7.1, gfx950.md 3.
enum class MatrixFormat : std::uint8_t { e4m3 = 0, e5m2 = 1, e2m3 = 2, e3m2 = 3, e2m1 = 4 };
constexpr int format_bits(MatrixFormat f) { return f <= MatrixFormat::e5m2 ? 8 : f == MatrixFormat::e2m1 ? 4 : 6; }

// Occupancy of the matrix pipe in passes of 4 clk; 0 for anything but a matrix instruction. gfx950.md 2.1.
int passes(const Inst& inst);

// Packed and scaled instructions: the op_sel_hi bits meant, with the row's default resolved.
std::uint8_t op_sel_hi(const Inst& inst);

// The bits of op_sel that the row takes, and how many its text lists. Rows of two sources whose list ends in the
// destination's bit show bit 3 of op_sel as the third entry.
std::uint8_t op_sel_mask(const Desc& d);
int op_sel_entries(const Desc& d);
bool lists_destination_third(const Desc& d);

// Which halves of argument `index`'s register the instruction touches: 1 low, 2 high, 3 both.
std::uint8_t halves_touched(const Inst& inst, int index);

// The argument that is source 0 to modifiers, DPP and SDWA: results come before it.
int first_source(Kind kind);

// Rows whose mnemonic needs a suffix (_e32, _e64, ...): form is never `natural`. All others are always `natural`.
bool has_short_form(Kind kind);
bool has_sdwa(const Desc& d);
// Whether it may place the result. Comparisons and conversions from FP8 and BF8 select of their sources only.
bool has_sdwa_result(const Desc& d);

bool is_valu(
    const Inst& inst);  // anything on the vector ALU port but MFMA: Valu, ValuQuarter, Valu64, ValuPacked, Trans
bool is_mfma(const Inst& inst);
bool is_vmem(const Inst& inst);              // counted by vmcnt
bool is_lds_dma(const Inst& inst);           // buffer_load ... lds, global_load_lds_*
std::uint32_t lds_dma_bytes(const Desc& d);  // that such a load writes per lane: whole dwords
bool is_branch(const Inst& inst);            // s_branch and s_cbranch_*
bool uses_pc(Kind kind);                     // s_getpc_b64, s_setpc_b64, s_swappc_b64: code addresses in registers
bool jumps(Kind kind);                       // the last two of them
bool names_hardware_register(Kind kind);

// The field of a hardware register that s_getreg_b32 and its like name in 16 bits (CDNA4 ISA, SOPK instructions).
struct HardwareField {
  std::uint32_t id, offset, bits;
  static constexpr HardwareField of(std::uint32_t code) { return {code & 63, code >> 6 & 31, (code >> 11 & 31) + 1}; }
  constexpr std::uint32_t code() const { return id | offset << 6 | (bits - 1) << 11; }
};
constexpr int hardware_field_argument(Kind kind) { return kind == Kind::GET_REG ? 1 : 0; }
HardwareField hardware_field(const Inst& inst);

// Which counter of s_waitcnt an instruction raises. SMEM and LDS share lgkmcnt; SMEM returns out of order. Flat
// instructions raise vmcnt and lgkmcnt and return out of order (CDNA4 ISA, "Flat memory": only 0 makes sense).
enum class Counter : std::uint8_t { none, vm, lgkm, both };
Counter counter(const Inst& inst);

// The argument that a matrix instruction accumulates upon: sparse ones update D.
int accumulator_argument(const Inst& inst);

// All register ranges touched, explicit and implicit, one entry per range. Hardware registers count as scalar ones
// behind the last, from first_hardware_register on.
struct Access {
  OperandKind file;  // vgpr, agpr or sgpr
  std::uint16_t first;
  std::uint16_t count;
  bool write;
  std::int8_t arg;  // index of the argument, or -1 where implicit (vcc, exec, m0)
};
std::vector<Access> accesses(const Inst& inst);
// Whether they share a register.
inline bool touch(const Access& a, const Access& b) {
  return a.file == b.file && a.first < b.first + b.count && b.first < a.first + a.count;
}

// Bytes of the instruction in memory: 4, 8, or 16 with matrix scales.
int encoded_bytes(const Inst& inst);

// One line of the problem with an instruction's operands (wrong file or width, literal in VOP3, two SGPRs in one vector
// instruction, e32 with an SGPR as second source, ...), empty if it can be encoded. LLVM MC has the last word.
std::string validate(const Inst& inst);

}  // namespace zyfa::isa
