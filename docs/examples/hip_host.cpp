// FP8 attention by a generated kernel, launched by plain HIP: hip_host zyfa_fwd_hd128_fp8_e4m3fn_lean_causal_gfx950.co
// computes one head and checks a row. docs/hip-emulated.md: how to build it, and to run it without a GPU.
#include <hip/hip_runtime_api.h>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>
#define CHECK(call)                                         \
  if (const hipError_t error = (call); error != hipSuccess) \
  return std::fprintf(stderr, "%s: %s (%s)\n", #call, hipGetErrorString(error), hipGetErrorName(error)), 1

struct Arguments {  // "kernargs" of the manifest; strides of rows, heads and batch entries are in bytes
  void *q, *k, *v, *o, *lse, *q_descale, *k_descale, *v_descale;
  long q_strides[3], k_strides[3], v_strides[3], o_strides[3], lse_strides[2], descale_strides[3][2];
  unsigned seqlen_q, seqlen_k, heads_per_kv_head;
  float softmax_scale;
  unsigned heads, padding;
};
static_assert(sizeof(Arguments) == 248);
double number(unsigned char e4m3) { return (e4m3 & 128 ? -1 : 1) * std::ldexp(8 + e4m3 % 8, e4m3 / 8 % 16 - 10); }
int main(int, char** argv) {
  constexpr unsigned rows = 300, dim = 128, all = rows * dim, row = 217;
  std::vector<unsigned char> in(3 * all);  // Q, K, V: sizes from 0.25 to 1.875, of any sign
  for (auto& code : in) code = static_cast<unsigned char>((std::rand() & 1) << 7 | (40 + std::rand() % 24));
  int devices;
  hipModule_t module;
  hipFunction_t kernel;
  char* q;
  CHECK(hipGetDeviceCount(&devices));
  CHECK(hipModuleLoad(&module, argv[1]));
  CHECK(hipModuleGetFunction(&kernel, module, std::filesystem::path(argv[1]).stem().c_str()));
  CHECK(hipMalloc(reinterpret_cast<void**>(&q), 5 * all + 4));
  char *k = q + all, *v = k + all, *o = v + all, *descale = o + 2 * all;
  CHECK(hipMemcpy(q, in.data(), in.size(), hipMemcpyHostToDevice));
  CHECK(hipMemsetD32(descale, std::bit_cast<int>(1.0f), 1));
  Arguments arguments{q,     k,         v,  o,  nullptr, descale, descale, descale, {dim}, {dim},
                      {dim}, {2 * dim}, {}, {}, rows,    rows,    1,       0.0884f, 1,     0};
  std::size_t bytes = sizeof arguments;
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   HIP_LAUNCH_PARAM_END};
  CHECK(hipModuleLaunchKernel(kernel, (rows + 511) / 512, 1, 1, 512, 1, 1, 0, nullptr, nullptr, extra));
  std::vector<unsigned short> bf16(all);
  CHECK(hipMemcpy(bf16.data(), o, 2 * all, hipMemcpyDeviceToHost));
  double sum = 0, expected[dim] = {}, error = 0, size = 0;
  for (unsigned key = 0; key <= row; ++key) {  // causal
    double logit = 0;
    for (unsigned i = 0; i < dim; ++i) logit += number(in[row * dim + i]) * number(in[all + key * dim + i]);
    sum += std::exp(0.0884 * logit);
    for (unsigned i = 0; i < dim; ++i) expected[i] += std::exp(0.0884 * logit) * number(in[2 * all + key * dim + i]);
  }
  for (unsigned i = 0; i < dim; ++i) {
    error = std::hypot(error, std::bit_cast<float>(bf16[row * dim + i] << 16) - expected[i] / sum);
    size = std::hypot(size, expected[i] / sum);
  }
  std::printf("row %u: relative error %.4f\n", row, error / size);
  return error < 0.05 * size ? 0 : 1;
}
