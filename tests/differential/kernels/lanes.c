// Lanes that exchange data: through LDS, by DPP, lane reads and swaps, ballots.
#include "tests/differential/kernels/kernel.h"

#ifdef __AMDGCN__

typedef int int2 __attribute__((ext_vector_type(2)));
typedef int int3 __attribute__((ext_vector_type(3)));
typedef short short4 __attribute__((ext_vector_type(4)));

int write_lane(int value, int lane, int old) __asm("llvm.amdgcn.writelane.i32");

// 32x32 tiles, one a workgroup, rows padded against bank conflicts.
KERNEL(transpose, GLOBAL uint32_t* out, GLOBAL const uint32_t* in) {
  LDS(uint32_t, tile, 32 * 33);
  const uint32_t column = WORK_ITEM % 32, first = WORK_ITEM / 32;
  for (uint32_t row = first; row < 32; row += 8) tile[row * 33 + column] = in[WORKGROUP * 1024 + row * 32 + column];
  BARRIER();
  for (uint32_t row = first; row < 32; row += 8) out[WORKGROUP * 1024 + row * 32 + column] = tile[column * 33 + row];
}

// Transposing LDS reads: each lane gives the address of 8 bytes, or 12 of 16, and gets as many of others'.
#define READ_TRANSPOSED(name, builtin, vector, words, stride)                                                          \
  KERNEL(name, GLOBAL uint32_t* out, GLOBAL const uint32_t* in) {                                                      \
    LDS(int, rows, 64 * stride);                                                                                       \
    for (int i = 0; i < words; ++i) rows[WORK_ITEM * stride + i] = (int)in[words * WORK_ITEM + i];                     \
    BARRIER();                                                                                                         \
    union {                                                                                                            \
      vector value;                                                                                                    \
      uint32_t words_[words];                                                                                          \
    } got = {builtin((__attribute__((address_space(3))) vector*)&rows[WORK_ITEM * stride])};                           \
    for (int i = 0; i < words; ++i) out[words * WORK_ITEM + i] = got.words_[i];                                        \
  }
READ_TRANSPOSED(read_transposed_4, __builtin_amdgcn_ds_read_tr4_b64_v2i32, int2, 2, 2)
READ_TRANSPOSED(read_transposed_6, __builtin_amdgcn_ds_read_tr6_b96_v3i32, int3, 3, 4)
READ_TRANSPOSED(read_transposed_8, __builtin_amdgcn_ds_read_tr8_b64_v2i32, int2, 2, 2)
READ_TRANSPOSED(read_transposed_16, __builtin_amdgcn_ds_read_tr16_b64_v4i16, short4, 2, 2)

// A tree over LDS with a barrier a step.
KERNEL(block_sum, GLOBAL uint32_t* out, GLOBAL const uint32_t* in) {
  LDS(uint32_t, partial, workgroup_items);
  partial[WORK_ITEM] = in[GLOBAL_ID];
  BARRIER();
  for (uint32_t step = workgroup_items / 2; step > 0; step /= 2) {
    if (WORK_ITEM < step) partial[WORK_ITEM] += partial[WORK_ITEM + step];
    BARRIER();
  }
  if (WORK_ITEM == 0) out[WORKGROUP] = partial[0];
}

KERNEL(block_maximum, GLOBAL float* out, GLOBAL const float* in) {
  LDS(float, partial, workgroup_items);
  partial[WORK_ITEM] = in[GLOBAL_ID];
  BARRIER();
  for (uint32_t step = workgroup_items / 2; step > 0; step /= 2) {
    if (WORK_ITEM < step) partial[WORK_ITEM] = __builtin_fmaxf(partial[WORK_ITEM], partial[WORK_ITEM + step]);
    BARRIER();
  }
  if (WORK_ITEM == 0) out[WORKGROUP] = partial[0];
}

enum { row_shl = 0x100, row_shr = 0x110, row_ror = 0x120, wave_shl = 0x130, wave_rol = 0x134, wave_shr = 0x138,
       wave_ror = 0x13c, row_mirror = 0x140, row_half_mirror = 0x141, row_bcast15 = 0x142, row_bcast31 = 0x143,
       row_newbcast = 0x150 };

// Sum of the lanes up to and including one's own, the classic six steps.
FUNCTION int scan_of_wave(int x) {
  x += __builtin_amdgcn_update_dpp(0, x, row_shr + 1, 15, 15, 0);
  x += __builtin_amdgcn_update_dpp(0, x, row_shr + 2, 15, 15, 0);
  x += __builtin_amdgcn_update_dpp(0, x, row_shr + 4, 15, 15, 0);
  x += __builtin_amdgcn_update_dpp(0, x, row_shr + 8, 15, 15, 0);
  x += __builtin_amdgcn_update_dpp(0, x, row_bcast15, 10, 15, 0);
  x += __builtin_amdgcn_update_dpp(0, x, row_bcast31, 12, 15, 0);
  return x;
}
KERNEL(scan, GLOBAL int* out, GLOBAL const int* in) { out[GLOBAL_ID] = scan_of_wave(in[GLOBAL_ID]); }

// Of a workgroup: waves pass their totals on through LDS.
KERNEL(block_scan, GLOBAL int* out, GLOBAL const int* in) {
  LDS(int, totals, 4);
  const int sum = scan_of_wave(in[GLOBAL_ID]);
  if (WORK_ITEM % 64 == 63) totals[WORK_ITEM / 64] = sum;
  BARRIER();
  int before = 0;
  for (uint32_t wave = 0; wave < WORK_ITEM / 64; ++wave) before += totals[wave];
  out[GLOBAL_ID] = before + sum;
}

// One control after the other: out[control][lane].
KERNEL(dpp_controls, GLOBAL int* out, GLOBAL const int* in) {
  const int x = in[WORK_ITEM], old = -1 - (int)WORK_ITEM;
  GLOBAL int* to = out + WORK_ITEM;
#define MOVE(control) *to = __builtin_amdgcn_update_dpp(old, x, control, 15, 15, 0), to += 64;
  MOVE(0x1b) MOVE(0xb1) MOVE(row_shl + 1) MOVE(row_shl + 15) MOVE(row_shr + 3) MOVE(row_ror + 5)
  MOVE(wave_shl) MOVE(wave_rol) MOVE(wave_shr) MOVE(wave_ror) MOVE(row_mirror) MOVE(row_half_mirror)
  MOVE(row_bcast15) MOVE(row_bcast31) MOVE(row_newbcast) MOVE(row_newbcast + 11)
#undef MOVE
  // Masks keep the old value, bound_ctrl gives 0 for lanes that are not there.
  *to = __builtin_amdgcn_update_dpp(old, x, row_shr + 1, 5, 15, 0), to += 64;
  *to = __builtin_amdgcn_update_dpp(old, x, row_shr + 1, 15, 6, 0), to += 64;
  *to = __builtin_amdgcn_update_dpp(old, x, row_shr + 1, 15, 15, 1);
}

// Lanes that are off: their data is as if out of bounds.
KERNEL(dpp_in_branch, GLOBAL int* out, GLOBAL const int* in) {
  int x = in[WORK_ITEM], y = -7;
  if (x & 1) y = __builtin_amdgcn_update_dpp(1000, x, row_shr + 1, 15, 15, 0);
  out[WORK_ITEM] = y;
}

// Lane reads and writes with constant and computed lanes.
KERNEL(lane_access, GLOBAL int* out, GLOBAL const int* in, int lane) {
  int x = in[WORK_ITEM];
  const int first = __builtin_amdgcn_readfirstlane(x), named = __builtin_amdgcn_readlane(x, lane);
  const int last = __builtin_amdgcn_readlane(x, 63);
  x = write_lane(first - named, lane, x);
  x = write_lane(last, 5, x);
  out[WORK_ITEM] = x;
  // The first of the lanes that came here.
  if (WORK_ITEM >= 11) out[64 + WORK_ITEM] = __builtin_amdgcn_readfirstlane(x);
}

KERNEL(swaps, GLOBAL uint32_t* out, GLOBAL const uint32_t* x, GLOBAL const uint32_t* y) {
  const uint32_t a = x[WORK_ITEM], b = y[WORK_ITEM];
  __typeof__(__builtin_amdgcn_permlane16_swap(a, b, 0, 0)) sixteen = __builtin_amdgcn_permlane16_swap(a, b, 0, 0);
  __typeof__(__builtin_amdgcn_permlane32_swap(a, b, 0, 0)) half = __builtin_amdgcn_permlane32_swap(a, b, 0, 0);
  out[WORK_ITEM] = sixteen[0];
  out[64 + WORK_ITEM] = sixteen[1];
  out[128 + WORK_ITEM] = half[0];
  out[192 + WORK_ITEM] = half[1];
}

// Through the LDS crossbar: a pull from computed lanes, a push to them, and a fixed pattern.
KERNEL(permutes, GLOBAL int* out, GLOBAL const int* in, int factor) {
  const int x = in[WORK_ITEM], lane = (int)WORK_ITEM * factor;
  out[WORK_ITEM] = __builtin_amdgcn_ds_bpermute(4 * lane, x);
  out[64 + WORK_ITEM] = __builtin_amdgcn_ds_permute(4 * lane, x);
  out[128 + WORK_ITEM] = __builtin_amdgcn_ds_swizzle(x, 0x041f);  // xor 1
  out[192 + WORK_ITEM] = __builtin_amdgcn_ds_swizzle(x, 0x801b);  // each four reversed
}

// Keeps the odd numbers of a wave, in order and without gaps; out[64] is how many.
KERNEL(compact, GLOBAL uint32_t* out, GLOBAL const uint32_t* in) {
  const uint32_t x = in[WORK_ITEM];
  const uint64_t odd = __builtin_amdgcn_ballot_w64(x & 1);
  const uint32_t place = __builtin_amdgcn_mbcnt_hi((uint32_t)(odd >> 32), __builtin_amdgcn_mbcnt_lo((uint32_t)odd, 0));
  if (x & 1) out[place] = x;
  if (WORK_ITEM == 0) out[64] = (uint32_t)__builtin_popcountll(odd);
}

// 64x64 by 64x64 in 16x16 tiles through LDS.
KERNEL(tiled_product, GLOBAL float* out, GLOBAL const float* x, GLOBAL const float* y) {
  LDS(float, a, 16 * 17);
  LDS(float, b, 16 * 17);
  const uint32_t row = WORK_ITEM / 16, column = WORK_ITEM % 16;
  const uint32_t tile_row = WORKGROUP / 4 * 16, tile_column = WORKGROUP % 4 * 16;
  float sum = 0;
  for (uint32_t k = 0; k < 64; k += 16) {
    a[row * 17 + column] = x[(tile_row + row) * 64 + k + column];
    b[row * 17 + column] = y[(k + row) * 64 + tile_column + column];
    BARRIER();
    for (uint32_t i = 0; i < 16; ++i) sum += a[row * 17 + i] * b[i * 17 + column];
    BARRIER();
  }
  out[(tile_row + row) * 64 + tile_column + column] = sum;
}

#endif
