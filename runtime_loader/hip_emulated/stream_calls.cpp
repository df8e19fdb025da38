// Streams, and host functions in them.
#include "runtime_loader/hip_emulated/call.h"

using namespace zyfa::hip_emulated;

namespace {

constexpr int least_priority = 0, greatest_priority = -1;

hipError_t create(hipStream_t* handle, unsigned flags, int priority) {
  return device_call([&](Runtime& all) {
    if (!handle || (flags != hipStreamDefault && flags != hipStreamNonBlocking)) return hipErrorInvalidValue;
    const int within = std::clamp(priority, greatest_priority, least_priority);
    *handle = all.streams.add(all.make_stream(flags, within));
    return hipSuccess;
  });
}

}  // namespace

hipError_t hipStreamCreate(hipStream_t* stream) { return create(stream, hipStreamDefault, least_priority); }

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  return create(stream, flags, least_priority);
}

hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  return create(stream, flags, priority);
}

hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return device_call([&](Runtime&) {
    if (least) *least = least_priority;
    if (greatest) *greatest = greatest_priority;
    return hipSuccess;
  });
}

// What was enqueued is still done.
hipError_t hipStreamDestroy(hipStream_t handle) {
  return call([&](Runtime& all) {
    if (handle == nullptr || handle == hipStreamPerThread || handle == stream_legacy)
      return hipErrorInvalidResourceHandle;
    const std::shared_ptr<Stream> stream = all.streams.remove(handle);
    if (!stream) return hipErrorContextIsDestroyed;
    all.captures.forget(*stream);
    return hipSuccess;
  });
}

hipError_t hipStreamSynchronize(hipStream_t handle) {
  return stream_call(handle, [](Runtime& all, const auto& stream) {
    if (const hipError_t error = all.captures.synchronize(*stream); error != hipSuccess) return error;
    all.synchronize(stream);
    return all.fault();
  });
}

hipError_t hipStreamQuery(hipStream_t handle) {
  return stream_call(handle, [](Runtime& all, const auto& stream) {
    if (const hipError_t error = all.captures.synchronize(*stream); error != hipSuccess) return error;
    return all.done(stream) ? all.fault() : hipErrorNotReady;
  });
}

hipError_t hipStreamGetFlags(hipStream_t handle, unsigned* flags) {
  return stream_call(handle, [&](Runtime&, const auto& stream) {
    if (!flags) return hipErrorInvalidValue;
    *flags = stream->flags;
    return hipSuccess;
  });
}

hipError_t hipStreamGetPriority(hipStream_t handle, int* priority) {
  return stream_call(handle, [&](Runtime&, const auto& stream) {
    if (!priority) return hipErrorInvalidValue;
    *priority = stream->priority;
    return hipSuccess;
  });
}

// Runs even after a fault, which it is told of.
hipError_t hipStreamAddCallback(hipStream_t handle, hipStreamCallback_t callback, void* data, unsigned flags) {
  return stream_call(handle, [&](Runtime& all, const auto& stream) {
    if (!callback || flags != 0) return hipErrorInvalidValue;
    if (stream->is_null)
      if (const hipError_t error = all.captures.default_stream(); error != hipSuccess) return error;
    if (all.captures.status(*stream).first != hipStreamCaptureStatusNone) return all.captures.synchronize(*stream);
    all.enqueue(stream, [&all, handle, callback, data] { callback(handle, all.fault(), data); });
    return hipSuccess;
  });
}

hipError_t hipLaunchHostFunc(hipStream_t handle, hipHostFn_t function, void* data) {
  return stream_call(handle, [&](Runtime& all, const auto& stream) {
    if (!function) return hipErrorInvalidValue;
    return all.submit(stream, hipGraphNodeTypeHost, [function, data] { function(data); });
  });
}

hipError_t hipStreamWaitEvent(hipStream_t handle, hipEvent_t event_handle, unsigned) {
  return stream_call(handle, [&](Runtime& all, const auto& stream) {
    const std::shared_ptr<Event> event = all.events.find(event_handle);
    if (!event) return hipErrorInvalidHandle;
    std::shared_ptr<const Marker> marker;
    std::optional<CapturedPoint> captured;
    {
      const std::scoped_lock lock(event->mutex);
      marker = event->marker;
      captured = event->captured;
    }
    if (captured) return all.captures.join(stream, *captured);
    if (const hipError_t error = all.captures.outside(*stream); error != hipSuccess) return error;
    if (marker) all.enqueue(stream, {}, {marker});
    return hipSuccess;
  });
}
