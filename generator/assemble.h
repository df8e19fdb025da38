// Assembly text to object bytes and machine code back to text, for gfx950, by LLVM's MC layer inside this
// process. The bytes depend on the text alone: not on the working directory, the environment or earlier
// calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zyfa::generator {

// The relocatable ELF object of a whole .s file for amdgcn-amd-amdhsa gfx950 with xnack and sramecc "any".
// `name` stands for the file in messages and is not stored in the object. Source lines are kept with
// `.file 1 "path"` and `.loc 1 line 0` (DWARF 4 line table); `.file 0` would make it DWARF 5.
// Throws Error with "name:line: what: `the line`" of the first fault and the number of further ones.
std::vector<std::byte> assemble(std::string_view text, std::string_view name);

struct DisassembledLine {
  std::uint32_t offset = 0;  // bytes from the start of the code
  std::uint32_t size = 0;    // bytes: 4, 8, or more with literals
  std::string text;          // LLVM's own spelling with single spaces; no comment, no label
};

// Every instruction of `code`, in order and without gaps. A dword that is no instruction becomes
// ".long 0x........"; a branch target is the number LLVM prints, dwords from the next instruction as unsigned
// 16 bits. Throws Error if the size is not a multiple of 4 bytes.
std::vector<DisassembledLine> disassemble(std::span<const std::byte> code);

}  // namespace zyfa::generator
