// Code objects, launches of clang's kernels and of our own.
#include "generator/kernargs.h"
#include "isa/machine.h"
#include "runtime_loader/kernel.h"
#include "tests/hip/hip_support.h"
#include "tests/support/process.h"

#include <elf.h>
#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>

using namespace zyfa;
using namespace zyfa::tests;

extern "C" hipError_t hipExtModuleLaunchKernel(hipFunction_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
                                               uint32_t, size_t, hipStream_t, void**, void**, hipEvent_t, hipEvent_t,
                                               uint32_t);

namespace {

std::vector<std::uint32_t> counting(std::size_t count) {
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return numbers;
}

// Clang's bundle of code objects: one for the host, empty, and one for each target.
std::vector<std::byte> bundle(const std::vector<std::string>& targets, const std::vector<std::byte>& object) {
  std::string names = "host-x86_64-unknown-linux--";
  std::vector<std::byte> bytes;
  const auto put = [&](const void* from, std::size_t size) {
    const auto* at = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), at, at + size);
  };
  const auto put_number = [&](std::uint64_t number) { put(&number, sizeof number); };
  put("__CLANG_OFFLOAD_BUNDLE__", 24);
  put_number(1 + targets.size());
  constexpr std::uint64_t page = 4096;
  for (std::size_t i = 0; i <= targets.size(); ++i) {
    const std::string id = i == 0 ? names : "hipv4-amdgcn-amd-amdhsa--" + targets[i - 1];
    put_number(page);
    put_number(i == 0 ? 0 : object.size());
    put_number(id.size());
    put(id.data(), id.size());
  }
  bytes.resize(page);
  put(object.data(), object.size());
  return bytes;
}

hipError_t load(const std::vector<std::byte>& image) {
  hipModule_t module = nullptr;
  const hipError_t error = hipModuleLoadData(&module, image.data());
  if (error == hipSuccess) HIP(hipModuleUnload(module));
  return error;
}

}  // namespace

TEST_CASE("a kernel of clang's runs with kernelParams and with extra, arguments taken when it is launched") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const LoadedKernels kernels("basics.c");
  const std::vector<float> x(512, 3), y(512, 4);
  const Device<float> dx(x), dy(y), out(std::size_t{512});
  float factor = 2;
  float* pointers[] = {out.data(), dx.data(), dy.data()};
  void* parameters[] = {&pointers[0], &pointers[1], &pointers[2], &factor};
  {
    const TestStream stream;
    Gate gate(stream);
    HIP(hipModuleLaunchKernel(kernels["scale_and_add"], 2, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr));
    factor = 100;
    pointers[0] = nullptr;
    gate.open();
  }
  CHECK(out.contents() == std::vector<float>(512, 10));

  struct {
    float *out, *x, *y;
    float factor;
  } segment{out.data(), dx.data(), dy.data(), 5};
  std::size_t bytes = sizeof segment;
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &segment, HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   HIP_LAUNCH_PARAM_END};
  const hipFunction_t function = kernels["scale_and_add"];
  HIP(hipModuleLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, nullptr, nullptr, extra));
  CHECK(out.contents()[255] == 19);
  CHECK(out.contents()[256] == 10);
  bytes = 27;
  HIP_FAILS(hipModuleLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, nullptr, nullptr, extra), hipErrorInvalidValue);
  HIP_FAILS(hipModuleLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, nullptr, parameters, extra), hipErrorInvalidValue);
  HIP_FAILS(hipModuleLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, nullptr, nullptr, nullptr), hipErrorInvalidValue);
  extra[0] = HIP_LAUNCH_PARAM_END;
  HIP_FAILS(hipModuleLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, nullptr, nullptr, extra), hipErrorInvalidValue);
}

TEST_CASE("a launch is checked against the kernel and the device") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const LoadedKernels kernels("basics.c");
  const Device<std::uint32_t> in(counting(256)), out(std::size_t{256});
  const hipFunction_t reverse = kernels["reverse"];
  std::uint32_t *to = out.data(), *from = in.data();
  void* parameters[] = {&to, &from};
  struct Shape {
    unsigned grid[3], block[3], lds;
    hipError_t error;
  };
  const unsigned lds = 160 * 1024 - 1024;  // beside the kernel's own KiB
  for (const Shape& s :
       {Shape{{1, 1, 1}, {256, 1, 1}, lds, hipSuccess}, Shape{{1, 1, 1}, {256, 1, 1}, lds + 1, hipErrorInvalidValue},
        Shape{{0, 1, 1}, {256, 1, 1}, 0, hipErrorInvalidConfiguration},
        Shape{{1, 1, 0}, {256, 1, 1}, 0, hipErrorInvalidConfiguration},
        Shape{{1, 1, 1}, {256, 0, 1}, 0, hipErrorInvalidConfiguration},
        Shape{{1, 1, 1}, {257, 1, 1}, 0, hipErrorLaunchFailure},
        Shape{{1, 1, 1}, {1024, 2, 1}, 0, hipErrorInvalidValue},
        Shape{{1, 65537, 1}, {256, 1, 1}, 0, hipErrorInvalidValue},
        Shape{{0x7fffffff, 1, 1}, {256, 1, 1}, 0, hipErrorInvalidConfiguration}}) {
    CAPTURE(s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1], s.lds);
    CHECK(hipModuleLaunchKernel(reverse, s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1], s.block[2], s.lds,
                                nullptr, parameters, nullptr) == s.error);
  }
  HIP(hipDeviceSynchronize());
  std::vector<std::uint32_t> expected = counting(256);
  std::ranges::reverse(expected);
  CHECK(out.contents() == expected);
  HIP_FAILS(launch(nullptr, 1, 256, nullptr, to, from), hipErrorInvalidHandle);
  HIP_FAILS(launch(reverse, 1, 256, reinterpret_cast<hipStream_t>(&to), to, from), hipErrorContextIsDestroyed);
  HIP_FAILS(launch(kernels["not_in_the_table"], 1, 256, nullptr, to), hipErrorInvalidDeviceFunction);

  int value = 0;
  HIP(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, reverse));
  CHECK(value == 1024);
  HIP(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, reverse));
  CHECK(value == 256);
  HIP_FAILS(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, nullptr), hipErrorInvalidDeviceFunction);
}

TEST_CASE("hidden arguments say how a kernel was launched; hipExtModuleLaunchKernel counts in work-items") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const LoadedKernels kernels("launches.c");
  const Device<std::uint32_t> out(std::size_t{5});
  std::uint32_t* to = out.data();
  void* parameters[] = {&to};
  HIP(hipModuleLaunchKernel(kernels["sizes"], 3, 2, 5, 64, 2, 1, 0, nullptr, parameters, nullptr));
  CHECK(out.contents() == std::vector<std::uint32_t>{64, 2, 192, 4, 5});
  const TestEvent start, stop;
  HIP(hipExtModuleLaunchKernel(kernels["sizes"], 128, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr, start, stop, 0));
  CHECK(out.contents() == std::vector<std::uint32_t>{64, 1, 128, 1, 1});
  float milliseconds = -1;
  HIP(hipEventElapsedTime(&milliseconds, start, stop));
  CHECK(milliseconds > 0);
  HIP_FAILS(hipExtModuleLaunchKernel(kernels["sizes"], 129, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr, nullptr,
                                     nullptr, 0),
            hipErrorInvalidValue);
  HIP(launch(kernels["no_arguments"], 1, 64, nullptr));
  HIP(hipDeviceSynchronize());
}

TEST_CASE("each load of a code object has its own variables") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const std::vector<std::byte> object = compile_kernels("launches.c");
  const LoadedKernels first(object), second(object);
  const Device<std::uint32_t> out(std::size_t{1});
  const auto count = [&](const LoadedKernels& kernels) {
    HIP(launch(kernels["count"], 1, 1, nullptr, out.data()));
    return out.contents()[0];
  };
  CHECK(count(first) == 101);
  CHECK(count(first) == 102);
  CHECK(count(second) == 101);
}

TEST_CASE("code objects are refused by what is wrong with them") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const TemporaryDirectory directory;
  const std::vector<std::byte> object = compile_kernels("basics.c");
  std::ofstream(directory.file("k.co"), std::ios::binary)
      .write(reinterpret_cast<const char*>(object.data()), static_cast<std::streamsize>(object.size()));
  std::ofstream(directory.file("cut.co"), std::ios::binary)
      .write(reinterpret_cast<const char*>(object.data()), static_cast<std::streamsize>(object.size() / 2));
  std::ofstream(directory.file("text.co")) << "not a code object, and longer than an ELF header, which has 64 bytes";
  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  HIP(hipModuleLoad(&module, directory.file("k.co").c_str()));
  HIP(hipModuleGetFunction(&function, module, "reverse"));
  HIP_FAILS(hipModuleGetFunction(&function, module, "revers"), hipErrorNotFound);
  HIP_FAILS(hipModuleGetFunction(&function, module, ""), hipErrorInvalidValue);
  HIP(hipModuleUnload(module));
  HIP_FAILS(hipModuleUnload(module), hipErrorInvalidHandle);
  HIP_FAILS(hipModuleGetFunction(&function, module, "reverse"), hipErrorInvalidHandle);
  HIP_FAILS(launch(function, 1, 64, nullptr), hipErrorInvalidHandle);
  HIP_FAILS(hipModuleLoad(&module, directory.file("none.co").c_str()), hipErrorFileNotFound);
  HIP_FAILS(hipModuleLoad(&module, directory.file("cut.co").c_str()), hipErrorInvalidImage);
  HIP_FAILS(hipModuleLoad(&module, directory.file("text.co").c_str()), hipErrorInvalidImage);
  HIP_FAILS(hipModuleLoadData(&module, nullptr), hipErrorInvalidValue);
  HIP_FAILS(hipModuleLoadData(&module, reinterpret_cast<const void*>(64)), hipErrorInvalidImage);

  struct Flags {
    std::uint32_t mask, bits;
    hipError_t error;
  };
  for (const Flags& flags : {Flags{0xff, 0x4c, hipErrorNoBinaryForGpu},    // gfx942
                             Flags{0xff, 0xee, hipErrorNoBinaryForGpu},    // no processor
                             Flags{0x300, 0x300, hipErrorNoBinaryForGpu},  // xnack+
                             Flags{0xc00, 0x800, hipErrorNoBinaryForGpu},  // sramecc-
                             Flags{0xf00, 0xe00, hipSuccess}}) {           // xnack-, sramecc+
    CAPTURE(flags.bits);
    std::vector<std::byte> other = object;
    std::uint32_t word = 0;
    std::memcpy(&word, other.data() + offsetof(Elf64_Ehdr, e_flags), sizeof word);
    word = (word & ~flags.mask) | flags.bits;
    std::memcpy(other.data() + offsetof(Elf64_Ehdr, e_flags), &word, sizeof word);
    CHECK(load(other) == flags.error);
  }
  CHECK(load(bundle({"gfx942", "gfx950"}, object)) == hipSuccess);
  CHECK(load(bundle({"gfx950:sramecc+:xnack-"}, object)) == hipSuccess);
  CHECK(load(bundle({"gfx942", "gfx950:xnack+"}, object)) == hipErrorNoBinaryForGpu);
  CHECK(load(bundle({}, object)) == hipErrorNoBinaryForGpu);
  std::vector<std::byte> wrong = bundle({"gfx950"}, object);
  wrong[24] = std::byte{200};  // entries
  CHECK(load(wrong) == hipErrorInvalidImage);
  std::memcpy(wrong.data(), "CCOB", 4);
  CHECK(load(wrong) == hipErrorInvalidImage);
}
