// What a launch passes beside the arguments that a kernel names, and what it leaves behind.
#include "tests/differential/kernels/kernel.h"

#ifdef __AMDGCN__

// Sizes of the launch, from the hidden arguments.
KERNEL(sizes, GLOBAL uint32_t* out) {
  out[0] = __builtin_amdgcn_workgroup_size_x();
  out[1] = __builtin_amdgcn_workgroup_size_y();
  out[2] = __builtin_amdgcn_grid_size_x();
  out[3] = __builtin_amdgcn_grid_size_y();
  out[4] = __builtin_amdgcn_grid_size_z();
}

static GLOBAL uint32_t launches = 100;

// A variable of the code object, which lives as long as it is loaded.
KERNEL(count, GLOBAL uint32_t* out) { out[0] = ++launches; }

KERNEL(no_arguments, void) { __builtin_amdgcn_s_sleep(1); }

KERNEL(stop, GLOBAL uint32_t* out) {
  out[0] = 1;
  __builtin_trap();
}

#endif
