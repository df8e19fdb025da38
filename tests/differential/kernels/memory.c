// Memory of every kind and atomics on it, as plain C uses them.
#include "tests/differential/kernels/kernel.h"

// Each work-item by itself: the host runs the same.

struct record {
  uint8_t kind;
  int8_t delta;
  uint16_t length;
  uint32_t words[5];
  uint64_t wide;
  float weights[3];
};

KERNEL(copy_records, GLOBAL struct record* out, GLOBAL const struct record* in) {
  struct record r = in[GLOBAL_ID];
  r.kind += 3;
  r.delta = (int8_t)(r.delta - 100);
  r.length ^= 0x5aa5;
  r.wide = r.wide * 0x100000001ull + r.words[r.kind % 5];
  r.weights[r.length % 3] += 1;
  out[GLOBAL_ID] = r;
  out[GLOBAL_ID].words[1] += (uint32_t)out[GLOBAL_ID].delta;
}

struct __attribute__((packed)) odd_record {
  uint8_t tag;
  uint16_t half;
  uint32_t word;
  uint64_t wide;
};

KERNEL(copy_odd_records, GLOBAL struct odd_record* out, GLOBAL const struct odd_record* in) {
  struct odd_record r = in[GLOBAL_ID];
  out[GLOBAL_ID].tag = (uint8_t)(r.tag + r.half);
  out[GLOBAL_ID].half = (uint16_t)(r.word >> 16);
  out[GLOBAL_ID].word = (uint32_t)r.wide - r.word;
  out[GLOBAL_ID].wide = r.wide << (r.tag & 31) | r.half;
}

// Words of `length` bytes with zeros at the end: reversed, in capitals, and how long they are.
KERNEL(reverse_words, GLOBAL char* out, GLOBAL uint32_t* lengths, GLOBAL const char* in, uint32_t length) {
  GLOBAL const char* word = in + GLOBAL_ID * length;
  uint32_t n = 0;
  while (n < length && word[n] != 0) ++n;
  for (uint32_t i = 0; i < n; ++i) {
    char c = word[n - 1 - i];
    if (c >= 'a' && c <= 'z') c = (char)(c - 32);
    out[GLOBAL_ID * length + i] = c;
  }
  lengths[GLOBAL_ID] = n;
}

// An array of the work-item's own, too large for registers and indexed by data.
KERNEL(sort_and_count, GLOBAL uint32_t* out, GLOBAL const uint32_t* in) {
  uint32_t counts[128];
  uint16_t first[128];
  for (uint32_t i = 0; i < 128; ++i) {
    counts[i] = 0;
    first[i] = 0;
  }
  for (uint32_t i = 0; i < 40; ++i) {
    const uint32_t slot = in[GLOBAL_ID * 40 + i] % 128;
    if (counts[slot]++ == 0) first[slot] = (uint16_t)(i + 1);
  }
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 128; ++i) sum = sum * 31 + counts[i] * 1000 + first[i];
  out[GLOBAL_ID] = sum;
}

#ifdef __AMDGCN__

#define ADD(p, value, scope) __scoped_atomic_fetch_add(p, value, __ATOMIC_RELAXED, scope)

// By LDS, then together in global memory.
KERNEL(histogram, GLOBAL uint32_t* out, GLOBAL const uint8_t* in, uint32_t count) {
  LDS(uint32_t, bins, 256);
  bins[WORK_ITEM] = 0;
  BARRIER();
  for (uint32_t i = GLOBAL_ID; i < count; i += 4 * workgroup_items) ADD(&bins[in[i]], 1u, __MEMORY_SCOPE_WRKGRP);
  BARRIER();
  if (bins[WORK_ITEM] != 0) ADD(&out[WORK_ITEM], bins[WORK_ITEM], __MEMORY_SCOPE_DEVICE);
}

// Work-items take the next job until there are none left; a job is done once.
KERNEL(work_queue, GLOBAL uint32_t* next, GLOBAL uint32_t* done, GLOBAL uint64_t* total, uint32_t jobs) {
  for (;;) {
    const uint32_t job = ADD(next, 1u, __MEMORY_SCOPE_DEVICE);
    if (job >= jobs) break;
    done[job] += job * 7 + 1;
    ADD(total, (uint64_t)job << 20, __MEMORY_SCOPE_DEVICE);
  }
}

struct node {
  const struct node* next;
  uint32_t value;
};

// A chain through global memory, LDS and private memory, walked by pointers that may point anywhere.
KERNEL(walk, GLOBAL uint32_t* out, GLOBAL struct node* nodes) {
  LDS(struct node, shared, 2 * workgroup_items);
  volatile struct node own;
  GLOBAL struct node* far = &nodes[2 * GLOBAL_ID];
  far[0].value = WORK_ITEM;
  far[0].next = (const struct node*)&shared[2 * WORK_ITEM];
  shared[2 * WORK_ITEM].value = 1000;
  shared[2 * WORK_ITEM].next = (const struct node*)&far[1];
  far[1].value = 1000000;
  far[1].next = (WORK_ITEM & 3) != 0 ? (const struct node*)&own : (const struct node*)&shared[2 * WORK_ITEM + 1];
  own.value = 20000;
  own.next = (const struct node*)&shared[2 * WORK_ITEM + 1];
  shared[2 * WORK_ITEM + 1].value = 300000;
  shared[2 * WORK_ITEM + 1].next = 0;
  uint32_t sum = 0;
  for (const struct node* n = (const struct node*)&far[0]; n != 0; n = n->next) sum = (sum << 1) ^ n->value;
  out[GLOBAL_ID] = sum;
}

// Loops around compare-and-swap: the largest, and a product of odd numbers, which commute.
KERNEL(swap_loops, GLOBAL uint64_t* largest, GLOBAL uint32_t* product, GLOBAL const uint64_t* in) {
  LDS(uint32_t, local, 1);
  if (WORK_ITEM == 0) local[0] = 1;
  BARRIER();
  uint64_t old = __scoped_atomic_load_n(largest, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  while (in[GLOBAL_ID] > old && !__scoped_atomic_compare_exchange_n(largest, &old, in[GLOBAL_ID], 0, __ATOMIC_SEQ_CST,
                                                                    __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)) {
  }
  const uint32_t factor = (uint32_t)in[GLOBAL_ID] | 1;
  uint32_t seen = __scoped_atomic_load_n(&local[0], __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  while (!__scoped_atomic_compare_exchange_n(&local[0], &seen, seen * factor, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                             __MEMORY_SCOPE_WRKGRP)) {
  }
  BARRIER();
  if (WORK_ITEM == 0) product[WORKGROUP] = local[0];
}

// Whole numbers, so that their order does not matter.
KERNEL(sums, GLOBAL float* f, GLOBAL double* d, GLOBAL float* local_sums, GLOBAL const float* in,
       GLOBAL const double* wide) {
  LDS(float, local, 8);
  if (WORK_ITEM < 8) local[WORK_ITEM] = 0.5f;
  BARRIER();
  ADD(&f[WORK_ITEM & 3], in[GLOBAL_ID], __MEMORY_SCOPE_DEVICE);
  ADD(&d[WORK_ITEM & 7], wide[GLOBAL_ID], __MEMORY_SCOPE_DEVICE);
  ADD(&local[WORK_ITEM & 7], in[GLOBAL_ID], __MEMORY_SCOPE_WRKGRP);
  BARRIER();
  if (WORK_ITEM < 8) local_sums[WORKGROUP * 8 + WORK_ITEM] = local[WORK_ITEM];
}

// What one workgroup writes and releases, the next one acquires and passes on.
KERNEL(relay, GLOBAL uint32_t* data, GLOBAL uint32_t* stage) {
  if (WORK_ITEM == 0)
    while (__scoped_atomic_load_n(stage, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) != WORKGROUP) {
    }
  BARRIER();
  data[WORK_ITEM + 1] = data[WORK_ITEM + 1] << 1 ^ (WORKGROUP + 5);
  __scoped_atomic_thread_fence(__ATOMIC_SEQ_CST, __MEMORY_SCOPE_SYSTEM);
  BARRIER();
  if (WORK_ITEM == 0) __scoped_atomic_store_n(stage, WORKGROUP + 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
}

// Waves add to one place of LDS while another still sets it.
KERNEL(sum_without_barrier, GLOBAL uint32_t* out) {
  LDS(uint32_t, sum, 1);
  if (WORK_ITEM == 0) sum[0] = 0;
  ADD(&sum[0], 1u, __MEMORY_SCOPE_WRKGRP);
  BARRIER();
  out[GLOBAL_ID] = sum[0];
}

#endif
