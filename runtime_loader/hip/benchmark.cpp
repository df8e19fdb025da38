#include "runtime_loader/hip/benchmark.h"

#include "runtime_loader/sim_report.h"

#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <deque>
#include <utility>

namespace zyfa::runtime {
namespace {

using Json = nlohmann::ordered_json;

Json number_or_null(std::optional<double> value) { return value ? Json(*value) : Json(nullptr); }

// A reading that was seen often enough.
std::optional<double> sustained(const SensorReadings& sensors, std::optional<double> reading) {
  return sensors.samples < least_samples ? std::nullopt : reading;
}

std::string known(const Json& value, const char* unit) {
  return value.is_null() ? "not known" : fmt::format("{:.4g} {}", value.get<double>(), unit);
}

}  // namespace

double Benchmark::quantile(double part) const {
  std::vector<double> sorted = seconds;
  std::ranges::sort(sorted);
  return sorted.at(static_cast<std::size_t>(std::floor(part * static_cast<double>(sorted.size() - 1))));
}

Benchmark run_benchmark(std::shared_ptr<const HipDevice> device, const HipProblem& problem, const HipKernel& kernel,
                        const BenchmarkOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  std::deque<HipEvent> events;
  for (int i = 0; i <= options.launches; ++i) events.emplace_back(device);
  Sensors sensors(device->info().pci);
  const Clock::time_point begin = Clock::now();
  Clock::time_point loaded{};
  const auto watch_sensors = [&] {
    loaded = Clock::now();
    sensors.start();
  };
  // Two batches are queued at a time, so that the device never waits for the host.
  constexpr int batch = 8;
  std::array<HipEvent, 2> queued{HipEvent(device), HipEvent(device)};
  for (std::size_t i = 0; since(begin) < options.warm_up_seconds; ++i) {
    if (i >= queued.size()) queued[i % 2].wait();
    if (loaded == Clock::time_point{} && since(begin) > options.warm_up_seconds / 2) watch_sensors();
    for (int launch = 0; launch < batch; ++launch) problem.launch(kernel);
    queued[i % 2].record(nullptr);
  }
  if (loaded == Clock::time_point{}) watch_sensors();
  events.front().record(nullptr);
  for (std::size_t i = 1; i < events.size(); ++i) {
    problem.launch(kernel);
    events[i].record(nullptr);
  }
  device->synchronize();
  Benchmark benchmark;
  benchmark.loaded_seconds = since(loaded);
  benchmark.sensors = sensors.stop();
  for (std::size_t i = 1; i < events.size(); ++i) benchmark.seconds.push_back(events[i].seconds_since(events[i - 1]));
  return benchmark;
}

std::optional<double> sustained_ghz(const Benchmark& benchmark) {
  return sustained(benchmark.sensors, benchmark.sensors.ghz);
}

Json benchmark_json(const Benchmark& benchmark, const BenchmarkOptions& options, const Simulation& simulation,
                    const SimulatedMachine& model) {
  const double flop = model.estimate.flop, median = benchmark.quantile(0.5);
  const SensorReadings& sensors = benchmark.sensors;
  const std::optional<double> ghz = sustained_ghz(benchmark), watts = sustained(sensors, sensors.watts);
  const double model_seconds = model.estimate.clk / (model.estimate.clock_ghz * 1e9);
  return {{"problem", simulation.problem()},
          {"launches", options.launches},
          {"warm_up_seconds", options.warm_up_seconds},
          {"seconds",
           {{"median", median},
            {"p10", benchmark.quantile(0.1)},
            {"p90", benchmark.quantile(0.9)},
            {"min", benchmark.quantile(0)},
            {"max", benchmark.quantile(1)}}},
          {"flop", flop},
          {"flop_convention", flop_convention(simulation)},
          {"tflops", flop / median * 1e-12},
          {"clock_ghz", number_or_null(ghz)},
          {"watts", number_or_null(watts)},
          {"tflop_per_joule", number_or_null(watts ? std::optional(flop * 1e-12 / (*watts * median)) : std::nullopt)},
          {"sensors",
           {{"source", sensors.source}, {"samples", sensors.samples}, {"loaded_seconds", benchmark.loaded_seconds}}},
          {"model",
           {{"machine", model.name},
            {"clock_ghz", model.estimate.clock_ghz},
            {"clock_source", ghz ? "measured" : "the machine's peak"},
            {"seconds", model_seconds},
            {"tflops", model.estimate.tflops},
            {"bound", model.estimate.bound},
            {"measured_over_model", median / model_seconds}}}};
}

void print_benchmark(const Json& json) {
  const Json& seconds = json["seconds"];
  const Json& model = json["model"];
  const double median = seconds["median"];
  fmt::print(
      "launches   {} after {:g} s to warm up; {:.1f} us median, {:.1f} to {:.1f} from the 10th to the 90th of 100\n",
      json["launches"].get<int>(), json["warm_up_seconds"].get<double>(), median * 1e6,
      seconds["p10"].get<double>() * 1e6, seconds["p90"].get<double>() * 1e6);
  fmt::print("speed      {:.4g} TFLOP/s ({})\n", json["tflops"].get<double>(),
             json["flop_convention"].get<std::string>());
  fmt::print("clock      {}\npower      {}, {}\n", known(json["clock_ghz"], "GHz"), known(json["watts"], "W"),
             known(json["tflop_per_joule"], "TFLOP/J"));
  fmt::print("sensors    {} samples of {}\n", json["sensors"]["samples"].get<int>(),
             json["sensors"]["source"].get<std::string>());
  fmt::print("model      {:.1f} us, {:.4g} TFLOP/s at {:.3g} GHz ({}), bound by {}; measured / model {:.3f}\n",
             model["seconds"].get<double>() * 1e6, model["tflops"].get<double>(), model["clock_ghz"].get<double>(),
             model["clock_source"].get<std::string>(), model["bound"].get<std::string>(),
             model["measured_over_model"].get<double>());
}

}  // namespace zyfa::runtime
