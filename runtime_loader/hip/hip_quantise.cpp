#include "runtime_loader/hip/hip_quantise.h"

#include <optional>

namespace zyfa::runtime {

GpuQuantised quantise_on_gpu(const std::shared_ptr<const HipDevice>& device,
                             const generator::QuantiseManifest& manifest, const HipKernel& kernel,
                             const QuantiseInputs& inputs, Layout layout) {
  LaidOutRows rows(manifest, inputs, layout);
  const HipMemory x(device, rows.x), codes(device, rows.code_bytes), workspace(device, rows.workspace_bytes),
      descale(device, rows.descales * sizeof(float));
  for (const HipMemory* memory : {&codes, &workspace, &descale}) memory->fill(std::byte{0xff});  // NaN
  std::optional<HipMemory> k_descale;
  if (inputs.k_descale) k_descale.emplace(device, std::as_bytes(std::span(*inputs.k_descale)));
  rows.problem.x = x.address();
  rows.problem.codes = codes.address();
  rows.problem.workspace = workspace.address();
  rows.problem.descale = descale.address();
  if (k_descale) rows.problem.k_descale = k_descale->address();
  const QuantiseLaunches launches = quantise_launches(manifest, rows.problem);
  HipEvent start(device), stop(device);
  start.record(nullptr);
  for (const generator::QuantiseKernargs& phase : launches.phases)
    kernel.launch(launches.grid, std::as_bytes(std::span(&phase, 1)), nullptr);
  stop.record(nullptr);
  std::vector<std::byte> written(rows.code_bytes);
  codes.download(written);
  GpuQuantised result{{rows.gather(written), std::vector<float>(rows.descales)}, stop.seconds_since(start)};
  descale.download(std::as_writable_bytes(std::span(result.quantised.descales)));
  return result;
}

}  // namespace zyfa::runtime
