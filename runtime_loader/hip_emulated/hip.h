// HIP's own declarations, of whatever version from 5.2 (which Debian has) on the header is, and those that only some
// versions have or that differ.
#pragma once

#include <hip/hip_runtime_api.h>
// HIP 6 maps HIP 5's names to its own.
#undef hipChooseDevice
#undef hipDeviceProp_t
#undef hipGetDeviceProperties

#pragma GCC visibility push(default)
extern "C" {
hipError_t hip_5_properties(void* properties, int device) __asm__("hipGetDeviceProperties");
hipError_t r0600_properties(void* properties, int device) __asm__("hipGetDevicePropertiesR0600");
hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags);
hipError_t hipExtGetLastError();
hipError_t hipDrvGetErrorName(hipError_t error, const char** text);
hipError_t hipDrvGetErrorString(hipError_t error, const char** text);
hipError_t hipExtModuleLaunchKernel(hipFunction_t function, uint32_t items_x, uint32_t items_y, uint32_t items_z,
                                    uint32_t block_x, uint32_t block_y, uint32_t block_z, size_t dynamic_lds_bytes,
                                    hipStream_t stream, void** parameters, void** extra, hipEvent_t start,
                                    hipEvent_t stop, uint32_t flags);
// HIP 5 declares it in C++.
hipError_t _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(
    hipFunction_t function, uint32_t items_x, uint32_t items_y, uint32_t items_z, uint32_t block_x, uint32_t block_y,
    uint32_t block_z, size_t dynamic_lds_bytes, hipStream_t stream, void** parameters, void** extra, hipEvent_t start,
    hipEvent_t stop, uint32_t flags);
}
#pragma GCC visibility pop

namespace zyfa::hip_emulated {

template <class To, class From>
From source_of(hipError_t (*)(To, From, size_t));
using HostSource = decltype(source_of(&hipMemcpyHtoD));  // HIP 7 made it const

inline const hipStream_t stream_legacy = reinterpret_cast<hipStream_t>(1);  // hipStreamLegacy of HIP 6

}  // namespace zyfa::hip_emulated
