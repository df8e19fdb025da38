// Allocation, copies and fills.
#include "tests/hip/hip_support.h"

#include <cstring>
#include <numeric>

using namespace zyfa::tests;

namespace {

std::vector<std::uint32_t> counting(std::size_t count) {
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1u);
  return numbers;
}

}  // namespace

TEST_CASE("copies reach what they are told to and refuse what is past the end") {
  const std::vector<std::uint32_t> numbers = counting(1000);
  Device<std::uint32_t> a(numbers), b(std::size_t{1000});
  CHECK(a.contents() == numbers);
  HIP(hipMemcpyDtoD(b.data() + 10, a.data(), 100 * 4));
  std::vector<std::uint32_t> part(100);
  HIP(hipMemcpy(part.data(), b.data() + 10, 400, hipMemcpyDefault));
  CHECK(part == counting(100));
  CHECK(b.contents()[9] == 0);
  CHECK(b.contents()[110] == 0);
  HIP(hipMemcpy(b.data(), part.data(), 0, hipMemcpyHostToDevice));

  HIP_FAILS(hipMemcpy(b.data() + 901, part.data(), 400, hipMemcpyHostToDevice), hipErrorInvalidValue);
  HIP_FAILS(hipMemcpy(part.data(), a.data() + 999, 8, hipMemcpyDeviceToHost), hipErrorInvalidValue);
  for (const std::size_t past : {1000, 1001, 1024, 2047})  // nothing else is near
    HIP_FAILS(hipMemcpy(part.data(), a.data() + past, 4, hipMemcpyDefault), hipErrorInvalidValue);
  HIP_FAILS(hipMemcpy(part.data(), part.data() + 50, 8, hipMemcpyHostToDevice), hipErrorInvalidValue);
  HIP_FAILS(hipMemcpy(part.data(), part.data() + 50, 8, hipMemcpyDeviceToHost), hipErrorInvalidValue);
  HIP_FAILS(hipMemcpy(nullptr, a.data(), 8, hipMemcpyDefault), hipErrorInvalidValue);
  HIP_FAILS(hipMemcpy(part.data(), a.data(), 8, static_cast<hipMemcpyKind>(9)), hipErrorInvalidValue);
}

TEST_CASE("fills write bytes, halves and words, and rows with a pitch") {
  Device<std::uint32_t> a(counting(64));
  HIP(hipMemset(a.data(), 0x1ab, 8));
  HIP(hipMemsetD32(a.data() + 2, 0x12345678, 2));
  HIP(hipMemsetD16(a.data() + 4, 0xbeef, 2));
  HIP(hipMemsetD8(a.data() + 5, 7, 3));
  HIP(hipMemset2D(a.data() + 16, 32, 0, 8, 3));
  std::vector<std::uint32_t> expected = counting(64);
  expected[0] = expected[1] = 0xabababab;
  expected[2] = expected[3] = 0x12345678;
  expected[4] = 0xbeefbeef;
  expected[5] = 0x00070707;
  for (const std::size_t row : {16, 24, 32}) expected[row] = expected[row + 1] = 0;
  CHECK(a.contents() == expected);

  std::vector<std::uint32_t> rows(6);
  HIP(hipMemcpy2D(rows.data(), 8, a.data() + 15, 32, 8, 3, hipMemcpyDeviceToHost));
  CHECK(rows == std::vector<std::uint32_t>{16, 0, 24, 0, 32, 0});
  HIP_FAILS(hipMemset(a.data() + 63, 0, 5), hipErrorInvalidValue);
  HIP_FAILS(hipMemset2D(a.data(), 32, 0, 8, 9), hipErrorInvalidValue);
  HIP_FAILS(hipMemset2D(a.data(), 4, 0, 8, 2), hipErrorInvalidPitchValue);
  HIP_FAILS(hipMemset(rows.data(), 0, 4), hipErrorInvalidValue);
}

TEST_CASE("memory is freed once, at its start, and there is no more than the device has") {
  char* a = nullptr;
  std::size_t before = 0, now = 0, all = 0;
  HIP(hipMemGetInfo(&before, &all));
  CHECK(all == std::size_t{288} << 30);
  HIP(hipMalloc(reinterpret_cast<void**>(&a), 1 << 20));
  HIP(hipMemGetInfo(&now, &all));
  CHECK(before - now == 1 << 20);
  HIP_FAILS(hipFree(a + 256), hipErrorInvalidValue);
  HIP(hipFree(a));
  HIP_FAILS(hipFree(a), hipErrorInvalidValue);
  HIP_FAILS(hipMemset(a, 0, 1), hipErrorInvalidValue);
  HIP(hipFree(nullptr));
  void* none = &a;
  HIP(hipMalloc(&none, 0));
  CHECK(none == nullptr);
  HIP_FAILS(hipMalloc(&none, std::size_t{289} << 30), hipErrorOutOfMemory);
  HIP_FAILS(hipMalloc(nullptr, 8), hipErrorInvalidValue);
}

TEST_CASE("hipDeviceReset frees the device's memory") {
  void* memory = nullptr;
  HIP(hipMalloc(&memory, 100));
  HIP(hipDeviceReset());
  HIP_FAILS(hipFree(memory), hipErrorInvalidValue);
}

TEST_CASE("pointers are known by what they point to") {
  Device<char> device(100);
  void *host = nullptr, *managed = nullptr, *base = nullptr;
  HIP(hipHostMalloc(&host, 64, hipHostMallocDefault));
  HIP(hipMallocManaged(&managed, 64, hipMemAttachGlobal));
  struct Expected {
    const void* pointer;
    int type;  // of HIP 6 and later: unregistered, host, device, managed
  };
  int own = 0;
  for (const Expected& expected :
       {Expected{&own, 0}, Expected{host, 1}, Expected{device.data() + 50, 2}, Expected{managed, 3}}) {
    hipPointerAttribute_t attributes;
    HIP(hipPointerGetAttributes(&attributes, expected.pointer));
    const auto& [type, owner, address, host_address, managed_too, flags] = attributes;  // HIP 6 renamed the first
    CHECK(static_cast<int>(type) == expected.type);
    CHECK((attributes.hostPointer != nullptr) == (expected.type == 1 || expected.type == 3));
  }
  std::size_t bytes = 0;
  HIP(hipMemGetAddressRange(&base, &bytes, device.data() + 50));
  CHECK(base == device.data());
  CHECK(bytes == 100);
  HIP_FAILS(hipMemGetAddressRange(&base, &bytes, &own), hipErrorNotFound);
  HIP(hipHostGetDevicePointer(&base, host, 0));
  CHECK(base == host);
  std::memset(host, 5, 64);
  HIP(hipMemcpy(device.data(), host, 64, hipMemcpyHostToDevice));
  CHECK(device.contents()[63] == 5);
  HIP(hipHostFree(host));
  HIP(hipFree(managed));
}

TEST_CASE("memory of a stream is there until the stream frees it") {
  const TestStream stream;
  void* memory = nullptr;
  HIP(hipMallocAsync(&memory, 4096, stream));
  {
    Gate gate(stream);
    HIP(hipMemsetAsync(memory, 1, 4096, stream));
    HIP(hipFreeAsync(memory, stream));
    HIP(hipMemGetAddressRange(nullptr, nullptr, memory));
    gate.open();
  }
  HIP_FAILS(hipMemGetAddressRange(nullptr, nullptr, memory), hipErrorNotFound);
  HIP_FAILS(hipFreeAsync(memory, stream), hipErrorInvalidValue);
}
