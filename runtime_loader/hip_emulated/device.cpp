#include "runtime_loader/hip_emulated/device.h"

#include "isa/machine.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace zyfa::hip_emulated {
namespace {

constexpr std::size_t absent = SIZE_MAX;

// Byte offsets of what no attribute says.
struct Layout {
  std::size_t bytes, name, memory, arch_name, arch;
};
constexpr Layout layout_hip_5{792, 0, 256, 396, 356}, layout_r0600{1472, 0, 288, 1160, 1428};
constexpr std::size_t name_bytes = 256;

// What the architecture has of hipDeviceArch_t's features: all but dynamic parallelism and surface functions.
hipDeviceArch_t arch_features() {
  hipDeviceArch_t arch{};
  arch.hasGlobalInt32Atomics = arch.hasGlobalFloatAtomicExch = arch.hasSharedInt32Atomics = 1;
  arch.hasSharedFloatAtomicExch = arch.hasFloatAtomicAdd = arch.hasGlobalInt64Atomics = 1;
  arch.hasSharedInt64Atomics = arch.hasDoubles = arch.hasWarpVote = arch.hasWarpBallot = arch.hasWarpShuffle = 1;
  arch.hasThreadFenceSystem = arch.has3dGrid = 1;
  return arch;
}

}  // namespace

std::string device_name(const Settings& settings) {
  return settings.processor() == "gfx950" ? "AMD Instinct MI355X (zyfa emulated)" : settings.arch + " (zyfa emulated)";
}

int device_bus(int device) { return 5 + 16 * device; }

int hip_version(int api) { return api == 5 ? 50'221'153 : api * 10'000'000; }

std::optional<int> device_attribute(int attribute, int device) {
  const isa::Machine machine;
  switch (attribute) {
#define ATTRIBUTE(name, value) \
  case name:                   \
    return value;
#include "runtime_loader/hip_emulated/device_attributes.def"
#undef ATTRIBUTE
    default:
      break;
  }
  // As of HIP 7.
  constexpr int last_common = hipDeviceAttributeMemoryPoolsSupported + 3, last_amd = 10020;
  const bool known = (attribute >= 0 && attribute <= last_common) ||
                     (attribute >= hipDeviceAttributeAmdSpecificBegin && attribute <= last_amd);
  return known ? std::optional(0) : std::nullopt;
}

std::vector<std::byte> device_properties(const Settings& settings, std::size_t memory_bytes, int device,
                                         PropertiesOf version) {
  const bool hip_5 = version == PropertiesOf::hip_5;
  const Layout& layout = hip_5 ? layout_hip_5 : layout_r0600;
  std::vector<std::byte> bytes(layout.bytes);
  const auto put = [&](std::size_t at, const auto& what) {
    if (at != absent) std::memcpy(bytes.data() + at, &what, sizeof what);
  };
  const auto put_text = [&](std::size_t at, const std::string& text) {
    std::memcpy(bytes.data() + at, text.data(), std::min(text.size(), name_bytes - 1));
  };
#define PROPERTY(type, at_hip_5, at_r0600, attribute) \
  put(hip_5 ? (at_hip_5) : (at_r0600), static_cast<type>(device_attribute(attribute, device).value_or(0)));
#include "runtime_loader/hip_emulated/device_properties.def"
#undef PROPERTY
  put_text(layout.name, device_name(settings));
  put_text(layout.arch_name, settings.arch);
  put(layout.memory, memory_bytes);
  put(layout.arch, arch_features());
  return bytes;
}

}  // namespace zyfa::hip_emulated
