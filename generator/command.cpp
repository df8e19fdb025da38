#include "generator/command.h"

#include <fmt/core.h>

#include <charconv>
#include <cstdint>
#include <exception>
#include <new>

namespace zyfa::generator {
namespace {

std::string at_least(std::uint64_t least, const std::string& value) {
  const char* end = value.data() + value.size();
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(value.data(), end, number);
  if (error == std::errc{} && rest == end && number >= least) return {};
  return fmt::format("'{}' is not a whole number of at least {}", value, least);
}

}  // namespace

std::string whole_number(const std::string& value) { return at_least(0, value); }
std::string positive_number(const std::string& value) { return at_least(1, value); }

std::string usage_error(std::string_view problem) {
  return fmt::format("error: {}; --help lists what is accepted\n", problem);
}

int exit_code_of(const std::function<int()>& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error: not enough memory for a problem of this size\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
  }
  return 1;
}

}  // namespace zyfa::generator
