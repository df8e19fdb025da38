#include "runtime_loader/hip/benchmark.h"

#include "runtime_loader/sim_report.h"

#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <utility>

namespace zyfa::runtime {
namespace {

using Json = nlohmann::ordered_json;

Json number_or_null(std::optional<double> value) { return value ? Json(*value) : Json(nullptr); }

std::string text_or(const Json& value, const char* format_unit, const char* otherwise) {
  return value.is_null() ? std::string(otherwise) : fmt::format("{:.4g}{}", value.get<double>(), format_unit);
}

}  // namespace

double Benchmark::total() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

double Benchmark::quantile(double part) const {
  std::vector<double> sorted = seconds;
  std::ranges::sort(sorted);
  return sorted.at(static_cast<std::size_t>(std::floor(part * static_cast<double>(sorted.size() - 1))));
}

Benchmark run_benchmark(std::shared_ptr<const HipDevice> device, const HipProblem& problem, const HipKernel& kernel,
                        const BenchmarkOptions& options) {
  std::deque<HipStopwatch> watches;
  for (int i = 0; i < options.launches; ++i) watches.emplace_back(device);
  for (int i = 0; i < options.warm_up; ++i) problem.launch(kernel);
  device->synchronize();
  Sensors sensors(device->info().pci);
  sensors.start();
  for (HipStopwatch& watch : watches) {
    watch.start(nullptr);
    problem.launch(kernel);
    watch.stop(nullptr);
  }
  device->synchronize();
  Benchmark benchmark;
  benchmark.sensors = sensors.stop();
  for (const HipStopwatch& watch : watches) benchmark.seconds.push_back(watch.seconds());
  return benchmark;
}

Json benchmark_json(const Benchmark& benchmark, const BenchmarkOptions& options, const Simulation& simulation,
                    const SimulatedMachine& model) {
  const double flop = model.estimate.flop, median = benchmark.quantile(0.5);
  const SensorReadings& sensors = benchmark.sensors;
  const double model_seconds = model.estimate.clk / (model.estimate.clock_ghz * 1e9);
  return {{"problem", simulation.problem()},
          {"launches", options.launches},
          {"warm_up", options.warm_up},
          {"seconds",
           {{"median", median},
            {"p10", benchmark.quantile(0.1)},
            {"p90", benchmark.quantile(0.9)},
            {"min", benchmark.quantile(0)},
            {"max", benchmark.quantile(1)}}},
          {"flop", flop},
          {"flop_convention", flop_convention(simulation)},
          {"tflops", flop / median * 1e-12},
          {"clock_ghz", number_or_null(sensors.ghz)},
          {"watts", number_or_null(sensors.watts)},
          {"tflop_per_joule", number_or_null(sensors.watts ? std::optional(flop * options.launches * 1e-12 /
                                                                           (*sensors.watts * benchmark.total()))
                                                           : std::nullopt)},
          {"sensors", {{"source", sensors.source}, {"samples", sensors.samples}}},
          {"model",
           {{"machine", model.name},
            {"clock_ghz", model.estimate.clock_ghz},
            {"clock_source", sensors.ghz ? "measured" : "the machine's peak"},
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
      "launches   {} after {} to warm up; {:.1f} us median, {:.1f} to {:.1f} from the 10th to the 90th of 100\n",
      json["launches"].get<int>(), json["warm_up"].get<int>(), median * 1e6, seconds["p10"].get<double>() * 1e6,
      seconds["p90"].get<double>() * 1e6);
  fmt::print("speed      {:.4g} TFLOP/s ({})\n", json["tflops"].get<double>(),
             json["flop_convention"].get<std::string>());
  fmt::print("clock      {}\npower      {}, {}\n", text_or(json["clock_ghz"], " GHz", "no sensor"),
             text_or(json["watts"], " W", "no sensor"),
             text_or(json["tflop_per_joule"], " TFLOP/J", json["sensors"]["source"].get<std::string>().c_str()));
  fmt::print("model      {:.1f} us, {:.4g} TFLOP/s at {:.3g} GHz ({}), bound by {}; measured / model {:.3f}\n",
             model["seconds"].get<double>() * 1e6, model["tflops"].get<double>(), model["clock_ghz"].get<double>(),
             model["clock_source"].get<std::string>(), model["bound"].get<std::string>(),
             model["measured_over_model"].get<double>());
}

}  // namespace zyfa::runtime
