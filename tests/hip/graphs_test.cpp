// Stream capture: what is recorded, and what a capture does not allow.
#include "tests/hip/hip_support.h"

using namespace zyfa::tests;

namespace {

hipStreamCaptureStatus status(hipStream_t stream) {
  hipStreamCaptureStatus is{};
  HIP(hipStreamIsCapturing(stream, &is));
  return is;
}

// The graph of what `body` does while the stream captures.
template <class Body>
hipGraph_t capture(hipStream_t stream, Body body) {
  HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  body();
  hipGraph_t graph = nullptr;
  HIP(hipStreamEndCapture(stream, &graph));
  return graph;
}

std::vector<hipGraphNodeType> types(hipGraph_t graph) {
  std::size_t count = 0;
  HIP(hipGraphGetNodes(graph, nullptr, &count));
  std::vector<hipGraphNode_t> nodes(count);
  HIP(hipGraphGetNodes(graph, nodes.data(), &count));
  std::vector<hipGraphNodeType> all(count);
  for (std::size_t i = 0; i < count; ++i) HIP(hipGraphNodeGetType(nodes[i], &all[i]));
  return all;
}

}  // namespace

TEST_CASE("launches, copies and fills on a capturing stream are recorded, and run with each launch of the graph") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const LoadedKernels kernels("basics.c");
  const hipFunction_t add = kernels["scale_and_add"];
  const Device<float> x(std::vector<float>(256, 1)), sum(std::size_t{256}), copy(std::size_t{256});
  const TestStream stream;
  const hipGraph_t graph = capture(stream, [&] {
    CHECK(status(stream) == hipStreamCaptureStatusActive);
    HIP(launch(add, 1, 256, stream, sum.data(), sum.data(), x.data(), 2.0f));
    HIP(hipMemcpyAsync(copy.data(), sum.data(), sum.bytes(), hipMemcpyDeviceToDevice, stream));
    HIP(hipMemsetAsync(copy.data(), 0, 4, stream));
  });
  CHECK(status(stream) == hipStreamCaptureStatusNone);
  HIP(hipDeviceSynchronize());
  CHECK(sum.contents()[0] == 0);  // nothing has run
  CHECK(types(graph) == std::vector{hipGraphNodeTypeKernel, hipGraphNodeTypeMemcpy, hipGraphNodeTypeMemset});
  hipGraphExec_t executable = nullptr;
  HIP(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  HIP(hipGraphDestroy(graph));
  HIP_FAILS(hipGraphDestroy(graph), hipErrorInvalidValue);
  for (int i = 0; i < 3; ++i) HIP(hipGraphLaunch(executable, stream));
  HIP(hipStreamSynchronize(stream));
  CHECK(sum.contents() == std::vector<float>(256, 7));
  CHECK(copy.contents()[0] == 0);
  CHECK(copy.contents()[1] == 7);
  HIP(hipGraphExecDestroy(executable));
  HIP_FAILS(hipGraphLaunch(executable, stream), hipErrorInvalidValue);
}

TEST_CASE("what a capture does not allow is refused and invalidates it") {
  const TestStream stream, idle;
  const TestEvent before, captured;
  const Device<char> memory(std::size_t{64});
  HIP(hipEventRecord(before, idle));
  void* pointer = nullptr;
  char host[64] = {};
  hipGraph_t graph = nullptr;
  struct Refused {
    const char* what;
    std::function<hipError_t()> call;
    hipError_t error;
  };
  const Refused all[] = {
      {"hipMalloc", [&] { return hipMalloc(&pointer, 8); }, hipErrorStreamCaptureUnsupported},
      {"hipHostMalloc", [&] { return hipHostMalloc(&pointer, 8, 0); }, hipErrorStreamCaptureUnsupported},
      {"hipFree", [&] { return hipFree(nullptr); }, hipErrorStreamCaptureUnsupported},
      {"hipMallocAsync", [&] { return hipMallocAsync(&pointer, 8, stream); }, hipErrorStreamCaptureUnsupported},
      {"hipStreamSynchronize", [&] { return hipStreamSynchronize(stream); }, hipErrorStreamCaptureUnsupported},
      {"of another stream", [&] { return hipStreamSynchronize(idle); }, hipErrorStreamCaptureUnsupported},
      {"hipStreamQuery", [&] { return hipStreamQuery(stream); }, hipErrorStreamCaptureUnsupported},
      {"hipDeviceSynchronize", [&] { return hipDeviceSynchronize(); }, hipErrorStreamCaptureUnsupported},
      {"hipEventSynchronize", [&] { return hipEventSynchronize(before); }, hipErrorStreamCaptureUnsupported},
      {"of a captured event", [&] { return hipEventSynchronize(captured); }, hipErrorCapturedEvent},
      {"hipEventQuery", [&] { return hipEventQuery(captured); }, hipErrorCapturedEvent},
      {"wait for what came before", [&] { return hipStreamWaitEvent(stream, before, 0); },
       hipErrorStreamCaptureIsolation},
      {"hipMemcpy", [&] { return hipMemcpy(memory.data(), host, 8, hipMemcpyHostToDevice); },
       hipErrorStreamCaptureImplicit},
      {"hipMemset", [&] { return hipMemset(memory.data(), 0, 8); }, hipErrorStreamCaptureImplicit},
      {"the default stream", [&] { return hipMemsetAsync(memory.data(), 0, 8, nullptr); },
       hipErrorStreamCaptureImplicit}};
  for (const Refused& refused : all) {
    CAPTURE(refused.what);
    HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    HIP(hipEventRecord(captured, stream));
    HIP(hipMemsetAsync(memory.data(), 0, 8, stream));
    CHECK(refused.call() == refused.error);
    CHECK(status(stream) == hipStreamCaptureStatusInvalidated);
    HIP_FAILS(hipMemsetAsync(memory.data(), 0, 8, stream), hipErrorStreamCaptureInvalidated);
    HIP_FAILS(hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureInvalidated);
    CHECK(graph == nullptr);
    CHECK(status(stream) == hipStreamCaptureStatusNone);
  }
}

TEST_CASE("the capture's mode says which threads it holds to its rules") {
  const TestStream stream;
  hipGraph_t graph = nullptr;
  void* pointer = nullptr;
  const auto allocate = [&] {
    const hipError_t error = hipMalloc(&pointer, 8);
    return error;
  };
  struct Mode {
    hipStreamCaptureMode mode;
    hipError_t here, in_another_thread;
  };
  for (const Mode& mode :
       {Mode{hipStreamCaptureModeGlobal, hipErrorStreamCaptureUnsupported, hipErrorStreamCaptureUnsupported},
        Mode{hipStreamCaptureModeThreadLocal, hipErrorStreamCaptureUnsupported, hipSuccess},
        Mode{hipStreamCaptureModeRelaxed, hipSuccess, hipSuccess}}) {
    CAPTURE(mode.mode);
    HIP(hipStreamBeginCapture(stream, mode.mode));
    CHECK(std::async(std::launch::async, allocate).get() == mode.in_another_thread);
    CHECK(allocate() == mode.here);
    static_cast<void>(hipStreamEndCapture(stream, &graph));
  }
  HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  hipStreamCaptureMode own = hipStreamCaptureModeRelaxed;
  HIP(hipThreadExchangeStreamCaptureMode(&own));
  CHECK(allocate() == hipSuccess);
  HIP(hipThreadExchangeStreamCaptureMode(&own));
  CHECK(own == hipStreamCaptureModeRelaxed);
  CHECK(std::async(std::launch::async, [&] { return hipStreamEndCapture(stream, &graph); }).get() ==
        hipErrorStreamCaptureWrongThread);
  HIP(hipStreamEndCapture(stream, &graph));
}

TEST_CASE("streams join a capture by waiting for it, and must be waited for") {
  const TestStream origin, side;
  const TestEvent fork, join;
  const Device<std::uint32_t> words(std::size_t{2});
  const auto work = [&](bool joined) {
    HIP(hipStreamBeginCapture(origin, hipStreamCaptureModeGlobal));
    HIP(hipMemsetD32Async(words.data(), 1, 1, origin));
    HIP(hipEventRecord(fork, origin));
    HIP(hipStreamWaitEvent(side, fork, 0));
    HIP(hipMemcpyDtoDAsync(words.data() + 1, words.data(), 4, side));
    HIP(hipEventRecord(join, side));
    if (joined) HIP(hipStreamWaitEvent(origin, join, 0));
  };
  hipGraph_t graph = nullptr;
  hipGraphExec_t executable = nullptr;
  work(true);
  HIP_FAILS(hipStreamEndCapture(side, &graph), hipErrorStreamCaptureUnmatched);
  HIP(hipStreamEndCapture(origin, &graph));
  HIP(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  HIP(hipGraphLaunch(executable, side));
  CHECK(words.contents() == std::vector<std::uint32_t>{1, 1});
  work(false);
  HIP_FAILS(hipStreamEndCapture(origin, &graph), hipErrorStreamCaptureUnjoined);
  CHECK(status(side) == hipStreamCaptureStatusNone);

  HIP(hipStreamBeginCapture(origin, hipStreamCaptureModeGlobal));
  HIP_FAILS(hipStreamBeginCapture(origin, hipStreamCaptureModeGlobal), hipErrorIllegalState);
  HIP(hipStreamBeginCapture(side, hipStreamCaptureModeGlobal));
  HIP(hipEventRecord(fork, origin));
  HIP_FAILS(hipStreamWaitEvent(side, fork, 0), hipErrorStreamCaptureMerge);
  HIP_FAILS(hipStreamEndCapture(origin, &graph), hipErrorStreamCaptureInvalidated);
  HIP_FAILS(hipStreamEndCapture(side, &graph), hipErrorStreamCaptureInvalidated);
  HIP_FAILS(hipStreamEndCapture(side, &graph), hipErrorIllegalState);
  HIP_FAILS(hipStreamBeginCapture(nullptr, hipStreamCaptureModeGlobal), hipErrorStreamCaptureUnsupported);
}
