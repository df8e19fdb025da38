// From the bytes of a code object back to a Program: the same values that the builder made, so that everything
// downstream takes either.
#pragma once

#include "generator/code_object.h"
#include "isa/inst.h"

#include <set>
#include <string>

namespace zyfa::generator {

struct DecodedKernel {
  // The kernel's code, with code addresses. Of a kernel that calls functions, the object's whole code.
  isa::Program program;
  std::uint32_t entry = 0;      // index of the kernel's first instruction
  std::set<std::string> files;  // owns the names that the instructions' source lines point to
};

// Decodes the kernel's code. Throws Error that lists the instructions which are not in the table, with their offsets,
// and for branches that leave the code or lead into the middle of an instruction.
DecodedKernel decode(const CodeObject& object, const KernelImage& kernel);

// The kernel of that name, or the only one if `symbol` is empty. Throws Error that lists what there is.
const KernelImage& find_kernel(const CodeObject& object, std::string_view symbol, std::string_view file);

}  // namespace zyfa::generator
