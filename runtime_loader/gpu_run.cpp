#include "runtime_loader/gpu_run.h"

#include "generator/machine_file.h"
#include "runtime_loader/hip/benchmark.h"
#include "runtime_loader/hip/hip_run.h"
#include "runtime_loader/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace zyfa::runtime {
namespace {

// O and LSE, byte for byte.
std::vector<std::byte> bytes_of(const std::vector<std::uint16_t>& o, const std::vector<float>& lse) {
  std::vector<std::byte> bytes(o.size() * sizeof o[0] + lse.size() * sizeof lse[0]);
  std::ranges::copy(std::as_bytes(std::span(lse)), std::ranges::copy(std::as_bytes(std::span(o)), bytes.begin()).out);
  return bytes;
}

// The model simulates a workgroup of the same shape and kind of input; of files, of gaussian input.
nlohmann::ordered_json measure(const RunArguments& args, const AttentionShape& shape,
                               const std::shared_ptr<const HipDevice>& device, const HipProblem& problem,
                               const HipKernel& on_gpu) {
  const BenchmarkOptions options{.warm_up_seconds = args.warm_up_seconds, .launches = args.launches};
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
  const SimulatedMachine model =
      simulate(simulation, machine, generator::find_machine(machine),
               {.workgroup = std::nullopt, .clock_ghz = sustained_ghz(benchmark)}, bar.done());
  return benchmark_json(benchmark, options, simulation, model);
}

}  // namespace

int count_different(const std::vector<std::byte>& first, int times,
                    const std::function<std::vector<std::byte>()>& run_again) {
  int different = 0;
  for (int i = 0; i < times; ++i) different += run_again() != first;
  return different;
}

GpuRun run_on_gpu(const RunArguments& args, const Kernel& kernel, const AttentionInputs& inputs) {
  const std::shared_ptr<const HipDevice> device = HipDevice::open(args.device);
  const HipKernel on_gpu(device, read_file(args.kernel), kernel.manifest.symbol, kernel.manifest.lds_bytes,
                         args.kernel);
  const Layout layout = parse_layout(args.layout);
  const HipProblem problem(device, kernel.manifest, inputs, layout);
  GpuRun result{{inputs.shape, layout, {}, {}, {}, 0}, {device->info(), args.repeat, 0, std::nullopt}};
  HipEvent start(device), stop(device);
  start.record(nullptr);
  problem.launch(on_gpu);
  stop.record(nullptr);
  result.run.o = problem.o();
  result.run.lse = problem.lse();
  result.run.seconds = stop.seconds_since(start);
  result.report.different = count_different(bytes_of(result.run.o, result.run.lse), args.repeat - 1, [&] {
    problem.clear();
    problem.launch(on_gpu);
    return bytes_of(problem.o(), problem.lse());
  });
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
