// Lanes that go separate ways: loops of different lengths, nested conditions, early exits, switches. EXEC masks hold what
// the host has in its program counter.
#include "tests/differential/kernels/kernel.h"

// Steps until 1 is reached.
KERNEL(collatz, GLOBAL uint32_t* steps, GLOBAL const uint32_t* start) {
  uint32_t n = start[GLOBAL_ID] % 1000 + 1, count = 0;
  while (n != 1) {
    n = n & 1 ? 3 * n + 1 : n / 2;
    ++count;
  }
  steps[GLOBAL_ID] = count;
}

KERNEL(greatest_common_divisor, GLOBAL uint32_t* out, GLOBAL const uint32_t* x, GLOBAL const uint32_t* y) {
  uint32_t a = x[GLOBAL_ID], b = y[GLOBAL_ID];
  if (a == 0 || b == 0) {
    out[GLOBAL_ID] = a | b;
    return;
  }
  // Stein's: no division.
  const uint32_t twos = (uint32_t)__builtin_ctz(a | b);
  a >>= __builtin_ctz(a);
  do {
    b >>= __builtin_ctz(b);
    if (a > b) {
      const uint32_t t = a;
      a = b;
      b = t;
    }
    b -= a;
  } while (b != 0);
  out[GLOBAL_ID] = a << twos;
}

KERNEL(nested, GLOBAL int32_t* out, GLOBAL const int32_t* in, int32_t limit) {
  int32_t sum = 0;
  const int32_t x = in[GLOBAL_ID];
  for (int32_t i = 0; i < limit; ++i) {
    if ((x ^ i) & 1) {
      if (x % 3 == 0) continue;
      sum += i;
      if (sum > x) break;
    } else {
      switch ((x + i) & 7) {
        case 0:
          sum -= 1;
          break;
        case 3:
        case 5:
          sum ^= i;
          break;
        case 6:
          for (int32_t k = 0; k < (x & 3); ++k) sum = 2 * sum + k;
          break;
        default:
          sum += x;
      }
    }
  }
  out[GLOBAL_ID] = sum;
}

// First index at which a sorted table is not below the key.
KERNEL(lower_bound, GLOBAL uint32_t* out, GLOBAL const uint32_t* keys, GLOBAL const uint32_t* table, uint32_t count) {
  uint32_t first = 0, length = count;
  while (length > 0) {
    const uint32_t half = length / 2;
    if (table[first + half] < keys[GLOBAL_ID]) {
      first += half + 1;
      length -= half + 1;
    } else {
      length = half;
    }
  }
  out[GLOBAL_ID] = first;
}
