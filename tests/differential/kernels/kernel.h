// Lets one C file be two things: a gfx950 kernel when clang compiles it (tests/support/clang_kernel.h), and functions
// of the test program when the host's C++ compiler includes it. A kernel without exchange between lanes runs whole on
// the host, one work-item at a time; others keep that part behind __AMDGCN__.
//
//   KERNEL(scale, GLOBAL float* out, GLOBAL const float* in, float factor) { out[GLOBAL_ID] = in[GLOBAL_ID] * factor; }
#pragma once

enum { workgroup_items = 256 };  // at most, and what GLOBAL_ID counts with

#ifdef __AMDGCN__

#include <stdint.h>
#define FUNCTION static inline
#define KERNEL(name, ...) __attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(64, 256))) void name(__VA_ARGS__)
#define GLOBAL __attribute__((address_space(1)))
// An array that the workgroup shares, declared in a kernel.
#define LDS(type, name, count) static __attribute__((address_space(3), loader_uninitialized)) type name[count]
#define WORKGROUP __builtin_amdgcn_workgroup_id_x()
#define WORK_ITEM __builtin_amdgcn_workitem_id_x()
// Between writes to LDS and reads of them by other waves.
#define BARRIER()                                                   \
  do {                                                              \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local"); \
    __builtin_amdgcn_s_barrier();                                   \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local"); \
  } while (0)

#else

#include <cstdint>
namespace zyfa::tests {
struct WorkItem {
  std::uint32_t workgroup, item;
};
}  // namespace zyfa::tests
#define FUNCTION inline
#define KERNEL(name, ...) inline void name([[maybe_unused]] zyfa::tests::WorkItem here, __VA_ARGS__)
#define GLOBAL
#define WORKGROUP here.workgroup
#define WORK_ITEM here.item

#endif

#define GLOBAL_ID (WORKGROUP * workgroup_items + WORK_ITEM)
