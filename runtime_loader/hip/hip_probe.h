// Probes (docs/probes.md) on a GPU.
#pragma once

#include "runtime_loader/hip/hip_device.h"
#include "runtime_loader/probe_run.h"

#include <memory>

namespace zyfa::runtime {

// Launches the probe as often as its answer asks for and returns what the last launch stored.
Recorded run_probe_on_gpu(const LoadedProbe& probe, const std::shared_ptr<const HipDevice>& device);

}  // namespace zyfa::runtime
