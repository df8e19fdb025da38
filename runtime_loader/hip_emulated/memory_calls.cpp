// Allocation, and questions about pointers.
#include "runtime_loader/hip_emulated/call.h"

using namespace zyfa::hip_emulated;

namespace {

hipError_t allocate(Runtime& all, void** pointer, std::size_t bytes, MemoryKind kind, unsigned flags) {
  if (!pointer) return hipErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return hipSuccess;
  const auto made = all.allocations.allocate(kind, bytes, current_device(), flags);
  if (!made)
    return refuse(hipErrorOutOfMemory, "there is no room for {} bytes; the device has {} free", bytes,
                  all.allocations.free_bytes(current_device()));
  *pointer = reinterpret_cast<void*>(made->address());
  return hipSuccess;
}

hipError_t allocate_now(void** pointer, std::size_t bytes, MemoryKind kind, unsigned flags) {
  return device_call([&](Runtime& all) {
    if (const hipError_t error = all.captures.unsafe_call(); error != hipSuccess) return error;
    return allocate(all, pointer, bytes, kind, flags);
  });
}

hipError_t allocate_host(void** pointer, std::size_t bytes, unsigned flags) {
  return allocate_now(pointer, bytes, MemoryKind::host, flags);
}

// Waits for all that may still use the memory.
hipError_t free_now(void* pointer) {
  return device_call([&](Runtime& all) {
    if (const hipError_t error = all.captures.unsafe_call(); error != hipSuccess) return error;
    if (pointer == nullptr) return hipSuccess;
    for (int device = 0; device < all.settings.devices; ++device) all.synchronize_device(device);
    if (!all.allocations.remove(reinterpret_cast<std::uintptr_t>(pointer)))
      return refuse(hipErrorInvalidValue, "{} is freed, but no allocation starts there", pointer);
    return hipSuccess;
  });
}

// HIP 6 put "unregistered" first.
int memory_type(const Settings& settings, MemoryKind kind) {
  if (settings.api < 6) return kind == MemoryKind::host ? 0 : 1;
  return kind == MemoryKind::host ? 1 : kind == MemoryKind::device ? 2 : 3;
}

}  // namespace

hipError_t hipMalloc(void** pointer, size_t bytes) { return allocate_now(pointer, bytes, MemoryKind::device, 0); }

hipError_t hipExtMallocWithFlags(void** pointer, size_t bytes, unsigned flags) {
  return allocate_now(pointer, bytes, MemoryKind::device, flags);
}

hipError_t hipMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  return allocate_now(pointer, bytes, MemoryKind::managed, flags);
}

hipError_t hipHostMalloc(void** pointer, size_t bytes, unsigned flags) { return allocate_host(pointer, bytes, flags); }
hipError_t hipHostAlloc(void** pointer, size_t bytes, unsigned flags) { return allocate_host(pointer, bytes, flags); }
hipError_t hipMallocHost(void** pointer, size_t bytes) { return allocate_host(pointer, bytes, 0); }
hipError_t hipMemAllocHost(void** pointer, size_t bytes) { return allocate_host(pointer, bytes, 0); }

hipError_t hipFree(void* pointer) { return free_now(pointer); }
hipError_t hipHostFree(void* pointer) { return free_now(pointer); }
hipError_t hipFreeHost(void* pointer) { return free_now(pointer); }

// The memory is there at once; HIP promises it for work on the stream behind this call.
hipError_t hipMallocAsync(void** pointer, size_t bytes, hipStream_t handle) {
  return stream_call(handle, [&](Runtime& all, const auto& stream) {
    if (all.captures.status(*stream).first != hipStreamCaptureStatusNone) return all.captures.synchronize(*stream);
    return allocate(all, pointer, bytes, MemoryKind::device, 0);
  });
}

hipError_t hipFreeAsync(void* pointer, hipStream_t handle) {
  return stream_call(handle, [&](Runtime& all, const auto& stream) {
    if (all.captures.status(*stream).first != hipStreamCaptureStatusNone) return all.captures.synchronize(*stream);
    const std::optional<Place> place = all.allocations.find(pointer);
    if (!place || place->offset != 0)
      return refuse(hipErrorInvalidValue, "{} is freed, but no allocation starts there", pointer);
    all.enqueue(stream, [&all, pointer] { all.allocations.remove(reinterpret_cast<std::uintptr_t>(pointer)); });
    return hipSuccess;
  });
}

hipError_t hipMemGetInfo(size_t* free_bytes, size_t* total) {
  return device_call([&](Runtime& all) {
    if (!free_bytes || !total) return hipErrorInvalidValue;
    *free_bytes = all.allocations.free_bytes(current_device());
    *total = all.allocations.device_bytes();
    return hipSuccess;
  });
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, size_t* bytes, hipDeviceptr_t pointer) {
  return device_call([&](Runtime& all) {
    const std::optional<Place> place = all.allocations.find(pointer);
    if (!place || place->bytes_left() == 0) return hipErrorNotFound;
    if (base) *base = reinterpret_cast<void*>(place->allocation->address());
    if (bytes) *bytes = place->allocation->bytes;
    return hipSuccess;
  });
}

hipError_t hipMemPtrGetInfo(void* pointer, size_t* bytes) { return hipMemGetAddressRange(nullptr, bytes, pointer); }

hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
  return device_call([&](Runtime& all) {
    if (!attributes) return hipErrorInvalidValue;
    *attributes = {};
    auto& [type, device, device_pointer, host_pointer, managed, flags] = *attributes;  // HIP 6 renamed the first
    const std::optional<Place> place = all.allocations.find(pointer);
    if (!place || place->bytes_left() == 0) {
      if (all.settings.api < 6) return hipErrorInvalidValue;
      device = -2;  // hipInvalidDeviceId
      return hipSuccess;
    }
    const MemoryKind kind = place->allocation->kind;
    type = static_cast<hipMemoryType>(memory_type(all.settings, kind));
    device = place->allocation->device;
    device_pointer = const_cast<void*>(pointer);
    if (kind != MemoryKind::device) host_pointer = place->data();
    managed = kind == MemoryKind::managed;
    flags = place->allocation->flags;
    return hipSuccess;
  });
}

hipError_t hipHostGetDevicePointer(void** device, void* host, unsigned) {
  return device_call([&](Runtime& all) {
    const std::optional<Place> place = all.allocations.find(host);
    if (!device || !place || place->allocation->kind == MemoryKind::device) return hipErrorInvalidValue;
    *device = host;
    return hipSuccess;
  });
}

hipError_t hipHostGetFlags(unsigned* flags, void* host) {
  return device_call([&](Runtime& all) {
    const std::optional<Place> place = all.allocations.find(host);
    if (!flags || !place || place->allocation->kind != MemoryKind::host) return hipErrorInvalidValue;
    *flags = place->allocation->flags;
    return hipSuccess;
  });
}
