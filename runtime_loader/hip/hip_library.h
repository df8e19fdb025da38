// libamdhip64, opened at run time: one program works with and without ROCm. Included by the .cpp files of this folder
// alone.
#pragma once

#include "runtime_loader/library/failure.h"

#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace zyfa::runtime {

class HipLibrary {
 public:
  // The library that the process has loaded already (PyTorch brings its own), else the newest that the loader finds;
  // where ZYFA_HIP_LIBRARY is set, that file. It stays loaded: it does not survive being closed.
  // Throws Failure ZYFA_NO_RUNTIME that says what was tried.
  static std::shared_ptr<const HipLibrary> open();

#define HIP_FUNCTION(name) decltype(&::name) name = nullptr;
#define HIP_OVERLOADED(name, type) std::type_identity_t<type> name = nullptr;
#include "runtime_loader/hip/hip_functions.def"
#undef HIP_FUNCTION
#undef HIP_OVERLOADED

  std::string file;  // as it was opened: "libamdhip64.so.7"

  // Throws Failure unless the call succeeded: ZYFA_OUT_OF_MEMORY, ZYFA_NO_DEVICE, ZYFA_BAD_CODE_OBJECT where HIP's
  // error says so, else ZYFA_HIP_ERROR. `call` is what was tried: "hipModuleLoadData", `subject` on what: "k.co". HIP's
  // last error is taken back: the program's next look at it is at its own calls.
  void check(hipError_t error, std::string_view call, std::string_view subject = {}) const {
    if (error != hipSuccess) fail(error, call, subject);
  }

  // Whether a call succeeded that may fail.
  bool succeeded(hipError_t error) const {
    if (error != hipSuccess) static_cast<void>(hipGetLastError());
    return error == hipSuccess;
  }

  // Name and architecture of a device, "gfx950:sramecc+:xnack-".
  struct Names {
    std::string device, arch;
  };
  Names names(int ordinal) const;  // Throws Failure ZYFA_NO_RUNTIME before ROCm 6, which no gfx950 works with

 private:
  [[noreturn]] void fail(hipError_t error, std::string_view call, std::string_view subject) const;

  void* properties_r0600_ = nullptr;  // hipGetDevicePropertiesR0600, which ROCm 5 lacks
};

}  // namespace zyfa::runtime
