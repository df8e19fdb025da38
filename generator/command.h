// How every command ends: one clear line on the error stream, and an exit code.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace zyfa::generator {

// What a command says of options that it does not take.
std::string usage_error(std::string_view problem);

// Checks of an option's value, for CLI11: what is wrong with it, or nothing.
std::string whole_number(const std::string& value);     // 0, 1, ...
std::string positive_number(const std::string& value);  // 1, 2, ...

// The exit code of `run`; 1 after an exception, whose message is printed.
int exit_code_of(const std::function<int()>& run);

}  // namespace zyfa::generator
