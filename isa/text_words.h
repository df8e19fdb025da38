// Reading the words of an instruction's text: the pieces that operands and modifiers share.
#pragma once

#include "isa/inst.h"

#include <charconv>
#include <optional>
#include <string_view>

namespace zyfa::isa {

// The take_ functions shorten `text` to what is left and say whether there was something to take.
inline bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

inline bool take_brackets(std::string_view& text, std::string_view open, std::string_view close) {
  if (text.size() < open.size() + close.size() || !text.starts_with(open) || !text.ends_with(close)) return false;
  text = text.substr(open.size(), text.size() - open.size() - close.size());
  return true;
}

// Decimal or 0x, with a sign; the whole text or nothing. 33 bits hold both readings of 32.
inline std::optional<std::int64_t> to_number(std::string_view text) {
  const bool negative = take_prefix(text, "-");
  const int base = take_prefix(text, "0x") ? 16 : 10;
  std::uint32_t magnitude = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return negative ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
}

inline std::optional<std::uint32_t> to_number_below(std::string_view text, std::int64_t limit) {
  const auto number = to_number(text);
  if (!number || *number < 0 || *number >= limit) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

// Sets what the modifier `word` says in inst.mods, by the row and form that inst already has. False if it
// says nothing that the row could mean; ranges are validate()'s business.
bool read_modifier(std::string_view word, Inst& inst);

}  // namespace zyfa::isa
