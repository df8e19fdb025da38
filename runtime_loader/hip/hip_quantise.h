// The kernel that quantises, on a GPU.
#pragma once

#include "runtime_loader/hip/hip_device.h"
#include "runtime_loader/laid_out_rows.h"

#include <memory>

namespace zyfa::runtime {

struct GpuQuantised {
  Quantised quantised;
  double seconds = 0;  // of both launches, by the device's clock
};

// Uploads the rows, launches both phases and takes codes and descales back. Throws Error as LaidOutRows does, Failure
// as HipKernel does.
GpuQuantised quantise_on_gpu(const std::shared_ptr<const HipDevice>& device,
                             const generator::QuantiseManifest& manifest, const HipKernel& kernel,
                             const QuantiseInputs& inputs, Layout layout);

}  // namespace zyfa::runtime
