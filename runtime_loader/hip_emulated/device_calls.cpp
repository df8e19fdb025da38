// The devices and what they say of themselves.
#include "runtime_loader/hip_emulated/call.h"
#include "runtime_loader/hip_emulated/device.h"

#include <cstring>

using namespace zyfa::hip_emulated;

namespace {

// Of a call about one device.
template <class Body>
hipError_t about_device(int device, Body body) {
  return call([&](Runtime& all) {
    if (all.settings.devices == 0) return hipErrorNoDevice;
    if (device < 0 || device >= all.settings.devices) return hipErrorInvalidDevice;
    return body(all);
  });
}

hipError_t set(int* to, int value) {
  if (!to) return hipErrorInvalidValue;
  *to = value;
  return hipSuccess;
}

hipError_t copy_text(char* to, int length, const std::string& text) {
  if (!to || length <= 0) return hipErrorInvalidValue;
  std::snprintf(to, static_cast<std::size_t>(length), "%s", text.c_str());
  return hipSuccess;
}

hipError_t version(int* to) {
  return call([&](Runtime& all) { return set(to, hip_version(all.settings.api)); });
}

hipError_t properties(void* to, int device, PropertiesOf version) {
  return about_device(device, [&](Runtime& all) {
    if (!to) return hipErrorInvalidValue;
    const auto bytes = device_properties(all.settings, all.allocations.device_bytes(), device, version);
    std::memcpy(to, bytes.data(), bytes.size());
    return hipSuccess;
  });
}

std::string bus_id(int device) { return fmt::format("0000:{:02x}:00.0", device_bus(device)); }

}  // namespace

hipError_t hipInit(unsigned flags) {
  return call([&](Runtime& all) {
    if (flags != 0) return hipErrorInvalidValue;
    return all.settings.devices == 0 ? hipErrorNoDevice : hipSuccess;
  });
}

hipError_t hipGetDeviceCount(int* count) {
  return call([&](Runtime& all) {
    if (!count) return hipErrorInvalidValue;
    *count = all.settings.devices;
    return *count == 0 ? hipErrorNoDevice : hipSuccess;
  });
}

hipError_t hipSetDevice(int device) {
  return about_device(device, [&](Runtime&) {
    current_device() = device;
    return hipSuccess;
  });
}

hipError_t hipGetDevice(int* device) {
  return about_device(current_device(), [&](Runtime&) { return set(device, current_device()); });
}

hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  return about_device(ordinal, [&](Runtime&) { return set(device, ordinal); });
}

hipError_t hipDeviceGetName(char* name, int length, hipDevice_t device) {
  return about_device(device, [&](Runtime& all) { return copy_text(name, length, device_name(all.settings)); });
}

hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t device) {
  return about_device(device, [&](Runtime& all) {
    if (!bytes) return hipErrorInvalidValue;
    *bytes = all.allocations.device_bytes();
    return hipSuccess;
  });
}

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  return about_device(device, [&](Runtime&) {
    const std::optional<int> known = device_attribute(attribute, device);
    return known ? set(value, *known) : hipErrorInvalidValue;
  });
}

hipError_t hip_5_properties(void* to, int device) { return properties(to, device, PropertiesOf::hip_5); }
hipError_t r0600_properties(void* to, int device) { return properties(to, device, PropertiesOf::r0600); }

hipError_t hipDeviceComputeCapability(int* major, int* minor, hipDevice_t device) {
  return about_device(device, [&](Runtime&) {
    const hipError_t error = set(major, compute_major);
    return error == hipSuccess ? set(minor, compute_minor) : error;
  });
}

hipError_t hipDeviceGetPCIBusId(char* text, int length, int device) {
  return about_device(device, [&](Runtime&) { return copy_text(text, length, bus_id(device)); });
}

hipError_t hipDeviceGetByPCIBusId(int* device, const char* text) {
  return call([&](Runtime& all) {
    if (!device || !text) return hipErrorInvalidValue;
    for (int i = 0; i < all.settings.devices; ++i)
      if (bus_id(i) == text) return set(device, i);
    return hipErrorInvalidDevice;
  });
}

hipError_t hipDriverGetVersion(int* value) { return version(value); }
hipError_t hipRuntimeGetVersion(int* value) { return version(value); }

hipError_t hipDeviceSynchronize() {
  return device_call([](Runtime& all) {
    if (const hipError_t error = all.captures.device_synchronize(); error != hipSuccess) return error;
    all.synchronize_device(current_device());
    return all.fault();
  });
}

// Waits and frees the device's memory. Streams, events and modules stay; so does a fault.
hipError_t hipDeviceReset() {
  return call([](Runtime& all) {
    if (all.settings.devices == 0) return hipErrorNoDevice;
    if (const hipError_t error = all.captures.device_synchronize(); error != hipSuccess) return error;
    all.synchronize_device(current_device());
    all.allocations.remove_all(current_device());
    return hipSuccess;
  });
}

// All devices see all memory.
hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  return about_device(device, [&](Runtime& all) {
    if (peer < 0 || peer >= all.settings.devices) return hipErrorInvalidDevice;
    return set(can, device != peer);
  });
}

hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  return about_device(peer, [&](Runtime&) { return flags == 0 ? hipSuccess : hipErrorInvalidValue; });
}

// How a thread waits, which is the same whatever it is told.
hipError_t hipSetDeviceFlags(unsigned) {
  return about_device(current_device(), [](Runtime&) { return hipSuccess; });
}
