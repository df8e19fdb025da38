// The one exception type, and the place in C++ that an instruction or a report points to.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>

namespace zyfa {

// A line of kernel source. Never part of an instruction's identity. `file` points to a string that lives as long
// as the program (a source_location's name, or a name interned by the code-object reader); null if unknown.
struct SourceLine {
  const char* file = nullptr;
  std::uint32_t line = 0;

  constexpr SourceLine() = default;
  constexpr SourceLine(const char* file_name, std::uint32_t line_number) : file(file_name), line(line_number) {}
  constexpr SourceLine(std::source_location where) : file(where.file_name()), line(where.line()) {}
  explicit operator bool() const { return file != nullptr; }
};

// "schedules/steps.cpp:41", or "unknown source" where nothing is known.
inline std::string to_string(SourceLine where) {
  return where ? fmt::format("{}:{}", where.file, where.line) : "unknown source";
}

// Control characters as \xNN, so that names out of a damaged file can neither break a report into lines nor steer a
// terminal. Everything else stays.
std::string one_line(std::string text);

// Anything that ends a command: bad input, an instruction that cannot be encoded, a hazard in a generated kernel.
// The text is one line, whatever it quotes, that names what was wrong and what is accepted.
class Error : public std::runtime_error {
 public:
  template <typename... Args>
  explicit Error(fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(one_line(fmt::format(format, std::forward<Args>(args)...))) {}
};

}  // namespace zyfa
