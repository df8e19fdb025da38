#pragma once

#include <cstdint>

namespace zyfa::pipes {

using Clk = std::uint64_t;  // engine clocks since the workgroup began

// What a pipe makes of an instruction: it works on it from start to end, and the result is there at done.
struct Service {
  Clk start = 0, end = 0, done = 0;
};

}  // namespace zyfa::pipes
