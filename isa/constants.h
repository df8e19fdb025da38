// Which constants an argument takes, and in which form.
#pragma once

#include "isa/isa.h"

#include <string>

namespace zyfa::isa {

// One line of what is wrong with a constant as argument `index` of a row, empty if it can be encoded. Numbers that are
// no source operands have a kind and a range fixed by the row; sources have one canonical form.
std::string check_constant(const Desc& d, int index, const Operand& operand);

}  // namespace zyfa::isa
