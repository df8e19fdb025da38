// zyfa-sim as its users meet it.
#include "isa/machine.h"
#include "tests/support/catch.h"
#include "tests/support/clang_kernel.h"
#include "tests/support/refused.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <set>

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
  // Of each wave and tile of 32 queries and 128 keys.
  CHECK(loop.at("per_tile").at("lds_bytes").get<double>() == Approx(32768 + 32768 / 8).epsilon(0.01));
  CHECK(loop.at("per_iteration").at("matrix_clk").get<double>() ==
        Approx(2 * loop.at("per_tile").at("matrix_clk").get<double>()).epsilon(0.01));
  const auto& energy = json.at("energy").at("loop");
  double sum = 0;
  for (const auto& item : energy.at("items")) sum += item.at("pj").get<double>();
  CHECK(energy.at("pj_per_useful_flop").get<double>() * energy.at("useful_flop").get<double>() == Approx(sum));
  std::uint64_t toggles = 0;
  for (const auto& simd : loop.at("simds")) toggles += simd.at("toggles").at("a").get<std::uint64_t>();
  CHECK(toggles > 0);
  CHECK(energy.at("items").at("a_toggles").at("amount") == toggles);
  const auto& estimate = json.at("estimate");
  CHECK(estimate.at("tflops").get<double>() > 0);
  CHECK(estimate.at("peak_percent").get<double>() < 100);
  CHECK(estimate.at("bound") == "pipes");
  CHECK(estimate.at("hbm_bytes") <= estimate.at("l2_missed_bytes"));
  CHECK(estimate.at("l2_missed_bytes") <= estimate.at("l2_bytes"));

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

TEST_CASE("zyfa-sim compares energy on the same input", "[quick][commands][timing]") {
  const TemporaryDirectory directory;
  REQUIRE(program("zyfa-gen", {"--head-dim", "128", "--no-causal", "--out", directory.path().string()}).exit_code == 0);
  const std::string kernel = directory.file("zyfa_fwd_hd128_fp8_e4m3fn_lean_full_gfx950.co");
  const auto toggles = [&](const std::string& input) {
    const ProcessResult result =
        program("zyfa-sim", {kernel, "--seqlen", "256", "--seqlen-k", "512", "--input", input, "--json"});
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    const auto json = nlohmann::json::parse(result.out);
    CHECK(json.at("input").get<std::string>().starts_with(input));
    const auto& items = json.at("energy").at("workgroup").at("items");
    return items.at("a_toggles").at("amount").get<double>() + items.at("b_toggles").at("amount").get<double>();
  };
  // Rows that are all alike, and values of 1, leave most bits as they are.
  CHECK(toggles("peaked") < 0.5 * toggles("gaussian"));
}

TEST_CASE("zyfa-sim lists what each open question moves", "[commands][timing]") {
  const TemporaryDirectory directory;
  const std::string to = directory.path().string();
  REQUIRE(program("zyfa-gen", {"--head-dim", "128", "--softmax", "exact", "--no-causal", "--out", to}).exit_code == 0);
  const std::string kernel = directory.file("zyfa_fwd_hd128_fp8_e4m3fn_exact_full_gfx950.co");
  std::vector<std::string> arguments{kernel, "--seqlen", "256", "--seqlen-k", "1024", "--sensitivity"};
  const ProcessResult text = program("zyfa-sim", arguments);
  CHECK(text.exit_code == 0);
  arguments.push_back("--json");
  const ProcessResult result = program("zyfa-sim", arguments);
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const auto json = nlohmann::json::parse(result.out);
  const auto& questions = json.at("questions");
  CHECK(questions.size() == isa::machine_spread().size());
  std::set<std::string> names;
  double widest = -1;
  for (const auto& question : questions) {
    const std::string name = question.at("name");
    names.insert(name);
    CHECK(text.out.find(name) != std::string::npos);
    const double low = question.at("optimistic").at("cycles"), high = question.at("pessimistic").at("cycles");
    if (widest < 0) widest = std::abs(high - low);
    CHECK(std::abs(high - low) <= widest);
    if (question.at("base") == question.at("optimistic").at("value")) CHECK(low == json.at("cycles"));
    // The kernel has an exponential for each score, and no integer packs.
    if (name == "trans_clk") CHECK(question.at("pessimistic").at("percent").get<double>() > 10);
    if (name == "pack_int_clk") CHECK(high == json.at("cycles"));
  }
  CHECK(names.size() == questions.size());
}

TEST_CASE("zyfa-sim runs anybody's kernel from a launch description", "[quick][commands][timing]") {
  if (!tests::have_clang()) {
    WARN(tests::no_clang);
    return;
  }
  const TemporaryDirectory directory;
  const std::vector<std::byte> object = tests::compile_kernels("basics.c");
  std::ofstream(directory.file("k.co"), std::ios::binary)
      .write(reinterpret_cast<const char*>(object.data()), static_cast<std::streamsize>(object.size()));
  std::ofstream(directory.file("l.json")) << R"({"symbol": "sum_of_row", "grid": 300, "block": 256, "kernargs": [
    {"buffer": "out", "bytes": 307200}, {"buffer": "in", "bytes": 19660800}, {"type": "u32", "value": 64}]})";
  const auto simulate = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {directory.file("k.co"), "--launch", directory.file("l.json")});
    return program("zyfa-sim", more);
  };
  const ProcessResult result = simulate({"--json"});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const auto json = nlohmann::json::parse(result.out);
  CHECK(json.at("kernel") == "sum_of_row");
  CHECK(json.at("cycles").get<double>() > 0);
  CHECK(json.at("loop").at("per_tile").is_null());
  CHECK(json.at("estimate").at("hbm_bytes") == 307200 + 19660800);
  CHECK(json.at("estimate").at("flop") == 0);
  CHECK(simulate({}).out.find("300 workgroups") != std::string::npos);
  for (const auto& [arguments, message] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{{{"--workgroup", "300"}, "the launch has 300"},
                                                                     {{"--seqlen", "5"}, "--seqlen"},
                                                                     {{"--abi", "aiter-v3"}, "--abi"}}) {
    const ProcessResult refused = simulate(arguments);
    CAPTURE(message, refused.err);
    CHECK(refused.exit_code != 0);
    CHECK(refused.err.find(message) != std::string::npos);
  }
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
        Refused{{"--clock-ghz", "-1"}, "not positive"}, Refused{{"--input", "noise"}, "noise"},
        Refused{{"--kv-heads", "3"}, "no multiple"},
        Refused{{"--sensitivity", "--machine", "nominal", "--machine", "optimistic"}, "one machine, not 2"},
        Refused{{"--launch", directory.file("none.json")}, "none.json"}, Refused{{"--abi", "aiter-v9"}, "aiter-v3"}}) {
    CAPTURE(refused.message);
    std::vector<std::string> arguments{kernel};
    arguments.insert(arguments.end(), refused.arguments.begin(), refused.arguments.end());
    check_refused(program("zyfa-sim", arguments), {refused.message});
  }
}

TEST_CASE("zyfa-gen writes probes, zyfa-sim finds the machine with them", "[quick][commands][probes]") {
  const TemporaryDirectory directory;
  const std::string probes = directory.file("probes"), stored = directory.file("stored");
  const ProcessResult list = program("zyfa-gen", {"--probe", "--list", "--json"});
  REQUIRE(list.exit_code == 0);
  const auto names = nlohmann::json::parse(list.out);
  CHECK(names.at(0).at("name") == "turn");
  CHECK(names.at(0).at("parameters").at(0) == "turn_clk");

  const ProcessResult written = program("zyfa-gen", {"--probe", "rate-exp", "turn", "--out", probes});
  CAPTURE(written.out, written.err);
  REQUIRE(written.exit_code == 0);
  const auto index = nlohmann::json::parse(std::ifstream(probes + "/probes.json"));
  REQUIRE(index.at("probes").size() == 2);
  CHECK(index.at("probes").at(1) == nlohmann::json::parse(std::ifstream(probes + "/zyfa_probe_rate_exp_gfx950.json")));
  CHECK(std::filesystem::exists(probes + "/zyfa_probe_rate_exp_gfx950.s"));

  // What one machine stores, read as another's: the answer is the first one's, and does not agree.
  const std::string machine = directory.file("machine.json"), found = directory.file("found.json");
  std::ofstream(machine) << R"({"trans_clk": 16})";
  CHECK(program("zyfa-sim", {"--probe", probes, "--machine", machine, "--record", stored}).exit_code == 0);
  const ProcessResult other =
      program("zyfa-sim", {"--probe", probes, "--recorded", stored, "--out-machine", found, "--json"});
  CHECK(other.exit_code == 1);
  const auto parameters = nlohmann::json::parse(other.out).at("parameters");
  REQUIRE(parameters.size() == 2);
  CHECK(parameters[1].at("name") == "trans_clk");
  CHECK(parameters[1].at("found") == 16);
  CHECK(parameters[1].at("machine") == 4);
  CHECK(parameters[1].at("agrees") == false);
  CHECK(program("zyfa-sim", {"--probe", probes, "--machine", found}).exit_code == 0);

  const auto refused = [&](const char* command, std::vector<std::string> arguments, const char* message) {
    const ProcessResult result = program(command, arguments);
    CAPTURE(message, result.out, result.err);
    CHECK(result.exit_code != 0);
    CHECK(result.err.find(message) != std::string::npos);
    CHECK(std::ranges::count(result.err, '\n') == 1);
  };
  refused("zyfa-gen", {"--probe", "rate-lead", "--out", probes}, "accepted: turn, valu-chain");
  refused("zyfa-sim", {"--probe", directory.file("none")}, "probes.json");
  refused("zyfa-sim", {"--probe", probes, "--machine", "nominal", "--machine", "optimistic"}, "one --machine");
  refused("zyfa-sim", {"--probe", probes, "--recorded", directory.file("none")}, ".out");
  refused("zyfa-sim", {"K.co", "--probe", probes}, "--probe");
  refused("zyfa-sim", {"--out-machine", found}, "--probe");
  refused("zyfa-sim", {}, "--probe DIR");
}
