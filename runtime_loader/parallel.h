// A loop over independent tasks on host threads. Results must not depend on which thread runs which task.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace zyfa::runtime {

// Calls body(task, worker) once for every task in [0, tasks), on up to `threads` threads; worker is in [0,
// threads) and tells concurrent calls apart. The first exception ends the loop and is thrown to the caller.
template <typename Body>
void parallel_for(std::int64_t tasks, int threads, const Body& body) {
  const int workers = static_cast<int>(std::clamp<std::int64_t>(tasks, 1, std::max(threads, 1)));
  std::atomic<std::int64_t> next{0};
  std::mutex failure_mutex;
  std::exception_ptr failure;
  const auto work = [&](int worker) {
    try {
      for (std::int64_t task = next++; task < tasks; task = next++) body(task, worker);
    } catch (...) {
      next = tasks;
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int worker = 1; worker < workers; ++worker) others.emplace_back(work, worker);
    work(0);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace zyfa::runtime
