// What an emulated MI355X says of itself. Its sizes are isa/machine.def's.
#pragma once

#include "runtime_loader/hip_emulated/hip.h"
#include "runtime_loader/hip_emulated/settings.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zyfa::hip_emulated {

// gfx950: the digits before the last, in hexadecimal.
inline constexpr int compute_major = 9, compute_minor = 5;

std::string device_name(const Settings& settings);
int device_bus(int device);
// HIP_VERSION of the API, such as 50221153; the patch of versions after Debian's 5.2 is 0.
int hip_version(int api);

// None for an attribute that HIP does not know. Textures, surfaces and interprocess handles, which the emulator has
// not, read as 0.
std::optional<int> device_attribute(int attribute, int device);

// The struct of hipGetDeviceProperties: HIP 5's, and hipDeviceProp_tR0600 of HIP 6 and 7. Bytes, as a header has one of
// them alone.
enum class PropertiesOf : std::uint8_t { hip_5, r0600 };
std::vector<std::byte> device_properties(const Settings& settings, std::size_t memory_bytes, int device,
                                         PropertiesOf version);

}  // namespace zyfa::hip_emulated
