// A HIP program that does what its first argument says and prints what the calls return; host_program_test.cpp runs it,
// because a fault stays for the rest of a process.
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

void say(const char* what, hipError_t error) { std::printf("%s: %s\n", what, hipGetErrorName(error)); }

hipError_t launch(hipFunction_t function, void* out, void* in, std::uint32_t columns, hipStream_t stream = nullptr) {
  void* parameters[] = {&out, &in, &columns};
  return hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr);
}

int devices() {
  int count = -1, version = -1;
  say("hipGetDeviceCount", hipGetDeviceCount(&count));
  say("hipRuntimeGetVersion", hipRuntimeGetVersion(&version));
  hipDeviceProp_t properties{};
  say("hipGetDeviceProperties", hipGetDeviceProperties(&properties, 0));
  const char* known = version / 10'000'000 == HIP_VERSION_MAJOR ? "version as built" : "another version";
  std::printf("%d devices, %s, %s\n", count, known, properties.gcnArchName);
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

// By name: Debian's library has no C function of it to link with.
hipError_t launch_timed(hipFunction_t function, void* data, hipStream_t stream, hipEvent_t start, hipEvent_t stop) {
  using Launch = hipError_t (*)(hipFunction_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, size_t,
                                hipStream_t, void**, void**, hipEvent_t, hipEvent_t, uint32_t);
  const auto call = reinterpret_cast<Launch>(dlsym(RTLD_DEFAULT, "hipExtModuleLaunchKernel"));
  std::uint32_t columns = 1;
  void* parameters[] = {&data, &data, &columns};
  return call ? call(function, 64, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr, start, stop, 0) : hipErrorNotFound;
}

// What one device has, used on it and then on another.
int two_devices(const char* code_object) {
  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  hipStream_t streams[2] = {};
  hipEvent_t start = nullptr, stop = nullptr, other = nullptr;
  void* data = nullptr;
  float milliseconds = -1;
  int size = -1;
  say("stream of 0", hipStreamCreate(&streams[0]));
  say("event of 0", hipEventCreate(&other));
  say("hipSetDevice", hipSetDevice(1));
  say("stream of 1", hipStreamCreate(&streams[1]));
  say("hipEventCreate", hipEventCreate(&start));
  say("hipEventCreate", hipEventCreate(&stop));
  say("hipModuleLoad", hipModuleLoad(&module, code_object));
  say("hipModuleGetFunction", hipModuleGetFunction(&function, module, "sum_of_row"));
  say("hipMalloc", hipMalloc(&data, 64 * 4));
  for (hipStream_t stream : {hipStream_t{}, streams[1]}) {
    say("start", hipEventRecord(start, stream));
    say("launch", launch(function, data, data, 1, stream));
    say("stop", hipEventRecord(stop, stream));
    say("hipEventSynchronize", hipEventSynchronize(stop));
    say("hipEventElapsedTime", hipEventElapsedTime(&milliseconds, start, stop));
  }
  say("timed launch", launch_timed(function, data, streams[1], start, stop));
  std::printf("%s\n", milliseconds >= 0 ? "timed" : "not timed");

  std::printf("mixed\n");
  say("event of 0 on null stream of 1", hipEventRecord(other, nullptr));
  say("event of 0 on stream of 1", hipEventRecord(other, streams[1]));
  say("event of 1 on stream of 0", hipEventRecord(stop, streams[0]));
  say("event of 0 on stream of 0", hipEventRecord(other, streams[0]));
  say("its end", hipEventSynchronize(other));
  say("elapsed", hipEventElapsedTime(&milliseconds, other, stop));
  say("launch on stream of 0", launch(function, data, data, 1, streams[0]));
  say("launch timed by events of 0", launch_timed(function, data, streams[1], nullptr, other));
  say("wait of 0 for 1", hipStreamWaitEvent(streams[0], stop, 0));
  say("hipSetDevice", hipSetDevice(0));
  say("launch on null stream of 0", launch(function, data, data, 1));
  say("function", hipModuleGetFunction(&function, module, "sum_of_row"));
  say("attribute", hipFuncGetAttribute(&size, HIP_FUNC_ATTRIBUTE_NUM_REGS, function));
  say("launch on stream of 1", launch(function, data, data, 1, streams[1]));
  say("its end", hipStreamSynchronize(streams[1]));
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
  if (what == "two_devices" && argc > 2) return two_devices(argv[2]);
  if (what == "dereference") return dereference();
  if (what == "exit_early") return exit_early();
  std::fprintf(stderr, "usage: faults devices|dereference|exit_early, illegal_address|trap|two_devices CODE_OBJECT\n");
  return 2;
}
