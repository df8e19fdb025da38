// How every command ends: one clear line on the error stream, and an exit code.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace zyfa::generator {

// What a command says of options that it does not take.
std::string usage_error(std::string_view problem);

// The exit code of `run`; 1 after an exception, whose message is printed.
int exit_code_of(const std::function<int()>& run);

}  // namespace zyfa::generator
