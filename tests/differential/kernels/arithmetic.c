// Plain C arithmetic in every type, for clang's whole choice of scalar and vector ALU instructions (SDWA among them).
#include "tests/differential/kernels/kernel.h"

#define T int8_t
#define SIGNED 1
#define U uint8_t
#define W 8
#define NAME integers_i8
#include "tests/differential/kernels/arithmetic_integers.c"
#define T uint8_t
#define SIGNED 0
#define U uint8_t
#define W 8
#define NAME integers_u8
#include "tests/differential/kernels/arithmetic_integers.c"
#define T int16_t
#define SIGNED 1
#define U uint16_t
#define W 16
#define NAME integers_i16
#include "tests/differential/kernels/arithmetic_integers.c"
#define T uint16_t
#define SIGNED 0
#define U uint16_t
#define W 16
#define NAME integers_u16
#include "tests/differential/kernels/arithmetic_integers.c"
#define T int32_t
#define SIGNED 1
#define U uint32_t
#define W 32
#define NAME integers_i32
#include "tests/differential/kernels/arithmetic_integers.c"
#define T uint32_t
#define SIGNED 0
#define U uint32_t
#define W 32
#define NAME integers_u32
#include "tests/differential/kernels/arithmetic_integers.c"
#define T int64_t
#define SIGNED 1
#define U uint64_t
#define W 64
#define NAME integers_i64
#include "tests/differential/kernels/arithmetic_integers.c"
#define T uint64_t
#define SIGNED 0
#define U uint64_t
#define W 64
#define NAME integers_u64
#include "tests/differential/kernels/arithmetic_integers.c"

#define T float
#define SUFFIX(name) name##f
#define BITS uint32_t
#define NAME floats
#include "tests/differential/kernels/arithmetic_floats.c"
#define T double
#define SUFFIX(name) name
#define BITS uint64_t
#define NAME doubles
#include "tests/differential/kernels/arithmetic_floats.c"
