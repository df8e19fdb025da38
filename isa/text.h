// The one place where instructions become assembler text and text becomes instructions. The text is LLVM's:
// what its disassembler prints for gfx950, with the encoding suffix (_e32, _e64, _dpp, _sdwa) always present
// where there is a choice.
//
// One value for one text, so that parse(print(i)) == i for whatever validate() accepts and no field is lost:
// - constants are as Operand::constant makes them; literals whatever their value are the offset of a scalar
// load (two's
//   complement, written with its sign) and the immediate of SOPK (its low 16 bits); counts of SOPP are
//   integers;
// - op_sel_hi that equals the row's default is Modifiers::row_default; op_sel bit 3 is the last entry of the
// list of the
//   half-writing rows (HALF2, HALF3), whatever the number of sources;
// - form is e32, e64, dpp or sdwa for rows with a choice (has_short_form), natural for all others;
// - a counter of s_waitcnt at its highest value is not waited for; with none waited for, LLVM writes all
// three;
// - the lane masks of comparisons, carries and selects are arguments, also where they can only be vcc;
// - LDS-DMA loads have no first argument in the text.
#pragma once

#include "isa/inst.h"

#include <string>
#include <string_view>

namespace zyfa::isa {

// One line without indentation or newline. Branch targets print as their label's name from `program`, or
// L<index>.
std::string print(const Inst& inst);
std::string print(const Inst& inst, const Program& program);
std::string print(const Operand& operand);

// A whole program: label lines, one indented instruction per line.
std::string print(const Program& program);

// The inverse of print(inst) for every row of the table. Branch targets may be L<index> or LLVM's bare
// number, which comes back as an integer operand for the caller to resolve. Throws Error that quotes the
// line: "not in the table" for mnemonics we do not know, or which operand or modifier was not understood.
Inst parse(std::string_view line);

// The inverse of print(program): labels of any name.
Program parse_program(std::string_view text);

}  // namespace zyfa::isa
