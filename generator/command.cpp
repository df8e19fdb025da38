#include "generator/command.h"

#include <fmt/core.h>

#include <exception>
#include <new>

namespace zyfa::generator {

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
