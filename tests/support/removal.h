// Programs with something taken away.
#pragma once

#include "isa/inst.h"

namespace zyfa {

// The program without one instruction; what led to it leads to the next.
isa::Program without(isa::Program program, std::uint32_t position);

}  // namespace zyfa
