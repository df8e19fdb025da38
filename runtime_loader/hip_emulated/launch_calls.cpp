// Kernel launches.
#include "runtime_loader/hip_emulated/call.h"
#include "runtime_loader/hip_emulated/launches.h"

using namespace zyfa::hip_emulated;

namespace {

hipError_t launch(Runtime& all, const std::shared_ptr<Stream>& stream, const LaunchRequest& request) {
  auto kernel = std::make_shared<KernelLaunch>();
  if (const hipError_t error = prepare(all, request, *kernel); error != hipSuccess) return error;
  if (const int device = kernel->function->module->device; device != stream->device)
    return refuse(hipErrorInvalidDevice, "{} was loaded on device {} and is launched on a stream of device {}",
                  kernel->function->image->symbol, device, stream->device);
  return all.submit(stream, hipGraphNodeTypeKernel, [&all, kernel] { run(all, *kernel); });
}

}  // namespace

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_lds_bytes,
                                 hipStream_t handle, void** parameters, void** extra) {
  return stream_call(handle, [&](Runtime& all, const auto& stream) {
    return launch(
        all, stream,
        {function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_lds_bytes, parameters, extra});
  });
}

// The grid in work-items.
hipError_t hipExtModuleLaunchKernel(hipFunction_t function, uint32_t items_x, uint32_t items_y, uint32_t items_z,
                                    uint32_t block_x, uint32_t block_y, uint32_t block_z, size_t dynamic_lds_bytes,
                                    hipStream_t handle, void** parameters, void** extra, hipEvent_t start,
                                    hipEvent_t stop, uint32_t) {
  return stream_call(handle, [&](Runtime& all, const auto& stream) {
    LaunchRequest request{function, {}, {block_x, block_y, block_z}, dynamic_lds_bytes, parameters, extra};
    const std::array<std::uint32_t, 3> items{items_x, items_y, items_z};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::uint32_t block = request.block[axis];
      if (block != 0 && items[axis] % block != 0)
        return refuse(hipErrorInvalidValue,
                      "a grid of {} work-items is no multiple of a block's {}: the emulator has no "
                      "blocks that are cut short",
                      items[axis], block);
      request.grid[axis] = block == 0 ? 0 : items[axis] / block;
    }
    for (const hipEvent_t handle_of_event : {start, stop}) {
      if (!handle_of_event) continue;
      const std::shared_ptr<Event> event = all.events.find(handle_of_event);
      if (!event) return hipErrorInvalidHandle;
      if (event->device != stream->device)
        return refuse(hipErrorInvalidResourceHandle, "a launch on device {} is to be timed by an event of device {}",
                      stream->device, event->device);
    }
    if (start)
      if (const hipError_t error = hipEventRecord(start, handle); error != hipSuccess) return error;
    const hipError_t error = launch(all, stream, request);
    return error == hipSuccess && stop ? hipEventRecord(stop, handle) : error;
  });
}

hipError_t _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(
    hipFunction_t function, uint32_t items_x, uint32_t items_y, uint32_t items_z, uint32_t block_x, uint32_t block_y,
    uint32_t block_z, size_t dynamic_lds_bytes, hipStream_t stream, void** parameters, void** extra, hipEvent_t start,
    hipEvent_t stop, uint32_t flags) {
  return hipExtModuleLaunchKernel(function, items_x, items_y, items_z, block_x, block_y, block_z, dynamic_lds_bytes,
                                  stream, parameters, extra, start, stop, flags);
}
