// What all of HIP's calls have in common: no exception leaves them, and their errors are remembered.
#pragma once

#include "runtime_loader/hip_emulated/runtime.h"

#include <new>

namespace zyfa::hip_emulated {

hipError_t& last_error();  // of this thread

// Runs the body of a call that needs no device: a function of the Runtime that returns an error.
template <class Body>
hipError_t call(Body body) {
  hipError_t error = hipErrorUnknown;
  try {
    error = body(runtime());
  } catch (const std::bad_alloc&) {
    error = hipErrorOutOfMemory;
  } catch (const std::exception& failure) {
    error = refuse(hipErrorInitializationError, "{}", failure.what());
  }
  if (error != hipSuccess && error != hipErrorNotReady) last_error() = error;
  return error;
}

// Of one that does: there is a device, and no kernel has failed.
template <class Body>
hipError_t device_call(Body body) {
  return call([&](Runtime& all) {
    if (all.settings.devices == 0) return hipErrorNoDevice;
    if (all.fault() != hipSuccess) return all.fault();
    return body(all);
  });
}

// Of one on a stream, which the body gets as well.
template <class Body>
hipError_t stream_call(hipStream_t handle, Body body) {
  return device_call([&](Runtime& all) {
    const std::shared_ptr<Stream> stream = all.stream(handle);
    return stream ? body(all, stream) : hipErrorContextIsDestroyed;
  });
}

}  // namespace zyfa::hip_emulated
