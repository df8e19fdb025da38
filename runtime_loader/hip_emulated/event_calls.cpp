// Events. The time between two is the host's, in which the emulator did the work between them: it says nothing about a
// GPU.
#include "runtime_loader/hip_emulated/call.h"

using namespace zyfa::hip_emulated;

namespace {

constexpr unsigned known_flags = hipEventBlockingSync | hipEventDisableTiming | hipEventInterprocess |
                                 hipEventReleaseToDevice | hipEventReleaseToSystem;

struct Recorded {
  int device = 0;  // of the event
  unsigned flags = 0;
  std::shared_ptr<const Marker> marker;  // where it was recorded last; null if it never was
};

hipError_t find(Runtime& all, hipEvent_t handle, Recorded& recorded) {
  const std::shared_ptr<Event> event = all.events.find(handle);
  if (!event) return hipErrorInvalidHandle;
  std::optional<CapturedPoint> captured;
  {
    const std::scoped_lock lock(event->mutex);
    recorded = {event->device, event->flags, event->marker};
    captured = event->captured;
  }
  return captured ? all.captures.captured_event(*captured) : hipSuccess;
}

hipError_t record(Runtime& all, const std::shared_ptr<Stream>& stream, hipEvent_t handle) {
  const std::shared_ptr<Event> event = all.events.find(handle);
  if (!event) return hipErrorInvalidHandle;
  if (stream->is_null)
    if (const hipError_t error = all.captures.default_stream(); error != hipSuccess) return error;
  if (all.captures.status(*stream).first == hipStreamCaptureStatusInvalidated) return hipErrorStreamCaptureInvalidated;
  std::optional<CapturedPoint> point = all.captures.point(*stream);
  if (!point && event->device != stream->device)
    return refuse(hipErrorInvalidResourceHandle, "an event of device {} is recorded on a stream of device {}",
                  event->device, stream->device);
  std::shared_ptr<const Marker> marker = point ? nullptr : all.enqueue(stream, {});
  const std::scoped_lock lock(event->mutex);
  event->captured = std::move(point);
  event->marker = std::move(marker);
  return hipSuccess;
}

}  // namespace

hipError_t hipEventCreateWithFlags(hipEvent_t* handle, unsigned flags) {
  return device_call([&](Runtime& all) {
    if (!handle || (flags & ~known_flags) != 0) return hipErrorInvalidValue;
    auto event = std::make_shared<Event>();
    event->device = current_device();
    event->flags = flags;
    *handle = all.events.add(std::move(event));
    return hipSuccess;
  });
}

hipError_t hipEventCreate(hipEvent_t* event) { return hipEventCreateWithFlags(event, hipEventDefault); }

hipError_t hipEventDestroy(hipEvent_t event) {
  return call([&](Runtime& all) {
    if (event == nullptr) return hipErrorInvalidHandle;
    return all.events.remove(event) ? hipSuccess : hipErrorContextIsDestroyed;
  });
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return stream_call(stream, [&](Runtime& all, const auto& found) { return record(all, found, event); });
}

hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags) {
  if (flags != 0) return call([](Runtime&) { return hipErrorInvalidValue; });
  return hipEventRecord(event, stream);
}

hipError_t hipEventSynchronize(hipEvent_t event) {
  return device_call([&](Runtime& all) {
    Recorded recorded;
    if (const hipError_t error = find(all, event, recorded); error != hipSuccess) return error;
    if (const hipError_t error = all.captures.unsafe_call(); error != hipSuccess) return error;
    if (recorded.marker) recorded.marker->wait();
    return all.fault();
  });
}

hipError_t hipEventQuery(hipEvent_t event) {
  return device_call([&](Runtime& all) {
    Recorded recorded;
    if (const hipError_t error = find(all, event, recorded); error != hipSuccess) return error;
    if (recorded.marker && !recorded.marker->passed()) return hipErrorNotReady;
    return all.fault();
  });
}

hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  return device_call([&](Runtime& all) {
    if (!milliseconds) return hipErrorInvalidValue;
    Recorded first, last;
    if (const hipError_t error = find(all, start, first); error != hipSuccess) return error;
    if (const hipError_t error = find(all, stop, last); error != hipSuccess) return error;
    if (first.device != last.device)
      return refuse(hipErrorInvalidResourceHandle, "the time between an event of device {} and one of device {}",
                    first.device, last.device);
    const bool timed = ((first.flags | last.flags) & hipEventDisableTiming) == 0;
    if (!first.marker || !last.marker || !timed) return hipErrorInvalidHandle;
    if (!first.marker->passed() || !last.marker->passed()) return hipErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(last.marker->when() - first.marker->when()).count();
    return hipSuccess;
  });
}
