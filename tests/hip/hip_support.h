// What tests of the HIP stand-in have in common. They call it as a host program does, in their own process.
#pragma once

#include <hip/hip_runtime_api.h>

#include "tests/support/catch.h"
#include "tests/support/clang_kernel.h"

#include <future>
#include <span>
#include <string>
#include <vector>

#define HIP(call) REQUIRE(std::string(hipGetErrorName(call)) == "hipSuccess")
#define HIP_FAILS(call, error) CHECK(std::string(hipGetErrorName(call)) == #error)

namespace zyfa::tests {

// Device memory that holds a vector.
template <class T>
class Device {
 public:
  explicit Device(std::vector<T> contents) : count_(contents.size()) {
    HIP(hipMalloc(reinterpret_cast<void**>(&data_), bytes()));
    HIP(hipMemcpy(data_, contents.data(), bytes(), hipMemcpyHostToDevice));
  }
  explicit Device(std::size_t count) : Device(std::vector<T>(count)) {}
  ~Device() { static_cast<void>(hipFree(data_)); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  T* data() const { return data_; }
  std::size_t bytes() const { return count_ * sizeof(T); }
  std::vector<T> contents() const {
    std::vector<T> host(count_);
    HIP(hipMemcpy(host.data(), data_, bytes(), hipMemcpyDeviceToHost));
    return host;
  }

 private:
  std::size_t count_;
  T* data_ = nullptr;
};

// The kernels of a file in tests/differential/kernels/.
class LoadedKernels {
 public:
  explicit LoadedKernels(const std::string& file) : LoadedKernels(compile_kernels(file)) {}
  explicit LoadedKernels(const std::vector<std::byte>& code_object) {
    HIP(hipModuleLoadData(&module_, code_object.data()));
  }
  ~LoadedKernels() { static_cast<void>(hipModuleUnload(module_)); }
  LoadedKernels(const LoadedKernels&) = delete;
  LoadedKernels& operator=(const LoadedKernels&) = delete;

  hipModule_t module() const { return module_; }
  hipFunction_t operator[](const char* name) const {
    hipFunction_t function = nullptr;
    HIP(hipModuleGetFunction(&function, module_, name));
    return function;
  }

 private:
  hipModule_t module_ = nullptr;
};

// Launches with kernelParams, one work-item along y and z.
template <class... Arguments>
hipError_t launch(hipFunction_t function, unsigned grid, unsigned block, hipStream_t stream, Arguments... arguments) {
  void* parameters[] = {&arguments..., nullptr};
  return hipModuleLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, parameters, nullptr);
}

class TestStream {
 public:
  explicit TestStream(unsigned flags = hipStreamDefault) { HIP(hipStreamCreateWithFlags(&stream_, flags)); }
  ~TestStream() { static_cast<void>(hipStreamDestroy(stream_)); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
  operator hipStream_t() const { return stream_; }

 private:
  hipStream_t stream_ = nullptr;
};

class TestEvent {
 public:
  explicit TestEvent(unsigned flags = hipEventDefault) { HIP(hipEventCreateWithFlags(&event_, flags)); }
  ~TestEvent() { static_cast<void>(hipEventDestroy(event_)); }
  TestEvent(const TestEvent&) = delete;
  TestEvent& operator=(const TestEvent&) = delete;
  operator hipEvent_t() const { return event_; }

 private:
  hipEvent_t event_ = nullptr;
};

// Keeps a stream from going on until it is opened.
class Gate {
 public:
  explicit Gate(hipStream_t stream) {
    HIP(hipLaunchHostFunc(
        stream, [](void* gate) { static_cast<Gate*>(gate)->opened_.get_future().wait(); }, this));
    stream_ = stream;
  }
  ~Gate() {
    open();
    static_cast<void>(hipStreamSynchronize(stream_));
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void open() {
    if (!is_open_) opened_.set_value();
    is_open_ = true;
  }

 private:
  std::promise<void> opened_;
  bool is_open_ = false;
  hipStream_t stream_ = nullptr;
};

}  // namespace zyfa::tests
