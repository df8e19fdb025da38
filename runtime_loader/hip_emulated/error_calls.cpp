// hipGetLastError and its relatives.
#include "runtime_loader/hip_emulated/call.h"

#include <algorithm>
#include <span>

namespace zyfa::hip_emulated {
namespace {

struct NamedError {
  hipError_t error;
  const char *name, *text;
};

#define NAMED(error, text) \
  { error, #error, text }
constexpr NamedError named_errors[] = {
    NAMED(hipSuccess, "no error"),
    NAMED(hipErrorInvalidValue, "invalid argument"),
    NAMED(hipErrorOutOfMemory, "out of memory"),
    NAMED(hipErrorNotInitialized, "initialization error"),
    NAMED(hipErrorDeinitialized, "driver shutting down"),
    NAMED(hipErrorInvalidConfiguration, "invalid configuration argument"),
    NAMED(hipErrorInvalidPitchValue, "invalid pitch argument"),
    NAMED(hipErrorInvalidSymbol, "invalid device symbol"),
    NAMED(hipErrorInvalidDevicePointer, "invalid device pointer"),
    NAMED(hipErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    NAMED(hipErrorInvalidDeviceFunction, "invalid device function"),
    NAMED(hipErrorNoDevice, "no ROCm-capable device is detected"),
    NAMED(hipErrorInvalidDevice, "invalid device ordinal"),
    NAMED(hipErrorInvalidImage, "device kernel image is invalid"),
    NAMED(hipErrorInvalidContext, "invalid device context"),
    NAMED(hipErrorNoBinaryForGpu, "no kernel image is available for execution on the device"),
    NAMED(hipErrorInvalidKernelFile, "invalid kernel file"),
    NAMED(hipErrorFileNotFound, "file not found"),
    NAMED(hipErrorInvalidHandle, "invalid resource handle"),
    NAMED(hipErrorIllegalState, "the operation cannot be performed in the present state"),
    NAMED(hipErrorNotFound, "named symbol not found"),
    NAMED(hipErrorNotReady, "device not ready"),
    NAMED(hipErrorIllegalAddress, "an illegal memory access was encountered"),
    NAMED(hipErrorLaunchOutOfResources, "too many resources requested for launch"),
    NAMED(hipErrorLaunchTimeOut, "the launch timed out and was terminated"),
    NAMED(hipErrorContextIsDestroyed, "context is destroyed"),
    NAMED(hipErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
    NAMED(hipErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    NAMED(hipErrorLaunchFailure, "unspecified launch failure"),
    NAMED(hipErrorNotSupported, "operation not supported"),
    NAMED(hipErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    NAMED(hipErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    NAMED(hipErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences"),
    NAMED(hipErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    NAMED(hipErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    NAMED(hipErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"),
    NAMED(hipErrorStreamCaptureImplicit,
          "operation would make the legacy stream depend on a capturing blocking stream"),
    NAMED(hipErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream"),
    NAMED(hipErrorStreamCaptureWrongThread, "attempt to terminate a thread-local capture sequence from another thread"),
    NAMED(hipErrorUnknown, "unknown error"),
};
#undef NAMED

const NamedError& named(hipError_t error) {
  static constexpr NamedError unnamed{hipErrorUnknown, "hipErrorUnknown", "unknown error"};
  const auto* found = std::ranges::find(named_errors, error, &NamedError::error);
  return found == std::ranges::end(named_errors) ? unnamed : *found;
}

}  // namespace

hipError_t& last_error() {
  thread_local hipError_t error = hipSuccess;
  return error;
}

}  // namespace zyfa::hip_emulated

using namespace zyfa::hip_emulated;

// A fault stays, all else is forgotten once it was asked for.
hipError_t hipGetLastError() { return std::exchange(last_error(), hipSuccess); }
hipError_t hipExtGetLastError() { return hipGetLastError(); }
hipError_t hipPeekAtLastError() { return last_error(); }
const char* hipGetErrorName(hipError_t error) { return named(error).name; }
const char* hipGetErrorString(hipError_t error) { return named(error).text; }

hipError_t hipDrvGetErrorName(hipError_t error, const char** text) {
  if (!text) return hipErrorInvalidValue;
  *text = named(error).name;
  return hipSuccess;
}

hipError_t hipDrvGetErrorString(hipError_t error, const char** text) {
  if (!text) return hipErrorInvalidValue;
  *text = named(error).text;
  return hipSuccess;
}
