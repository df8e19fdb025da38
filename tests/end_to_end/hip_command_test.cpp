// zyfa-run on a GPU, which is the stand-in for HIP's runtime here: the emulator's bits, and what can go wrong, one line
// each.
#include "generator/json_file.h"
#include "runtime_loader/kernel.h"
#include "tests/support/catch.h"
#include "tests/support/kernels.h"
#include "tests/support/refused.h"
#include "tests/support/stand_in.h"

#include <nlohmann/json.hpp>

#include <sstream>

using namespace zyfa;

namespace {

const std::string bin = ZYFA_BINARY_DIR "/";

std::string make_kernel_file(const TemporaryDirectory& folder, const generator::AttentionConfig& config) {
  return generator::write_kernel(generator::generate(config, isa::Machine{}), folder.path()).code_object.string();
}

// With variables NAME=VALUE in the environment, beside the stand-in.
ProcessResult run_on_stand_in(std::vector<std::string> command, std::vector<std::string> variables = {}) {
  std::vector<std::string> all = {"env", "ZYFA_HIP_LIBRARY=" + stand_in_library};
  all.insert(all.end(), variables.begin(), variables.end());
  all.insert(all.end(), command.begin(), command.end());
  return run_process(all);
}

}  // namespace

TEST_CASE("zyfa-run --backend hip: the same checks, the same bits", "[hip][commands]") {
  const TemporaryDirectory folder;
  for (const generator::AttentionConfig& config :
       {generator::AttentionConfig{.causal = true, .lse = true},
        generator::AttentionConfig{.q_dtype = generator::QueryType::bf16, .causal = false}}) {
    const std::string kernel = make_kernel_file(folder, config);
    const std::string on_gpu = folder.file("gpu.npy"), emulated = folder.file("emulated.npy");
    const std::vector<std::string> problem = {bin + "zyfa-run", kernel, "--heads", "4", "--kv-heads", "2",
                                              "--seqlen",       "150",  "--json"};
    std::vector<std::string> command = problem;
    command.insert(command.end(), {"--output", emulated});
    REQUIRE(run_process(command).exit_code == 0);
    command = problem;
    command.insert(command.end(), {"--backend", "hip", "--repeat", "3", "--output", on_gpu});
    const ProcessResult result = run_on_stand_in(command);
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    const auto json = nlohmann::json::parse(result.out);
    CHECK(json["backend"] == "hip");
    CHECK(json["passed"] == true);
    CHECK(json["repeat"] == nlohmann::json{{"launches", 3}, {"different", 0}});
    CHECK(json["device"]["compute_units"] == 256);
    CHECK_FALSE(json.contains("emulated_gflops"));
    CHECK(runtime::read_file(on_gpu) == runtime::read_file(emulated));
  }
  // The verdict is the comparison's.
  const std::string kernel = make_kernel_file(folder, {.causal = true});
  const ProcessResult strict =
      run_on_stand_in({bin + "zyfa-run", kernel, "--seqlen", "64", "--backend", "hip", "--tolerance", "0.0001"});
  CHECK(strict.exit_code == 1);
  CHECK(strict.out.find("FAILED") != std::string::npos);
}

TEST_CASE("zyfa-run --backend hip of a kernel that quantises", "[hip][commands][quantise]") {
  const TemporaryDirectory folder;
  const std::string kernel =
      generator::write_kernel(generator::generate_quantise({.head_dim = 192}, isa::Machine{}), folder.path())
          .code_object.string();
  std::vector<std::string> command = {bin + "zyfa-run", kernel, "--backend", "hip",  "--heads", "4", "--kv-heads", "2",
                                      "--seqlen",       "150",  "--layout",  "bhsd", "--json"};
  const ProcessResult result = run_on_stand_in(command);
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const auto json = nlohmann::json::parse(result.out);
  CHECK(json["backend"] == "hip");
  CHECK(json["passed"] == true);
  CHECK(json["different_codes"] == 0);
  command.push_back("--bench");
  check_refused(run_on_stand_in(command), {"--bench", "a kernel that quantises"});
}

TEST_CASE("zyfa-run --device: a GPU that is not the process's first", "[hip][commands]") {
  const TemporaryDirectory folder;
  const std::vector<std::string> two = {"ZYFA_HIP_EMULATED_DEVICES=2"};
  const std::string attention = make_kernel_file(folder, {.causal = true});
  const std::string quantise =
      generator::write_kernel(generator::generate_quantise({}, isa::Machine{}), folder.path()).code_object.string();
  for (const std::string& kernel : {attention, quantise}) {
    std::vector<std::string> command = {bin + "zyfa-run", kernel, "--seqlen", "64",
                                        "--backend",      "hip",  "--device", "1"};
    CHECK(run_on_stand_in(command, two).exit_code == 0);
    command.back() = "2";
    check_refused(run_on_stand_in(command, two), {"no GPU 2", "the 2 that HIP sees"});
  }
  const ProcessResult bench = run_on_stand_in({bin + "zyfa-run", attention, "--seqlen", "64", "--backend", "hip",
                                               "--device", "1", "--bench", "--launches", "2", "--warm-up", "0"},
                                              two);
  CAPTURE(bench.err);
  CHECK(bench.exit_code == 0);
}

TEST_CASE("zyfa-run --bench: one JSON with time and the model's figure", "[hip][commands]") {
  const TemporaryDirectory folder;
  const std::string kernel = make_kernel_file(folder, {.causal = true});
  const std::vector<std::string> command = {bin + "zyfa-run", kernel,       "--backend", "hip",       "--seqlen", "64",
                                            "--bench",        "--launches", "3",         "--warm-up", "0.01"};
  std::vector<std::string> as_json = command;
  as_json.push_back("--json");
  const ProcessResult result = run_on_stand_in(as_json);
  REQUIRE(result.exit_code == 0);
  const auto benchmark = nlohmann::json::parse(result.out).at("benchmark");
  CHECK(benchmark["launches"] == 3);
  CHECK(benchmark["tflops"].get<double>() > 0);
  CHECK(benchmark["watts"].is_null());
  CHECK(benchmark["flop_convention"] == "2 * (head_dim + v_head_dim) per query and visible key");
  CHECK(benchmark["model"]["machine"] == "nominal");
  const ProcessResult text = run_on_stand_in(command);
  for (const char* word : {"device     AMD Instinct", "launches   3 after 0.01 s", "TFLOP/s", "power      not known",
                           "sensors    0 samples of", "measured / model", "PASSED"}) {
    CAPTURE(word);
    CHECK(text.out.find(word) != std::string::npos);
  }
}

TEST_CASE("zyfa-run --probe: files, answers and what differs", "[hip][probes][commands]") {
  const TemporaryDirectory folder;
  const std::string probes = folder.file("probes");
  const ProcessResult result = run_on_stand_in({bin + "zyfa-run", "--probe", probes, "--json"});
  REQUIRE(result.exit_code == 1);  // the emulator counts no clocks
  const auto json = nlohmann::json::parse(result.out);
  const std::vector<std::string> differs = json["differs"];
  CHECK(std::ranges::find(differs, "valu_clk") != differs.end());
  CHECK(std::ranges::find(differs, "mfma_denormals") == differs.end());
  const std::vector<std::string> failed = json["failed"];  // clocks below 0
  CHECK(std::ranges::any_of(failed, [](const std::string& text) { return text.find(" comes out as -") != text.npos; }));
  CHECK(json["machine_file"] == probes + "/machine.json");
  const auto machine = generator::read_json_file(probes + "/machine.json");
  CHECK(machine["mfma_denormals"]["value"] == "kept");
  // The stand-in is no hardware.
  CHECK(json["measured"] == false);
  CHECK(machine["mfma_denormals"]["confidence"] == "inferred");
  // What was recorded evaluates to the same, but for answers that are none.
  const ProcessResult again = run_process({bin + "zyfa-sim", "--probe", probes, "--recorded", probes, "--json"});
  CHECK(nlohmann::json::parse(again.out)["parameters"].size() == json["parameters"].size() + failed.size());
  CHECK(nlohmann::json::parse(again.out)["facts"] == json["facts"]);
}

TEST_CASE("zyfa-run --backend hip refuses in one line", "[hip][commands]") {
  const TemporaryDirectory folder;
  const std::string run = bin + "zyfa-run", kernel = make_kernel_file(folder, {.causal = true});
  const std::vector<std::string> on_gpu = {run, kernel, "--backend", "hip"};
  check_refused(run_on_stand_in(on_gpu, {"ZYFA_HIP_EMULATED_ARCH=gfx942:sramecc+:xnack-"}),
                {"GPU 0", "is a gfx942:sramecc+:xnack-", "gfx950"});
  check_refused(run_on_stand_in(on_gpu, {"ZYFA_HIP_EMULATED_DEVICES=0"}), {"sees no GPU", "/dev/kfd"});
  check_refused(run_on_stand_in({run, kernel, "--backend", "hip", "--device", "3"}), {"no GPU 3"});
  check_refused(run_process({"env", "ZYFA_HIP_LIBRARY=/nowhere.so", run, kernel, "--backend", "hip"}),
                {"cannot open ZYFA_HIP_LIBRARY=/nowhere.so"});
  check_refused(run_process({"env", "ZYFA_HIP_LIBRARY=libc.so.6", run, kernel, "--backend", "hip"}),
                {"libc.so.6 has no function hip", "no HIP runtime"});
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> command = on_gpu;
    command.insert(command.end(), more.begin(), more.end());
    return run_process(command);
  };
  for (const char* option : {"--strict", "--p-statistics"}) check_refused(with({option}), {option, "emulator"});
  check_refused(with({"--machine", "optimistic"}), {"--machine", "--bench"});
  check_refused(run_process({run, kernel, "--bench"}), {"--bench needs --backend hip"});
  check_refused(run_process({run, kernel, "--repeat", "2"}), {"--repeat needs --backend hip"});
  check_refused(run_process({run, kernel, "--launches", "2"}), {"--launches", "--bench"});
  check_refused(run_process({run, kernel, "--backend", "cuda"}), {"'cuda'", "emulator, hip"});
  check_refused(run_process({run}), {"which kernel", "--probe"});
  check_refused(run_process({run, "--probe", folder.file("p"), "--seqlen", "5"}), {"--seqlen", "--probe"});
  check_refused(run_process({run, "--probe", folder.file("p"), "--backend", "emulator"}), {"zyfa-sim --probe"});
}

TEST_CASE("scripts/first-run goes through, and packs what it found", "[hip][commands]") {
  const TemporaryDirectory folder;
  const std::string out = folder.file("run");
  const ProcessResult result = run_on_stand_in({ZYFA_SOURCE_DIR "/scripts/first-run", out},
                                               {"ZYFA_BUILD=" ZYFA_BINARY_DIR, "ZYFA_SEQLENS=64", "ZYFA_WARM_UP=0",
                                                "LD_LIBRARY_PATH=" ZYFA_BINARY_DIR "/hip_emulated"});
  CAPTURE(result.out, result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.out.ends_with("send " + out + ".tar.gz\n"));
  CHECK(std::filesystem::exists(out + ".tar.gz"));
  std::istringstream lines(result.out);
  int checks = 0, same_bits = 0;
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    if (line.starts_with("probes: ")) CHECK(line == "probes: exit code 1");  // the emulator counts no clocks
    if (line.starts_with("check-") || line.starts_with("bench-")) {
      CHECK((line.ends_with(": exit code 0") || line.ends_with(": the bits of the emulator: yes")));
      checks += line.ends_with(": exit code 0");
      same_bits += line.ends_with("yes");
    }
  }
  CHECK(same_bits == 8);
  CHECK(checks == 8 + 8 + 1);
}
