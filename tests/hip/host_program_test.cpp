// Programs that are built for HIP and linked with the real library, run with the stand-in in its place.
#include "generator/generate.h"
#include "runtime_loader/kernel.h"
#include "tests/support/catch.h"
#include "tests/support/clang_kernel.h"
#include "tests/support/process.h"

#include <csignal>
#include <filesystem>

using namespace zyfa;
using namespace zyfa::tests;

namespace {

// A program with the stand-in in the library path and these variables set.
ProcessResult run_emulated(std::vector<std::string> command, const std::vector<std::string>& variables = {},
                           const std::string& libraries = ZYFA_BINARY_DIR "/hip_emulated") {
  std::vector<std::string> all = {"env", "LD_LIBRARY_PATH=" + libraries};
  all.insert(all.end(), variables.begin(), variables.end());
  all.insert(all.end(), command.begin(), command.end());
  return run_process(all);
}

ProcessResult faults(const std::vector<std::string>& arguments, const std::vector<std::string>& variables = {}) {
  std::vector<std::string> command = {ZYFA_BINARY_DIR "/tests/hip_faults"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_emulated(command, variables);
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string code_object(const TemporaryDirectory& directory, const std::string& file) {
  generator::write_file(directory.file("k.co"), compile_kernels(file));
  return directory.file("k.co");
}

}  // namespace

TEST_CASE("the example computes attention on the stand-in, and says what is wrong where there is no device") {
  const TemporaryDirectory directory;
  const std::string kernel =
      generator::write_kernel(generator::generate({.causal = true}, isa::Machine{}), directory.path()).code_object;
  const std::vector<std::string> command = {ZYFA_BINARY_DIR "/tests/hip_host", kernel};
  for (const char* variable : {"ZYFA_HIP_EMULATED_MEMORY_MODEL=hardware", "ZYFA_HIP_EMULATED_MEMORY_MODEL=architecture",
                               "ZYFA_HIP_EMULATED_THREADS=1"}) {
    const ProcessResult right = run_emulated(command, {variable});
    CAPTURE(right.out, right.err);
    CHECK(right.exit_code == 0);
    CHECK(right.out.starts_with("row 217: relative error 0.0"));
    CHECK(right.err.empty());  // the loader has nothing to say about versions either
  }
  struct Wrong {
    std::vector<std::string> variables;
    std::vector<const char*> words;
  };
  for (const Wrong& wrong :
       {Wrong{{"ZYFA_HIP_EMULATED_ARCH=gfx942:sramecc+:xnack-"},
              {"is for gfx950, the device is gfx942:sramecc+:xnack-", "hipModuleLoad", "hipErrorNoBinaryForGpu"}},
        Wrong{{"ZYFA_HIP_EMULATED_DEVICES=0"}, {"hipGetDeviceCount(&devices): no ROCm-capable device is detected"}},
        Wrong{{"ZYFA_HIP_EMULATED_DEVICES=many"}, {"ZYFA_HIP_EMULATED_DEVICES is 'many', not a number from 0 to 16"}},
        Wrong{{"ZYFA_HIP_EMULATED_ARCH=9"}, {"ZYFA_HIP_EMULATED_ARCH is '9', not an architecture"}},
        Wrong{{"ZYFA_HIP_EMULATED_THREADS=0"}, {"ZYFA_HIP_EMULATED_THREADS is '0'"}},
        Wrong{{"ZYFA_HIP_EMULATED_MEMORY_MODEL=x"}, {"accepted are hardware, architecture"}}}) {
    const ProcessResult result = run_emulated(command, wrong.variables);
    CAPTURE(result.out, result.err);
    CHECK(result.exit_code == 1);
    for (const char* word : wrong.words) CHECK(holds(result.err, word));
  }
  if (std::filesystem::exists("/dev/kfd")) return;
  const ProcessResult real = run_emulated(command, {}, "/nowhere");
  CAPTURE(real.out, real.err);
  CHECK(real.exit_code == 1);
  CHECK(holds(real.err, "hipGetDeviceCount(&devices): "));
  CHECK(holds(real.err, "hipErrorNoDevice"));
}

TEST_CASE("programs see as many devices as the environment says, and their own HIP version") {
  const ProcessResult two = faults({"devices"}, {"ZYFA_HIP_EMULATED_DEVICES=2"});
  CAPTURE(two.out, two.err);
  CHECK(holds(two.out, "2 devices, version as built, gfx950:sramecc+:xnack-"));
  CHECK(holds(two.out, "hipSetDevice: hipSuccess\nhipMalloc: hipSuccess"));
  const ProcessResult one = faults({"devices"});
  CHECK(holds(one.out, "1 devices"));
  CHECK(holds(one.out, "hipSetDevice: hipErrorInvalidDevice\nhipMalloc: hipSuccess"));
  const ProcessResult none = faults({"devices"}, {"ZYFA_HIP_EMULATED_DEVICES=0"});
  CHECK(holds(none.out, "hipGetDeviceCount: hipErrorNoDevice"));
  CHECK(holds(none.out, "hipMalloc: hipErrorNoDevice"));
}

TEST_CASE("what belongs to a device is used there and refused on another") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const TemporaryDirectory directory;
  const ProcessResult result =
      faults({"two_devices", code_object(directory, "basics.c")}, {"ZYFA_HIP_EMULATED_DEVICES=2"});
  CAPTURE(result.out, result.err);
  const std::size_t mixed = result.out.find("timed\nmixed\n");
  REQUIRE(mixed != std::string::npos);
  CHECK_FALSE(holds(result.out.substr(0, mixed), "hipError"));
  CHECK_FALSE(holds(result.out, "not timed"));
  CHECK(
      result.out.ends_with("event of 0 on null stream of 1: hipErrorInvalidHandle\n"
                           "event of 0 on stream of 1: hipErrorInvalidHandle\n"
                           "event of 1 on stream of 0: hipErrorInvalidHandle\n"
                           "event of 0 on stream of 0: hipSuccess\nits end: hipSuccess\n"
                           "elapsed: hipErrorInvalidHandle\n"
                           "launch on stream of 0: hipErrorInvalidDevice\n"
                           "launch timed by events of 0: hipErrorInvalidHandle\n"
                           "wait of 0 for 1: hipSuccess\n"
                           "hipSetDevice: hipSuccess\n"
                           "launch on null stream of 0: hipErrorInvalidDevice\n"
                           "function: hipErrorInvalidDevice\nattribute: hipErrorInvalidDevice\n"
                           "launch on stream of 1: hipSuccess\nits end: hipSuccess\n"));
  for (const char* line : {"an event of device 0 is recorded on a stream of device 1",
                           "the time between an event of device 0 and one of device 1",
                           "sum_of_row was loaded on device 1 and is launched on a stream of device 0",
                           "a launch on device 1 is to be timed by an event of device 0"})
    CHECK(holds(result.err, line));
}

TEST_CASE("a kernel that reads outside of allocations is told at the next synchronisation, and the error stays") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const TemporaryDirectory directory;
  const ProcessResult result = faults({"illegal_address", code_object(directory, "basics.c")});
  CAPTURE(result.out, result.err);
  CHECK(holds(result.out,
              "good launch: hipSuccess\nhipDeviceSynchronize: hipSuccess\nbad launch: hipSuccess\n"
              "hipDeviceSynchronize: hipErrorIllegalAddress\nhipMalloc: hipErrorIllegalAddress\n"
              "launch: hipErrorIllegalAddress\nhipGetLastError: hipErrorIllegalAddress\n"
              "hipDeviceSynchronize: hipErrorIllegalAddress\n"));
  CHECK(holds(result.err, "hipErrorIllegalAddress: kernel sum_of_row: "));
  CHECK(holds(result.err, "past the end of hipMalloc number 1 "));
}

TEST_CASE("a kernel that traps is a launch failure") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const TemporaryDirectory directory;
  const ProcessResult result = faults({"trap", code_object(directory, "launches.c")});
  CAPTURE(result.out, result.err);
  CHECK(holds(result.out, "launch: hipSuccess\nhipDeviceSynchronize: hipErrorLaunchFailure\n"));
  CHECK(holds(result.err, "kernel stop: "));
}

TEST_CASE("the host can not follow a device pointer; work under way at the end of a program is done") {
  CHECK(faults({"dereference"}).exit_code == 128 + SIGSEGV);
  const ProcessResult early = faults({"exit_early"});
  CHECK(early.exit_code == 0);
  CHECK(holds(early.out, "callback 1"));
}
