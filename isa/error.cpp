#include "isa/error.h"

#include <algorithm>

namespace zyfa {

std::string one_line(std::string text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::ranges::none_of(text, is_control)) return text;
  std::string line;
  for (const char c : text)
    if (is_control(c))
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      line += c;
  return line;
}

}  // namespace zyfa
