// A relocatable object to a loadable code object, by LLD inside this process.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace zyfa::generator {

// The shared code object (.co) of one relocatable object, every symbol resolved. The bytes depend on `object`
// and LLD's version alone. May be called from several threads; LLD itself runs one link at a time. Throws
// Error with LLD's text if the object cannot be linked.
std::vector<std::byte> link(std::span<const std::byte> object);

}  // namespace zyfa::generator
