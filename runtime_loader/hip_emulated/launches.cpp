#include "runtime_loader/hip_emulated/launches.h"

#include "runtime_loader/emulate.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace zyfa::hip_emulated {
namespace {

constexpr std::uint64_t most_items = 1024, most_blocks_x = 0x7fffffff,
                        most_blocks_yz = 65536;  // hipamd, hip_module.cpp

template <class T>
std::uint64_t product(const std::array<T, 3>& axes) {
  return std::accumulate(axes.begin(), axes.end(), std::uint64_t{1}, std::multiplies<>());
}

bool is_hidden(const generator::KernelArgument& argument) { return argument.kind.starts_with("hidden_"); }

// Bytes of the arguments that the kernel's source names.
std::uint32_t explicit_bytes(const generator::KernelImage& image) {
  std::uint32_t end = 0;
  for (const generator::KernelArgument& argument : image.arguments)
    if (!is_hidden(argument)) end = std::max(end, argument.offset + argument.size);
  return end;
}

hipError_t check_shape(const LaunchRequest& request, const Function& function) {
  const std::string& symbol = function.image->symbol;
  const auto& [gx, gy, gz] = request.grid;
  const auto& [bx, by, bz] = request.block;
  if (product(request.grid) == 0 || product(request.block) == 0)
    return refuse(hipErrorInvalidConfiguration, "{}: a grid of {} x {} x {} blocks of {} x {} x {} work-items is empty",
                  symbol, gx, gy, gz, bx, by, bz);
  if (gx > most_blocks_x || gy > most_blocks_yz || gz > most_blocks_yz)
    return refuse(hipErrorInvalidValue, "{}: a grid of {} x {} x {} blocks; the most are {} x {} x {}", symbol, gx, gy,
                  gz, most_blocks_x, most_blocks_yz, most_blocks_yz);
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (request.grid[axis] * request.block[axis] > 0xffffffff)
      return refuse(hipErrorInvalidConfiguration,
                    "{}: a grid of {} x {} x {} blocks of {} x {} x {} work-items is "
                    "beyond 2^32 work-items along an axis",
                    symbol, gx, gy, gz, bx, by, bz);
  const std::uint64_t items = product(request.block);
  if (items > most_items)
    return refuse(hipErrorInvalidValue, "{}: a block of {} work-items; the device takes {}", symbol, items, most_items);
  if (function.image->max_workgroup_size > 0 && items > function.image->max_workgroup_size)
    return refuse(hipErrorLaunchFailure, "{}: a block of {} work-items; the kernel takes at most {}", symbol, items,
                  function.image->max_workgroup_size);
  const std::uint64_t lds = request.dynamic_lds_bytes + function.image->descriptor.group_segment_bytes;
  if (lds > static_cast<std::uint64_t>(isa::Machine{}.lds_bytes))
    return refuse(hipErrorInvalidValue, "{}: {} bytes of dynamic LDS and {} of the kernel's own; a compute unit has {}",
                  symbol, request.dynamic_lds_bytes, function.image->descriptor.group_segment_bytes,
                  isa::Machine{}.lds_bytes);
  return hipSuccess;
}

// The buffer in `extra` and its size; null if the list is not of that form.
std::pair<const std::byte*, std::size_t> buffer_in(void** extra) {
  const void* buffer = nullptr;
  const std::size_t* bytes = nullptr;
  constexpr std::size_t most_pairs = 2;
  for (std::size_t i = 0; i < most_pairs && extra[2 * i] != HIP_LAUNCH_PARAM_END; ++i) {
    if (extra[2 * i] == HIP_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[2 * i + 1];
    if (extra[2 * i] == HIP_LAUNCH_PARAM_BUFFER_SIZE) bytes = static_cast<const std::size_t*>(extra[2 * i + 1]);
  }
  if (buffer == nullptr || bytes == nullptr) return {};
  return {static_cast<const std::byte*>(buffer), *bytes};
}

hipError_t lay_out(const LaunchRequest& request, KernelLaunch& launch) {
  const generator::KernelImage& image = *launch.function->image;
  std::vector<std::byte>& segment = launch.segment;
  segment.assign(image.descriptor.kernarg_bytes, std::byte{});
  const std::uint32_t wanted = explicit_bytes(image);
  segment.resize(std::max<std::size_t>(segment.size(), wanted));
  if (request.parameters && request.extra)
    return refuse(hipErrorInvalidValue, "{}: arguments are given twice, in kernelParams and in extra", image.symbol);
  if (wanted > 0 && !request.parameters && !request.extra)
    return refuse(hipErrorInvalidValue, "{} takes {} bytes of arguments, none are given", image.symbol, wanted);
  if (request.extra) {
    const auto [buffer, bytes] = buffer_in(request.extra);
    if (wanted > 0 && !buffer)
      return refuse(hipErrorInvalidValue, "{}: extra has no buffer and size before HIP_LAUNCH_PARAM_END", image.symbol);
    if (bytes < wanted)
      return refuse(hipErrorInvalidValue, "{} takes {} bytes of arguments, extra gives {}", image.symbol, wanted,
                    bytes);
    std::copy_n(buffer, std::min(bytes, segment.size()), segment.begin());
  }
  std::size_t index = 0;
  for (const generator::KernelArgument& argument : image.arguments) {
    if (is_hidden(argument)) {
      runtime::write_hidden_argument(segment, argument, launch.shape);
      continue;
    }
    if (!request.parameters) continue;
    if (request.parameters[index] == nullptr)
      return refuse(hipErrorInvalidValue, "{}: kernelParams[{}] is null", image.symbol, index);
    std::memcpy(segment.data() + argument.offset, request.parameters[index++], argument.size);
  }
  return hipSuccess;
}

hipError_t error_of(emulator::TrapKind kind) {
  if (kind == emulator::TrapKind::memory_out_of_bounds) return hipErrorIllegalAddress;
  if (kind == emulator::TrapKind::too_many_instructions) return hipErrorLaunchTimeOut;
  return hipErrorLaunchFailure;
}

}  // namespace

hipError_t prepare(Runtime& all, const LaunchRequest& request, KernelLaunch& launch) {
  launch.function = all.functions.find(request.function);
  if (!launch.function) return refuse(hipErrorInvalidResourceHandle, "the function of a launch is not one of a module");
  if (const std::string& lack = launch.function->lack; !lack.empty())
    return refuse(hipErrorInvalidDeviceFunction, "{} can not run: {}", launch.function->image->symbol, lack);
  if (const hipError_t error = check_shape(request, *launch.function); error != hipSuccess) return error;
  for (std::size_t axis = 0; axis < 3; ++axis) launch.shape.grid[axis] = static_cast<std::uint32_t>(request.grid[axis]);
  launch.shape.block = request.block;
  launch.shape.dynamic_lds_bytes = static_cast<std::uint32_t>(request.dynamic_lds_bytes);
  return lay_out(request, launch);
}

void run(Runtime& all, const KernelLaunch& launch) {
  const Function& function = *launch.function;
  emulator::GlobalMemory memory;
  const auto held = all.allocations.map(memory);
  function.module->loaded.map(memory);
  emulator::Launch start = runtime::initial_state(function.image->descriptor);
  start.entry = function.code.entry;
  start.code_address = runtime::code_address(function.module->object);
  start.grid = launch.shape.grid;
  start.workgroup_size = launch.shape.block;
  start.lds_bytes += launch.shape.dynamic_lds_bytes;
  start.memory_model = all.settings.memory_model;
  start.unaligned_access = true;  // the HSA's mode
  if (!launch.segment.empty()) start.kernarg_address = memory.place_read_only("kernel arguments", launch.segment);
  const std::vector<std::byte> packet = runtime::dispatch_packet(launch.shape);
  start.dispatch_address = memory.place_read_only("dispatch packet", packet);

  const ThreadBudget::Share share(all.threads, product(launch.shape.grid));
  emulator::Options options;
  options.threads = share.threads();
  const emulator::Result result = emulator::run(function.code.program, start, memory, options);
  if (result.trap)
    all.fail(error_of(result.trap->kind), fmt::format("kernel {}: {}", function.image->symbol, result.trap->message));
}

}  // namespace zyfa::hip_emulated
