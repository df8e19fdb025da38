// A HIP program that does what its first argument says and prints what the calls return; host_program_test.cpp runs it,
// because a fault stays for the rest of a process.
#include <hip/hip_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

void say(const char* what, hipError_t error) { std::printf("%s: %s\n", what, hipGetErrorName(error)); }

hipError_t launch(hipFunction_t function, void* out, void* in, std::uint32_t columns) {
  void* parameters[] = {&out, &in, &columns};
  return hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr);
}

int devices() {
  int count = -1, version = -1;
  say("hipGetDeviceCount", hipGetDeviceCount(&count));
  say("hipRuntimeGetVersion", hipRuntimeGetVersion(&version));
  hipDeviceProp_t properties{};
  say("hipGetDeviceProperties", hipGetDeviceProperties(&properties, 0));
  std::printf("%d devices, version %d, %s\n", count, version, properties.gcnArchName);
  void* pointer = nullptr;
  say("hipSetDevice", hipSetDevice(1));
  say("hipMalloc", hipMalloc(&pointer, 8));
  return 0;
}

// Reads past the end of an allocation.
int illegal_address(const char* code_object) {
  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  void *in = nullptr, *out = nullptr;
  say("hipModuleLoad", hipModuleLoad(&module, code_object));
  say("hipModuleGetFunction", hipModuleGetFunction(&function, module, "sum_of_row"));
  say("hipMalloc", hipMalloc(&in, 64 * 4));
  say("hipMalloc", hipMalloc(&out, 64 * 4));
  say("good launch", launch(function, out, in, 1));
  say("hipDeviceSynchronize", hipDeviceSynchronize());
  say("bad launch", launch(function, out, in, 2));
  say("hipDeviceSynchronize", hipDeviceSynchronize());
  say("hipMalloc", hipMalloc(&in, 8));
  say("launch", launch(function, out, in, 1));
  say("hipGetLastError", hipGetLastError());
  say("hipDeviceSynchronize", hipDeviceSynchronize());
  return 0;
}

int trap(const char* code_object) {
  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  void* out = nullptr;
  say("hipModuleLoad", hipModuleLoad(&module, code_object));
  say("hipModuleGetFunction", hipModuleGetFunction(&function, module, "stop"));
  say("hipMalloc", hipMalloc(&out, 8));
  say("launch", launch(function, out, nullptr, 0));
  say("hipDeviceSynchronize", hipDeviceSynchronize());
  return 0;
}

// Follows a device pointer, which the host has nothing behind.
int dereference() {
  void* pointer = nullptr;
  if (hipMalloc(&pointer, 8) != hipSuccess) return 1;
  return *static_cast<volatile int*>(pointer);
}

// Ends with work under way.
int exit_early() {
  static int done = 0;
  hipStream_t stream = nullptr;
  say("hipStreamCreate", hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  say("hipStreamAddCallback", hipStreamAddCallback(
                                  stream,
                                  [](hipStream_t, hipError_t, void*) {
                                    ++done;
                                    std::printf("callback %d\n", done);
                                  },
                                  nullptr, 0));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "devices") return devices();
  if (what == "illegal_address" && argc > 2) return illegal_address(argv[2]);
  if (what == "trap" && argc > 2) return trap(argv[2]);
  if (what == "dereference") return dereference();
  if (what == "exit_early") return exit_early();
  std::fprintf(stderr, "usage: faults devices|dereference|exit_early, illegal_address|trap CODE_OBJECT\n");
  return 2;
}
