// The harness's own kernels: arithmetic, a loop over memory, and what a comparison must notice.
#include "tests/differential/kernels/kernel.h"

KERNEL(scale_and_add, GLOBAL float* out, GLOBAL const float* x, GLOBAL const float* y, float factor) {
  out[GLOBAL_ID] = x[GLOBAL_ID] * factor + y[GLOBAL_ID];
}

KERNEL(sum_of_row, GLOBAL uint32_t* out, GLOBAL const uint32_t* in, uint32_t columns) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < columns; ++i) sum += in[GLOBAL_ID * columns + i];
  out[GLOBAL_ID] = sum;
}

#ifdef __AMDGCN__

KERNEL(not_in_the_table, GLOBAL uint32_t* out) {
  __asm__ volatile("s_icache_inv");
  out[GLOBAL_ID] = 0;
}

// Reverses a workgroup through LDS.
KERNEL(reverse, GLOBAL uint32_t* out, GLOBAL const uint32_t* in) {
  LDS(uint32_t, staging, workgroup_items);
  staging[WORK_ITEM] = in[GLOBAL_ID];
  BARRIER();
  out[GLOBAL_ID] = staging[workgroup_items - 1 - WORK_ITEM];
}

KERNEL(reverse_without_barrier, GLOBAL uint32_t* out, GLOBAL const uint32_t* in) {
  LDS(volatile uint32_t, staging, workgroup_items);
  staging[WORK_ITEM] = in[GLOBAL_ID];
  out[GLOBAL_ID] = staging[workgroup_items - 1 - WORK_ITEM];
}

#endif
