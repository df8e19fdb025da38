// Content hashes of emitted files.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace zyfa::generator {

// 64 lower-case hex digits.
std::string sha256(std::span<const std::byte> bytes);

}  // namespace zyfa::generator
