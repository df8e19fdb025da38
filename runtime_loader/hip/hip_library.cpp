#include "runtime_loader/hip/hip_library.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace zyfa::runtime {
namespace {

// Sonames of ROCm 7, 6 and 5; the last is what a development package or PyTorch has.
constexpr std::array candidates = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"};

struct Opened {
  void* handle = nullptr;
  std::string file;
};

// dlerror of a library that is not there says no more than that; of one that is there, what is wrong with it.
std::string reason() {
  const char* text = dlerror();
  return text ? text : "unknown reason";
}

Opened open_library() {
  if (const char* file = std::getenv("ZYFA_HIP_LIBRARY"); file && *file != '\0') {
    if (void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL)) return {handle, file};
    throw Failure(ZYFA_NO_RUNTIME, "cannot open ZYFA_HIP_LIBRARY={}: {}", file, reason());
  }
  for (const char* file : candidates)
    if (void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return {handle, file};
  std::string reasons;
  for (const char* file : candidates) {
    if (void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL)) return {handle, file};
    reasons += (reasons.empty() ? "" : "; ") + reason();
  }
  throw Failure(ZYFA_NO_RUNTIME,
                "cannot open HIP's runtime: {}; install ROCm, or set LD_LIBRARY_PATH or ZYFA_HIP_LIBRARY", reasons);
}

template <class Function>
void find(const Opened& opened, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(opened.handle, name));
  if (!function) throw Failure(ZYFA_NO_RUNTIME, "{} has no function {}; it is no HIP runtime", opened.file, name);
}

zyfa_status status_of(hipError_t error) {
  switch (error) {
    case hipErrorOutOfMemory:
      return ZYFA_OUT_OF_MEMORY;
    case hipErrorNoDevice:
    case hipErrorInvalidDevice:
      return ZYFA_NO_DEVICE;
    case hipErrorInvalidImage:
    case hipErrorInvalidKernelFile:
    case hipErrorNoBinaryForGpu:
      return ZYFA_BAD_CODE_OBJECT;
    default:
      return ZYFA_HIP_ERROR;
  }
}

}  // namespace

std::shared_ptr<const HipLibrary> HipLibrary::open() {
  const Opened opened = open_library();
  const auto library = std::make_shared<HipLibrary>();
  library->file = opened.file;
#define HIP_FUNCTION(name) find(opened, #name, library->name);
#define HIP_OVERLOADED(name, type) find(opened, #name, library->name);
#include "runtime_loader/hip/hip_functions.def"
#undef HIP_FUNCTION
#undef HIP_OVERLOADED
  library->properties_r0600_ = dlsym(opened.handle, "hipGetDevicePropertiesR0600");
  return library;
}

void HipLibrary::fail(hipError_t error, std::string_view call, std::string_view subject) const {
  static_cast<void>(hipGetLastError());
  throw Failure(status_of(error), "{}{}{} failed: {} ({})", call, subject.empty() ? "" : " of ", subject,
                hipGetErrorString(error), hipGetErrorName(error));
}

HipLibrary::Names HipLibrary::names(int ordinal) const {
  if (!properties_r0600_)
    throw Failure(ZYFA_NO_RUNTIME, "{} is older than ROCm 6; a gfx950 needs ROCm 7, or 6.4 at least", file);
  // hipDeviceProp_tR0600 of ROCm 6 and 7, which the headers of ROCm 5 do not have: 1,472 bytes, `name` at 0 and
  // `gcnArchName` at 1,160, 256 bytes each (hip_runtime_api.h; tinygrad's bindings list all offsets). Room to grow.
  alignas(16) std::array<char, 16384> properties{};
  const auto get = reinterpret_cast<hipError_t (*)(void*, int)>(properties_r0600_);
  check(get(properties.data(), ordinal), "hipGetDevicePropertiesR0600");
  constexpr std::size_t arch_offset = 1160, length = 256;
  const auto text = [&](std::size_t offset) {
    return std::string(&properties[offset], strnlen(&properties[offset], length));
  };
  return {text(0), text(arch_offset)};
}

}  // namespace zyfa::runtime
