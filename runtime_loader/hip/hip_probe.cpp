#include "runtime_loader/hip/hip_probe.h"

#include <array>
#include <span>
#include <vector>

namespace zyfa::runtime {

Recorded run_probe_on_gpu(const LoadedProbe& probe, const std::shared_ptr<const HipDevice>& device) {
  const HipKernel kernel(device, probe.code_object, probe.symbol, probe.launch.lds_bytes, probe.symbol);
  const HipMemory out(device, std::vector<std::byte>(probe.out_bytes, std::byte{0xff}));
  const HipMemory in(device, std::vector<std::byte>(probe.in_bytes));
  const ProbeArguments arguments = probe_arguments(out.address(), probe.in_bytes == 0 ? 0 : in.address());
  for (int i = 0; i < probe.launches; ++i)
    kernel.launch({{1, 1, 1}, probe.launch.workgroup_size}, std::as_bytes(std::span(arguments)), nullptr);
  Recorded recorded{probe.name, std::vector<std::uint32_t>(probe.out_bytes / sizeof(std::uint32_t))};
  out.download(std::as_writable_bytes(std::span(recorded.words)));
  return recorded;
}

}  // namespace zyfa::runtime
