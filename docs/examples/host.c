/* Opens a kernel and runs attention on the emulator, in host memory: host KERNEL.co. On a GPU, the same calls take
   ZYFA_HIP, pointers to device memory and a stream. Build: cc host.c -lzyfa -lm */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <zyfa.h>

enum { heads = 4, kv_heads = 2, queries = 200, keys = 300, dim = 128 };

static uint8_t q[queries][heads][dim], k[keys][kv_heads][dim], v[keys][kv_heads][dim];
static uint16_t o[queries][heads][dim]; /* bf16 */
static float lse[heads][queries], descale[kv_heads] = {0.5f, 0.25f};

static double value(uint8_t code) { /* of e4m3 */
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  const double size = exponent ? ldexp(8 + mantissa, exponent - 10) : ldexp(mantissa, -9);
  return code & 128 ? -size : size;
}

static void fill(uint8_t* codes, size_t count) { /* anything but NaN, whose codes are 127 and 255 */
  for (size_t i = 0; i < count; ++i) codes[i] = (uint8_t)(rand() % 2 * 128 + rand() % 64);
}

static void check(zyfa_status status) {
  if (status == ZYFA_OK) return;
  fprintf(stderr, "%s: %s\n", zyfa_status_name(status), zyfa_last_error());
  exit(1);
}

int main(int argc, char** argv) {
  zyfa_device* device;
  zyfa_kernel* kernel;
  check(zyfa_device_open(ZYFA_ABI_VERSION, ZYFA_EMULATOR, 0, &device));
  check(zyfa_kernel_open(device, argc > 1 ? argv[1] : "kernel.co", NULL, &kernel));
  fill(q[0][0], sizeof q), fill(k[0][0], sizeof k), fill(v[0][0], sizeof v);

  const zyfa_values descales = {descale, 4, 0}; /* strides in bytes: one batch entry */
  const zyfa_attention arguments = {{q, sizeof *q, dim, 0}, {k, sizeof *k, dim, 0}, {v, sizeof *v, dim, 0},
                                    {o, sizeof *o, 2 * dim, 0}, {lse[0], sizeof *lse, 0}, descales, descales, descales,
                                    1, heads, kv_heads, queries, keys, 1 / sqrtf(dim)};
  check(zyfa_attention_launch(kernel, &arguments, NULL));

  const int row = queries - 1, head = heads - 1, kv = head / (heads / kv_heads); /* sees all keys, causal or not */
  double sum = 0, expected = 0;
  for (int j = 0; j < keys; ++j) {
    double dot = 0;
    for (int d = 0; d < dim; ++d) dot += value(q[row][head][d]) * value(k[j][kv][d]);
    const double weight = exp(dot * descale[kv] * descale[kv] / sqrt(dim));
    sum += weight, expected += weight * value(v[j][kv][0]) * descale[kv];
  }
  const union { uint32_t bits; float number; } got = {(uint32_t)o[row][head][0] << 16};
  printf("o %g, expected %g; lse %g, expected %g\n", got.number, expected / sum, lse[head][row], log(sum));
  zyfa_kernel_close(kernel);
  zyfa_device_close(device);
  return fabs(got.number - expected / sum) < 0.1 * fabs(expected / sum) + 0.02 ? 0 : 1;
}
