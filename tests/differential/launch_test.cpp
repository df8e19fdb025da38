// Launch descriptions in JSON, with kernels that clang compiles while the test runs.
#include "isa/error.h"
#include "isa/pipes/compute_unit.h"
#include "runtime_loader/launch_file.h"
#include "runtime_loader/tensor_file.h"
#include "tests/support/catch.h"
#include "tests/support/clang_kernel.h"
#include "tests/support/process.h"

#include <cstring>
#include <fstream>

using namespace zyfa;
using namespace zyfa::runtime;
using namespace zyfa::tests;

namespace {

// The kernels of a C file and whatever launch a test writes beside them.
class Launches {
 public:
  explicit Launches(const std::string& file = "basics.c") {
    const std::vector<std::byte> object = compile_kernels(file);
    std::ofstream(path("k.co"), std::ios::binary)
        .write(reinterpret_cast<const char*>(object.data()), static_cast<std::streamsize>(object.size()));
  }
  std::string path(const std::string& name) const { return directory_.file(name); }
  LaunchedKernel load(const std::string& json) const {
    std::ofstream(path("l.json")) << json;
    return load_launched_kernel(path("k.co"), path("l.json"));
  }
  std::string refusal(const std::string& json) const {
    try {
      load(json);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

 private:
  TemporaryDirectory directory_;
};

const Runner on_emulator = [](const auto& program, const auto& launch, const auto& memory) {
  return emulator::run(program, launch, memory);
};
// The first workgroup.
const Runner on_pipes = [](const auto& program, const auto& launch, const auto& memory) {
  emulator::Result result;
  result.trap = pipes::simulate(program, launch, memory, 0).trap;
  return result;
};

// What stands behind the pointer at this offset of the arguments after a run.
template <class T>
std::vector<T> run(const LaunchedKernel& kernel, std::size_t pointer_offset, std::size_t count,
                   const Runner& runner = on_emulator) {
  std::vector<T> contents(count);
  const emulator::Result result = run_launch(
      kernel, [&](const isa::Program& program, const emulator::Launch& launch, const emulator::GlobalMemory& memory) {
        emulator::Result ran = runner(program, launch, memory);
        std::uint64_t address = 0;
        std::memcpy(&address, memory.find(launch.kernarg_address + pointer_offset, sizeof address), sizeof address);
        std::memcpy(contents.data(), memory.find(address, count * sizeof(T)), count * sizeof(T));
        return ran;
      });
  INFO((result.trap ? result.trap->message : ""));
  REQUIRE_FALSE(result.trap);
  return contents;
}

constexpr const char* sum_of_row = R"({
  "symbol": "sum_of_row", "grid": 2, "block": [256],
  "kernargs": [{"buffer": "out", "bytes": 2048}, {"buffer": "in", "bytes": 8192, "fill": "random", "seed": 5},
               {"type": "u32", "value": 4}]})";

}  // namespace

TEST_CASE("A launch described in JSON is the launch that runs", "[quick][launch]") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const Launches launches;
  const LaunchedKernel kernel = launches.load(sum_of_row);
  CHECK(kernel.workgroups() == 2);
  CHECK(kernel.buffer_bytes() == 2048 + 8192);
  const std::vector<std::uint32_t> sums = run<std::uint32_t>(kernel, 0, 512), in = run<std::uint32_t>(kernel, 8, 2048);
  for (std::size_t i = 0; i < sums.size(); ++i)
    REQUIRE(sums[i] == in[4 * i] + in[4 * i + 1] + in[4 * i + 2] + in[4 * i + 3]);
  CHECK(in[0] != in[1]);

  // Tensors from files, a pointer into a buffer that is there already, arguments by offset and as bytes.
  std::vector<float> numbers(512);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  save_npy(launches.path("x.npy"), tensor_of(numbers, {512}));
  const LaunchedKernel scaled = launches.load(R"({
    "symbol": "scale_and_add", "grid": [1], "block": 256, "memory_model": "architecture",
    "kernargs": [{"offset": 24, "raw": "0000 2040"}, {"offset": 8, "buffer": "x", "npy": "x.npy"},
                 {"offset": 16, "buffer": "x", "plus": 1024}, {"offset": 0, "buffer": "out", "bytes": 1024}]})");
  const std::vector<float> out = run<float>(scaled, 0, 256);
  for (std::size_t i = 0; i < out.size(); ++i) REQUIRE(out[i] == 2.5f * numbers[i] + numbers[256 + i]);

  // The pipe model runs the same.
  std::optional<pipes::Result> result;
  run_launch(kernel, [&](const auto& program, const auto& launch, const auto& memory) {
    result = pipes::simulate(program, launch, memory, 1);
    return emulator::Result{};
  });
  REQUIRE(result);
  CHECK_FALSE(result->trap);
  CHECK(result->counts.vmem_bytes == 4 * 64 * (4 * 4 + 4));
}

TEST_CASE("A launched kernel finds its constants and its functions", "[quick][launch]") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const Launches launches("calls.c");
  constexpr std::size_t items = 256;
  const auto load = [&](const std::string& symbol, const std::string& more) {
    return launches.load(R"({"symbol": ")" + symbol + R"(", "grid": 1, "block": 256, "kernargs": [
      {"buffer": "out", "bytes": 1024}, {"buffer": "in", "bytes": 1024, "fill": "random"})" +
                         more + "]}");
  };
  const LaunchedKernel constants = load("look_up", ""), functions = load("call_by_pointer", R"(,
    {"type": "u32", "value": 1})");
  constexpr std::array<std::uint32_t, 16> digits = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};  // of calls.c
  for (const Runner& runner : {on_emulator, on_pipes}) {
    const auto in = run<std::uint32_t>(constants, 8, items, runner);
    const auto found = run<std::uint32_t>(constants, 0, items, runner);
    const auto flipped = run<std::uint32_t>(functions, 0, items, runner);
    for (std::size_t i = 0; i < items; ++i) {
      REQUIRE(found[i] == digits[in[i] & 15]);
      REQUIRE(flipped[i] == (in[i] ^ 0x55));
    }
  }
}

TEST_CASE("A launch that is wrong is refused by name", "[quick][launch]") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const Launches launches;
  const auto with = [](const std::string& kernargs) {
    return R"({"symbol": "sum_of_row", "grid": 1, "block": 64, "kernargs": [)" + kernargs + "]}";
  };
  const std::string buffers = R"({"buffer": "out", "bytes": 256}, {"buffer": "in", "bytes": 256})";
  REQUIRE(launches.refusal(with(buffers + R"(, {"type": "u32", "value": 1})")) == "accepted");
  struct Refused {
    std::string json;
    const char* message;
  };
  for (const Refused& refused :
       {Refused{"[]", "is not a JSON object"},
        Refused{"{", "is not JSON"},
        Refused{R"({"block": 64})", "'grid' is missing"},
        Refused{R"({"grid": 1})", "'block' is missing"},
        Refused{R"({"grid": 1, "block": 64, "blok": 1})", "unknown key 'blok'; accepted are symbol, grid"},
        Refused{R"({"grid": 0, "block": 64})", "grid is 0, not an integer from 1"},
        Refused{R"({"grid": [1, 1, 1, 1], "block": 64})", "grid is not one to three integers"},
        Refused{R"({"grid": 1, "block": [64, 32]})", "block has 2048 work-items"},
        Refused{R"({"grid": 1, "block": 64, "memory_model": "x"})", "accepted are hardware, architecture"},
        Refused{R"({"grid": 1, "block": 64, "dynamic_lds_bytes": -1})", "dynamic_lds_bytes is -1"},
        Refused{R"({"symbol": "reverse", "grid": 1, "block": 64, "dynamic_lds_bytes": 163840})",
                "asks for 164864 bytes of LDS with the kernel's own 1024"},
        Refused{R"({"symbol": "sum_of_row", "grid": 1, "block": 512})", "sum_of_row takes at most 256"},
        Refused{R"({"grid": 1, "block": 64})", "sum_of_row"},  // which kernels there are
        Refused{R"({"symbol": "none", "grid": 1, "block": 64})", "none"},
        Refused{R"({"grid": 1, "block": 64, "kernargs": 1})", "kernargs is not a list"},
        Refused{with("1"), "kernargs[0] is not a JSON object"},
        Refused{with(R"({"typ": "u32"})"), "kernargs[0] has the unknown key 'typ'"},
        Refused{with(R"({"value": 1})"), "needs one of 'type' (a number), 'buffer' (a pointer) and 'raw'"},
        Refused{with(R"({"type": "u9", "value": 1})"), "the type 'u9'; accepted are i8, u8"},
        Refused{with(R"({"type": "u32"})"), "has a type but no value"},
        Refused{with(R"({"type": "u8", "value": 256})"), "kernargs[0].value is 256, not an integer from 0 to 255"},
        Refused{with(R"({"type": "i8", "value": -129})"), "is -129, not an integer from -128 to 127"},
        Refused{with(R"({"type": "u32", "value": 1.5})"), "is 1.5, not an integer"},
        Refused{with(R"({"type": "f32", "value": "1"})"), "not a number"},
        Refused{with(R"({"buffer": "a"})"), "needs one of 'bytes', 'npy' and 'file'"},
        Refused{with(R"({"buffer": "a", "bytes": 0})"), "kernargs[0].bytes is 0"},
        Refused{with(R"({"buffer": "a", "bytes": 8, "fill": "nan"})"), "the fill 'nan'; accepted are zeros, random"},
        Refused{with(R"({"buffer": "a", "bytes": 8}, {"buffer": "a", "bytes": 8})"), "says again what is in"},
        Refused{with(R"({"buffer": "a", "bytes": 8, "plus": 9})"), "plus is 9"},
        Refused{with(R"({"buffer": "a", "npy": "none.npy"})"), "none.npy"},
        Refused{with(R"({"buffer": "a", "file": "none.bin", "fill": "zeros"})"), "a fill for what comes from a file"},
        Refused{with(R"({"raw": "00"})"), "need an 'offset'"},
        Refused{with(R"({"raw": "0g", "offset": 0})"), "not pairs of hexadecimal digits"},
        Refused{with(buffers + R"(, {"raw": "00", "offset": 15})"), "kernargs[2] overlaps kernargs[1] at byte 15"},
        Refused{with(buffers + R"(, {"type": "u32", "value": 1}, {"type": "u64", "value": 1, "offset": 280})"),
                "kernel sum_of_row takes"},
        Refused{with(buffers), "does not give sum_of_row's argument of 4 bytes at offset 16 (by_value)"}}) {
    CAPTURE(refused.json);
    const std::string refusal = launches.refusal(refused.json);
    CAPTURE(refusal);
    CHECK(refusal.find(refused.message) != std::string::npos);
    CHECK(refusal.find('\n') == std::string::npos);
  }
}
