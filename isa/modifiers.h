// Which modifiers a row takes, and their ranges: the part of validate() (isa.h) that is about Modifiers.
#pragma once

#include "isa/isa.h"

namespace zyfa::isa {

// Whether the argument may be negated, and made absolute: floating-point sources outside the packed rows.
bool takes_source_modifiers(const Desc& d, int index);

bool takes_abs(const Desc& d, int index);

// Whether SDWA may extend the argument by its sign: integer sources.
bool takes_sext(const Desc& d, int index);

// Integer rows whose result `clamp` holds in the range of its type.
// LLVM gives its integer clamp operand to more rows than these: where the result cannot leave the range, and to
// v_max3_i16 and its like.
constexpr bool saturates(Op op) {
  switch (op) {
    case Op::v_add_u32:
    case Op::v_sub_u32:
    case Op::v_subrev_u32:
    case Op::v_add_i32:
    case Op::v_sub_i32:
    case Op::v_add_u16:
    case Op::v_sub_u16:
    case Op::v_subrev_u16:
    case Op::v_add_i16:
    case Op::v_sub_i16:
    case Op::v_mad_u16:
    case Op::v_mad_i16:
    case Op::v_mad_legacy_u16:
    case Op::v_mad_legacy_i16:
    case Op::v_mad_u32_u16:
    case Op::v_mad_i32_i16:
    case Op::v_mad_u32_u24:
    case Op::v_mad_i32_i24:
    case Op::v_sad_u8:
    case Op::v_sad_hi_u8:
    case Op::v_msad_u8:
    case Op::v_sad_u16:
    case Op::v_sad_u32:
    case Op::v_pk_add_i16:
    case Op::v_pk_sub_i16:
    case Op::v_pk_mad_i16:
    case Op::v_pk_add_u16:
    case Op::v_pk_sub_u16:
    case Op::v_pk_mad_u16:
      return true;
    default:
      return false;
  }
}
// FP64 matrix rows: the three bits of blgp negate A, B and C (AMD matrix instruction calculator, CDNA3), and the text
// calls them neg.
bool has_signs_in_blgp(const Desc& d);

// One line of the problem with inst.mods, empty if there is none. The range of `offset` is not checked here.
std::string check_modifiers(const Inst& inst);

}  // namespace zyfa::isa
