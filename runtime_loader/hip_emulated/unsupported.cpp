// What libamdhip64 exports and this library has not: each name exists, says so on stderr when it is called, and returns
// an error, so that a program that only links to it runs and one that needs it is told.
#include "runtime_loader/hip_emulated/call.h"

using namespace zyfa::hip_emulated;

namespace {

hipError_t lacking(const char* name) {
  report(std::string(name) + " is not supported");
  return last_error() = hipErrorNotSupported;
}

}  // namespace

// The arguments are the caller's to clean up (System V ABI), so functions without any stand for all.
// clang-format off
#define EXPORTED(result, name) \
  extern "C" __attribute__((visibility("default"))) result zyfa_lacking_##name() __asm__(#name); \
  result zyfa_lacking_##name()
#define PRESENT(name, node)
#define LACKING(name, node) EXPORTED(hipError_t, name) { return lacking(#name); }
#define LACKING_POINTER(name, node) \
  EXPORTED(const void*, name) { return lacking(#name) == hipSuccess ? #name : nullptr; }
// clang-format on
#include "runtime_loader/hip_emulated/names.def"
#undef EXPORTED
#undef PRESENT
#undef LACKING
#undef LACKING_POINTER
