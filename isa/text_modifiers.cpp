// Modifiers from text.

#include "isa/isa.h"
#include "isa/modifiers.h"
#include "isa/text_swizzle.h"
#include "isa/text_tables.h"
#include "isa/text_words.h"

#include <algorithm>
#include <span>

namespace zyfa::isa {
namespace {

std::optional<std::uint8_t> to_bits(std::string_view list, int highest_entries) {
  if (!take_brackets(list, "[", "]")) return std::nullopt;
  int bits = 0, entries = 0;
  for (const char c : list) {
    const bool comma_expected = entries % 2 != 0;
    if (entries / 2 >= highest_entries || (comma_expected ? c != ',' : c != '0' && c != '1')) return std::nullopt;
    if (c == '1') bits |= 1 << (entries / 2);
    ++entries;
  }
  if (entries % 2 == 0 || entries / 2 >= highest_entries) return std::nullopt;
  return static_cast<std::uint8_t>(bits);
}

std::optional<std::uint16_t> to_quad_permutation(std::string_view list) {
  if (!take_brackets(list, "[", "]") || list.size() != 7) return std::nullopt;
  int code = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = list[static_cast<std::size_t>(2 * i)];
    if (c < '0' || c > '3' || (i > 0 && list[static_cast<std::size_t>(2 * i - 1)] != ',')) return std::nullopt;
    code |= (c - '0') << (2 * i);
  }
  return static_cast<std::uint16_t>(code);
}

bool read_dpp_modifier(std::string_view word, Modifiers& mods) {
  const std::size_t colon = std::min(word.find(':'), word.size());
  const std::string_view name = word.substr(0, colon);
  const std::string_view value = word.substr(std::min(colon + 1, word.size()));
  if (name == "quad_perm") {
    const auto code = to_quad_permutation(value);
    if (code) mods.dpp_ctrl = *code;
    return code.has_value();
  }
  // LLVM reads both spellings as the same bit, for old text that named the value of the register field.
  if (name == "bound_ctrl" && (value == "0" || value == "1")) return mods.dpp_bound_ctrl = true;
  const auto number = to_number_below(value, 32);
  if ((name == "row_mask" || name == "bank_mask") && number && *number < 16) {
    (name == "row_mask" ? mods.dpp_row_mask : mods.dpp_bank_mask) = static_cast<std::uint8_t>(*number);
    return true;
  }
  for (const DppControl& control : dpp_controls) {
    const bool bare = control.high == 0;
    if (control.name != name || bare != value.empty()) continue;
    if (!bare && (!number || *number < control.low || *number > control.high)) continue;
    mods.dpp_ctrl = static_cast<std::uint16_t>(control.code + (bare ? 0 : *number - control.low));
    return true;
  }
  return false;
}

template <std::size_t N>
std::optional<std::uint8_t> position_of(std::string_view word, const std::array<std::string_view, N>& names) {
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::uint8_t>(found - names.begin());
}

bool read_sdwa_modifier(std::string_view name, std::string_view value, Modifiers& mods) {
  if (name == "dst_unused") {
    const auto rest = position_of(value, sdwa_rests);
    if (rest) mods.dst_unused = static_cast<DstUnused>(*rest);
    return rest.has_value();
  }
  std::uint8_t* field = name == "dst_sel"    ? &mods.dst_sel
                        : name == "src0_sel" ? &mods.src0_sel
                        : name == "src1_sel" ? &mods.src1_sel
                                             : nullptr;
  const auto selection = position_of(value, sdwa_selections);
  if (!field || !selection) return false;
  *field = *selection;
  return true;
}

bool read_wait(std::string_view word, Modifiers& mods) {
  for (const WaitField& wait : wait_fields) {
    std::string_view value = word;
    if (!take_prefix(value, wait.name) || !take_brackets(value, "(", ")")) continue;
    const auto count = to_number_below(value, wait.highest + 1);
    if (!count) return false;
    mods.*wait.field = *count == wait.highest ? Modifiers::not_waited : static_cast<std::uint8_t>(*count);
    return true;
  }
  return false;
}

bool read_bit_list(std::string_view name, std::string_view value, const Desc& d, Modifiers& mods) {
  for (const BitList& list : bit_lists) {
    if (name != list.name) continue;
    const auto bits = to_bits(value, std::max(op_sel_entries(d), 3));
    if (!bits) return false;
    mods.*list.field = *bits;
    // The last entry is the destination's, which is bit 3 whatever the number of sources.
    if (lists_destination_third(d)) mods.op_sel = static_cast<std::uint8_t>((*bits & 3) | ((*bits & 4) << 1));
    return true;
  }
  return false;
}

}  // namespace

bool read_modifier(std::string_view word, Inst& inst) {
  Modifiers& mods = inst.mods;
  const Kind kind = desc(inst.op).kind;
  if (kind == Kind::WAITCNT) return read_wait(word, mods);
  for (const auto& flags : {std::span<const Flag>(address_flags), std::span<const Flag>(memory_flags)})
    for (const Flag& flag : flags)
      if (word == flag.name) return mods.*flag.field = true;
  if (word == "clamp") return mods.clamp = true;
  for (std::size_t i = 1; i < output_modifiers.size(); ++i) {
    if (word != output_modifiers[i]) continue;
    mods.omod = static_cast<std::uint8_t>(i);
    return true;
  }
  const std::size_t colon = std::min(word.find(':'), word.size());
  const std::string_view name = word.substr(0, colon);
  const std::string_view value = word.substr(std::min(colon + 1, word.size()));
  if (has_signs_in_blgp(desc(inst.op)) && (name == "neg" || name == "blgp")) {
    const auto signs = to_bits(value, 3);
    if (name == "neg" && signs) mods.blgp = *signs;
    return name == "neg" && signs.has_value();
  }
  if (read_bit_list(name, value, desc(inst.op), mods)) return true;
  if (name == "offset1" && desc(inst.op).pair_stride != 0) {
    const auto offset = to_number_below(value, 256);
    if (offset) mods.offset1 = static_cast<std::uint8_t>(*offset);
    return offset.has_value();
  }
  if (name == "offset" && kind == Kind::DS_SWIZZLE) {
    if (const auto pattern = parse_swizzle(value)) {
      mods.offset = static_cast<std::int32_t>(*pattern);
      return true;
    }
  }
  if (name == (desc(inst.op).pair_stride != 0 ? "offset0" : "offset")) {
    const auto offset = to_number(value);
    if (!offset || *offset < INT32_MIN || *offset > INT32_MAX) return false;
    mods.offset = static_cast<std::int32_t>(*offset);
    return true;
  }
  for (const Field& field : matrix_fields) {
    const auto number = to_number_below(value, 16);
    if (name != field.name || !number) continue;
    mods.*field.field = static_cast<std::uint8_t>(*number);
    return true;
  }
  if (name == "bitop3") {
    const auto table = to_number_below(value, 256);
    if (table) mods.bitop3 = static_cast<std::uint8_t>(*table);
    return table.has_value();
  }
  if (inst.form == Form::sdwa) return read_sdwa_modifier(name, value, mods);
  return inst.form == Form::dpp && read_dpp_modifier(word, mods);
}

}  // namespace zyfa::isa
