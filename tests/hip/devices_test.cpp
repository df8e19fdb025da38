// What the emulated MI355X says of itself, and every name that the library has.
#include "isa/machine.h"
#include "tests/hip/hip_support.h"
#include "tests/support/process.h"

#include <dlfcn.h>
#include <cstring>
#include <set>
#include <sstream>

using namespace zyfa;
using namespace zyfa::tests;

// The struct of HIP 5, and that of 6 and 7, whichever the header has.
extern "C" hipError_t hip_5_properties(void* properties, int device) __asm__("hipGetDeviceProperties");
extern "C" hipError_t r0600_properties(void* properties, int device) __asm__("hipGetDevicePropertiesR0600");

namespace {

int attribute(int which) {
  int value = -1;
  HIP(hipDeviceGetAttribute(&value, static_cast<hipDeviceAttribute_t>(which), 0));
  return value;
}

struct ExportedName {
  const char *name, *node;
  bool present;
};
constexpr ExportedName exported_names[] = {
#define PRESENT(name, node) {#name, #node, true},
#define LACKING(name, node) {#name, #node, false},
#define LACKING_POINTER(name, node)
#include "runtime_loader/hip_emulated/names.def"
#undef PRESENT
#undef LACKING
#undef LACKING_POINTER
};

// "hip_4.2 hipMalloc" of each dynamic symbol that a library defines.
std::set<std::string> versioned_names(const std::string& library) {
  const ProcessResult listed = run_process({"objdump", "-T", library});
  REQUIRE(listed.exit_code == 0);
  std::set<std::string> names;
  std::istringstream lines(listed.out);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> all;
    for (std::string word; words >> word;) all.push_back(word);
    if (all.size() < 3 || line.find("*UND*") != std::string::npos || line.find(".text") == std::string::npos) continue;
    names.insert(all[all.size() - 2] + " " + all.back());
  }
  return names;
}

}  // namespace

TEST_CASE("the emulated device presents an MI355X, by attributes and by both layouts of its properties") {
  HIP(hipInit(0));
  HIP_FAILS(hipInit(1), hipErrorInvalidValue);
  int count = 0, device = -1;
  HIP(hipGetDeviceCount(&count));
  HIP(hipGetDevice(&device));
  CHECK(count == 1);
  CHECK(device == 0);
  const isa::Machine machine;
  CHECK(attribute(hipDeviceAttributeMultiprocessorCount) == 256);
  CHECK(attribute(hipDeviceAttributeMultiprocessorCount) == machine.compute_units);
  CHECK(attribute(hipDeviceAttributeWarpSize) == 64);
  CHECK(attribute(hipDeviceAttributeMaxSharedMemoryPerBlock) == 160 * 1024);
  CHECK(attribute(10018) == 8);  // hipDeviceAttributeNumberOfXccs
  CHECK(attribute(hipDeviceAttributeCooperativeLaunch) == 0);
  int value = 0;
  HIP_FAILS(hipDeviceGetAttribute(&value, static_cast<hipDeviceAttribute_t>(5000), 0), hipErrorInvalidValue);

  hipDeviceProp_t properties;
  HIP(hipGetDeviceProperties(&properties, 0));
  CHECK(std::string(properties.gcnArchName) == "gfx950:sramecc+:xnack-");
  CHECK(properties.multiProcessorCount == 256);
  CHECK(properties.major == 9);
  CHECK(properties.minor == 5);
  char name[64], bus[16];
  struct Layout {
    hipError_t (*get)(void*, int);
    std::size_t bytes, arch_name, memory, compute_units, lds, managed;
  };
  for (const Layout& layout : {Layout{hip_5_properties, 792, 396, 256, 336, 264, 772},
                               Layout{r0600_properties, 1472, 1160, 288, 388, 296, 652}}) {
    CAPTURE(layout.bytes);
    std::vector<char> bytes(layout.bytes + 1, 'x');
    HIP(layout.get(bytes.data(), 0));
    CHECK(bytes.back() == 'x');
    CHECK(bytes[layout.bytes - 1] != 'x');
    const auto at = [&](std::size_t offset, auto value) {
      std::memcpy(&value, &bytes[offset], sizeof value);
      return value;
    };
    CHECK(std::string(&bytes[0]) == properties.name);
    CHECK(std::string(&bytes[layout.arch_name]) == properties.gcnArchName);
    CHECK(at(layout.memory, std::size_t{}) == properties.totalGlobalMem);
    CHECK(at(layout.lds, std::size_t{}) == 160 * 1024);
    CHECK(at(layout.compute_units, 0) == 256);
    CHECK(at(layout.managed, 0) == 1);
    HIP_FAILS(layout.get(nullptr, 0), hipErrorInvalidValue);
    HIP_FAILS(layout.get(bytes.data(), 1), hipErrorInvalidDevice);
  }
  HIP(hipDeviceGetName(name, sizeof name, 0));
  CHECK(std::string(name) == properties.name);
  HIP(hipDeviceGetPCIBusId(bus, sizeof bus, 0));
  HIP(hipDeviceGetByPCIBusId(&device, bus));
  CHECK(device == 0);
  HIP(hipRuntimeGetVersion(&value));
  CHECK(value == 70000000);  // by its own name it is the newest that it knows

  HIP_FAILS(hipSetDevice(1), hipErrorInvalidDevice);
  HIP_FAILS(hipGetDeviceProperties(&properties, -1), hipErrorInvalidDevice);
  HIP_FAILS(hipGetDeviceCount(nullptr), hipErrorInvalidValue);
}

TEST_CASE("errors have names, and the last one stays with its thread until it is asked for") {
  CHECK(std::string(hipGetErrorString(hipErrorNoBinaryForGpu)) ==
        "no kernel image is available for execution on the device");
  CHECK(std::string(hipGetErrorName(static_cast<hipError_t>(12345))) == "hipErrorUnknown");
  HIP_FAILS(hipSetDevice(9), hipErrorInvalidDevice);
  std::async(std::launch::async, [] { HIP_FAILS(hipGetLastError(), hipSuccess); }).get();
  HIP_FAILS(hipPeekAtLastError(), hipErrorInvalidDevice);
  HIP_FAILS(hipGetLastError(), hipErrorInvalidDevice);
  HIP_FAILS(hipGetLastError(), hipSuccess);
}

TEST_CASE("every name of the table is there, and what is lacking says so") {
  int lacking = 0;
  for (const ExportedName& row : exported_names) {
    CAPTURE(row.name);
    void* const symbol = dlvsym(RTLD_DEFAULT, row.name, row.node);
    REQUIRE(symbol);
    if (row.present) continue;
    ++lacking;
    CHECK(reinterpret_cast<hipError_t (*)()>(symbol)() == hipErrorNotSupported);
    HIP_FAILS(hipGetLastError(), hipErrorNotSupported);
  }
  CHECK(lacking > 300);
  CHECK(dlvsym(RTLD_DEFAULT, "hipMalloc", "hip_4.3") == nullptr);
  CHECK(dlsym(RTLD_DEFAULT, "hipNoSuchCall") == nullptr);
}

TEST_CASE("what Debian's libamdhip64 exports is exported, under the same versions and nothing beside it") {
  if (HIP_VERSION_MAJOR != 5) {
    WARN("the HIP here is not Debian's 5.2");
    return;
  }
  const std::set<std::string> real = versioned_names(ZYFA_LIBAMDHIP64);
  const std::set<std::string> emulated = versioned_names(ZYFA_BINARY_DIR "/hip_emulated/libamdhip64.so.5");
  CHECK(real.size() > 400);
  for (const std::string& name : real) {
    CAPTURE(name);
    CHECK(emulated.contains(name));
  }
  for (const std::string& name : emulated) {
    CAPTURE(name);
    CHECK(name.starts_with("hip_"));
  }
}
