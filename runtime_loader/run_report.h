// What zyfa-run says of one run of a generated kernel.
#pragma once

#include "runtime_loader/emulate.h"
#include "runtime_loader/gpu_run.h"
#include "runtime_loader/probability_statistics.h"
#include "runtime_loader/run_options.h"

#include <nlohmann/json.hpp>

namespace zyfa::runtime {

// Against fp64 attention of what a file holds, before quantisation. Relative: Frobenius norms.
struct CapturedErrors {
  double relative_error = 0, max_abs_error = 0;  // of the kernel's output
  double quantisation = 0;                       // relative, of fp64 attention of the dequantised input
};
CapturedErrors compare_captured(const AttentionResult& captured, const AttentionResult& dequantised,
                                const AttentionOutput& output);

struct RunReport {
  const RunArguments& args;
  const Kernel& kernel;
  const AttentionInputs& inputs;
  const EmulatedRun& run;
  const GpuRun* gpu;             // null where the emulator ran it
  const Comparison& comparison;  // with fp64 attention of the dequantised input
  Tolerances tolerances;
  std::optional<CapturedErrors> captured;  // of files
  std::optional<ProbabilityStatistics> probabilities;
};

nlohmann::ordered_json to_json(const RunReport& report);
void print(const RunReport& report);  // to stdout

}  // namespace zyfa::runtime
