// Kernel launches: checked, with their arguments laid out, run on the emulator.
#pragma once

#include "runtime_loader/hip_emulated/runtime.h"
#include "runtime_loader/hsa_launch.h"

#include <memory>
#include <vector>

namespace zyfa::hip_emulated {

struct KernelLaunch {
  std::shared_ptr<const Function> function;
  runtime::LaunchShape shape;
  std::vector<std::byte> segment;  // the arguments
};

// What a call asks for: `grid` in blocks; the arguments as an array of pointers to them, or as one buffer in `extra`
// (HIP_LAUNCH_PARAM_BUFFER_POINTER).
struct LaunchRequest {
  hipFunction_t function = nullptr;
  std::array<std::uint64_t, 3> grid{};
  std::array<std::uint32_t, 3> block{};
  std::uint64_t dynamic_lds_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
};

// Checks the request as HIP does and copies its arguments into `launch`. Reports what it refuses.
hipError_t prepare(Runtime& all, const LaunchRequest& request, KernelLaunch& launch);

// Runs the kernel with all allocations mapped. A trap becomes the runtime's fault.
void run(Runtime& all, const KernelLaunch& launch);

}  // namespace zyfa::hip_emulated
