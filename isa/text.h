// The one place where instructions become assembler text and text becomes instructions. The text is LLVM's: what its
// disassembler prints for gfx950, with the encoding suffix (_e32, _e64, _dpp, _sdwa) always present where there is a choice.
#pragma once

#include "isa/inst.h"

#include <string>
#include <string_view>

namespace zyfa::isa {

// One line without indentation or newline. Branch targets print as their label's name from `program`, or L<index>.
std::string print(const Inst& inst);
std::string print(const Inst& inst, const Program& program);
std::string print(const Operand& operand);

// A whole program: label lines, one indented instruction per line.
std::string print(const Program& program);

// The inverse of print(inst) for every row of the table. Branch targets may be L<index> or LLVM's bare number, which
// comes back as an integer operand for the caller to resolve. Throws Error that quotes the line: "not in the table" for
// mnemonics we do not know, or which operand or modifier was not understood.
Inst parse(std::string_view line);

// The inverse of print(program): labels of any name.
Program parse_program(std::string_view text);

}  // namespace zyfa::isa
