// HIP's own declarations (5.2, whose header Debian has), and those that later versions added or declare otherwise.
#pragma once

#include <hip/hip_runtime_api.h>

#pragma GCC visibility push(default)
extern "C" {
hipError_t hipGetDevicePropertiesR0600(void* properties, int device);
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

inline const hipStream_t stream_legacy = reinterpret_cast<hipStream_t>(1);  // hipStreamLegacy of HIP 6

}  // namespace zyfa::hip_emulated
