// Machine code of a piece of assembly, by LLVM MC alone: no link and no kernel descriptor around it.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace zyfa::tests {

// Section .text of the object that generator::assemble makes of `text`. Throws its Error if LLVM rejects a
// line.
std::vector<std::byte> machine_code(std::string_view text);

}  // namespace zyfa::tests
