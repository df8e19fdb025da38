// Stream capture: work of a capturing stream is recorded, in the order of the calls, and run when the graph is
// launched. A graph's nodes run one after another in that order, which is one that its dependencies allow.
#pragma once

#include "runtime_loader/hip_emulated/hip.h"
#include "runtime_loader/hip_emulated/streams.h"

#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace zyfa::hip_emulated {

struct Node {
  hipGraphNodeType type;
  Work work;
};

struct Graph {
  std::vector<Node> nodes;
};

// How many nodes of each stream come before a point: what that point waits for.
using Seen = std::map<const Stream*, std::size_t>;

struct Capture {
  hipStreamCaptureMode mode{};
  std::thread::id thread{};
  unsigned long long number = 0;
  bool invalidated = false;
  std::vector<std::shared_ptr<Stream>> streams;  // the first is the one it began on; others joined by waiting for it
  std::map<const Stream*, Seen> seen;            // of each of them
  Graph graph;
};

// A point in a capture, for events.
struct CapturedPoint {
  std::weak_ptr<Capture> capture;
  Seen seen;
};

// All captures that are going on. Every error is what HIP documents for it, and invalidates the captures it is about.
class Captures {
 public:
  hipError_t begin(const std::shared_ptr<Stream>& stream, hipStreamCaptureMode mode);
  hipError_t end(const Stream& stream, Graph& graph);
  // Of the stream; none, active or invalidated, and the capture's number.
  std::pair<hipStreamCaptureStatus, unsigned long long> status(const Stream& stream) const;
  void forget(Stream& stream);  // it is destroyed

  // Records work if the stream captures; none if it does not.
  std::optional<hipError_t> record(const Stream& stream, Node node);
  // The point behind all that the stream recorded; none if it does not capture.
  std::optional<CapturedPoint> point(const Stream& stream) const;
  // The stream waits for the point, and takes part in its capture from now on.
  hipError_t join(const std::shared_ptr<Stream>& stream, const CapturedPoint& point);
  // A capturing stream waits for what no capture recorded.
  hipError_t outside(const Stream& stream);
  // An event recorded in a capture is asked for.
  hipError_t captured_event(const CapturedPoint& point);

  // Calls that might synchronise (hipMalloc, hipEventSynchronize): not while this thread captures, nor, in the global
  // mode, while any does.
  hipError_t unsafe_call();
  // The default stream is used, which would wait for those that capture.
  hipError_t default_stream();
  hipError_t device_synchronize();
  hipError_t synchronize(const Stream& stream);

 private:
  // Invalidates those that `which` holds for; `error` if there was one.
  template <class Which>
  hipError_t invalidate(hipError_t error, Which which);

  mutable std::mutex mutex_;  // also guards Stream::capture and all of a Capture
  std::vector<std::shared_ptr<Capture>> active_;
  unsigned long long begun_ = 0;
};

// The mode in which this thread's calls are held to a capture's rules (hipThreadExchangeStreamCaptureMode).
hipStreamCaptureMode& thread_capture_mode();

}  // namespace zyfa::hip_emulated
