// One instruction as a value: what the builder emits, text prints and parses, the hazard checker inspects, the emulator
// executes and the pipe model times. Arguments stand in the order of the assembler text, destination first.
#pragma once

#include "isa/error.h"
#include "isa/regs.h"

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace zyfa::isa {

enum class Op : std::uint16_t {
#define INSTRUCTION(name) name,
#include "isa/gfx950.def"
  count
};

enum class OperandKind : std::uint8_t {
  none,     // no operand, or `off` where the text has a place for an absent address
  vgpr,     // value = first register, count = how many
  agpr,     //
  sgpr,     // including vcc, m0, exec at their encodings (regs.h)
  integer,  // inline integer -16..64, or the count of s_nop, s_setprio, ...: value is the two's complement
  real,     // inline float: value holds its fp32 bits whatever the width of the instruction's type
  literal,  // 32 bits that follow the instruction, a scalar memory offset, or the 16 bits of SOPK
  label,    // value = index of the target instruction in the program
};

struct Operand {
  OperandKind kind = OperandKind::none;
  std::uint8_t count = 0;
  bool neg = false;  // floating-point source modifiers: -x, |x|
  bool abs = false;
  std::uint32_t value = 0;

  constexpr Operand() = default;
  constexpr Operand(OperandKind k, std::uint32_t v, int n = 0)
      : kind(k), count(static_cast<std::uint8_t>(n)), value(v) {}
  template <int N>
  constexpr Operand(V<N> r) : Operand(OperandKind::vgpr, r.first, N) {}
  template <int N>
  constexpr Operand(A<N> r) : Operand(OperandKind::agpr, r.first, N) {}
  template <int N>
  constexpr Operand(S<N> r) : Operand(OperandKind::sgpr, r.first, N) {}

  // 32 bits as a source operand in their one canonical form: inline integer, else inline float, else literal.
  static constexpr Operand constant(std::uint32_t bits);
  static constexpr Operand constant(int number) { return constant(static_cast<std::uint32_t>(number)); }
  static constexpr Operand constant(float number) { return constant(std::bit_cast<std::uint32_t>(number)); }

  constexpr bool is_register() const { return kind >= OperandKind::vgpr && kind <= OperandKind::sgpr; }
  constexpr bool is_constant() const { return kind >= OperandKind::integer && kind <= OperandKind::literal; }
  constexpr bool operator==(const Operand&) const = default;
};

// The fp32 values that CDNA4 encodes inline (ISA 5.1, operand encodings 240..248; the last is 1 / (2 pi)).
inline constexpr std::array<std::uint32_t, 9> inline_floats = {
    0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000, 0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};

// The high half of an inline constant as a double: sign and exponent, all but 1 / (2 pi) being powers of two.
constexpr std::uint32_t double_high_half(std::uint32_t inline_float) {
  return (inline_float & 0x80000000) | ((inline_float >> 3 & 0x0fffffff) + (0x3ff00000 - (0x3f800000 >> 3)));
}

constexpr Operand Operand::constant(std::uint32_t bits) {
  const auto number = static_cast<std::int32_t>(bits);
  if (number >= -16 && number <= 64) return {OperandKind::integer, bits};
  for (const std::uint32_t inline_float : inline_floats)
    if (bits == inline_float) return {OperandKind::real, bits};
  return {OperandKind::literal, bits};
}

// Which encoding of a vector instruction is meant, where the ISA has several. Never guessed by an assembler: the text
// always carries the suffix. `natural` is for instructions with one encoding.
enum class Form : std::uint8_t { natural, e32, e64, dpp, sdwa };

// What SDWA does with the part of the destination register that it does not select.
enum class DstUnused : std::uint8_t { pad, sign_extend, preserve };

// Everything that follows the operands in the text. The initial values mean "not written".
struct Modifiers {
  static constexpr std::uint8_t row_default = 0xff;
  static constexpr std::uint8_t not_waited = 0xff;

  std::int32_t offset = 0;   // memory: bytes. buffer ... lds: added to the global and to the LDS address
  std::uint8_t offset1 = 0;  // pairs of LDS accesses: the second's offset; both count elements
  std::uint8_t op_sel = 0;   // bit i: source i takes its high half; bit 3: the destination's high half is written
  std::uint8_t op_sel_hi = row_default;  // packed: bit i: the high result takes source i's high half (default all
                                         // ones); scaled MFMA: high bit of source i's scale byte select (default 0)
  std::uint8_t neg_lo = 0, neg_hi = 0;   // packed: bit i negates source i of the low / high result
  std::uint8_t cbsz = 0, abid = 0, blgp = 0;         // MFMA: formats of A and B (f8f6f4), broadcast otherwise
  bool offen = false, idxen = false, lds = false;    // buffer addressing
  bool sc0 = false, sc1 = false, nt = false;         // cache scope and non-temporal
  bool clamp = false;                                // clamp the result (float: [0,1]; integer: saturate)
  std::uint8_t omod = 0;                             // 1: *2, 2: *4, 3: /2
  std::uint8_t dpp_row_mask = 0, dpp_bank_mask = 0;  // form dpp: 4 bits each
  std::uint16_t dpp_ctrl = 0;                        // form dpp: the 9-bit control field of the encoding
  bool dpp_bound_ctrl = false;                       // form dpp: lanes out of bounds read zero
  std::uint8_t bitop3 = 0;  // v_bitop3: bit 4 a + 2 b + c of it is the result for the bits a, b, c
  // Form sdwa. BYTE_0..3 are 0..3, WORD_0 and WORD_1 are 4 and 5; sext: bit i extends source i by its sign.
  static constexpr std::uint8_t whole_dword = 6;
  std::uint8_t dst_sel = whole_dword, src0_sel = whole_dword, src1_sel = whole_dword;
  DstUnused dst_unused = DstUnused::pad;
  std::uint8_t sext = 0;
  std::uint8_t vmcnt = not_waited, expcnt = not_waited, lgkmcnt = not_waited;  // s_waitcnt

  constexpr bool operator==(const Modifiers&) const = default;
};

inline constexpr int max_args = 6;

struct Inst {
  Op op{};
  Form form = Form::natural;
  std::array<Operand, max_args> args{};
  Modifiers mods{};
  SourceLine where{};

  constexpr bool operator==(const Inst& other) const {
    return op == other.op && form == other.form && args == other.args && mods == other.mods;
  }
};

// A straight list; control flow is by label operands. `labels` names some targets for the reader of the text.
struct Program {
  std::vector<Inst> code;
  std::map<std::uint32_t, std::string> labels;
  // Where each instruction stands, in bytes from the start of the code object's .text; ascending. Empty where the
  // program was never bytes.
  std::vector<std::uint32_t> offsets = {};
};

}  // namespace zyfa::isa
