// Arithmetic on fp16 and on pairs of 16 bits, dot products and mixed precision: each expression one rounding of IEEE
// 754, or integers. `id` of each input makes plane after plane of `n` results.
#include "tests/differential/kernels/kernel.h"

#ifdef __AMDGCN__

typedef _Float16 Half;
typedef Half Half2 __attribute__((ext_vector_type(2)));
typedef int16_t Short2 __attribute__((ext_vector_type(2)));
typedef uint16_t UShort2 __attribute__((ext_vector_type(2)));
typedef __bf16 BFloat2 __attribute__((ext_vector_type(2)));
#define BITS(type, x) __builtin_bit_cast(type, x)
#define SWAPPED(x) (x).yx
#define TWICE_LOW(x) (x).xx
#define FMA(a, b, c) __builtin_fmaf16(a, b, c)
#define FMA2(a, b, c) __builtin_elementwise_fma(a, b, c)
#define SQRT(a) __builtin_sqrtf16(a)
#define FLOOR(a) __builtin_floorf16(a)
#define CEIL(a) __builtin_ceilf16(a)
#define TRUNC(a) __builtin_truncf16(a)
#define NEAREST(a) __builtin_rintf16(a)
#define ABS(a) __builtin_fabsf16(a)
#define LEAST(a, b) __builtin_fminf16(a, b)
#define MOST(a, b) __builtin_fmaxf16(a, b)
#define LEAST2(a, b) __builtin_elementwise_minnum(a, b)
#define MOST2(a, b) __builtin_elementwise_maxnum(a, b)
#define MIN2(a, b) __builtin_elementwise_min(a, b)
#define MAX2(a, b) __builtin_elementwise_max(a, b)
#define ADD_HELD2(a, b) __builtin_elementwise_add_sat(a, b)
#define SUB_HELD2(a, b) __builtin_elementwise_sub_sat(a, b)
#define SPLAT(type, x) ((type)(x))
// Products of halves, bytes and nibbles of a word added to c, held within 32 bits if `held`.
#define DOT_SIGNED_16(a, b, c, held) __builtin_amdgcn_sdot2(BITS(Short2, a), BITS(Short2, b), c, held)
#define DOT_UNSIGNED_16(a, b, c, held) (int32_t) __builtin_amdgcn_udot2(BITS(UShort2, a), BITS(UShort2, b), (uint32_t)(c), held)
#define DOT_SIGNED_8(a, b, c, held) __builtin_amdgcn_sdot4((int32_t)(a), (int32_t)(b), c, held)
#define DOT_UNSIGNED_8(a, b, c, held) (int32_t) __builtin_amdgcn_udot4(a, b, (uint32_t)(c), held)
#define DOT_SIGNED_4(a, b, c, held) __builtin_amdgcn_sdot8((int32_t)(a), (int32_t)(b), c, held)
#define DOT_UNSIGNED_4(a, b, c, held) (int32_t) __builtin_amdgcn_udot8(a, b, (uint32_t)(c), held)
#define DOT_HALVES(a, b, c, held) __builtin_amdgcn_fdot2(BITS(Half2, a), BITS(Half2, b), c, held)
#define DOT_BFLOATS(a, b, c, held) __builtin_amdgcn_fdot2_f32_bf16(BITS(BFloat2, a), BITS(BFloat2, b), c, held)

#endif

#define PUT(expression) out[plane++ * n + id] = (expression)
// NaNs have no bits in common, and zeros no sign where C leaves it open.
#define PUT_HALF(expression)                                      \
  do {                                                            \
    const Half value = (expression);                              \
    out[plane++ * n + id] = value == value ? value : (Half)77.0f; \
  } while (0)
#define PUT_HALVES(expression)                        \
  do {                                                \
    const Half2 pair = (expression);                  \
    Half2 tamed;                                      \
    tamed.x = pair.x == pair.x ? pair.x : (Half)77.0f; \
    tamed.y = pair.y == pair.y ? pair.y : (Half)77.0f; \
    out[plane++ * n + id] = tamed;                    \
  } while (0)
#define WITHIN(x, limit) ((x) > (Half)(-(limit)) && (x) < (Half)(limit) ? (x) : (Half)3.5f)

KERNEL(halves, GLOBAL Half* out, GLOBAL const Half* first, GLOBAL const Half* second, GLOBAL const Half* third,
       uint32_t n) {
  const uint32_t id = GLOBAL_ID;
  uint32_t plane = 0;
  const Half a = first[id], b = second[id], c = third[id];
  PUT_HALF(a + b);
  PUT_HALF(a - b);
  PUT_HALF(a * b);
  PUT_HALF(a * (Half)3.7f);
  PUT_HALF(a / b);
  PUT_HALF((Half)1.0f / c);
  PUT_HALF(FMA(a, b, c));
  PUT_HALF(FMA(-a, b, c));
  PUT_HALF(FMA(a, (Half)3.7f, -b));
  PUT_HALF(SQRT(ABS(a)));
  PUT_HALF(FLOOR(c));
  PUT_HALF(CEIL(c));
  PUT_HALF(TRUNC(c));
  PUT_HALF(NEAREST(c));
  PUT_HALF(LEAST(a, b) + (Half)0.0f);
  PUT_HALF(MOST(a, b) + (Half)0.0f);
  PUT_HALF(a < b ? a : c);
  PUT_HALF(a >= b ? -a : c);
  PUT_HALF((Half)(float)((a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a != b) + 16 * (a > b) + 32 * (a >= b)));
  PUT_HALF((Half)((float)a * 3.0f));
  PUT_HALF((Half)(float)(int16_t)(float)WITHIN(c, 30000.0f));
  PUT_HALF((Half)(float)(uint16_t)(float)ABS(WITHIN(c, 30000.0f)));
}

KERNEL(pairs_of_halves, GLOBAL Half2* out, GLOBAL const Half2* first, GLOBAL const Half2* second,
       GLOBAL const Half2* third, uint32_t n) {
  const uint32_t id = GLOBAL_ID;
  uint32_t plane = 0;
  const Half2 a = first[id], b = second[id], c = third[id], zero = SPLAT(Half2, (Half)0.0f);
  PUT_HALVES(a + b);
  PUT_HALVES(a - b);
  PUT_HALVES(a * b);
  PUT_HALVES(-a * b);
  PUT_HALVES(a + SWAPPED(b));
  PUT_HALVES(a * TWICE_LOW(b));
  PUT_HALVES(a * SPLAT(Half2, (Half)4.0f));
  PUT_HALVES(FMA2(a, b, c));
  PUT_HALVES(FMA2(a, SWAPPED(b), -c));
  PUT_HALVES(LEAST2(a, b) + zero);
  PUT_HALVES(MOST2(a, b) + zero);
}

KERNEL(pairs_of_integers, GLOBAL UShort2* out, GLOBAL const UShort2* first, GLOBAL const UShort2* second,
       GLOBAL const UShort2* third, uint32_t n) {
  const uint32_t id = GLOBAL_ID;
  uint32_t plane = 0;
  const UShort2 a = first[id], b = second[id], c = third[id], bits = b & SPLAT(UShort2, 15);
  const Short2 signed_a = BITS(Short2, a), signed_b = BITS(Short2, b);
  PUT(a + b);
  PUT(a - b);
  PUT(a * b);
  PUT(a * b + c);
  PUT(a + SWAPPED(b));
  PUT(a + SPLAT(UShort2, 5));
  PUT(a << bits);
  PUT(a >> bits);
  PUT(BITS(UShort2, signed_a >> BITS(Short2, bits)));
  PUT(MIN2(a, b));
  PUT(MAX2(a, b));
  PUT(BITS(UShort2, MIN2(signed_a, signed_b)));
  PUT(BITS(UShort2, MAX2(signed_a, signed_b)));
  PUT(ADD_HELD2(a, b));
  PUT(SUB_HELD2(a, b));
  PUT(BITS(UShort2, ADD_HELD2(signed_a, signed_b)));
  PUT(BITS(UShort2, SUB_HELD2(signed_a, signed_b)));
}

KERNEL(integer_dots, GLOBAL int32_t* out, GLOBAL const uint32_t* first, GLOBAL const uint32_t* second,
       GLOBAL const int32_t* third, uint32_t n) {
  const uint32_t id = GLOBAL_ID;
  uint32_t plane = 0;
  const uint32_t a = first[id], b = second[id];
  const int32_t c = third[id];
  PUT(DOT_SIGNED_16(a, b, c, 0));
  PUT(DOT_SIGNED_16(a, b, c, 1));
  PUT(DOT_UNSIGNED_16(a, b, c, 0));
  PUT(DOT_UNSIGNED_16(a, b, c, 1));
  PUT(DOT_SIGNED_8(a, b, c, 0));
  PUT(DOT_SIGNED_8(a, b, c, 1));
  PUT(DOT_UNSIGNED_8(a, b, c, 0));
  PUT(DOT_UNSIGNED_8(a, b, c, 1));
  PUT(DOT_SIGNED_4(a, b, c, 0));
  PUT(DOT_SIGNED_4(a, b, c, 1));
  PUT(DOT_UNSIGNED_4(a, b, c, 0));
  PUT(DOT_UNSIGNED_4(a, b, c, 1));
}

// Of numbers whose sums are exact, because the order of the additions is not documented.
KERNEL(float_dots, GLOBAL float* out, GLOBAL const uint32_t* halves, GLOBAL const uint32_t* more_halves,
       GLOBAL const uint32_t* bfloats, GLOBAL const uint32_t* more_bfloats, GLOBAL const float* addends, uint32_t n) {
  const uint32_t id = GLOBAL_ID;
  uint32_t plane = 0;
  const float c = addends[id];
  PUT(DOT_HALVES(halves[id], more_halves[id], c, 0));
  PUT(DOT_HALVES(halves[id], more_halves[id], c, 1));
  PUT(DOT_BFLOATS(bfloats[id], more_bfloats[id], c, 0));
  PUT(DOT_BFLOATS(bfloats[id], more_bfloats[id], c, 1));
}

KERNEL(mixed_precision, GLOBAL float* out, GLOBAL Half2* out_halves, GLOBAL const Half2* first,
       GLOBAL const Half2* second, GLOBAL const float* third, GLOBAL const float* fourth, uint32_t n) {
  const uint32_t id = GLOBAL_ID;
  uint32_t plane = 0;
  const Half2 a = first[id], b = second[id];
  const float f = third[id], g = fourth[id];
  PUT(__builtin_fmaf((float)a.x, (float)b.y, f));
  PUT(__builtin_fmaf((float)a.y, f, g));
  PUT(__builtin_fmaf(-(float)a.x, f, (float)b.x));
  Half2 pair;
  pair.x = (Half)__builtin_fmaf((float)a.x, f, g);
  pair.y = (Half)__builtin_fmaf(g, f, (float)b.y);
  out_halves[id] = pair;
}
