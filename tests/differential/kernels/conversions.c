// Every low-precision conversion that clang has a builtin for on gfx950, but cvt_scalef32_sr_pk_fp4_*: clang 22 does not
// tie their old value to the destination and loses it. Each work-item converts one register, pair or
// 32 elements; clang_conversions_test.cpp computes the same from the formats' definitions.
#include "kernel.h"

typedef float float2 __attribute__((ext_vector_type(2)));
typedef float float16 __attribute__((ext_vector_type(16)));
typedef float float32 __attribute__((ext_vector_type(32)));
typedef _Float16 half2 __attribute__((ext_vector_type(2)));
typedef _Float16 half32 __attribute__((ext_vector_type(32)));
typedef __bf16 bfloat2 __attribute__((ext_vector_type(2)));
typedef __bf16 bfloat32 __attribute__((ext_vector_type(32)));
typedef short short2v __attribute__((ext_vector_type(2)));
typedef uint32_t uint6 __attribute__((ext_vector_type(6)));

#define BITS(type, x) __builtin_bit_cast(type, x)

// One word to one word; `old` is what the destination held.
#define WORD_TO_WORD(name, expression)                                                                                \
  KERNEL(name, GLOBAL uint32_t* out, GLOBAL const uint32_t* in, float scale, uint32_t seed) {                         \
    const uint32_t x = in[GLOBAL_ID], old = 0x89abcdef;                                                               \
    (void)old;                                                                                                        \
    out[GLOBAL_ID] = BITS(uint32_t, expression);                                                                      \
  }
// Two words to one.
#define PAIR_TO_WORD(name, expression)                                                                                \
  KERNEL(name, GLOBAL uint32_t* out, GLOBAL const uint32_t* in, float scale, uint32_t seed) {                         \
    const float x = BITS(float, in[2 * GLOBAL_ID]), y = BITS(float, in[2 * GLOBAL_ID + 1]);                           \
    const uint32_t old = 0x89abcdef;                                                                                  \
    (void)old;                                                                                                        \
    out[GLOBAL_ID] = BITS(uint32_t, expression);                                                                      \
  }
// One word to a pair of floats.
#define WORD_TO_PAIR(name, expression)                                                                                \
  KERNEL(name, GLOBAL float* out, GLOBAL const uint32_t* in, float scale, uint32_t seed) {                            \
    const uint32_t x = in[GLOBAL_ID];                                                                                 \
    const float2 pair = expression;                                                                                   \
    out[2 * GLOBAL_ID] = pair.x;                                                                                      \
    out[2 * GLOBAL_ID + 1] = pair.y;                                                                                  \
  }
#define WIDE_KERNEL(name, to, from, expression)                                                                       \
  KERNEL(name, GLOBAL to* out, GLOBAL const from* in, float scale, uint32_t seed) {                                   \
    const from x = in[GLOBAL_ID];                                                                                     \
    out[GLOBAL_ID] = expression;                                                                                      \
  }

WORD_TO_WORD(f32_fp8_0, __builtin_amdgcn_cvt_f32_fp8(x, 0))
WORD_TO_WORD(f32_fp8_3, __builtin_amdgcn_cvt_f32_fp8(x, 3))
WORD_TO_WORD(f32_bf8_1, __builtin_amdgcn_cvt_f32_bf8(x, 1))
WORD_TO_PAIR(pk_f32_fp8_0, __builtin_amdgcn_cvt_pk_f32_fp8(x, 0))
WORD_TO_PAIR(pk_f32_fp8_1, __builtin_amdgcn_cvt_pk_f32_fp8(x, 1))
WORD_TO_PAIR(pk_f32_bf8_1, __builtin_amdgcn_cvt_pk_f32_bf8(x, 1))
PAIR_TO_WORD(pk_fp8_f32_1, __builtin_amdgcn_cvt_pk_fp8_f32(x, y, old, 1))
PAIR_TO_WORD(pk_bf8_f32_0, __builtin_amdgcn_cvt_pk_bf8_f32(x, y, old, 0))
WORD_TO_WORD(sr_fp8_f32_2, __builtin_amdgcn_cvt_sr_fp8_f32(BITS(float, x), seed, old, 2))
WORD_TO_WORD(sr_bf8_f32_0, __builtin_amdgcn_cvt_sr_bf8_f32(BITS(float, x), seed, old, 0))
WORD_TO_WORD(sr_f16_f32_1, __builtin_amdgcn_cvt_sr_f16_f32(BITS(half2, old), BITS(float, x), seed, 1))
WORD_TO_WORD(sr_bf16_f32_0, __builtin_amdgcn_cvt_sr_bf16_f32(BITS(bfloat2, old), BITS(float, x), seed, 0))
PAIR_TO_WORD(pk_bf16_f32, __builtin_convertvector(((float2){x, y}), bfloat2))
PAIR_TO_WORD(pk_f16_f32, __builtin_convertvector(((float2){x, y}), half2))

#define FP8_KERNELS(f)                                                                                                \
  PAIR_TO_WORD(scalef32_pk_##f##_f32, __builtin_amdgcn_cvt_scalef32_pk_##f##_f32(BITS(short2v, old), x, y, scale, 1)) \
  WORD_TO_WORD(scalef32_pk_##f##_f16,                                                                                 \
               __builtin_amdgcn_cvt_scalef32_pk_##f##_f16(BITS(short2v, old), BITS(half2, x), scale, 0))              \
  WORD_TO_WORD(scalef32_pk_##f##_bf16,                                                                                \
               __builtin_amdgcn_cvt_scalef32_pk_##f##_bf16(BITS(short2v, old), BITS(bfloat2, x), scale, 1))           \
  WORD_TO_WORD(scalef32_sr_##f##_f32, __builtin_amdgcn_cvt_scalef32_sr_##f##_f32(old, BITS(float, x), seed, scale, 3)) \
  WORD_TO_WORD(scalef32_sr_##f##_f16,                                                                                 \
               __builtin_amdgcn_cvt_scalef32_sr_##f##_f16(old, BITS(half2, x).x, seed, scale, 0))                     \
  WORD_TO_WORD(scalef32_sr_##f##_bf16,                                                                                \
               __builtin_amdgcn_cvt_scalef32_sr_##f##_bf16(old, BITS(bfloat2, x).x, seed, scale, 1))                  \
  WORD_TO_PAIR(scalef32_pk_f32_##f, __builtin_amdgcn_cvt_scalef32_pk_f32_##f(x, scale, 1))                            \
  WORD_TO_WORD(scalef32_pk_f16_##f, __builtin_amdgcn_cvt_scalef32_pk_f16_##f(x, scale, 0))                            \
  WORD_TO_WORD(scalef32_pk_bf16_##f, __builtin_amdgcn_cvt_scalef32_pk_bf16_##f(x, scale, 1))                          \
  WORD_TO_WORD(scalef32_f32_##f, __builtin_amdgcn_cvt_scalef32_f32_##f(x, scale, 2))                                  \
  WORD_TO_WORD(scalef32_f16_##f, __builtin_amdgcn_cvt_scalef32_f16_##f(BITS(half2, old), x, scale, 3, 1))
FP8_KERNELS(fp8)
FP8_KERNELS(bf8)

PAIR_TO_WORD(scalef32_pk_fp4_f32, __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(old, x, y, scale, 2))
WORD_TO_WORD(scalef32_pk_fp4_f16, __builtin_amdgcn_cvt_scalef32_pk_fp4_f16(old, BITS(half2, x), scale, 0))
WORD_TO_WORD(scalef32_pk_fp4_bf16, __builtin_amdgcn_cvt_scalef32_pk_fp4_bf16(old, BITS(bfloat2, x), scale, 3))
WORD_TO_PAIR(scalef32_pk_f32_fp4, __builtin_amdgcn_cvt_scalef32_pk_f32_fp4(x, scale, 3))
WORD_TO_WORD(scalef32_pk_f16_fp4, __builtin_amdgcn_cvt_scalef32_pk_f16_fp4(x, scale, 1))
WORD_TO_WORD(scalef32_pk_bf16_fp4, __builtin_amdgcn_cvt_scalef32_pk_bf16_fp4(x, scale, 2))

#define FP6_KERNELS(f)                                                                                                \
  WIDE_KERNEL(scalef32_pk32_f32_##f, float32, uint6, __builtin_amdgcn_cvt_scalef32_pk32_f32_##f(x, scale))            \
  WIDE_KERNEL(scalef32_pk32_f16_##f, half32, uint6, __builtin_amdgcn_cvt_scalef32_pk32_f16_##f(x, scale))             \
  WIDE_KERNEL(scalef32_pk32_bf16_##f, bfloat32, uint6, __builtin_amdgcn_cvt_scalef32_pk32_bf16_##f(x, scale))         \
  WIDE_KERNEL(scalef32_pk32_##f##_f16, uint6, half32, __builtin_amdgcn_cvt_scalef32_pk32_##f##_f16(x, scale))         \
  WIDE_KERNEL(scalef32_pk32_##f##_bf16, uint6, bfloat32, __builtin_amdgcn_cvt_scalef32_pk32_##f##_bf16(x, scale))     \
  WIDE_KERNEL(scalef32_sr_pk32_##f##_f32, uint6, float32,                                                             \
              __builtin_amdgcn_cvt_scalef32_sr_pk32_##f##_f32(x, seed, scale))                                        \
  WIDE_KERNEL(scalef32_sr_pk32_##f##_f16, uint6, half32,                                                              \
              __builtin_amdgcn_cvt_scalef32_sr_pk32_##f##_f16(x, seed, scale))                                        \
  WIDE_KERNEL(scalef32_sr_pk32_##f##_bf16, uint6, bfloat32,                                                           \
              __builtin_amdgcn_cvt_scalef32_sr_pk32_##f##_bf16(x, seed, scale))                                       \
  WIDE_KERNEL(scalef32_2xpk16_##f##_f32, uint6, float32,                                                              \
              __builtin_amdgcn_cvt_scalef32_2xpk16_##f##_f32(x.lo, x.hi, scale))
FP6_KERNELS(fp6)
FP6_KERNELS(bf6)
