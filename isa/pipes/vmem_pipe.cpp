#include "isa/pipes/vmem_pipe.h"

#include <algorithm>

namespace zyfa::pipes {

bool VmemPipe::accepts(Clk now) {
  while (!waiting_.empty() && waiting_.front() <= now) waiting_.pop_front();
  return waiting_.size() < static_cast<std::size_t>(machine_.vmem_queue);
}

// Leaves the queue in order, as soon as enough of what is in flight has returned.
Service VmemPipe::issue(Clk now, std::uint32_t bytes) {
  const auto limit = static_cast<std::uint64_t>(machine_.vmem_in_flight_bytes);
  Clk departs = std::max(now + static_cast<Clk>(machine_.turn_clk), last_departure_);
  while (!flights_.empty() && (flights_.front().returns <= departs || in_flight_ + bytes > limit)) {
    departs = std::max(departs, flights_.front().returns);
    in_flight_ -= flights_.front().bytes;
    flights_.pop_front();
  }
  const auto per_clk = static_cast<std::uint32_t>(machine_.vmem_bytes_per_clk);
  const Clk starts = std::max(departs + static_cast<Clk>(machine_.vmem_latency_clk), last_return_);
  const Clk returns = starts + (bytes + per_clk - 1) / per_clk;
  flights_.push_back({returns, bytes});
  in_flight_ += bytes;
  waiting_.push_back(departs);
  last_departure_ = departs;
  last_return_ = returns;
  bytes_ += bytes;
  return {starts, returns, returns};
}

}  // namespace zyfa::pipes
