#include "runtime_loader/hip_emulated/device.h"

#include "isa/machine.h"

#include <cstring>
#include <string_view>

namespace zyfa::hip_emulated {
namespace {

// Byte offsets in hipDeviceProp_tR0600: github.com/ROCm/HIP, include/hip/hip_runtime_api.h at c5e11fcac824.
#define R0600_FIELDS(field)                                                                                            \
  field(304, hipDeviceAttributeMaxRegistersPerBlock) field(308, hipDeviceAttributeWarpSize)                            \
      field(320, hipDeviceAttributeMaxThreadsPerBlock) field(324, hipDeviceAttributeMaxBlockDimX)                      \
          field(328, hipDeviceAttributeMaxBlockDimY) field(332, hipDeviceAttributeMaxBlockDimZ) field(                 \
              336, hipDeviceAttributeMaxGridDimX) field(340, hipDeviceAttributeMaxGridDimY)                            \
              field(344, hipDeviceAttributeMaxGridDimZ) field(348, hipDeviceAttributeClockRate) field(                 \
                  360, hipDeviceAttributeComputeCapabilityMajor) field(364, hipDeviceAttributeComputeCapabilityMinor)  \
                  field(388, hipDeviceAttributeMultiprocessorCount) field(400, hipDeviceAttributeCanMapHostMemory)     \
                      field(576, hipDeviceAttributeConcurrentKernels) field(580, hipDeviceAttributeEccEnabled)         \
                          field(584, hipDeviceAttributePciBusId) field(600, hipDeviceAttributeAsyncEngineCount) field( \
                              604, hipDeviceAttributeUnifiedAddressing) field(608, hipDeviceAttributeMemoryClockRate)  \
                              field(612, hipDeviceAttributeMemoryBusWidth) field(616, hipDeviceAttributeL2CacheSize)   \
                                  field(624, hipDeviceAttributeMaxThreadsPerMultiProcessor)                            \
                                      field(628, hipDeviceAttributeStreamPrioritiesSupported)                          \
                                          field(648, hipDeviceAttributeMaxRegistersPerMultiprocessor)                  \
                                              field(652, hipDeviceAttributeManagedMemory)                              \
                                                  field(1424, hipDeviceAttributeClockInstructionRate)
constexpr std::size_t name_at = 0, memory_at = 288, lds_of_block_at = 296, pitch_at = 312, constants_at = 352,
                      lds_of_cu_at = 640, lds_optin_at = 696, arch_name_at = 1160, most_lds_at = 1416, arch_at = 1428,
                      name_bytes = 256;

// What the architecture has of hipDeviceArch_t's features: all but dynamic parallelism and surface functions.
hipDeviceArch_t arch_features() {
  hipDeviceArch_t arch{};
  arch.hasGlobalInt32Atomics = arch.hasGlobalFloatAtomicExch = arch.hasSharedInt32Atomics = 1;
  arch.hasSharedFloatAtomicExch = arch.hasFloatAtomicAdd = arch.hasGlobalInt64Atomics = 1;
  arch.hasSharedInt64Atomics = arch.hasDoubles = arch.hasWarpVote = arch.hasWarpBallot = arch.hasWarpShuffle = 1;
  arch.hasThreadFenceSystem = arch.has3dGrid = 1;
  return arch;
}

int value(int attribute, int device) { return device_attribute(attribute, device).value_or(0); }

}  // namespace

std::string device_name(const Settings& settings) {
  return settings.processor() == "gfx950" ? "AMD Instinct MI355X (zyfa emulated)" : settings.arch + " (zyfa emulated)";
}

int device_bus(int device) { return 5 + 16 * device; }

int hip_version(int api) { return api == 5 ? HIP_VERSION : api * 10'000'000; }

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

hipDeviceProp_t device_properties(const Settings& settings, std::size_t memory_bytes, int device) {
  const isa::Machine machine;
  hipDeviceProp_t p{};
  device_name(settings).copy(p.name, sizeof p.name - 1);
  settings.arch.copy(p.gcnArchName, sizeof p.gcnArchName - 1);
  p.totalGlobalMem = memory_bytes;
  p.sharedMemPerBlock = p.maxSharedMemoryPerMultiProcessor = static_cast<std::size_t>(machine.lds_bytes);
  p.regsPerBlock = value(hipDeviceAttributeMaxRegistersPerBlock, device);
  p.warpSize = value(hipDeviceAttributeWarpSize, device);
  p.maxThreadsPerBlock = value(hipDeviceAttributeMaxThreadsPerBlock, device);
  for (int axis = 0; axis < 3; ++axis) {
    p.maxThreadsDim[axis] = value(hipDeviceAttributeMaxBlockDimX + axis, device);
    p.maxGridSize[axis] = value(hipDeviceAttributeMaxGridDimX + axis, device);
  }
  p.clockRate = value(hipDeviceAttributeClockRate, device);
  p.memoryClockRate = value(hipDeviceAttributeMemoryClockRate, device);
  p.memoryBusWidth = value(hipDeviceAttributeMemoryBusWidth, device);
  p.totalConstMem = static_cast<std::size_t>(value(hipDeviceAttributeTotalConstantMemory, device));
  p.major = compute_major;
  p.minor = compute_minor;
  p.multiProcessorCount = value(hipDeviceAttributeMultiprocessorCount, device);
  p.l2CacheSize = value(hipDeviceAttributeL2CacheSize, device);
  p.maxThreadsPerMultiProcessor = value(hipDeviceAttributeMaxThreadsPerMultiProcessor, device);
  p.clockInstructionRate = value(hipDeviceAttributeClockInstructionRate, device);
  p.arch = arch_features();
  p.concurrentKernels = p.canMapHostMemory = p.ECCEnabled = p.managedMemory = 1;
  p.pciBusID = device_bus(device);
  p.memPitch = static_cast<std::size_t>(value(hipDeviceAttributeMaxPitch, device));
  return p;
}

std::array<std::byte, r0600_bytes> device_properties_r0600(const Settings& settings, std::size_t memory_bytes,
                                                           int device) {
  std::array<std::byte, r0600_bytes> bytes{};
  const auto put = [&](std::size_t at, const auto& what) { std::memcpy(bytes.data() + at, &what, sizeof what); };
  const auto put_text = [&](std::size_t at, const std::string& text) {
    std::memcpy(bytes.data() + at, text.data(), std::min(text.size(), name_bytes - 1));
  };
  const auto put_size = [&](std::size_t at, int attribute) {
    put(at, static_cast<std::size_t>(value(attribute, device)));
  };
#define PUT(at, attribute) put(at, value(attribute, device));
  R0600_FIELDS(PUT)
#undef PUT
  put_text(name_at, device_name(settings));
  put_text(arch_name_at, settings.arch);
  put(memory_at, memory_bytes);
  for (const std::size_t at : {lds_of_block_at, lds_of_cu_at, lds_optin_at, most_lds_at})
    put_size(at, hipDeviceAttributeMaxSharedMemoryPerBlock);
  put_size(pitch_at, hipDeviceAttributeMaxPitch);
  put_size(constants_at, hipDeviceAttributeTotalConstantMemory);
  put(arch_at, arch_features());
  return bytes;
}

}  // namespace zyfa::hip_emulated
