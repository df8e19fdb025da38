// Vector memory of a compute unit: a queue, a limit on the bytes in flight, one latency, and a bus that data returns
// on in order (gfx950.md 1, "TCP"). Caches are not modelled: every access has the latency of the machine file.
#pragma once

#include "isa/machine.h"
#include "isa/pipes/clock.h"

#include <deque>

namespace zyfa::pipes {

class VmemPipe {
 public:
  explicit VmemPipe(const isa::Machine& machine) : machine_(machine) {}

  bool accepts(Clk now);
  // The service is that of the bus; done: the data is there, or written.
  Service issue(Clk now, std::uint32_t bytes);

  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Flight {
    Clk returns = 0;
    std::uint32_t bytes = 0;
  };

  const isa::Machine& machine_;
  std::deque<Clk> waiting_;     // when each instruction in the queue will leave it
  std::deque<Flight> flights_;  // in the order in which they return
  std::uint64_t in_flight_ = 0;
  Clk last_departure_ = 0, last_return_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace zyfa::pipes
