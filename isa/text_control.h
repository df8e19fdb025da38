// The operands of s_getreg_b32, s_setreg_b32 and s_set_gpr_idx_on as LLVM spells them: hwreg(HW_REG_MODE, 0, 4),
// gpr_idx(SRC0,DST).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zyfa::isa {

// The 16 bits of isa::HardwareField.
std::string print_hardware_field(std::uint32_t code);
std::optional<std::uint32_t> parse_hardware_field(std::string_view text);

// The 4 bits of M0[15:12]: source 0, 1, 2 and the destination.
std::string print_indexed_operands(std::uint32_t bits);
std::optional<std::uint32_t> parse_indexed_operands(std::string_view text);

}  // namespace zyfa::isa
