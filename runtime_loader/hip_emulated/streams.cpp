#include "runtime_loader/hip_emulated/streams.h"

#include <thread>

namespace zyfa::hip_emulated {

void Marker::pass() {
  const std::scoped_lock lock(mutex_);
  passed_ = true;
  when_ = std::chrono::steady_clock::now();
  passed_now_.notify_all();
}

bool Marker::passed() const {
  const std::scoped_lock lock(mutex_);
  return passed_;
}

void Marker::wait() const {
  std::unique_lock lock(mutex_);
  passed_now_.wait(lock, [this] { return passed_; });
}

std::chrono::steady_clock::time_point Marker::when() const {
  const std::scoped_lock lock(mutex_);
  return when_;
}

Queue::Queue() : state_(std::make_shared<State>()) {}

Queue::~Queue() {
  const std::scoped_lock lock(state_->mutex);
  state_->closed = true;
  state_->changed.notify_all();
}

void Queue::work_off(const std::shared_ptr<State>& state) {
  for (;;) {
    Item item;
    {
      std::unique_lock lock(state->mutex);
      state->changed.wait(lock, [&] { return !state->items.empty() || state->closed; });
      if (state->items.empty()) return;
      item = std::move(state->items.front());
      state->items.pop_front();
    }
    for (const auto& marker : item.after) marker->wait();
    item.work();
    item.work = nullptr;  // what it holds is free before anyone learns that it is done
    item.end->pass();
  }
}

std::shared_ptr<const Marker> Queue::push(std::vector<std::shared_ptr<const Marker>> after, Work work) {
  auto end = std::make_shared<Marker>();
  const std::scoped_lock lock(state_->mutex);
  // Detached: at the end of the process it may be in the middle of a kernel.
  if (!state_->started) std::thread(work_off, state_).detach();
  state_->started = true;
  state_->items.push_back({std::move(after), std::move(work), end});
  state_->last = end;
  state_->changed.notify_all();
  return end;
}

std::shared_ptr<const Marker> Queue::last() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->last;
}

}  // namespace zyfa::hip_emulated
