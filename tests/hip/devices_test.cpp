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

extern "C" hipError_t hipGetDevicePropertiesR0600(void* properties, int device);

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
  char newer[1472], name[64], bus[16];
  HIP(hipGetDevicePropertiesR0600(newer, 0));
  CHECK(std::string(newer + 1160) == properties.gcnArchName);
  CHECK(std::string(newer) == properties.name);
  std::size_t memory = 0;
  std::memcpy(&memory, newer + 288, sizeof memory);
  CHECK(memory == properties.totalGlobalMem);
  std::memcpy(&value, newer + 388, sizeof value);
  CHECK(value == 256);
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
