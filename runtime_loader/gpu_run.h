// zyfa-run --backend hip: the same problem on a GPU.
#pragma once

#include "runtime_loader/emulate.h"
#include "runtime_loader/hip/hip_device.h"
#include "runtime_loader/run_options.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace zyfa::runtime {

struct GpuReport {
  HipDeviceInfo device;
  int launches = 1;   // --repeat
  int different = 0;  // of them, with other bits than the first
  std::optional<nlohmann::ordered_json> benchmark;
};

struct GpuRun {
  EmulatedRun run;  // of the first launch; nothing in its `result`
  GpuReport report;
};

// Uploads, launches, downloads; with --bench also measures. Throws Failure.
GpuRun run_on_gpu(const RunArguments& args, const Kernel& kernel, const AttentionInputs& inputs);

// How many of so many more runs wrote other bytes than the first.
int count_different(const std::vector<std::byte>& first, int times,
                    const std::function<std::vector<std::byte>()>& run_again);

// Adds device, repeat and benchmark.
void add_gpu_report(nlohmann::ordered_json& json, const GpuRun& run);
void print_gpu_report(const GpuRun& run);  // the lines `device`, `repeat` and those of the benchmark

}  // namespace zyfa::runtime
