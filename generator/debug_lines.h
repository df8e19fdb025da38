// The line table of a code object: which line of which file an instruction comes from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zyfa::generator {

// From `offset` (bytes within the code) to the next point, instructions come from this line; an empty file
// and line 0 where that is not known. `file` is as written in the table, relative to the compilation
// directory.
struct SourcePoint {
  std::uint32_t offset = 0;
  std::string file;
  std::uint32_t line = 0;
};

// Contents of the DWARF sections that hold line tables of versions 2 to 5; empty where the file has none.
struct DebugSections {
  std::string_view debug_line, debug_line_str, debug_str;
};

// Points within `code_bytes` of code at `code_address`, sorted, at most one for an offset. Compile units are
// not needed. Reading stops quietly at the first table that is damaged: lines are an aid, not part of the
// kernel. There are none where the names of all points together pass 16 MiB.
std::vector<SourcePoint> read_debug_lines(const DebugSections& sections, std::uint64_t code_address,
                                          std::uint64_t code_bytes);

}  // namespace zyfa::generator
