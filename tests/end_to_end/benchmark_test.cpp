// Time, power and probes on a GPU, on the stand-in for HIP and a sysfs of the test's own.
#include "runtime_loader/hip/benchmark.h"
#include "generator/probe_files.h"
#include "isa/error.h"
#include "runtime_loader/gpu_run.h"
#include "runtime_loader/hip/hip_probe.h"
#include "runtime_loader/probe_report.h"
#include "tests/support/catch.h"
#include "tests/support/kernels.h"
#include "tests/support/process.h"
#include "tests/support/stand_in.h"

#include <cmath>
#include <fstream>

using namespace zyfa;
using namespace zyfa::runtime;

namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

SensorReadings read_sensors(const std::string& pci, const std::filesystem::path& sysfs) {
  Sensors sensors(pci, sysfs);
  sensors.start();
  return sensors.stop();
}

}  // namespace

TEST_CASE("Sensors: the driver's power and clock, or why there are none", "[quick][hip]") {
  const TemporaryDirectory sysfs;
  const std::filesystem::path hwmon = sysfs.path() / "bus/pci/devices/0000:c5:00.0/hwmon/hwmon7";
  write(hwmon / "power1_average", "1234000000\n");
  write(hwmon / "freq1_input", "1650000000\n");
  const SensorReadings both = read_sensors("0000:C5:00.0", sysfs.path());
  CHECK(both.watts.value() == Approx(1234));
  CHECK(both.ghz.value() == Approx(1.65));
  CHECK(both.samples > 0);
  CHECK(both.source == hwmon.string());
  std::filesystem::rename(hwmon / "power1_average", hwmon / "power1_input");
  CHECK(read_sensors("0000:c5:00.0", sysfs.path()).watts.value() == Approx(1234));
  write(hwmon / "power1_input", "N/A\n");
  std::filesystem::remove(hwmon / "freq1_input");
  const SensorReadings neither = read_sensors("0000:c5:00.0", sysfs.path());
  CHECK_FALSE(neither.watts);
  CHECK_FALSE(neither.ghz);
  const SensorReadings none = read_sensors("0000:01:00.0", sysfs.path());
  CHECK(none.samples == 0);
  CHECK(none.source == (sysfs.path() / "bus/pci/devices/0000:01:00.0").string() + " has no hwmon");
}

TEST_CASE("Benchmark: launches, median and spread, and the model's figure beside them", "[hip]") {
  const OnStandIn stand_in;
  const TemporaryDirectory folder;
  const generator::KernelFiles files =
      generator::write_kernel(generator::generate({.causal = true}, isa::Machine{}), folder.path());
  const Kernel kernel = load_kernel(files.code_object);
  const std::shared_ptr<const HipDevice> device = HipDevice::open(0);
  const HipKernel on_gpu(device, read_file(files.code_object), kernel.manifest.symbol, kernel.manifest.lds_bytes,
                         files.code_object.string());
  const AttentionShape shape{.heads = 2, .seqlen_q = 64, .seqlen_k = 64, .causal = true};
  const AttentionInputs inputs = make_inputs(shape, InputKind::gaussian, 1, 1);
  const HipProblem problem(device, kernel.manifest, inputs, Layout::bshd);
  const BenchmarkOptions options{.warm_up_seconds = 0.01, .launches = 5};
  const Benchmark benchmark = run_benchmark(device, problem, on_gpu, options);
  REQUIRE(benchmark.seconds.size() == 5);
  CHECK(benchmark.quantile(0) <= benchmark.quantile(0.5));
  CHECK(benchmark.quantile(0.5) <= benchmark.quantile(1));
  CHECK(problem.o() == run_on_emulator(kernel, inputs).o);

  const Simulation simulation(files.code_object,
                              {.abi = "", .seqlen_q = 64, .seqlen_k = 64, .heads = 2, .kv_heads = 1});
  std::atomic<std::int64_t> done = 0;
  const SimulatedMachine model = simulate(simulation, "nominal", isa::Machine{}, {}, done);
  Benchmark known{.seconds = {3e-6, 1e-6, 2e-6, 9e-6},
                  .sensors = {.watts = 1000, .ghz = 2, .samples = 100, .source = "s"}};
  const nlohmann::ordered_json json = benchmark_json(known, {.warm_up_seconds = 1, .launches = 4}, simulation, model);
  const double flop = attention_flops(shape);
  CHECK(json["flop"].get<double>() == flop);
  CHECK(json["seconds"]["median"].get<double>() == Approx(2e-6));
  CHECK(json["seconds"]["max"].get<double>() == Approx(9e-6));
  CHECK(json["tflops"].get<double>() == Approx(flop / 2e-6 * 1e-12));
  CHECK(json["tflop_per_joule"].get<double>() == Approx(flop * 1e-12 / (1000 * 2e-6)));
  CHECK(json["model"]["measured_over_model"].get<double>() ==
        Approx(2e-6 / (model.estimate.clk / (model.estimate.clock_ghz * 1e9))));
  known.sensors.samples = least_samples - 1;
  const nlohmann::ordered_json unsettled =
      benchmark_json(known, {.warm_up_seconds = 1, .launches = 4}, simulation, model);
  for (const char* key : {"clock_ghz", "watts", "tflop_per_joule"}) CHECK(unsettled[key].is_null());
  CHECK_FALSE(sustained_ghz(known));
}

TEST_CASE("Repeats: outputs with other bits are counted", "[quick][hip]") {
  const std::vector<std::byte> first(4, std::byte{1});
  int run = 0;
  CHECK(count_different(first, 5, [&] {
          std::vector<std::byte> bytes = first;
          if (++run % 2 == 0) bytes.back() = std::byte{0};
          return bytes;
        }) == 2);
  CHECK(run == 5);
  CHECK(count_different(first, 3, [&] { return first; }) == 0);
}

TEST_CASE("Probes: values on the device are the emulator's, and say what is assumed", "[hip][probes]") {
  const OnStandIn stand_in;
  const TemporaryDirectory folder;
  const std::vector<std::string> values = {"integer-packs",   "fp8-overflow",    "fp8-saturation", "u8-rounding",
                                           "scale-blocks-32", "scale-blocks-16", "sparse-layout",  "matrix-sums"};
  generator::write_probes(values, folder.path());
  const std::shared_ptr<const HipDevice> device = HipDevice::open(0);
  std::vector<Recorded> recorded;
  for (const LoadedProbe& probe : load_probes(folder.path())) {
    CAPTURE(probe.name);
    CHECK(probe.launches == 10);
    recorded.push_back(run_probe_on_gpu(probe, device));
    const Recorded direct =
        run_probe(probe, [](const isa::Program& program, const emulator::Launch& launch,
                            const emulator::GlobalMemory& memory) { return emulator::run(program, launch, memory); });
    CHECK(recorded.back().words == direct.words);
  }
  const std::vector<ProbeResult> results = evaluate_probes(recorded);
  CHECK(all_agree(results, isa::Machine{}));
  for (const ProbeResult& result : results)
    for (const schedules::Fact& fact : result.findings.facts) {
      CAPTURE(result.name, fact.what);
      if (!fact.assumed.empty()) CHECK(fact.found == fact.assumed);
    }
  const std::filesystem::path file = folder.path() / "machine.json";
  write_machine(results, {"test", isa::Confidence::measured}, file);
  CHECK(std::filesystem::exists(file));
}
