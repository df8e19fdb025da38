#include "runtime_loader/gpu_run.h"

#include "generator/machine_file.h"
#include "runtime_loader/hip/benchmark.h"
#include "runtime_loader/hip/hip_run.h"
#include "runtime_loader/progress.h"

#include <fmt/format.h>

#include <cstring>

namespace zyfa::runtime {
namespace {

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// The model simulates a workgroup of the same shape and kind of input; of files, of gaussian input.
nlohmann::ordered_json measure(const RunArguments& args, const AttentionShape& shape,
                               const std::shared_ptr<const HipDevice>& device, const HipProblem& problem,
                               const HipKernel& on_gpu) {
  const BenchmarkOptions options{.warm_up = args.warm_up, .launches = args.launches};
  const Benchmark benchmark = run_benchmark(device, problem, on_gpu, options);
  const Simulation simulation(args.kernel, {.abi = "",
                                            .seqlen_q = shape.seqlen_q,
                                            .seqlen_k = shape.seqlen_k,
                                            .heads = shape.heads,
                                            .kv_heads = shape.kv_heads,
                                            .batch = shape.batch,
                                            .input = parse_input_kind(args.input),
                                            .sigma = args.sigma.value_or(1),
                                            .seed = args.seed});
  const std::string machine = args.machine_file.empty() ? "nominal" : args.machine_file;
  ProgressBar bar("simulating", simulations);
  const SimulatedMachine model = simulate(simulation, machine, generator::find_machine(machine),
                                          {.workgroup = std::nullopt, .clock_ghz = benchmark.sensors.ghz}, bar.done());
  return benchmark_json(benchmark, options, simulation, model);
}

}  // namespace

GpuRun run_on_gpu(const RunArguments& args, const Kernel& kernel, const AttentionInputs& inputs) {
  const std::shared_ptr<const HipDevice> device = HipDevice::open(args.device);
  const HipKernel on_gpu(device, read_file(args.kernel), kernel.manifest.symbol, kernel.manifest.lds_bytes,
                         args.kernel);
  const Layout layout = parse_layout(args.layout);
  const HipProblem problem(device, kernel.manifest, inputs, layout);
  GpuRun result{{inputs.shape, layout, {}, {}, {}, 0}, {device->info(), args.repeat, 0, std::nullopt}};
  HipStopwatch watch(device);
  watch.start(nullptr);
  problem.launch(on_gpu);
  watch.stop(nullptr);
  result.run.o = problem.o();
  result.run.lse = problem.lse();
  result.run.seconds = watch.seconds();
  for (int i = 1; i < args.repeat; ++i) {
    problem.launch(on_gpu);
    if (!same_bits(problem.o(), result.run.o) || !same_bits(problem.lse(), result.run.lse)) ++result.report.different;
  }
  if (args.bench && inputs.shape.seqlen_q > 0)
    result.report.benchmark = measure(args, inputs.shape, device, problem, on_gpu);
  return result;
}

void add_gpu_report(nlohmann::ordered_json& json, const GpuRun& run) {
  const HipDeviceInfo& device = run.report.device;
  json["device"] = {{"number", device.ordinal}, {"name", device.name},
                    {"arch", device.arch},      {"compute_units", device.compute_units},
                    {"dies", device.dies},      {"runtime", device.runtime},
                    {"pci", device.pci}};
  json["seconds"] = run.run.seconds;
  json["repeat"] = {{"launches", run.report.launches}, {"different", run.report.different}};
  if (run.report.benchmark) json["benchmark"] = *run.report.benchmark;
}

void print_gpu_report(const GpuRun& run) {
  const HipDeviceInfo& device = run.report.device;
  fmt::print("device     {}, {}, {} compute units, {}\n", device.name, device.arch, device.compute_units,
             device.runtime);
  if (run.report.launches > 1)
    fmt::print("repeat     {} launches, {} of them with other bits than the first\n", run.report.launches,
               run.report.different);
  if (run.report.benchmark) print_benchmark(*run.report.benchmark);
}

}  // namespace zyfa::runtime
