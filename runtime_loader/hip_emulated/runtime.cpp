#include "runtime_loader/hip_emulated/runtime.h"

#include "isa/error.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace zyfa::hip_emulated {
namespace {

constexpr std::uint64_t device_bytes = std::uint64_t{288} << 30;  // AMD's data sheet of the MI355X: 288 GB of HBM3E

// This thread's own default streams, one for each device (hipStreamPerThread).
std::map<int, std::shared_ptr<Stream>>& thread_streams() {
  thread_local std::map<int, std::shared_ptr<Stream>> streams;
  return streams;
}

// At the end of the process work may still run, with code and data that are about to go.
void finish_all() {
  Runtime& all = runtime();
  for (int device = 0; device < all.settings.devices; ++device) all.synchronize_device(device);
}

}  // namespace

ThreadBudget::Share::Share(ThreadBudget& budget, std::uint64_t wanted) : budget_(budget) {
  std::unique_lock lock(budget_.mutex_);
  budget_.given_back_.wait(lock, [this] { return budget_.free_ > 0; });
  threads_ = static_cast<int>(std::clamp<std::uint64_t>(wanted, 1, static_cast<std::uint64_t>(budget_.free_)));
  budget_.free_ -= threads_;
}

ThreadBudget::Share::~Share() {
  const std::scoped_lock lock(budget_.mutex_);
  budget_.free_ += threads_;
  budget_.given_back_.notify_all();
}

Runtime::Runtime() : settings(read_settings()), allocations(device_bytes), threads(settings.threads) {
  for (int device = 0; device < settings.devices; ++device) {
    null_streams_.push_back(std::make_shared<Stream>());
    null_streams_.back()->device = device;
    null_streams_.back()->is_null = true;
  }
}

Runtime& runtime() {
  static Runtime& the_one = *new Runtime;
  static const int at_exit = std::atexit(finish_all);
  static_cast<void>(at_exit);
  return the_one;
}

int& current_device() {
  thread_local int device = 0;
  return device;
}

void report(const std::string& message) {
  std::fputs(one_line("zyfa hip_emulated: " + message).append("\n").c_str(), stderr);
}

std::shared_ptr<Stream> Runtime::make_stream(unsigned flags, int priority) {
  auto stream = std::make_shared<Stream>();
  stream->device = current_device();
  stream->flags = flags;
  stream->priority = priority;
  const std::scoped_lock lock(order_);
  std::erase_if(streams_, [](const auto& other) { return other.expired(); });
  streams_.push_back(stream);
  return stream;
}

std::shared_ptr<Stream> Runtime::stream(hipStream_t handle) {
  if (handle == nullptr || handle == stream_legacy) return null_streams_.at(static_cast<std::size_t>(current_device()));
  if (handle != hipStreamPerThread) return streams.find(handle);
  std::shared_ptr<Stream>& own = thread_streams()[current_device()];
  if (!own) own = make_stream(hipStreamDefault, 0);
  return own;
}

std::vector<std::shared_ptr<Stream>> Runtime::all_streams(int device) {
  std::vector<std::shared_ptr<Stream>> all{null_streams_.at(static_cast<std::size_t>(device))};
  for (const auto& weak : streams_)
    if (auto stream = weak.lock(); stream && stream->device == device) all.push_back(std::move(stream));
  return all;
}

std::vector<std::shared_ptr<const Marker>> Runtime::others_before(const std::shared_ptr<Stream>& stream) {
  std::vector<std::shared_ptr<const Marker>> before;
  const auto add = [&](const std::shared_ptr<Stream>& other) {
    auto last = other->queue.last();
    if (other != stream && last && !last->passed()) before.push_back(std::move(last));
  };
  if (stream->is_null) {
    for (const auto& other : all_streams(stream->device))
      if ((other->flags & hipStreamNonBlocking) == 0) add(other);
  } else if ((stream->flags & hipStreamNonBlocking) == 0) {
    add(null_streams_.at(static_cast<std::size_t>(stream->device)));
  }
  return before;
}

std::shared_ptr<const Marker> Runtime::enqueue(const std::shared_ptr<Stream>& stream, Work work,
                                               std::vector<std::shared_ptr<const Marker>> after) {
  const std::scoped_lock lock(order_);
  const auto others = others_before(stream);
  after.insert(after.end(), others.begin(), others.end());
  // A stream that is destroyed lives on while it has work.
  return stream->queue.push(std::move(after), [stream, work = std::move(work)] {
    if (work) work();
  });
}

hipError_t Runtime::submit(const std::shared_ptr<Stream>& stream, hipGraphNodeType type, Work work) {
  Work guarded = [this, work = std::move(work)] {
    if (fault() != hipSuccess) return;
    try {
      work();
    } catch (const std::exception& error) {
      fail(hipErrorLaunchFailure, error.what());
    }
  };
  if (stream->is_null)
    if (const hipError_t error = captures.default_stream(); error != hipSuccess) return error;
  if (const auto recorded = captures.record(*stream, {type, guarded})) return *recorded;
  enqueue(stream, std::move(guarded));
  return hipSuccess;
}

void Runtime::synchronize(const std::shared_ptr<Stream>& stream) {
  // The default stream is done when those that it waits for are.
  if (stream->is_null)
    enqueue(stream, {})->wait();
  else if (const auto last = stream->queue.last())
    last->wait();
}

bool Runtime::done(const std::shared_ptr<Stream>& stream) {
  const std::scoped_lock lock(order_);
  const auto last = stream->queue.last();
  return (!last || last->passed()) && (!stream->is_null || others_before(stream).empty());
}

void Runtime::synchronize_device(int device) {
  std::vector<std::shared_ptr<const Marker>> ends;
  {
    const std::scoped_lock lock(order_);
    for (const auto& stream : all_streams(device))
      if (auto last = stream->queue.last()) ends.push_back(std::move(last));
  }
  for (const auto& end : ends) end->wait();
}

void Runtime::fail(hipError_t error, const std::string& message) {
  report(fmt::format("{}: {}", hipGetErrorName(error), message));
  hipError_t none = hipSuccess;
  fault_.compare_exchange_strong(none, error);
}

}  // namespace zyfa::hip_emulated
