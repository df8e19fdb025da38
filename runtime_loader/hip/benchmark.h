// How long a kernel takes on a GPU, and what the model says it takes.
#pragma once

#include "runtime_loader/hip/hip_run.h"
#include "runtime_loader/hip/sensors.h"
#include "runtime_loader/simulate.h"

#include <nlohmann/json.hpp>

#include <vector>

namespace zyfa::runtime {

struct BenchmarkOptions {
  double warm_up_seconds = 2;  // of launches before those that count: a board takes time to settle at its clock
  int launches = 100;
};

struct Benchmark {
  std::vector<double> seconds;  // of each launch, in their order, between two events of the stream
  SensorReadings sensors;       // over the second half of the warm-up and all launches
  double loaded_seconds = 0;    // how long that was, by the host's clock

  double quantile(double part) const;  // seconds; of the sorted launches, the lower of two neighbours
};

// Fewer samples than this say nothing of a sustained clock or power.
inline constexpr int least_samples = 50;

Benchmark run_benchmark(std::shared_ptr<const HipDevice> device, const HipProblem& problem, const HipKernel& kernel,
                        const BenchmarkOptions& options);

// The clock that the sensors saw often enough.
std::optional<double> sustained_ghz(const Benchmark& benchmark);

// Keys: launches, warm_up, seconds (median, p10, p90, min, max), tflops (at the median), flop, flop_convention,
// clock_ghz, watts, tflop_per_joule (null where no sensor says), sensors; model: machine, clock_ghz and its source,
// seconds, tflops, bound, measured_over_model (times).
nlohmann::ordered_json benchmark_json(const Benchmark& benchmark, const BenchmarkOptions& options,
                                      const Simulation& simulation, const SimulatedMachine& model);

// The same for people.
void print_benchmark(const nlohmann::ordered_json& json);

}  // namespace zyfa::runtime
