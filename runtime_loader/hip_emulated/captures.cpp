#include "runtime_loader/hip_emulated/captures.h"

#include <algorithm>

namespace zyfa::hip_emulated {
namespace {

void merge(Seen& into, const Seen& from) {
  for (const auto& [stream, nodes] : from) into[stream] = std::max(into[stream], nodes);
}

// Whether the first stream waits for the ends of all others.
bool joined(const Capture& capture) {
  const Seen& first = capture.seen.at(capture.streams[0].get());
  return std::ranges::all_of(capture.seen, [&](const auto& of) {
    const auto& [stream, seen] = of;
    const auto own = seen.find(stream), known = first.find(stream);
    return own == seen.end() || (known != first.end() && known->second >= own->second);
  });
}

}  // namespace

hipStreamCaptureMode& thread_capture_mode() {
  thread_local hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;
  return mode;
}

template <class Which>
hipError_t Captures::invalidate(hipError_t error, Which which) {
  bool any = false;
  for (const auto& capture : active_)
    if (which(*capture)) any = capture->invalidated = true;
  return any ? error : hipSuccess;
}

hipError_t Captures::begin(const std::shared_ptr<Stream>& stream, hipStreamCaptureMode mode) {
  if (stream->is_null) return hipErrorStreamCaptureUnsupported;
  if (mode < hipStreamCaptureModeGlobal || mode > hipStreamCaptureModeRelaxed) return hipErrorInvalidValue;
  const std::scoped_lock lock(mutex_);
  if (stream->capture) return hipErrorIllegalState;
  auto capture = std::make_shared<Capture>();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->number = ++begun_;
  capture->streams.push_back(stream);
  capture->seen[stream.get()];
  active_.push_back(capture);
  stream->capture = std::move(capture);
  return hipSuccess;
}

hipError_t Captures::end(const Stream& stream, Graph& graph) {
  const std::scoped_lock lock(mutex_);
  const std::shared_ptr<Capture> capture = stream.capture;
  if (!capture) return hipErrorIllegalState;
  if (capture->streams[0].get() != &stream) return hipErrorStreamCaptureUnmatched;
  if (capture->mode != hipStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id())
    return hipErrorStreamCaptureWrongThread;
  const bool unjoined = !joined(*capture);
  for (const auto& participant : capture->streams) participant->capture = nullptr;
  std::erase(active_, capture);
  capture->streams.clear();
  if (capture->invalidated) return hipErrorStreamCaptureInvalidated;
  if (unjoined) return hipErrorStreamCaptureUnjoined;
  graph = std::move(capture->graph);
  return hipSuccess;
}

std::pair<hipStreamCaptureStatus, unsigned long long> Captures::status(const Stream& stream) const {
  const std::scoped_lock lock(mutex_);
  if (!stream.capture) return {hipStreamCaptureStatusNone, 0};
  return {stream.capture->invalidated ? hipStreamCaptureStatusInvalidated : hipStreamCaptureStatusActive,
          stream.capture->number};
}

void Captures::forget(Stream& stream) {
  const std::scoped_lock lock(mutex_);
  const std::shared_ptr<Capture> capture = std::exchange(stream.capture, nullptr);
  if (!capture) return;
  capture->invalidated = true;
  if (capture->streams[0].get() != &stream) return;
  for (const auto& participant : capture->streams) participant->capture = nullptr;
  std::erase(active_, capture);
  capture->streams.clear();
}

std::optional<hipError_t> Captures::record(const Stream& stream, Node node) {
  const std::scoped_lock lock(mutex_);
  if (!stream.capture) return {};
  Capture& capture = *stream.capture;
  if (capture.invalidated) return hipErrorStreamCaptureInvalidated;
  capture.graph.nodes.push_back(std::move(node));
  ++capture.seen[&stream][&stream];
  return hipSuccess;
}

std::optional<CapturedPoint> Captures::point(const Stream& stream) const {
  const std::scoped_lock lock(mutex_);
  if (!stream.capture) return {};
  return CapturedPoint{stream.capture, stream.capture->seen.at(&stream)};
}

hipError_t Captures::join(const std::shared_ptr<Stream>& stream, const CapturedPoint& point) {
  if (stream->is_null) return hipErrorInvalidHandle;
  const std::scoped_lock lock(mutex_);
  const std::shared_ptr<Capture> capture = point.capture.lock();
  if (!capture || capture->streams.empty()) return hipErrorStreamCaptureIsolation;
  if (capture->invalidated) return hipErrorStreamCaptureInvalidated;
  if (stream->capture && stream->capture != capture) {
    stream->capture->invalidated = capture->invalidated = true;
    return hipErrorStreamCaptureMerge;
  }
  if (!stream->capture) capture->streams.push_back(stream);
  stream->capture = capture;
  merge(capture->seen[stream.get()], point.seen);
  return hipSuccess;
}

hipError_t Captures::outside(const Stream& stream) {
  const std::scoped_lock lock(mutex_);
  return invalidate(hipErrorStreamCaptureIsolation,
                    [&](const Capture& capture) { return &capture == stream.capture.get(); });
}

hipError_t Captures::captured_event(const CapturedPoint& point) {
  const std::scoped_lock lock(mutex_);
  const std::shared_ptr<Capture> capture = point.capture.lock();
  return invalidate(hipErrorCapturedEvent, [&](const Capture& other) { return &other == capture.get(); });
}

hipError_t Captures::unsafe_call() {
  const hipStreamCaptureMode thread_mode = thread_capture_mode();
  if (thread_mode == hipStreamCaptureModeRelaxed) return hipSuccess;
  const std::scoped_lock lock(mutex_);
  return invalidate(hipErrorStreamCaptureUnsupported, [&](const Capture& capture) {
    if (capture.mode == hipStreamCaptureModeRelaxed) return false;
    if (capture.thread == std::this_thread::get_id()) return true;
    return thread_mode == hipStreamCaptureModeGlobal && capture.mode == hipStreamCaptureModeGlobal;
  });
}

hipError_t Captures::default_stream() {
  const std::scoped_lock lock(mutex_);
  return invalidate(hipErrorStreamCaptureImplicit, [](const Capture& capture) {
    return std::ranges::any_of(capture.streams,
                               [](const auto& stream) { return (stream->flags & hipStreamNonBlocking) == 0; });
  });
}

hipError_t Captures::device_synchronize() {
  const std::scoped_lock lock(mutex_);
  return invalidate(hipErrorStreamCaptureUnsupported, [](const Capture&) { return true; });
}

hipError_t Captures::synchronize(const Stream& stream) {
  {
    const std::scoped_lock lock(mutex_);
    if (stream.capture) {
      stream.capture->invalidated = true;
      return hipErrorStreamCaptureUnsupported;
    }
  }
  return stream.is_null ? default_stream() : unsafe_call();
}

}  // namespace zyfa::hip_emulated
