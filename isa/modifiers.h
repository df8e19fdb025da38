// Which modifiers a row takes, and their ranges: the part of validate() (isa.h) that is about Modifiers.
#pragma once

#include "isa/isa.h"

namespace zyfa::isa {

// Whether the argument may be negated or made absolute: floating-point sources outside the packed rows.
bool takes_source_modifiers(const Desc& d, int index);

// FP64 matrix rows: the three bits of blgp negate A, B and C (AMD matrix instruction calculator, CDNA3), and the text
// calls them neg.
bool has_signs_in_blgp(const Desc& d);

// One line of the problem with inst.mods, empty if there is none. The range of `offset` is not checked here.
std::string check_modifiers(const Inst& inst);

}  // namespace zyfa::isa
