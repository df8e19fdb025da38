// Floating-point arithmetic, every expression correctly rounded by IEEE 754, in planes of `n` elements. Included once
// per type: T, SUFFIX for the names of its builtins, BITS the unsigned type of its width, NAME the kernel.

// NaNs have no bits in common, and zeros no sign where C leaves it open.
#define PUT(expression)                                     \
  do {                                                      \
    const T value = (T)(expression);                        \
    out[plane++ * n + id] = value == value ? value : (T)77; \
  } while (0)
#define UNSIGNED_ZERO(x) ((x) + (T)0)
#define WITHIN(x, limit) ((x) > -(T)(limit) && (x) < (T)(limit) ? (x) : (T)3.5)

KERNEL(NAME, GLOBAL T* out, GLOBAL const T* first, GLOBAL const T* second, GLOBAL const T* third, uint32_t n) {
  const uint32_t id = GLOBAL_ID;
  uint32_t plane = 0;
  const T a = first[id], b = second[id], c = third[id];

  PUT(a + b);
  PUT(a - b);
  PUT(a * b);
  PUT(a / b);
  PUT(c / 3);
  PUT(1 / c);
  PUT(a * b + c);
  PUT(c - a * b);
  PUT(a * (T)3.7 + b);
  PUT(SUFFIX(__builtin_fma)(a, b, c));
  PUT(SUFFIX(__builtin_fma)(-a, b, c));
  PUT(SUFFIX(__builtin_fma)(a, -b, -c));
  PUT(SUFFIX(__builtin_fma)(a, (T)3.7, b));
  PUT(SUFFIX(__builtin_fma)(a, b, (T)3.7));
  PUT(SUFFIX(__builtin_sqrt)(SUFFIX(__builtin_fabs)(a)));
  PUT(SUFFIX(__builtin_floor)(c));
  PUT(SUFFIX(__builtin_ceil)(c));
  PUT(SUFFIX(__builtin_trunc)(c));
  PUT(SUFFIX(__builtin_rint)(c));
  PUT(SUFFIX(__builtin_round)(c));
  PUT(SUFFIX(__builtin_floor)(b));
  PUT(SUFFIX(__builtin_fabs)(a));
  PUT(SUFFIX(__builtin_copysign)(a, b));
  PUT(UNSIGNED_ZERO(SUFFIX(__builtin_fmin)(a, b)));
  PUT(UNSIGNED_ZERO(SUFFIX(__builtin_fmax)(a, b)));
  PUT(UNSIGNED_ZERO(SUFFIX(__builtin_fmax)(SUFFIX(__builtin_fmax)(a, b), c)));
  PUT(UNSIGNED_ZERO(SUFFIX(__builtin_fmin)(SUFFIX(__builtin_fmin)(a, b), c)));
  PUT(SUFFIX(__builtin_fmin)(SUFFIX(__builtin_fmax)(c, -2), 5));
  PUT(a < b ? a : c);
  PUT(a >= b ? -a : c);
  PUT((a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a != b) + 16 * (a > b) + 32 * (a >= b));
  PUT(!(a < c) + 2 * !(a <= c) + 4 * !(a > c) + 8 * !(a >= c) + 16 * __builtin_isunordered(a, c));
  PUT((__builtin_isnan(a) ? 1 : 0) + (__builtin_isinf(a) ? 2 : 0) + (__builtin_isfinite(a) ? 4 : 0) +
      (__builtin_isnormal(a) ? 8 : 0) + (__builtin_signbit(a) ? 16 : 0));
  PUT(SUFFIX(__builtin_ldexp)(a, (int)WITHIN(c, 3000)));
  PUT(SUFFIX(__builtin_ldexp)(a, -140));
  int exponent = 0;
  const T mantissa = SUFFIX(__builtin_frexp)(__builtin_isfinite(a) ? a : b, &exponent);
  PUT(mantissa);
  PUT(__builtin_isfinite(a) ? exponent : 0);

  // Conversions, where C defines them.
  PUT((int32_t)WITHIN(c, 2147483000));
  PUT((uint32_t)SUFFIX(__builtin_fabs)(WITHIN(c, 4294967000.0)));
  PUT((int64_t)WITHIN(c, 9e18));
  PUT((uint64_t)SUFFIX(__builtin_fabs)(WITHIN(c, 1e19)));
  PUT((int16_t)WITHIN(c, 32000));
  PUT((uint8_t)SUFFIX(__builtin_fabs)(WITHIN(c, 255)));
  PUT((float)(double)a * 1.5f);
  PUT((double)(float)a * 1.5);
  BITS bits;
  __builtin_memcpy(&bits, &b, sizeof bits);
  PUT((int32_t)bits);
  PUT((uint32_t)bits);
  PUT((int64_t)bits);
  PUT((uint64_t)bits * 3);
  PUT((int8_t)bits + (uint8_t)(bits >> 8) + (int16_t)(bits >> 16));
  PUT((uint8_t)bits);
  PUT((uint8_t)(bits >> 16));
  PUT((uint8_t)(bits >> 24));

  // Newton's square root until it stands still, lanes apart.
  T root = 1, last = 0;
  const T square = SUFFIX(__builtin_fabs)(WITHIN(c, 1e6));
  for (int i = 0; i < 60 && root != last; ++i) {
    last = root;
    root = (T)0.5 * (root + square / root);
    if (root < (T)1e-3) break;
  }
  PUT(root);
}

#undef PUT
#undef UNSIGNED_ZERO
#undef WITHIN
#undef T
#undef SUFFIX
#undef BITS
#undef NAME
