// libzyfa's HIP backend on the stand-in, which this program is linked with and the library opens: what the emulator
// writes when called directly, bit for bit, from many threads and streams and from a captured graph.
#include "runtime_loader/hip/hip_run.h"
#include "runtime_loader/library/zyfa.hpp"
#include "tests/support/catch.h"
#include "tests/support/kernels.h"
#include "tests/support/library_call.h"
#include "tests/support/process.h"
#include "tests/support/shapes.h"
#include "tests/support/stand_in.h"

#include "runtime_loader/library/failure.h"

#include <hip/hip_runtime_api.h>

#include <thread>

using namespace zyfa;
using namespace zyfa::runtime;

namespace {

class Gpu : OnStandIn {
 public:
  zyfa::Kernel open(const generator::AttentionConfig& config) {
    const generator::KernelFiles files =
        generator::write_kernel(generator::generate(config, isa::Machine{}), folder_.path());
    return {device, files.code_object.string()};
  }

  const zyfa::Device device{ZYFA_HIP};
  const std::shared_ptr<const HipDevice> memory = HipDevice::open(0);

 private:
  TemporaryDirectory folder_;
};

void check_same(const generator::AttentionConfig& config, const std::vector<AttentionShape>& shapes, Layout layout) {
  Gpu gpu;
  const zyfa::Kernel kernel = gpu.open(config);
  const runtime::Kernel direct = generate_kernel(config);
  for (AttentionShape shape : shapes) {
    shape.causal = config.causal;
    shape.head_dim = config.head_dim;
    shape.v_head_dim = config.v_head_dim;
    CAPTURE(shape.batch, shape.heads, shape.kv_heads, shape.seqlen_q, shape.seqlen_k, shape.causal, shape.head_dim);
    const AttentionInputs inputs =
        make_inputs(shape, InputKind::gaussian, 1.5, 11, suited(config, {.distinct_descales = true}));
    const HipProblem problem(gpu.memory, direct.manifest, inputs, layout);
    kernel(library_arguments(shape, problem.arguments()));
    const EmulatedRun expected = run_on_emulator(direct, inputs, {.layout = layout, .emulator = {}});
    CHECK(problem.o() == expected.o);
    CHECK(problem.lse() == expected.lse);
  }
}

}  // namespace

TEST_CASE("HIP backend: shapes, as the emulator computes them", "[library]") {
  for (const bool causal : {false, true}) {
    const generator::AttentionConfig config{.causal = causal, .lse = causal};
    check_same(config, first_shapes(), Layout::bshd);
    check_same(config, aiter_shapes(), Layout::bshd);
    check_same(config, grouped_shapes(), Layout::bhsd);
  }
}

TEST_CASE("HIP backend: every configuration, as the emulator computes it", "[library]") {
  const AttentionShape shape{.batch = 2, .heads = 4, .kv_heads = 2, .seqlen_q = 150, .seqlen_k = 150};
  for (const generator::AttentionConfig& config : all_configurations())
    if (config.causal) check_same(config, {shape}, Layout::bshd);
  check_same({}, {shape}, Layout::fused_qkv);
}

TEST_CASE("HIP backend: what a device is", "[library]") {
  Gpu gpu;
  const zyfa_device_info info = gpu.device.info();
  const isa::Machine machine;
  CHECK(info.backend == ZYFA_HIP);
  CHECK(std::string(info.arch).starts_with("gfx950:"));
  CHECK(info.compute_units == machine.compute_units);
  CHECK(info.dies == machine.dies);
  CHECK(info.lds_bytes == machine.lds_bytes);
  CHECK(std::string(info.runtime).ends_with("(" + stand_in_library + ")"));
  zyfa_device* device = nullptr;
  CHECK(zyfa_device_open(ZYFA_ABI_VERSION, ZYFA_HIP, 1, &device) == ZYFA_NO_DEVICE);
  CHECK(std::string(zyfa_last_error()) == "there is no GPU 1; the 1 that HIP sees are numbered from 0");
}

TEST_CASE("HIP backend: kernels from 16 threads on streams of their own", "[library][threads]") {
  Gpu gpu;
  const zyfa::Kernel kernel = gpu.open({.causal = true});
  const runtime::Kernel direct = generate_kernel(true, false);
  constexpr int thread_count = 16, launches = 100;
  const AttentionShape shape{.heads = 2, .seqlen_q = 40, .seqlen_k = 40, .causal = true};
  std::vector<int> wrong(thread_count);
  std::vector<std::thread> threads;
  for (int t = 0; t < thread_count; ++t)
    threads.emplace_back([&, t] {
      const AttentionInputs inputs = make_inputs(shape, InputKind::gaussian, 1, static_cast<std::uint64_t>(t));
      const HipProblem problem(gpu.memory, direct.manifest, inputs, Layout::bshd);
      hipStream_t stream = nullptr;
      if (hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) != hipSuccess) ++wrong[t];
      for (int i = 0; i < launches; ++i) {
        const zyfa_attention arguments = library_arguments(shape, problem.arguments());
        if (zyfa_attention_launch(kernel.get(), &arguments, stream) != ZYFA_OK) ++wrong[t];
      }
      if (hipStreamSynchronize(stream) != hipSuccess || hipStreamDestroy(stream) != hipSuccess) ++wrong[t];
      if (problem.o() != run_on_emulator(direct, inputs).o) ++wrong[t];
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(thread_count, 0));
}

TEST_CASE("HIP backend: a launch can be captured, and replays", "[library]") {
  Gpu gpu;
  const zyfa::Kernel kernel = gpu.open({.causal = true});
  const runtime::Kernel direct = generate_kernel(true, false);
  const AttentionShape shape{.heads = 2, .seqlen_q = 40, .seqlen_k = 40, .causal = true};
  const AttentionInputs inputs = make_inputs(shape, InputKind::gaussian, 1, 5);
  const HipProblem problem(gpu.memory, direct.manifest, inputs, Layout::bshd);
  hipStream_t stream = nullptr;
  hipGraph_t graph = nullptr;
  hipGraphExec_t executable = nullptr;
  REQUIRE(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) == hipSuccess);
  REQUIRE(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal) == hipSuccess);
  kernel(library_arguments(shape, problem.arguments()), stream);
  REQUIRE(hipStreamEndCapture(stream, &graph) == hipSuccess);
  CHECK(problem.o()[0] == 0xffff);  // recorded, not run
  REQUIRE(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0) == hipSuccess);
  REQUIRE(hipGraphLaunch(executable, stream) == hipSuccess);
  REQUIRE(hipStreamSynchronize(stream) == hipSuccess);
  CHECK(problem.o() == run_on_emulator(direct, inputs).o);

  // What would not do: memory allocated while a stream captures.
  REQUIRE(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal) == hipSuccess);
  CHECK_THROWS_AS(HipMemory(gpu.memory, std::size_t{64}), Failure);
  CHECK(hipStreamEndCapture(stream, &graph) != hipSuccess);
}

TEST_CASE("HIP backend: what opening refuses, and HIP's last error afterwards", "[library]") {
  Gpu gpu;
  zyfa_device* device = nullptr;
  setenv("ZYFA_HIP_LIBRARY", "/nowhere.so", 1);
  CHECK(zyfa_device_open(ZYFA_ABI_VERSION, ZYFA_HIP, 0, &device) == ZYFA_NO_RUNTIME);
  CHECK(std::string(zyfa_last_error()).starts_with("cannot open ZYFA_HIP_LIBRARY=/nowhere.so"));
  setenv("ZYFA_HIP_LIBRARY", stand_in_library.c_str(), 1);
  CHECK(device == nullptr);

  const generator::GeneratedKernel kernel = generator::generate({.causal = true}, isa::Machine{});
  const auto status = [](auto open) {
    try {
      open();
      return ZYFA_OK;
    } catch (const Failure& failure) {
      return failure.status();
    }
  };
  const std::int64_t too_much = gpu.memory->info().lds_bytes + 1;
  CHECK(status([&] { HipKernel(gpu.memory, kernel.code_object, kernel.plan.symbol, too_much, "k"); }) ==
        ZYFA_WRONG_DEVICE);
  CHECK(status([&] { HipKernel(gpu.memory, kernel.code_object, "no_such_kernel", 0, "k"); }) == ZYFA_HIP_ERROR);
  CHECK(hipPeekAtLastError() == hipSuccess);
  const std::vector<std::byte> cut(kernel.code_object.begin(), kernel.code_object.begin() + 1000);
  CHECK(status([&] { HipKernel(gpu.memory, cut, kernel.plan.symbol, 0, "k"); }) == ZYFA_BAD_CODE_OBJECT);
  CHECK(status([&] { HipMemory(gpu.memory, std::size_t{1} << 50); }) == ZYFA_OUT_OF_MEMORY);
  CHECK(hipPeekAtLastError() == hipSuccess);
  CHECK(hipMalloc(static_cast<void**>(nullptr), 1) != hipSuccess);  // the program's own
  CHECK(hipPeekAtLastError() != hipSuccess);
  static_cast<void>(hipGetLastError());
}
