// Streams: a queue of work and a host thread that does it in order.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace zyfa::hip_emulated {

using Work = std::function<void()>;

// A point in a stream, passed once all work before it is done.
class Marker {
 public:
  void pass();
  bool passed() const;
  void wait() const;
  std::chrono::steady_clock::time_point when() const;  // it was passed

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable passed_now_;
  bool passed_ = false;
  std::chrono::steady_clock::time_point when_{};
};

// Work pushed is done in order by a thread that starts with the first of it and ends, after the last, with the queue.
class Queue {
 public:
  Queue();
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // The work runs behind all pushed before and the points `after`; none of them may depend on it. Returns its end.
  std::shared_ptr<const Marker> push(std::vector<std::shared_ptr<const Marker>> after, Work work);
  // The end of what was pushed last; null if nothing was.
  std::shared_ptr<const Marker> last() const;

 private:
  struct Item {
    std::vector<std::shared_ptr<const Marker>> after;
    Work work;
    std::shared_ptr<Marker> end;
  };
  // Shared with the thread, which may outlive the queue.
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Item> items;
    std::shared_ptr<Marker> last;
    bool started = false, closed = false;
  };
  static void work_off(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

struct Capture;

struct Stream {
  int device = 0;
  unsigned flags = 0;  // hipStreamNonBlocking
  int priority = 0;
  bool is_null = false;  // the device's default stream, which waits for blocking streams and they for it
  Queue queue = {};
  std::shared_ptr<Capture> capture{};  // that its work is recorded in; guarded by Captures
};

}  // namespace zyfa::hip_emulated
