// Integer arithmetic of every width: one result for each expression and work-item, in planes of `n` elements.
// Included once per type: T, its unsigned sibling U, W its width in bits, whether it is SIGNED, NAME the kernel.

#ifndef INTEGER_HELPERS
#define INTEGER_HELPERS
#ifdef __AMDGCN__
FUNCTION uint64_t reversed(uint64_t x, int width) { return __builtin_bitreverse64(x) >> (64 - width); }
#else
FUNCTION uint64_t reversed(uint64_t x, int width) {
  uint64_t r = 0;
  for (int i = 0; i < width; ++i) r |= (x >> i & 1) << (width - 1 - i);
  return r;
}
#endif
#endif

// The unsigned type keeps what would overflow defined; narrow types are promoted, and cut off again.
#define SUM(x, y) ((T)((U)(x) + (U)(y)))
#define DIFFERENCE(x, y) ((T)((U)(x) - (U)(y)))
#define PRODUCT(x, y) ((T)(U)((uint64_t)(U)(x) * (uint64_t)(U)(y)))
#define NEGATIVE(x) (SIGNED && (U)(x) >> (W - 1) != 0)
#define PUT(expression) out[plane++ * n + id] = (T)(expression)

KERNEL(NAME, GLOBAL T* out, GLOBAL const T* first, GLOBAL const T* second, GLOBAL const T* third, uint32_t n) {
  const uint32_t id = GLOBAL_ID;
  uint32_t plane = 0;
  const T a = first[id], b = second[id], c = third[id];
  const int by = (int)((U)b & (W - 1)), by_c = (int)((U)c & (W - 1));
  T divisor = (T)(b | 1);
  divisor = divisor == (T)-1 ? (T)5 : divisor;

  PUT(SUM(a, b));
  PUT(DIFFERENCE(a, b));
  PUT(PRODUCT(a, b));
  PUT(SUM(PRODUCT(a, b), c));
  PUT(SUM(SUM(a, b), c));
  PUT(a / divisor);
  PUT(a % divisor);
  PUT(a / 7);
  PUT(a % 10);
  PUT((U)a << by);
  PUT(a >> by);
  PUT((U)a >> by);
  PUT((U)SUM(a, b) << by_c);
  PUT(((U)a << by) + (U)c);
  PUT(((U)a << 3) + (U)b);
  PUT((U)a << by | (U)a >> ((W - by) & (W - 1)));
  PUT((a & b) | (T)(~a & c));
  PUT(~(a | b));
  PUT(~(a & b));
  PUT(~(a ^ b));
  PUT(a ^ b ^ c);
  PUT((a ^ b) & (a | c));
  PUT(a < b ? a : b);
  PUT(a > b ? a : b);
  PUT((a < b ? a : b) < c ? (a < b ? a : b) : c);
  PUT((a > b ? a : b) > c ? (a > b ? a : b) : c);
  PUT(a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b));
  PUT(a < b ? DIFFERENCE(b, a) : DIFFERENCE(a, b));
  PUT(a < b);
  PUT((a <= b) + 2 * (b >= c) + 4 * (a == c) + 8 * (b != c));
  PUT(a == b ? c : a);
  PUT(NEGATIVE(a) ? DIFFERENCE(0, a) : a);
  PUT(__builtin_popcountll((uint64_t)(U)a));
  PUT((U)a == 0 ? W : __builtin_clzll((uint64_t)(U)a) - (64 - W));
  PUT((U)a == 0 ? W : __builtin_ctzll((uint64_t)(U)a));
  PUT(reversed((uint64_t)(U)a, W) + (U)b);
  PUT((__builtin_bswap64((uint64_t)(U)a) >> (64 - W)) + (U)b);
  PUT((U)a >> 3 & 7);
  PUT((T)((U)a << (W - 6)) >> (W - 5));
  PUT((U)a | (U)1 << by);
  PUT((U)a & ~((U)1 << by));
  PUT((U)a & (((U)1 << by) - 1));
  PUT((uint64_t)(U)((uint64_t)((uint32_t)(U)a & 0xffffff) * ((uint32_t)(U)b & 0xffffff)));
  PUT((int64_t)((uint64_t)(int32_t)a * (uint64_t)(int32_t)b) >> 32);
  PUT((uint64_t)(uint32_t)a * (uint32_t)b >> 32);
  T sum, difference;
  const int over = __builtin_add_overflow(a, b, &sum), under = __builtin_sub_overflow(a, b, &difference);
  PUT(over);
  PUT(under);
  PUT(over ? (T) ~(U)0 : sum);
  PUT(under ? 0 : difference);
  T product;
  PUT(__builtin_mul_overflow(a, b, &product) ? c : product);
  PUT(((float)a + (float)b) * 0.25f);
  PUT((int8_t)a + (uint8_t)((U)b >> (W - 8)) - (int16_t)c);

  // Lanes part ways: digits of a, weighted by how often b halves.
  T left = NEGATIVE(a) ? (T)(-(a / 2)) : a, digits = 0;
  for (int i = 0; i < 20 && left != 0; ++i) {
    const T digit = (T)(left % 10);
    switch (digit) {
      case 0:
        digits = SUM(digits, b);
        break;
      case 1:
        digits = PRODUCT(digits, 3);
        break;
      case 4:
        if (b < c) break;
        digits = (T)(digits ^ a);
        break;
      case 7:
        left = (T)(left / 10);
        continue;
      default:
        digits = SUM(digits, digit);
    }
    left = (T)(left / 10);
  }
  PUT(digits);
}

#undef SUM
#undef DIFFERENCE
#undef PRODUCT
#undef NEGATIVE
#undef PUT
#undef T
#undef U
#undef W
#undef SIGNED
#undef NAME
