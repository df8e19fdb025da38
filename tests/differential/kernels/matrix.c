// D = A B + C for every matrix builtin: one wave loads its parts of A, B and C from plain row-major matrices (B transposed),
// multiplies twice (the second time upon the first D) and stores D. What stands where in lanes and registers is said here a
// third time, by formulas of AMD's matrix instruction calculator.
#include "tests/differential/kernels/kernel.h"

#ifdef __AMDGCN__

typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef __bf16 bfloat8 __attribute__((ext_vector_type(8)));
typedef __bf16 bfloat16 __attribute__((ext_vector_type(16)));
typedef short short4 __attribute__((ext_vector_type(4)));
typedef short short8 __attribute__((ext_vector_type(8)));
typedef int int2 __attribute__((ext_vector_type(2)));
typedef int int4 __attribute__((ext_vector_type(4)));
typedef int int8 __attribute__((ext_vector_type(8)));
typedef int int16 __attribute__((ext_vector_type(16)));
typedef int int32 __attribute__((ext_vector_type(32)));
typedef float float4 __attribute__((ext_vector_type(4)));
typedef float float16 __attribute__((ext_vector_type(16)));
typedef float float32 __attribute__((ext_vector_type(32)));
typedef double double4 __attribute__((ext_vector_type(4)));

enum { f16_bits = 16, bf16_bits = 16, fp8_bits = 8, bf8_bits = 8, fp6_bits = 6, bf6_bits = 6, fp4_bits = 4, i8_bits = 8,
       f32_bits = 32, f64_bits = 64 };
enum { fp8_format, bf8_format, fp6_format, bf6_format, fp4_format };

// A lane's `words` dwords of a matrix of `rows` rows for each block, whose rows have k_all elements of `bits`, from
// element `first` on. The lane holds `elements` of them, in halves if they are longer than 16 bytes.
FUNCTION void load_row(uint32_t* to, int words, GLOBAL const uint32_t* from, int bits, int rows, int blocks, int elements,
                       int k_all) {
  int lane = WORK_ITEM;
  int row = lane % (rows * blocks), group = lane / (rows * blocks);
  int run = bits >= 8 && elements * bits > 128 ? elements / 2 : elements;
  int groups = 64 / (rows * blocks);
  for (int w = 0; w < words; ++w) {
    int bit = 32 * w;
    int half = bit / (run * bits), in_run = bit % (run * bits);
    int k_bit = (half * groups + group) * run * bits + in_run;
    to[w] = from[(row * k_all * bits + k_bit) / 32];
  }
}

// Where D[block][row][column] of element e of the lane is, in a row-major matrix.
FUNCTION int place_of_result(int e, int rows, int blocks, int is_double) {
  int lane = WORK_ITEM, block, row, column;
  if (is_double && rows == 4) {
    block = lane / 4 % 4, row = lane / 16, column = lane % 4;
  } else if (is_double) {
    block = 0, row = 4 * e + lane / 16, column = lane % 16;
  } else if (rows == 4) {
    block = lane / 4, row = e, column = lane % 4;
  } else if (rows == 16) {
    block = e / 4, row = 4 * (lane / 16) + e % 4, column = lane % 16;
  } else {
    block = e / 16, row = 8 * (e % 16 / 4) + 4 * (lane / 32) + e % 4, column = lane % 32;
  }
  return (block * rows + row) * rows + column;
}

// Loops that fill registers must be gone by the time registers are allocated.
#define UNROLL _Pragma("unroll")

#define PARTS(FA, FB, FC)                      \
  union {                                      \
    FA value;                                  \
    uint32_t words[sizeof(FA) / 4];            \
  } a = {0};                                   \
  union {                                      \
    FB value;                                  \
    uint32_t words[sizeof(FB) / 4];            \
  } b = {0};                                   \
  union {                                      \
    FC value;                                  \
    uint32_t words[sizeof(FC) / 4];            \
  } c;

#define LOAD_C(FC, M, blocks, is_double)                                                                               \
  UNROLL for (unsigned w = 0; w < sizeof(FC) / 4; ++w) c.words[w] =                                                    \
      is_double ? c_in[2 * place_of_result(w / 2, M, blocks, 1) + w % 2] : c_in[place_of_result(w, M, blocks, 0)];
#define STORE_D(FC, M, blocks, is_double)                                                                              \
  UNROLL for (unsigned w = 0; w < sizeof(FC) / 4; ++w) {                                                               \
    if (is_double)                                                                                                     \
      d_out[2 * place_of_result(w / 2, M, blocks, 1) + w % 2] = c.words[w];                                            \
    else                                                                                                               \
      d_out[place_of_result(w, M, blocks, 0)] = c.words[w];                                                            \
  }

#define MATRIX_ARGUMENTS                                                                                               \
  GLOBAL uint32_t *d_out, GLOBAL const uint32_t *a_in, GLOBAL const uint32_t *b_in, GLOBAL const uint32_t *c_in

#define DENSE(name, builtin, FA, FB, FC, ea, eb, M, K, blocks, cbsz, abid, blgp)                                       \
  KERNEL(name, MATRIX_ARGUMENTS) {                                                                                     \
    PARTS(FA, FB, FC)                                                                                                  \
    LOAD_C(FC, M, blocks, ea##_bits == 64)                                                                             \
    UNROLL for (int step = 0; step < 2; ++step) {                                                                      \
      load_row(a.words, sizeof(FA) / 4, a_in + step * K * ea##_bits / 32, ea##_bits, M, blocks, M * K * blocks / 64,   \
               2 * K);                                                                                                 \
      load_row(b.words, sizeof(FB) / 4, b_in + step * K * eb##_bits / 32, eb##_bits, M, blocks, M * K * blocks / 64,   \
               2 * K);                                                                                                 \
      c.value = builtin(a.value, b.value, c.value, cbsz, abid, blgp);                                                  \
    }                                                                                                                  \
    STORE_D(FC, M, blocks, ea##_bits == 64)                                                                            \
  }

// Index bits come as 4 for each 4 k of a row, in the order of k.
#define SPARSE(name, builtin, FA, FB, FC, ea, eb, M, K, abid)                                                          \
  KERNEL(name, MATRIX_ARGUMENTS, GLOBAL const uint8_t* indices) {                                                      \
    PARTS(FA, FB, FC)                                                                                                  \
    LOAD_C(FC, M, 1, 0)                                                                                                \
    UNROLL for (int step = 0; step < 2; ++step) {                                                                      \
      load_row(a.words, sizeof(FA) / 4, a_in + step * K / 2 * ea##_bits / 32, ea##_bits, M, 1, M * K / 128, K);        \
      load_row(b.words, sizeof(FB) / 4, b_in + step * K * eb##_bits / 32, eb##_bits, M, 1, M * K / 64, 2 * K);         \
      enum { bytes = M * K / 512 };                                                                                    \
      GLOBAL const uint8_t* of_lane =                                                                                  \
          indices + (WORK_ITEM % M * 2 + step) * (K / 8) + WORK_ITEM / M * bytes;                                      \
      uint32_t index = bytes == 1   ? *of_lane                                                                         \
                       : bytes == 2 ? *(GLOBAL const uint16_t*)of_lane                                                 \
                                    : *(GLOBAL const uint32_t*)of_lane;                                                \
      c.value = builtin(a.value, b.value, c.value, index << (8 * bytes * abid), 0, abid);                              \
    }                                                                                                                  \
    STORE_D(FC, M, 1, 0)                                                                                               \
  }

// Scales: one byte for each row and 32 k, of which the lane takes its own into the byte that the instruction reads.
#define FORMATS(name, builtin, FC, ea, eb, M, K, byte_a, byte_b)                                                       \
  KERNEL(name, MATRIX_ARGUMENTS, GLOBAL const uint8_t* scales_a, GLOBAL const uint8_t* scales_b) {                     \
    PARTS(int8, int8, FC)                                                                                              \
    LOAD_C(FC, M, 1, 0)                                                                                                \
    UNROLL for (int step = 0; step < 2; ++step) {                                                                      \
      load_row(a.words, ea##_bits, a_in + step * K * ea##_bits / 32, ea##_bits, M, 1, 32, 2 * K);                      \
      load_row(b.words, eb##_bits, b_in + step * K * eb##_bits / 32, eb##_bits, M, 1, 32, 2 * K);                      \
      int at = WORK_ITEM % M * (2 * K / 32) + step * (K / 32) + WORK_ITEM / M;                                         \
      uint32_t scale_a = 0x55555555u & ~(255u << 8 * byte_a), scale_b = 0x55555555u & ~(255u << 8 * byte_b);           \
      scale_a |= (uint32_t)scales_a[at] << 8 * byte_a;                                                                 \
      scale_b |= (uint32_t)scales_b[at] << 8 * byte_b;                                                                 \
      c.value = builtin(a.value, b.value, c.value, ea##_format, eb##_format, byte_a, scale_a, byte_b, scale_b);        \
    }                                                                                                                  \
    STORE_D(FC, M, 1, 0)                                                                                               \
  }

#include "tests/differential/kernels/matrix_rows.h"

#endif
