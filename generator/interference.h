// Whether a strand that is woven into other instructions still computes what it did alone, and they what they did.
#pragma once

#include "isa/isa.h"

#include <span>

namespace zyfa::generator {

// `woven`: where in `code` the strand's instructions stand, ascending. Throws Error that names both lines if one that
// stands between writes a register or SCC that the strand still touches, or reads one that the strand has written.
void check_interference(std::span<const isa::Inst> code, std::span<const std::size_t> woven);

}  // namespace zyfa::generator
