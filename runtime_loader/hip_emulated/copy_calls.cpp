// Copies and fills. What is no allocation counts as memory of the host program, of unknown length; copies that touch it
// are done when the call returns, as HIP does with memory that is not page-locked.
#include "runtime_loader/hip_emulated/call.h"

#include <cstring>

using namespace zyfa::hip_emulated;

namespace {

// `rows` of `width` bytes, `pitch` apart.
struct Extent {
  std::size_t width = 0, rows = 1;
  std::size_t span(std::size_t pitch) const { return width == 0 || rows == 0 ? 0 : pitch * (rows - 1) + width; }
};

struct Side {
  std::optional<Place> place;  // none: the host program's own memory
  std::byte* data = nullptr;
  std::size_t pitch = 0;
  bool pageable() const { return !place; }
};

// False if the bytes are not all within the allocation that they start in, or there are none.
bool find(Runtime& all, const void* pointer, std::size_t pitch, const Extent& extent, Side& side) {
  side.place = all.allocations.find(pointer);
  side.pitch = pitch;
  side.data = side.place ? side.place->data() : static_cast<std::byte*>(const_cast<void*>(pointer));
  return !side.place || extent.span(pitch) <= side.place->bytes_left();
}

bool suits(hipMemcpyKind kind, const Side& to, const Side& from) {
  constexpr int device_to_device_no_cu = 1024;  // hipMemcpyDeviceToDeviceNoCU of HIP 6
  switch (static_cast<int>(kind)) {
    case hipMemcpyHostToDevice:
      return !to.pageable();
    case hipMemcpyDeviceToHost:
      return !from.pageable();
    case hipMemcpyDeviceToDevice:
    case device_to_device_no_cu:
      return !to.pageable() && !from.pageable();
    case hipMemcpyHostToHost:
    case hipMemcpyDefault:
      return true;
    default:
      return false;
  }
}

void copy(const Side& to, const Side& from, const Extent& extent) {
  for (std::size_t row = 0; row < extent.rows; ++row)
    std::memmove(to.data + row * to.pitch, from.data + row * from.pitch, extent.width);
}

enum class Wait { never, pageable, always };

hipError_t submit_and_wait(Runtime& all, const std::shared_ptr<Stream>& stream, hipGraphNodeType type, bool wait,
                           Work work) {
  if (const hipError_t error = all.submit(stream, type, std::move(work)); error != hipSuccess) return error;
  if (!wait || all.captures.status(*stream).first != hipStreamCaptureStatusNone) return hipSuccess;
  all.synchronize(stream);
  return all.fault();
}

hipError_t copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, Extent extent,
                     hipMemcpyKind kind, hipStream_t handle, Wait wait) {
  return stream_call(handle, [&](Runtime& all, const auto& stream) {
    if (extent.width == 0 || extent.rows == 0) return hipSuccess;
    if (to == nullptr || from == nullptr) return refuse(hipErrorInvalidValue, "a copy from or to a null pointer");
    if (to_pitch < extent.width || from_pitch < extent.width) return hipErrorInvalidPitchValue;
    Side target, source;
    if (!find(all, to, to_pitch, extent, target) || !find(all, from, from_pitch, extent, source))
      return refuse(hipErrorInvalidValue, "a copy of {} bytes from {} to {} goes past the end of an allocation",
                    extent.width * extent.rows, from, to);
    if (!suits(kind, target, source))
      return refuse(hipErrorInvalidValue, "a copy of kind {} from {} to {}: one of them is not in device memory",
                    static_cast<int>(kind), from, to);
    const bool waits = wait == Wait::always || (wait == Wait::pageable && (target.pageable() || source.pageable()));
    return submit_and_wait(all, stream, hipGraphNodeTypeMemcpy, waits,
                           [target, source, extent] { copy(target, source, extent); });
  });
}

hipError_t copy_now(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind) {
  return copy_rows(to, bytes, from, bytes, {bytes, 1}, kind, nullptr, Wait::always);
}

hipError_t copy_async(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  return copy_rows(to, bytes, from, bytes, {bytes, 1}, kind, stream, Wait::pageable);
}

// Rows of `width` elements of `T`, `pitch` bytes apart.
template <class T>
hipError_t fill_rows(void* to, std::size_t pitch, T value, std::size_t width, std::size_t rows, hipStream_t handle,
                     Wait wait) {
  return stream_call(handle, [&](Runtime& all, const auto& stream) {
    if (width == 0 || rows == 0) return hipSuccess;
    const Extent extent{width * sizeof(T), rows};
    if (pitch < extent.width && rows > 1) return hipErrorInvalidPitchValue;
    Side target;
    if (width > SIZE_MAX / sizeof(T) || !find(all, to, pitch, extent, target) || target.pageable())
      return refuse(hipErrorInvalidValue, "a fill of {} bytes at {} is not within an allocation", extent.width * rows,
                    to);
    return submit_and_wait(all, stream, hipGraphNodeTypeMemset, wait == Wait::always, [target, extent, value] {
      for (std::size_t row = 0; row < extent.rows; ++row)
        for (std::size_t at = 0; at < extent.width; at += sizeof value)
          std::memcpy(target.data + row * target.pitch + at, &value, sizeof value);
    });
  });
}

template <class T>
hipError_t fill(void* to, T value, std::size_t count, hipStream_t stream, Wait wait) {
  return fill_rows(to, count * sizeof value, value, count, 1, stream, wait);
}

}  // namespace

hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
  return copy_now(to, from, bytes, kind);
}
hipError_t hipMemcpyWithStream(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  return copy_rows(to, bytes, from, bytes, {bytes, 1}, kind, stream, Wait::always);
}
hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  return copy_async(to, from, bytes, kind, stream);
}
hipError_t hipMemcpyHtoD(hipDeviceptr_t to, HostSource from, size_t bytes) {
  return copy_now(to, from, bytes, hipMemcpyHostToDevice);
}
hipError_t hipMemcpyDtoH(void* to, hipDeviceptr_t from, size_t bytes) {
  return copy_now(to, from, bytes, hipMemcpyDeviceToHost);
}
hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes) {
  return copy_now(to, from, bytes, hipMemcpyDeviceToDevice);
}
hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, HostSource from, size_t bytes, hipStream_t stream) {
  return copy_async(to, from, bytes, hipMemcpyHostToDevice, stream);
}
hipError_t hipMemcpyDtoHAsync(void* to, hipDeviceptr_t from, size_t bytes, hipStream_t stream) {
  return copy_async(to, from, bytes, hipMemcpyDeviceToHost, stream);
}
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes, hipStream_t stream) {
  return copy_async(to, from, bytes, hipMemcpyDeviceToDevice, stream);
}
hipError_t hipMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t rows,
                       hipMemcpyKind kind) {
  return copy_rows(to, to_pitch, from, from_pitch, {width, rows}, kind, nullptr, Wait::always);
}
hipError_t hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t rows,
                            hipMemcpyKind kind, hipStream_t stream) {
  return copy_rows(to, to_pitch, from, from_pitch, {width, rows}, kind, stream, Wait::pageable);
}

// The calls without a stream are done when they return.
hipError_t hipMemset(void* to, int value, size_t bytes) {
  return fill(to, static_cast<unsigned char>(value), bytes, nullptr, Wait::always);
}
hipError_t hipMemsetAsync(void* to, int value, size_t bytes, hipStream_t stream) {
  return fill(to, static_cast<unsigned char>(value), bytes, stream, Wait::never);
}
hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, size_t count) {
  return fill(to, value, count, nullptr, Wait::always);
}
hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t count, hipStream_t stream) {
  return fill(to, value, count, stream, Wait::never);
}
hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short value, size_t count) {
  return fill(to, value, count, nullptr, Wait::always);
}
hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, size_t count, hipStream_t stream) {
  return fill(to, value, count, stream, Wait::never);
}
hipError_t hipMemsetD32(hipDeviceptr_t to, int value, size_t count) {
  return fill(to, value, count, nullptr, Wait::always);
}
hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count, hipStream_t stream) {
  return fill(to, value, count, stream, Wait::never);
}
hipError_t hipMemset2D(void* to, size_t pitch, int value, size_t width, size_t rows) {
  return fill_rows(to, pitch, static_cast<unsigned char>(value), width, rows, nullptr, Wait::always);
}
hipError_t hipMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t rows, hipStream_t stream) {
  return fill_rows(to, pitch, static_cast<unsigned char>(value), width, rows, stream, Wait::never);
}
