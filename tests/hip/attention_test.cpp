// Our own kernels, launched as a host program launches them, against the emulator called directly.
#include "generator/generate.h"
#include "runtime_loader/emulate.h"
#include "runtime_loader/laid_out_problem.h"
#include "runtime_loader/launch_rules.h"
#include "tests/hip/hip_support.h"
#include "tests/support/kernels.h"

#include <memory>

using namespace zyfa;
using namespace zyfa::tests;

namespace {

// A problem in device memory, and its launch.
class DeviceProblem {
 public:
  DeviceProblem(const runtime::AttentionInputs& inputs, const generator::Manifest& manifest)
      : o_(inputs.q.size()),
        problem_(inputs, runtime::Layout::bshd,
                 [this](const char*, std::span<const std::byte> bytes) {
                   inputs_.push_back(std::make_unique<Device<std::byte>>(std::vector(bytes.begin(), bytes.end())));
                   return reinterpret_cast<std::uintptr_t>(inputs_.back()->data());
                 }),
        grid_(runtime::attention_grid(manifest, problem_.arguments.seqlen_q, problem_.arguments.heads,
                                      static_cast<std::uint32_t>(inputs.shape.batch))) {
    problem_.arguments.o = reinterpret_cast<std::uintptr_t>(o_.data());
  }

  hipError_t launch(hipFunction_t function, hipStream_t stream) {
    std::size_t bytes = sizeof problem_.arguments;
    void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &problem_.arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     HIP_LAUNCH_PARAM_END};
    return hipModuleLaunchKernel(function, grid_.workgroups[0], grid_.workgroups[1], grid_.workgroups[2],
                                 grid_.workgroup_size[0], 1, 1, 0, stream, nullptr, extra);
  }
  std::uint16_t* o() const { return o_.data(); }
  std::size_t o_bytes() const { return o_.bytes(); }
  std::vector<std::uint16_t> output() const { return o_.contents(); }

 private:
  std::vector<std::unique_ptr<Device<std::byte>>> inputs_;
  Device<std::uint16_t> o_;
  runtime::LaidOutProblem problem_;
  runtime::LaunchGrid grid_;
};

struct Generated {
  generator::GeneratedKernel files = generator::generate({.causal = true}, isa::Machine{});
  runtime::Kernel kernel = runtime::make_kernel(
      files.code_object, generator::manifest_from_json(files.manifest, "generated"), files.plan.symbol);
};

runtime::AttentionInputs inputs_of(std::uint64_t seed, int queries = 40, int keys = 70) {
  const runtime::AttentionShape shape{
      .batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = queries, .seqlen_k = keys, .causal = true};
  return runtime::make_inputs(shape, runtime::InputKind::gaussian, 1, seed);
}

}  // namespace

TEST_CASE("an attention kernel launched by HIP gives the emulator's bits, also from a graph of that launch alone") {
  const Generated generated;
  const LoadedKernels kernels(generated.files.code_object);
  const hipFunction_t function = kernels[generated.files.plan.symbol.c_str()];
  const runtime::AttentionInputs inputs = inputs_of(3, 600, 700);
  const std::vector<std::uint16_t> expected = runtime::run_on_emulator(generated.kernel, inputs).o;
  DeviceProblem problem(inputs, generated.kernel.manifest);
  HIP(problem.launch(function, nullptr));
  CHECK(problem.output() == expected);

  HIP(hipMemset(problem.o(), 0, problem.o_bytes()));
  CHECK(problem.output() != expected);
  const TestStream stream;
  HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  HIP(problem.launch(function, stream));
  hipGraph_t graph = nullptr;
  HIP(hipStreamEndCapture(stream, &graph));
  std::size_t nodes = 0;
  HIP(hipGraphGetNodes(graph, nullptr, &nodes));
  CHECK(nodes == 1);
  hipGraphExec_t executable = nullptr;
  HIP(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  HIP(hipGraphLaunch(executable, stream));
  HIP(hipStreamSynchronize(stream));
  CHECK(problem.output() == expected);
}

TEST_CASE("16 threads that launch at once, each on a stream of its own, all get the emulator's bits", "[threads]") {
  const Generated generated;
  const LoadedKernels kernels(generated.files.code_object);
  const hipFunction_t function = kernels[generated.files.plan.symbol.c_str()];
  constexpr int threads = 16, launches = 100;
  std::vector<runtime::AttentionInputs> inputs;
  std::vector<std::vector<std::uint16_t>> expected;
  std::vector<std::unique_ptr<DeviceProblem>> problems;
  for (int i = 0; i < threads; ++i) {
    inputs.push_back(inputs_of(static_cast<std::uint64_t>(i)));
    expected.push_back(runtime::run_on_emulator(generated.kernel, inputs.back()).o);
    problems.push_back(std::make_unique<DeviceProblem>(inputs.back(), generated.kernel.manifest));
  }
  // Catch's assertions are for one thread; a thread returns how many of its results were right.
  const auto work = [&](std::size_t i) {
    DeviceProblem& problem = *problems[i];
    hipStream_t stream = nullptr;
    std::vector<std::uint16_t> o(expected[i].size());
    int right = 0;
    if (hipStreamCreateWithFlags(&stream, i % 2 ? hipStreamNonBlocking : hipStreamDefault) != hipSuccess) return right;
    for (int launch = 0; launch < launches; ++launch) {
      if (hipMemsetAsync(problem.o(), 0xff, problem.o_bytes(), stream) != hipSuccess) return right;
      if (problem.launch(function, stream) != hipSuccess) return right;
      if (hipMemcpyAsync(o.data(), problem.o(), problem.o_bytes(), hipMemcpyDeviceToHost, stream) != hipSuccess)
        return right;
      if (hipStreamSynchronize(stream) != hipSuccess) return right;
      right += o == expected[i];
    }
    return hipStreamDestroy(stream) == hipSuccess ? right : -1;
  };
  std::vector<std::future<int>> results;
  for (std::size_t i = 0; i < threads; ++i) results.push_back(std::async(std::launch::async, work, i));
  for (auto& result : results) CHECK(result.get() == launches);
  CHECK(expected[0] != expected[1]);
}
