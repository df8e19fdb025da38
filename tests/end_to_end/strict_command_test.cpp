// zyfa-run --strict and --shuffle as a user runs them, on a kernel that is right and on one without its first wait.
#include "generator/generate.h"
#include "generator/sha256.h"
#include "isa/error.h"
#include "runtime_loader/kernel.h"
#include "tests/support/catch.h"
#include "tests/support/process.h"

#include <nlohmann/json.hpp>

#include <cstring>
#include <fstream>

using namespace zyfa;

namespace {

ProcessResult program(const std::string& name, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), std::string(ZYFA_BINARY_DIR) + "/" + name);
  return run_process(arguments);
}

// Puts s_nop 0 where the code object first waits for scalar loads, and the manifest right.
void break_kernel(const std::string& code_object, const std::string& manifest) {
  constexpr std::uint32_t wait_for_scalars = 0xbf8cc07f, nop = 0xbf800000;
  std::vector<std::byte> bytes = runtime::read_file(code_object);
  bool found = false;
  for (std::size_t at = 0; at + 4 <= bytes.size() && !found; at += 4) {
    found = std::memcmp(&bytes[at], &wait_for_scalars, 4) == 0;
    if (found) std::memcpy(&bytes[at], &nop, 4);
  }
  REQUIRE(found);
  auto json = nlohmann::ordered_json::parse(std::ifstream(manifest));
  json["sha256"]["code_object"] = generator::sha256(bytes);
  generator::write_file(code_object, bytes);
  std::ofstream(manifest) << json.dump(2);
}

}  // namespace

TEST_CASE("zyfa-run --strict prints its findings and fails", "[quick][commands][strict]") {
  const TemporaryDirectory directory;
  REQUIRE(program("zyfa-gen", {"--head-dim", "128", "--out", directory.path().string()}).exit_code == 0);
  const std::string kernel = directory.file("zyfa_fwd_hd128_fp8_e4m3fn_lean_causal_gfx950");
  const std::vector<std::string> arguments{kernel + ".co", "--seqlen", "130", "--strict"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), arguments.begin(), arguments.end());
    return program("zyfa-run", more);
  };

  const ProcessResult good = with({"--json"});
  CAPTURE(good.out, good.err);
  CHECK(good.exit_code == 0);
  CHECK(nlohmann::json::parse(good.out).at("findings").empty());
  CHECK(with({"--shuffle", "3"}).exit_code == 0);

  // Arguments are used before they arrive: the kernel computes nonsense or traps, and the first finding says why.
  break_kernel(kernel + ".co", kernel + ".json");
  const ProcessResult bad = with({});
  CAPTURE(bad.out, bad.err);
  CHECK(bad.exit_code == 1);
  CHECK(bad.out.find("finding    register in flight at instruction") != std::string::npos);
  CHECK(bad.out.find("s_load_dword") != std::string::npos);
  CHECK(bad.out.find("schedules/") != std::string::npos);
  CHECK(bad.out.find(" register in flight\n") != std::string::npos);  // the count
}
