// zyfa-sim as its users meet it.
#include "tests/support/catch.h"
#include "tests/support/process.h"

#include <nlohmann/json.hpp>

#include <fstream>

using namespace zyfa;

namespace {

ProcessResult program(const std::string& name, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), std::string(ZYFA_BINARY_DIR) + "/" + name);
  return run_process(arguments);
}

}  // namespace

TEST_CASE("zyfa-sim counts the clocks of a generated kernel", "[quick][commands][timing]") {
  const TemporaryDirectory directory;
  REQUIRE(program("zyfa-gen", {"--head-dim", "128", "--no-causal", "--out", directory.path().string()}).exit_code == 0);
  const std::string kernel = directory.file("zyfa_fwd_hd128_fp8_e4m3fn_lean_full_gfx950.co");
  const auto simulate = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {kernel, "--seqlen", "256", "--seqlen-k", "4096"});
    return program("zyfa-sim", more);
  };

  const ProcessResult nominal = simulate({"--json"});
  CAPTURE(nominal.out, nominal.err);
  REQUIRE(nominal.exit_code == 0);
  const auto json = nlohmann::json::parse(nominal.out);
  const auto& loop = json.at("loop");
  // The waves are not all at one place when a lap begins and ends, which is worth some per mille of 15 laps.
  // Of each tile of 128 keys a SIMD's two waves have 2 * 16 products of 64 clk.
  CHECK(loop.at("cycles").get<double>() >= 2 * 16 * 64);
  CHECK(loop.at("useful_matrix").get<double>() * loop.at("cycles").get<double>() == Approx(2 * 16 * 64).epsilon(0.01));
  CHECK(loop.at("matrix_busy").get<double>() > loop.at("useful_matrix").get<double>());
  CHECK(loop.at("trans_busy") < 0.01);  // lean P
  for (const char* share : {"valu_busy", "lds_bank_busy"})
    CHECK((loop.at(share).get<double>() > 0 && loop.at(share).get<double>() < 1));
  // K and V once for each wave: 32 KiB of each of eight.
  CHECK(loop.at("lds_bytes_per_clk").get<double>() * loop.at("cycles").get<double>() ==
        Approx(8 * 32768).epsilon(0.01));
  CHECK(json.at("cycles").get<double>() > 32 * loop.at("cycles").get<double>());
  CHECK(json.at("stalls").contains("barrier"));
  CHECK(json.at("estimate").at("tflops").get<double>() > 0);
  CHECK(json.at("estimate").at("peak_percent").get<double>() < 100);

  const ProcessResult again = simulate({"--json"});
  CHECK(again.out == nominal.out);
  CHECK(simulate({}).out.find("matrix pipe") != std::string::npos);

  // Slower answers to the open questions cannot make it faster.
  const ProcessResult spread =
      simulate({"--json", "--machine", "optimistic", "--machine", "nominal", "--machine", "pessimistic"});
  REQUIRE(spread.exit_code == 0);
  const auto machines = nlohmann::json::parse(spread.out).at("machines");
  REQUIRE(machines.size() == 3);
  CHECK(machines[0].at("cycles") <= machines[1].at("cycles"));
  CHECK(machines[1].at("cycles") < machines[2].at("cycles"));
  CHECK(machines[1].at("cycles") == json.at("cycles"));
}

TEST_CASE("zyfa-sim refuses in one line", "[quick][commands][timing]") {
  const TemporaryDirectory directory;
  REQUIRE(program("zyfa-gen", {"--head-dim", "128", "--out", directory.path().string()}).exit_code == 0);
  const std::string kernel = directory.file("zyfa_fwd_hd128_fp8_e4m3fn_lean_causal_gfx950.co");
  std::ofstream(directory.file("m.json")) << R"({"cvt_fp8_after_matrix": 2})";
  struct Refused {
    std::vector<std::string> arguments;
    const char* message;
  };
  for (const Refused& refused :
       {Refused{{"--machine", "fast"}, "fast"}, Refused{{"--machine", directory.file("m.json")}, "takes 0 or 1"},
        Refused{{"--workgroup", "99"}, "a head has 8 workgroups"}, Refused{{"--seqlen", "0"}, "without queries"},
        Refused{{"--clock-ghz", "-1"}, "not positive"}, Refused{{"--abi", "aiter-v9"}, "aiter-v3"}}) {
    CAPTURE(refused.message);
    std::vector<std::string> arguments{kernel};
    arguments.insert(arguments.end(), refused.arguments.begin(), refused.arguments.end());
    const ProcessResult result = program("zyfa-sim", arguments);
    CAPTURE(result.out, result.err);
    CHECK(result.exit_code != 0);
    CHECK(result.err.find(refused.message) != std::string::npos);
    CHECK(std::ranges::count(result.err, '\n') == 1);
  }
}
