#pragma once

#include <cstdint>

namespace zyfa::pipes {

using Clk = std::uint64_t;  // engine clocks since the workgroup began

}  // namespace zyfa::pipes
