// What takes code addresses, register indices and the hardware's counters: constant tables, functions of their own,
// function pointers, arrays in registers, sub-dword LDS-DMA.
#include "tests/differential/kernels/kernel.h"

#ifdef __AMDGCN__
#define FUNCTION_OF_ITS_OWN static __attribute__((noinline))
#define ARRAY const __attribute__((address_space(4)))
#else
#define FUNCTION_OF_ITS_OWN inline
#define ARRAY const
#endif

static ARRAY uint32_t first_digits[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};

KERNEL(look_up, GLOBAL uint32_t* out, GLOBAL const uint32_t* in) { out[GLOBAL_ID] = first_digits[in[GLOBAL_ID] & 15]; }

FUNCTION_OF_ITS_OWN uint32_t chosen(uint32_t x) {
  switch (x & 15) {
    case 0:
      return x * 7;
    case 1:
      return x ^ 77;
    case 2:
      return x + 9;
    case 3:
      return x >> 2;
    case 4:
      return x * x;
    case 5:
      return ~x;
    case 9:
      return x - 5;
    default:
      return x | 1;
  }
}

KERNEL(switches, GLOBAL uint32_t* out, GLOBAL const uint32_t* in) { out[GLOBAL_ID] = chosen(in[GLOBAL_ID]); }

// A switch that becomes a table of constants.
KERNEL(switch_of_constants, GLOBAL uint32_t* out, GLOBAL const uint32_t* in) {
  uint32_t x = 1;
  switch (in[GLOBAL_ID] & 7) {
    case 0:
      x = 17;
      break;
    case 1:
      x = 99;
      break;
    case 2:
      x = 1234;
      break;
    case 3:
      x = 5;
      break;
    case 4:
      x = 8;
      break;
    case 5:
      x = 77777;
      break;
  }
  out[GLOBAL_ID] = x;
}

FUNCTION_OF_ITS_OWN uint32_t mixed(uint32_t a, uint32_t b) {
  for (uint32_t i = 0; i < (b & 7); ++i) a = a * 1664525u + b;
  return a;
}
FUNCTION_OF_ITS_OWN uint32_t mixed_twice(uint32_t a, uint32_t b) { return mixed(a, b) ^ mixed(b, a + 1); }
FUNCTION_OF_ITS_OWN uint32_t mixed_often(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 3; ++i) sum += mixed_twice(a + i, b ^ sum) * (a - b);
  return sum;
}

KERNEL(call, GLOBAL uint32_t* out, GLOBAL const uint32_t* in) { out[GLOBAL_ID] = mixed(in[GLOBAL_ID], GLOBAL_ID); }
// Three deep; the callers save registers and return addresses in private memory and lanes. Also by some lanes only.
KERNEL(chain_of_calls, GLOBAL uint32_t* out, GLOBAL const uint32_t* in) {
  uint32_t x = in[GLOBAL_ID];
  if (x & 2) x = mixed_often(x, GLOBAL_ID);
  out[GLOBAL_ID] = x;
}

FUNCTION_OF_ITS_OWN uint32_t tripled(uint32_t x) { return x * 3; }
FUNCTION_OF_ITS_OWN uint32_t flipped(uint32_t x) { return x ^ 0x55; }
typedef uint32_t (*Unary)(uint32_t);
static ARRAY Unary functions[] = {tripled, flipped, chosen};

KERNEL(call_by_pointer, GLOBAL uint32_t* out, GLOBAL const uint32_t* in, uint32_t which) {
  out[GLOBAL_ID] = functions[which % 3](in[GLOBAL_ID]);
}
// Lanes that call different functions.
KERNEL(call_by_pointers, GLOBAL uint32_t* out, GLOBAL const uint32_t* in) {
  out[GLOBAL_ID] = functions[in[GLOBAL_ID] % 3](GLOBAL_ID);
}

// An array that stays in registers, read and written at an index that all lanes share.
KERNEL(indexed_registers, GLOBAL uint32_t* out, GLOBAL const uint32_t* in, uint32_t from, uint32_t to) {
  uint32_t array[16];
  for (uint32_t i = 0; i < 16; ++i) array[i] = in[GLOBAL_ID * 16 + i];
  array[to & 15] = 7;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 16; ++i) sum = (sum << 5 | sum >> 27) ^ array[i];
  out[GLOBAL_ID] = sum + array[from & 15];
}

#ifdef __AMDGCN__
#define TWO_OVER_PI(x, part) __builtin_amdgcn_trig_preop(x, part)
#else
#define TWO_OVER_PI(x, part) two_over_pi_bits(x, part)
#endif

// The quarter turns of a large angle, modulo 4, as Payne and Hanek reduce it: the first product keeps what is left of
// whole turns, each of the others is smaller by 2^53.
KERNEL(quarter_turns, GLOBAL double* out, GLOBAL const double* in) {
  double x = in[GLOBAL_ID];
  if (x >= 0x1p945) x *= 0x1p-128;
  const double a = TWO_OVER_PI(in[GLOBAL_ID], 0), b = TWO_OVER_PI(in[GLOBAL_ID], 1), c = TWO_OVER_PI(in[GLOBAL_ID], 2);
  const double high = x * a, high_rest = __builtin_fma(x, a, -high);
  const double middle = x * b, low = x * c;
  const double turns = high * 0.25;
  const double fraction = (turns - __builtin_floor(turns)) * 4;
  out[4 * GLOBAL_ID] = fraction;
  out[4 * GLOBAL_ID + 1] = high_rest + middle;
  out[4 * GLOBAL_ID + 2] = low;
  out[4 * GLOBAL_ID + 3] = a;
}

#ifdef __AMDGCN__

// Each wave takes 64 places, of which odd lanes give theirs back: every number comes once, in the order of the waves.
KERNEL(count_lanes, GLOBAL uint32_t* out) {
  LDS(int32_t, counter, 4);
  if (WORK_ITEM < 4) counter[WORK_ITEM] = 1000 * (int32_t)WORK_ITEM;
  BARRIER();
  const int32_t before = __builtin_amdgcn_ds_append(&counter[1]);
  int32_t back = 0;
  if (WORK_ITEM & 1) back = __builtin_amdgcn_ds_consume(&counter[2]);
  BARRIER();
  out[4 * GLOBAL_ID] = (uint32_t)before;
  out[4 * GLOBAL_ID + 1] = (uint32_t)back;
  out[4 * GLOBAL_ID + 2] = (uint32_t)counter[1];
  out[4 * GLOBAL_ID + 3] = (uint32_t)counter[2];
}

// LDS-DMA of bytes and halves, each lane's into a dword of its own.
#define TRANSFER(name, type, bytes)                                                                    \
  KERNEL(name, GLOBAL int32_t* out, GLOBAL type* in) {                                                 \
    LDS(int32_t, staging, workgroup_items);                                                            \
    const uint32_t wave = __builtin_amdgcn_readfirstlane(WORK_ITEM) / 64;                              \
    __builtin_amdgcn_global_load_lds(in + GLOBAL_ID, &staging[64 * wave], bytes, 0, 0);                \
    __builtin_amdgcn_s_waitcnt(0);                                                                     \
    BARRIER();                                                                                         \
    out[GLOBAL_ID] = staging[WORK_ITEM];                                                               \
  }
TRANSFER(transfer_bytes, uint8_t, 1)
TRANSFER(transfer_halves, uint16_t, 2)

KERNEL(mode_register, GLOBAL uint32_t* out) {
  out[2 * GLOBAL_ID] = __builtin_amdgcn_s_getreg(1 | 31 << 11);
  // Denormals of fp32 off: bits 4 and 5.
  __builtin_amdgcn_s_setreg(1 | 4 << 6 | 1 << 11, 0);
  out[2 * GLOBAL_ID + 1] = __builtin_amdgcn_s_getreg(1 | 31 << 11);
}

KERNEL(round_toward_zero, GLOBAL float* out) {
  __builtin_amdgcn_s_setreg(1 | 3 << 11, 3);
  out[GLOBAL_ID] = 1;
}

KERNEL(trap_on_zero, GLOBAL const uint32_t* in) {
  if (in[GLOBAL_ID] == 0) __builtin_trap();
}

KERNEL(jump_into_nowhere, GLOBAL const uint64_t* target) { ((void (*)(void))target[0])(); }

#endif
