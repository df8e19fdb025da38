// Order and concurrency of streams, events. Nothing here depends on how long anything takes.
#include "tests/hip/hip_support.h"

#include <atomic>
#include <thread>

using namespace zyfa::tests;

namespace {

hipError_t write(hipStream_t stream, std::uint32_t* to, int value) { return hipMemsetD32Async(to, value, 1, stream); }

// A word that the host can look at while streams write it.
class Word {
 public:
  Word() { HIP(hipHostMalloc(reinterpret_cast<void**>(&word_), sizeof *word_, 0)); }
  ~Word() { static_cast<void>(hipHostFree(word_)); }
  std::uint32_t* data() const { return word_; }

 private:
  std::uint32_t* word_ = nullptr;
};

void count_up(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

}  // namespace

TEST_CASE("a stream works by itself, in order, and can be asked whether it is done") {
  const TestStream first(hipStreamNonBlocking), second(hipStreamNonBlocking);
  const Word a, b;
  static_cast<void>(hipGetLastError());
  Gate gate(first);
  HIP(write(first, a.data(), 1));
  HIP(write(first, a.data(), 2));
  HIP(write(second, b.data(), 3));
  HIP(hipStreamSynchronize(second));
  CHECK(*b.data() == 3);
  CHECK(*a.data() == 0);
  HIP_FAILS(hipStreamQuery(first), hipErrorNotReady);
  HIP_FAILS(hipGetLastError(), hipSuccess);
  HIP(hipStreamQuery(second));
  gate.open();
  HIP(hipStreamSynchronize(first));
  HIP(hipStreamQuery(first));
  CHECK(*a.data() == 2);
}

TEST_CASE("the default stream waits for blocking streams and they for it; others do not") {
  const TestStream blocking, other(hipStreamNonBlocking);
  const Word word;
  for (const bool gate_on_default : {false, true}) {
    Gate gate(gate_on_default ? nullptr : static_cast<hipStream_t>(blocking));
    HIP(write(gate_on_default ? static_cast<hipStream_t>(blocking) : nullptr, word.data(), 7));
    HIP_FAILS(hipStreamQuery(nullptr), hipErrorNotReady);
    HIP_FAILS(hipStreamQuery(blocking), hipErrorNotReady);
    HIP(write(other, word.data(), 1));
    HIP(hipStreamSynchronize(other));
    CHECK(*word.data() == 1);
    gate.open();
    while (hipStreamQuery(nullptr) == hipErrorNotReady) std::this_thread::yield();
    CHECK(*word.data() == 7);
  }
}

TEST_CASE("each thread has a default stream of its own") {
  const Word word;
  Gate gate(hipStreamPerThread);
  HIP(write(hipStreamPerThread, word.data(), 1));
  std::async(std::launch::async, [&] {
    HIP(write(hipStreamPerThread, word.data(), 2));
    HIP(hipStreamSynchronize(hipStreamPerThread));
  }).get();
  CHECK(*word.data() == 2);
  gate.open();
  HIP(hipStreamSynchronize(hipStreamPerThread));
  CHECK(*word.data() == 1);
  HIP_FAILS(hipStreamDestroy(hipStreamPerThread), hipErrorInvalidHandle);
}

TEST_CASE("streams wait for events, and events tell whether they were reached") {
  const TestStream first(hipStreamNonBlocking), second(hipStreamNonBlocking);
  const TestEvent never, start, stop, untimed(hipEventDisableTiming);
  const Word word;
  HIP(hipEventQuery(never));
  HIP(hipEventSynchronize(never));
  HIP(hipStreamWaitEvent(second, never, 0));
  float milliseconds = -1;
  {
    Gate gate(first);
    HIP(hipEventRecord(start, first));
    HIP(write(first, word.data(), 1));
    HIP(hipEventRecord(stop, first));
    HIP(hipStreamWaitEvent(second, stop, 0));
    HIP(write(second, word.data(), 2));
    HIP_FAILS(hipEventQuery(stop), hipErrorNotReady);
    HIP_FAILS(hipStreamQuery(second), hipErrorNotReady);
    HIP_FAILS(hipEventElapsedTime(&milliseconds, start, stop), hipErrorNotReady);
    gate.open();
  }
  HIP(hipStreamSynchronize(second));
  CHECK(*word.data() == 2);
  HIP(hipEventSynchronize(stop));
  HIP(hipEventElapsedTime(&milliseconds, start, stop));
  CHECK(milliseconds >= 0);
  HIP(hipEventRecord(untimed, first));
  HIP(hipEventSynchronize(untimed));
  HIP_FAILS(hipEventElapsedTime(&milliseconds, start, untimed), hipErrorInvalidHandle);
  HIP_FAILS(hipEventElapsedTime(&milliseconds, start, never), hipErrorInvalidHandle);
}

TEST_CASE("handles that were destroyed, or never were any, are refused") {
  hipStream_t stream = nullptr;
  hipEvent_t event = nullptr;
  HIP(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, -5));
  int priority = 0;
  unsigned flags = 0;
  HIP(hipStreamGetPriority(stream, &priority));
  HIP(hipStreamGetFlags(stream, &flags));
  CHECK(priority == -1);
  CHECK(flags == hipStreamNonBlocking);
  HIP(hipEventCreate(&event));
  HIP(hipStreamDestroy(stream));
  HIP(hipEventDestroy(event));
  HIP_FAILS(hipStreamDestroy(stream), hipErrorContextIsDestroyed);
  HIP_FAILS(hipStreamSynchronize(stream), hipErrorContextIsDestroyed);
  HIP_FAILS(hipEventDestroy(event), hipErrorContextIsDestroyed);
  HIP_FAILS(hipEventRecord(event, nullptr), hipErrorInvalidHandle);
  HIP_FAILS(hipStreamSynchronize(reinterpret_cast<hipStream_t>(&stream)), hipErrorContextIsDestroyed);
  HIP_FAILS(hipStreamCreateWithFlags(&stream, 4), hipErrorInvalidValue);
  HIP_FAILS(hipStreamDestroy(nullptr), hipErrorInvalidHandle);
}

TEST_CASE("a stream that is destroyed still does its work; callbacks run in it") {
  std::atomic<int> counter = 0;
  hipStream_t stream = nullptr;
  HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  for (int i = 0; i < 10; ++i) HIP(hipLaunchHostFunc(stream, count_up, &counter));
  HIP(hipStreamAddCallback(
      stream,
      [](hipStream_t, hipError_t error, void* data) {
        if (error == hipSuccess) count_up(data);
      },
      &counter, 0));
  HIP(hipStreamDestroy(stream));
  HIP(hipDeviceSynchronize());
  CHECK(counter == 11);
  HIP_FAILS(hipLaunchHostFunc(nullptr, nullptr, nullptr), hipErrorInvalidValue);
}
