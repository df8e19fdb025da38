// Code objects and their kernels.
#include "runtime_loader/hip_emulated/call.h"
#include "runtime_loader/hip_emulated/launches.h"
#include "runtime_loader/kernel.h"

#include <algorithm>
#include <filesystem>

using namespace zyfa::hip_emulated;

namespace {

hipError_t add(Runtime& all, hipModule_t* handle, LoadedModule loaded) {
  if (loaded.error != hipSuccess) return refuse(loaded.error, "{}", loaded.problem);
  for (auto& function : loaded.functions) loaded.module->functions.push_back(all.functions.add(std::move(function)));
  loaded.module->device = current_device();
  *handle = all.modules.add(std::move(loaded.module));
  return hipSuccess;
}

hipError_t load_data(hipModule_t* handle, const void* image) {
  return device_call([&](Runtime& all) {
    if (!handle || !image) return hipErrorInvalidValue;
    return add(all, handle, load_module(image, all.settings));
  });
}

// ROCm up to 6.3 ends the process in hipModuleGetFunction (DynCO::CheckDeviceIdMatch), all follow a null pointer in
// hipFuncGetAttribute.
hipError_t on_its_device(const Module& module, const char* call) {
  if (module.device == current_device()) return hipSuccess;
  return refuse(hipErrorInvalidDevice, "{} of {}, which was loaded on device {}, while device {} is current", call,
                module.name, module.device, current_device());
}

}  // namespace

hipError_t hipModuleLoad(hipModule_t* handle, const char* file) {
  return device_call([&](Runtime& all) {
    if (!handle || !file) return hipErrorInvalidValue;
    if (!std::filesystem::is_regular_file(file)) return refuse(hipErrorFileNotFound, "there is no file {}", file);
    return add(all, handle, load_module(zyfa::runtime::read_file(file), file, all.settings));
  });
}

hipError_t hipModuleLoadData(hipModule_t* handle, const void* image) { return load_data(handle, image); }

// The options are those of a compiler, which a code object has behind it.
hipError_t hipModuleLoadDataEx(hipModule_t* handle, const void* image, unsigned, hipJitOption*, void**) {
  return load_data(handle, image);
}

// Launches that were made keep what they need.
hipError_t hipModuleUnload(hipModule_t handle) {
  return call([&](Runtime& all) {
    const std::shared_ptr<Module> module = all.modules.remove(handle);
    if (!module) return hipErrorInvalidResourceHandle;
    for (const hipFunction_t function : module->functions) all.functions.remove(function);
    return hipSuccess;
  });
}

hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t handle, const char* name) {
  return device_call([&](Runtime& all) {
    if (!function || !name || *name == '\0') return hipErrorInvalidValue;
    const std::shared_ptr<Module> module = all.modules.find(handle);
    if (!module) return hipErrorInvalidResourceHandle;
    if (const hipError_t error = on_its_device(*module, "hipModuleGetFunction"); error != hipSuccess) return error;
    const auto& kernels = module->object.kernels;
    const auto found = std::ranges::find(kernels, name, &zyfa::generator::KernelImage::symbol);
    if (found == kernels.end()) return refuse(hipErrorNotFound, "{} has no kernel {}", module->name, name);
    *function = module->functions[static_cast<std::size_t>(found - kernels.begin())];
    return hipSuccess;
  });
}

hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute attribute, hipFunction_t handle) {
  return device_call([&](Runtime& all) {
    if (!value) return hipErrorInvalidValue;
    const std::shared_ptr<const Function> function = all.functions.find(handle);
    if (!function) return hipErrorInvalidDeviceFunction;
    if (const hipError_t error = on_its_device(*function->module, "hipFuncGetAttribute"); error != hipSuccess)
      return error;
    const zyfa::generator::KernelImage& image = *function->image;
    constexpr int most_items = 1024;
    const int lds = static_cast<int>(image.descriptor.group_segment_bytes);
    switch (attribute) {
      case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = lds;
        return hipSuccess;
      case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = static_cast<int>(image.descriptor.private_segment_bytes);
        return hipSuccess;
      case HIP_FUNC_ATTRIBUTE_NUM_REGS:
        *value = static_cast<int>(image.vgpr_count);
        return hipSuccess;
      case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = image.max_workgroup_size > 0 ? static_cast<int>(image.max_workgroup_size) : most_items;
        return hipSuccess;
      case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = zyfa::isa::Machine{}.lds_bytes - lds;
        return hipSuccess;
      case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
      case HIP_FUNC_ATTRIBUTE_BINARY_VERSION:
      case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA:
      case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = 0;
        return hipSuccess;
      default:
        return hipErrorInvalidValue;
    }
  });
}
