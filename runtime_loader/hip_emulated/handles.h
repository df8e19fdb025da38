// What a host program holds as an opaque handle. A handle is a number that is never given out twice, so a handle that
// was destroyed, or that never was one, is told from a good one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace zyfa::hip_emulated {

template <class Handle, class T>
class Handles {
 public:
  Handle add(std::shared_ptr<T> object) {
    const std::scoped_lock lock(mutex_);
    objects_.emplace(next_, std::move(object));
    return reinterpret_cast<Handle>(std::exchange(next_, next_ + step));
  }

  // Null if the handle stands for nothing.
  std::shared_ptr<T> find(Handle handle) const {
    const std::scoped_lock lock(mutex_);
    const auto at = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    return at == objects_.end() ? nullptr : at->second;
  }

  // The object, which from now on nobody finds; null if the handle stands for nothing.
  std::shared_ptr<T> remove(Handle handle) {
    const std::scoped_lock lock(mutex_);
    const auto node = objects_.extract(reinterpret_cast<std::uintptr_t>(handle));
    return node.empty() ? nullptr : std::move(node.mapped());
  }

 private:
  // Above HIP's own numbers for streams: 0, hipStreamLegacy 1, hipStreamPerThread 2.
  static constexpr std::uintptr_t step = 16;
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, std::shared_ptr<T>> objects_;
  std::uintptr_t next_ = 0x1000;
};

}  // namespace zyfa::hip_emulated
