#include "isa/text_control.h"

#include "isa/isa.h"
#include "isa/text_words.h"

#include <algorithm>
#include <array>

namespace zyfa::isa {
namespace {

// Names by number, as LLVM 22 has them for gfx950; what has no name prints as its number.
struct HardwareRegister {
  std::uint32_t id;
  std::string_view name;
};
constexpr std::array<HardwareRegister, 17> hardware_registers = {{
    {1, "HW_REG_MODE"},
    {2, "HW_REG_STATUS"},
    {3, "HW_REG_TRAPSTS"},
    {4, "HW_REG_HW_ID"},
    {5, "HW_REG_GPR_ALLOC"},
    {6, "HW_REG_LDS_ALLOC"},
    {7, "HW_REG_IB_STS"},
    {15, "HW_REG_SH_MEM_BASES"},
    {16, "HW_REG_TBA_LO"},
    {17, "HW_REG_TBA_HI"},
    {18, "HW_REG_TMA_LO"},
    {19, "HW_REG_TMA_HI"},
    {20, "HW_REG_XCC_ID"},
    {21, "HW_REG_SQ_PERF_SNAPSHOT_DATA"},
    {22, "HW_REG_SQ_PERF_SNAPSHOT_DATA1"},
    {23, "HW_REG_SQ_PERF_SNAPSHOT_PC_LO"},
    {24, "HW_REG_SQ_PERF_SNAPSHOT_PC_HI"},
}};
constexpr HardwareField whole_register{0, 0, 32};
constexpr std::array<std::string_view, 4> indexed_operands = {"SRC0", "SRC1", "SRC2", "DST"};

std::optional<std::uint32_t> parse_id(std::string_view word) {
  for (const HardwareRegister& known : hardware_registers)
    if (known.name == word) return known.id;
  return to_number_below(word, 64);
}

// Up to the next comma, without the blank behind it.
std::string_view take_part(std::string_view& rest) {
  const std::size_t comma = std::min(rest.find(','), rest.size());
  const std::string_view part = rest.substr(0, comma);
  rest.remove_prefix(std::min(comma + 1, rest.size()));
  take_prefix(rest, " ");
  return part;
}

}  // namespace

std::string print_hardware_field(std::uint32_t code) {
  const HardwareField field = HardwareField::of(code);
  std::string name = fmt::format("{}", field.id);
  for (const HardwareRegister& known : hardware_registers)
    if (known.id == field.id) name = known.name;
  if (field.offset == whole_register.offset && field.bits == whole_register.bits) return "hwreg(" + name + ")";
  return fmt::format("hwreg({}, {}, {})", name, field.offset, field.bits);
}

std::optional<std::uint32_t> parse_hardware_field(std::string_view text) {
  if (!take_brackets(text, "hwreg(", ")")) return std::nullopt;
  HardwareField field = whole_register;
  const auto id = parse_id(take_part(text));
  if (!id) return std::nullopt;
  field.id = *id;
  if (text.empty()) return field.code();
  const auto offset = to_number_below(take_part(text), 32);
  const auto bits = to_number_below(take_part(text), 33);
  if (!offset || !bits || *bits == 0 || !text.empty()) return std::nullopt;
  field.offset = *offset;
  field.bits = *bits;
  return field.code();
}

std::string print_indexed_operands(std::uint32_t bits) {
  std::string text;
  for (std::size_t i = 0; i < indexed_operands.size(); ++i)
    if (bits >> i & 1) text += fmt::format("{}{}", text.empty() ? "" : ",", indexed_operands[i]);
  return "gpr_idx(" + text + ")";
}

std::optional<std::uint32_t> parse_indexed_operands(std::string_view text) {
  if (!take_brackets(text, "gpr_idx(", ")")) return std::nullopt;
  std::uint32_t bits = 0;
  while (!text.empty()) {
    const std::string_view part = take_part(text);
    const auto* const known = std::find(indexed_operands.begin(), indexed_operands.end(), part);
    if (known == indexed_operands.end()) return std::nullopt;
    bits |= 1u << (known - indexed_operands.begin());
  }
  return bits;
}

}  // namespace zyfa::isa
