// zyfa-gen and zyfa-run as processes: what they print, what they leave behind, how they refuse.
#include "isa/error.h"
#include "runtime_loader/tensor_file.h"
#include "tests/support/aiter_objects.h"
#include "tests/support/catch.h"
#include "tests/support/refused.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

using namespace zyfa;
namespace fs = std::filesystem;

namespace {

const std::string binaries = ZYFA_BINARY_DIR;
const std::string causal_symbol = "zyfa_fwd_hd128_fp8_e4m3fn_lean_causal_gfx950";

ProcessResult program(const std::string& name, std::vector<std::string> arguments, const fs::path& directory = {}) {
  arguments.insert(arguments.begin(), binaries + "/" + name);
  return run_process(arguments, directory);
}
ProcessResult gen(std::vector<std::string> arguments, const fs::path& directory = {}) {
  return program("zyfa-gen", std::move(arguments), directory);
}
ProcessResult run(std::vector<std::string> arguments, const fs::path& directory = {}) {
  return program("zyfa-run", std::move(arguments), directory);
}

// A directory with the causal kernel in it.
struct KernelDirectory : TemporaryDirectory {
  KernelDirectory() { REQUIRE(gen({"--head-dim", "128", "--out", path().string()}).exit_code == 0); }
  std::string co() const { return file(causal_symbol + ".co"); }
  std::string json() const { return file(causal_symbol + ".json"); }
};

std::vector<std::string> files_in(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    if (entry.is_regular_file()) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string read_text(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_text(const std::string& file, const std::string& text) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

void check_holds(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    CAPTURE(text, word);
    CHECK(text.find(word) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("zyfa-gen writes three files and a summary", "[quick][commands]") {
  const TemporaryDirectory directory;
  const ProcessResult result = gen({"--head-dim", "128", "--dtype", "fp8", "--out", "new/kernels"}, directory.path());
  CHECK(result.exit_code == 0);
  CHECK(result.err.empty());
  check_holds(result.out, {causal_symbol, "VGPRs", "LDS", "waves per SIMD", causal_symbol + ".s"});
  const std::vector<std::string> expected{causal_symbol + ".co", causal_symbol + ".json", causal_symbol + ".s"};
  CHECK(files_in(directory.path()) == expected);
}

TEST_CASE("zyfa-gen's other outputs", "[quick][commands]") {
  const TemporaryDirectory directory;
  SECTION("--json") {
    const ProcessResult result = gen({"--head-dim", "128", "--no-causal", "--lse", "--json"}, directory.path());
    const auto json = nlohmann::json::parse(result.out);
    CHECK(json.at("symbol") == "zyfa_fwd_hd128_fp8_e4m3fn_lean_full_lse_gfx950");
    CHECK(json.at("resources").at("vgprs") > 0);
    for (const char* file : {"assembly", "code_object", "manifest"})
      CHECK(fs::exists(directory.path() / json.at("files").at(file).get<std::string>()));
  }
  SECTION("--config, with options that win") {
    write_text(directory.file("shape.json"), R"({"head_dim": 128, "causal": false, "lse": false})");
    const ProcessResult result = gen({"--config", "shape.json", "--lse", "--json"}, directory.path());
    CHECK(nlohmann::json::parse(result.out).at("symbol") == "zyfa_fwd_hd128_fp8_e4m3fn_lean_full_lse_gfx950");
  }
  SECTION("--schedule by name") {
    const auto json =
        nlohmann::json::parse(gen({"--head-dim", "128", "--schedule", "ping-pong", "--json"}, directory.path()).out);
    CHECK(json.at("symbol") == "zyfa_fwd_hd128_fp8_e4m3fn_lean_causal_ping_pong_gfx950");
    CHECK(json.at("schedule").at("family") == "ping-pong");
    CHECK(json.at("schedule").at("chosen") == "by name: the least score of what is recorded");
  }
  SECTION("--tune, cut short") {
    const ProcessResult result = gen({"--tune", "--head-dim", "128", "--time-budget", "0", "--json"}, directory.path());
    const auto json = nlohmann::json::parse(result.out);
    CHECK(json.at("candidates") >= 1);
    CHECK(json.at("complete") == false);
    CHECK(json.at("record").at("score") <= 1);
    const std::string stem = "hd128x128_fp8_e4m3fn_lean_causal_ping-pong";
    CHECK(files_in(directory.path()) == std::vector<std::string>{stem + ".json", stem + ".tuning"});
  }
  SECTION("--list") {
    check_holds(gen({"--list"}).out, {"--dtype fp8 --head-dim 128 --v-head-dim 128 --softmax lean",
                                      "--head-dim 192 --v-head-dim 128 --softmax exact"});
    CHECK(nlohmann::json::parse(gen({"--list", "--json"}).out).at(0).at("head_dim") == 128);
    check_holds(gen({"--list"}).out, {"--kernel quantise --head-dim 192 --rotation hadamard"});
    CHECK(nlohmann::json::parse(gen({"--list", "--json"}).out).back().at("kernel") == "quantise");
  }
  SECTION("--version and --help") {
    for (const char* name : {"zyfa-gen", "zyfa-run"}) {
      CHECK(program(name, {"--version"}).out.starts_with("zyfa "));
      const ProcessResult help = program(name, {"--help"});
      CHECK(help.exit_code == 0);
      check_holds(help.out, {"Examples:", std::string("\n  ") + name + " "});
    }
  }
  SECTION("--print-machine, and what it prints is accepted") {
    write_text(directory.file("machine.json"), gen({"--print-machine"}).out);
    CHECK(gen({"--head-dim", "128", "--machine", "machine.json"}, directory.path()).exit_code == 0);
  }
}

TEST_CASE("zyfa-gen refuses in one line and leaves nothing", "[quick][commands]") {
  const TemporaryDirectory directory;
  const auto refused = [&](std::vector<std::string> arguments, const std::vector<std::string>& words) {
    check_refused(gen(std::move(arguments), directory.path()), words);
  };
  const auto config = [&](const std::string& text) {
    write_text(directory.file("c.json"), text);
    return std::vector<std::string>{"--config", "c.json"};
  };
  refused({"--head-dim", "64"}, {"64", "accepted", "--head-dim 128"});
  refused({"--head-dim", "128", "--v-head-dim", "64"}, {"value head dim 64", "accepted"});
  refused({"--head-dim", "128", "--dtype", "bf16"}, {"bf16", "accepted", "fp8"});
  refused({"--head-dim", "128", "--softmax", "hard"}, {"hard", "accepted", "lean, exact"});
  refused({"--head-dim", "128", "--schedule", "fast"}, {"fast", "accepted: auto, ping-pong"});
  refused({"--head-dim", "128", "--time-budget", "5"}, {"--time-budget", "--tune"});
  refused({"--tune", "--head-dim", "128", "--time-budget", "-5"}, {"-5", "accepted: 0 to"});
  refused({"--tune", "--head-dim", "128", "--time-budget", "inf"}, {"inf", "accepted: 0 to"});
  refused({"--tune", "--head-dim", "128", "--skip-zero-blocks"}, {"--skip-zero-blocks", "--tune"});
  refused({"--tune", "--head-dim", "128", "--q-dtype", "bf16"}, {"--q-dtype", "--tune"});
  refused({"--head-dim", "128", "--softmax", "exact", "--schedule", "interleaved"}, {"interleaved", "accepted"});
  refused({"--head-dim", "128", "--score-scale", "folded", "--lse"}, {"folded", "log-sum-exp"});
  refused({"--tune", "--head-dim", "128", "--machine", "optimistic"}, {"--tune", "--machine"});
  refused({"--tune"}, {"--head-dim", "--config"});
  refused({"--head-dim", "128", "--cov", "4"}, {"4", "accepted", "5, 6"});
  refused({"--head-dim", "wide"}, {"--head-dim", "wide"});
  refused({"--head-dim", "128", "--fast"}, {"--fast", "--help"});
  refused({"--head-dim", "128", "--causal", "--no-causal"}, {"--causal", "--no-causal"});
  refused({}, {"--head-dim", "--config"});
  refused({"--config", "missing.json"}, {"missing.json"});
  refused({"--head-dim", "128", "--machine", "missing.json"}, {"missing.json"});
  refused(config(R"({"head_dim": 128, "colour": 1})"), {"c.json", "colour", "head_dim"});
  refused(config(R"({"head_dim": "128"})"), {"c.json", "head_dim"});
  refused(config("[1]"), {"c.json", "object"});
  refused(config("{"), {"c.json", "JSON"});
  fs::remove(directory.path() / "c.json");
  CHECK(files_in(directory.path()).empty());
  write_text(directory.file("file"), "");
  refused({"--head-dim", "128", "--out", "file"}, {"file"});
  refused({"--head-dim", "128", "--out", "file/below"}, {"file/below"});
  CHECK(files_in(directory.path()) == std::vector<std::string>{"file"});
}

TEST_CASE("zyfa-gen leaves no part of a file where it cannot finish", "[quick][commands]") {
  const TemporaryDirectory directory;
  fs::create_directory(directory.path() / (causal_symbol + ".co"));  // the second file's name is taken
  check_refused(gen({"--head-dim", "128"}, directory.path()), {causal_symbol + ".co"});
  for (const std::string& name : files_in(directory.path())) CHECK(name == causal_symbol + ".s");
}

TEST_CASE("zyfa-run reports errors, speed and a verdict", "[quick][commands]") {
  const KernelDirectory kernel;
  const std::vector<std::string> problem{kernel.co(), "--heads",    "2",   "--kv-heads", "1",   "--seqlen",
                                         "200",       "--seqlen-k", "333", "--input",    "sink"};
  SECTION("text") {
    const ProcessResult result = run(problem);
    CHECK(result.exit_code == 0);
    CHECK(result.err.empty());  // no progress bar where it is no terminal
    check_holds(result.out, {causal_symbol, "200 queries", "333 keys", "error", "GFLOP/s"});
    CHECK(result.out.ends_with("PASSED\n"));
  }
  SECTION("--json") {
    std::vector<std::string> arguments = problem;
    arguments.push_back("--json");
    const ProcessResult result = run(arguments);
    CHECK(result.exit_code == 0);
    const auto json = nlohmann::json::parse(result.out);
    CHECK(json.at("passed") == true);
    CHECK(json.at("relative_error") > 0);
    CHECK(json.at("relative_error") < 0.05);
    CHECK(json.at("max_abs_error") > 0);
    CHECK(json.at("lse_max_error") == 0);
    CHECK(json.at("seconds") > 0);
    CHECK(json.at("emulated_gflops") > 0);
    CHECK(json.at("shape").at("seqlen_k") == 333);
  }
  SECTION("a tolerance that is not met") {
    std::vector<std::string> arguments = problem;
    arguments.insert(arguments.end(), {"--tolerance", "0.0001"});
    const ProcessResult text = run(arguments);
    CHECK(text.exit_code == 1);
    CHECK(text.out.ends_with("FAILED\n"));
    check_holds(text.out, {"failed     relative error"});
    arguments.push_back("--json");
    const ProcessResult result = run(arguments);
    CHECK(result.exit_code == 1);
    CHECK(nlohmann::json::parse(result.out).at("passed") == false);
  }
  SECTION("other inputs and layouts") {
    for (const std::string kind : {"gaussian", "ones", "peaked"})
      CHECK(run({kernel.co(), "--seqlen", "150", "--input", kind, "--layout", "fused_qkv"}).exit_code == 0);
  }
}

TEST_CASE("zyfa-run refuses in one line", "[quick][commands]") {
  const KernelDirectory kernel;
  const std::string co = kernel.co();
  SECTION("problems") {
    check_refused(run({co, "--heads", "3", "--kv-heads", "2"}), {"heads (3)", "kv_heads (2)"});
    check_refused(run({co, "--seqlen", "-5"}), {"seqlen", "-5"});
    check_refused(run({co, "--batch", "0"}), {"batch", "0"});
    check_refused(run({co, "--input", "noise"}), {"noise", "gaussian", "sink", "ones", "peaked"});
    check_refused(run({co, "--layout", "sbhd"}), {"sbhd", "bshd", "bhsd", "fused_qkv"});
    check_refused(run({co, "--layout", "fused_qkv", "--seqlen-k", "9"}), {"fused_qkv"});
    check_refused(run({co, "--softmax-scale", "-1"}), {"softmax_scale", "-1"});
    check_refused(run({co, "--sigma", "-1"}), {"sigma", "-1"});
    check_refused(run({co, "--seqlen", "many"}), {"--seqlen", "many"});
    check_refused(run({co, "--speed"}), {"--speed"});
    check_refused(run({}), {"kernel"});
    check_refused(run({co, "--q", kernel.file("q.npy")}), {"--k", "--v"});
    check_refused(run({co, "--q", "no.npy", "--k", "no.npy", "--v", "no.npy"}), {"no.npy"});
    check_refused(run({co, "--seqlen", "8", "--output", kernel.file("missing/o.npy")}), {"missing/o.npy"});
  }
  SECTION("files that are no kernel") {
    check_refused(run({kernel.file("missing.co")}), {"missing.co"});
    check_refused(run({kernel.path().string()}), {"directory"});
    check_refused(run({kernel.file(causal_symbol + ".s")}), {causal_symbol + ".s", "ELF"});
    fs::copy_file(co, kernel.file("alone.co"));
    check_refused(run({kernel.file("alone.co")}), {"alone.json"});
    const std::string bytes = read_text(co);
    for (const std::size_t size : {std::size_t{0}, std::size_t{40}, bytes.size() / 2, bytes.size() - 1}) {
      write_text(kernel.file("cut.co"), bytes.substr(0, size));
      check_refused(run({kernel.file("cut.co"), "--manifest", kernel.json()}), {"cut.co"});
    }
  }
  SECTION("a manifest of another kernel, or a damaged one") {
    REQUIRE(gen({"--head-dim", "128", "--no-causal", "--out", kernel.path().string()}).exit_code == 0);
    check_refused(run({co, "--manifest", kernel.file("zyfa_fwd_hd128_fp8_e4m3fn_lean_full_gfx950.json")}),
                  {"manifest", co, "sha256"});
    auto manifest = nlohmann::json::parse(read_text(kernel.json()));
    const auto damaged = [&](const nlohmann::json& json, const std::vector<std::string>& words) {
      write_text(kernel.file("damaged.json"), json.dump());
      check_refused(run({co, "--manifest", kernel.file("damaged.json")}), words);
    };
    damaged("no object", {"damaged.json", "manifest_version"});
    nlohmann::json json = manifest;
    json["launch"].erase("queries_per_workgroup");
    damaged(json, {"damaged.json", "launch.queries_per_workgroup"});
    json["launch"]["queries_per_workgroup"] = 0;
    damaged(json, {"damaged.json", "launch.queries_per_workgroup"});
    json = manifest;
    json["launch"]["workgroup_size"] = nlohmann::json::array();
    damaged(json, {"damaged.json", "launch.workgroup_size"});
    json = manifest;
    json["resources"]["lds_bytes"] = 1;
    damaged(json, {"LDS", "manifest"});
    json = manifest;
    json["manifest_version"] = 99;
    damaged(json, {"damaged.json", "99", "accepted: 1"});
    write_text(kernel.file("damaged.json"), "{");
    check_refused(run({co, "--manifest", kernel.file("damaged.json")}), {"damaged.json", "JSON"});
  }
}

TEST_CASE("A kernel that quantises: generated, run, simulated", "[quick][commands][quantise]") {
  const TemporaryDirectory directory;
  const std::string symbol = "zyfa_quantise_hd128_hadamard_gfx950";
  const auto generated = nlohmann::json::parse(
      gen({"--kernel", "quantise", "--head-dim", "128", "--rotation", "hadamard", "--json"}, directory.path()).out);
  CHECK(generated.at("symbol") == symbol);
  write_text(directory.file("c.json"), R"({"kernel": "quantise", "head_dim": 128, "rotation": "hadamard"})");
  CHECK(gen({"--config", "c.json", "--out", "again"}, directory.path()).exit_code == 0);
  CHECK(read_text(directory.file(symbol + ".co")) == read_text(directory.file("again/" + symbol + ".co")));

  const std::string co = directory.file(symbol + ".co");
  const ProcessResult ran = run({co, "--batch", "2", "--heads", "4", "--kv-heads", "2", "--seqlen", "77", "--strict",
                                 "--shuffle", "3", "--layout", "bhsd", "--json"});
  CAPTURE(ran.out, ran.err);
  CHECK(ran.exit_code == 0);
  const auto json = nlohmann::json::parse(ran.out);
  CHECK(json.at("passed") == true);
  CHECK(json.at("different_codes") == 0);
  CHECK(json.at("shape").at("heads_per_scale") == 2);
  CHECK(json.at("findings").empty());
  check_holds(run({co, "--seqlen", "5"}).out, {"PASSED", "640 codes"});
  check_holds(run({co, "--seqlen", "0"}).out, {"PASSED"});

  const ProcessResult simulated = program("zyfa-sim", {co, "--seqlen", "1024", "--heads", "8", "--json"});
  CAPTURE(simulated.out, simulated.err);
  const auto estimate = nlohmann::json::parse(simulated.out).at("machines").at(0);
  // BF16 once from memory, once from the Infinity Cache; codes to memory.
  const double elements = 1024.0 * 8 * 128;
  CHECK(estimate.at("phases").at(0).at("hbm_bytes") == 2 * elements);
  CHECK(estimate.at("phases").at(1).at("hbm_bytes") == elements);
  CHECK(estimate.at("phases").at(1).at("l2_missed_bytes") == 3 * elements);
  CHECK(estimate.at("microseconds") > 0);
  check_holds(program("zyfa-sim", {co, "--seqlen", "1024"}).out, {"phase 0", "phase 1", "modelled"});

  check_refused(gen({"--kernel", "sort", "--head-dim", "128"}), {"sort", "accepted: attention, quantise"});
  check_refused(gen({"--kernel", "quantise", "--head-dim", "64"}), {"64", "accepted: 128, 192"});
  check_refused(gen({"--kernel", "quantise", "--head-dim", "128", "--lse"}), {"--lse", "quantises"});
  check_refused(gen({"--kernel", "quantise", "--head-dim", "128", "--tune"}), {"searched"});
  check_refused(gen({"--head-dim", "128", "--rotation", "hadamard"}), {"--rotation", "quantise"});
  check_refused(gen({"--kernel", "attention", "--config", "c.json"}, directory.path()), {"quantise", "attention"});
  check_refused(run({co, "--sigma", "2"}), {"--sigma", "quantises"});
  check_refused(run({co, "--layout", "fused_qkv"}), {"fused_qkv", "bhsd"});
  check_refused(run({co, "--heads", "3", "--kv-heads", "2"}), {"multiple"});
  check_refused(program("zyfa-sim", {co, "--input", "sink"}), {"--input", "quantises"});
  check_refused(program("zyfa-sim", {co, "--seqlen", "0"}), {"rows"});
}

TEST_CASE("zyfa-run says where an endless loop turns", "[quick][commands]") {
  const KernelDirectory kernel;
  check_refused(run({kernel.co(), "--seqlen-k", "2048", "--max-instructions", "1800"}),
                {"too many instructions", "1800", "wave", "workgroup (", "schedules/", ".cpp:", "loop"});
}

TEST_CASE("zyfa-run prints its JSON for a trap as well", "[quick][commands]") {
  const KernelDirectory kernel;
  const ProcessResult result = run({kernel.co(), "--max-instructions", "1000", "--json", "--strict"});
  CHECK(result.exit_code != 0);
  const auto json = nlohmann::json::parse(result.out);
  CHECK(json["passed"] == false);
  CHECK(json["trap"]["wave"] == 0);
  check_holds(json["trap"]["message"].get<std::string>(), {"too many instructions"});
  CHECK(json["findings"].is_array());
}

TEST_CASE("zyfa-run ignores no option", "[quick][commands]") {
  const KernelDirectory kernel;
  check_refused(run({kernel.co(), "--head-dim", "64"}), {"--head-dim"});
  check_refused(run({kernel.co(), "--no-check"}), {"--no-check", "--abi"});
  check_refused(run({kernel.co(), "--q", "q.npy", "--seqlen", "5"}), {"--seqlen", "--q"});
  check_refused(run({kernel.co(), "--seqlen-k", "-5"}), {"--seqlen-k", "-5"});
  check_refused(run({kernel.co(), "--kv-heads", "0"}), {"--kv-heads", "0"});
  check_refused(run({kernel.co(), "--tolerance", "nan"}), {"tolerance nan"});
  check_refused(run({kernel.co(), "--heads", "2147483647", "--seqlen", "1"}), {"2147483647", "2^32"});
  check_refused(run({kernel.co(), "--output", "."}), {"cannot write", "directory"});
  check_refused(run({kernel.co(), "--manifest", "."}), {"is a directory"});
  check_refused(run({kernel.co(), "--shuffle", "-1"}), {"--shuffle", "-1"});
}

TEST_CASE("zyfa-run --abi ignores no option", "[quick][commands][aiter]") {
  const TemporaryDirectory directory;
  const auto object = [&](const char* name, const char* symbol) {
    const std::vector<std::byte> bytes = tests::aiter_stub(symbol);
    write_text(directory.file(name), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    return directory.file(name);
  };
  const std::string v4 = object("v4.co", "fmha_fwd_hd128_mxfp8_gfx950E");
  const std::string group = object("group.co", "fmha_fwd_hd128_fp8_group_gfx950E");
  const std::string packed = object("packed.co", "fmha_fwd_hd128_f4f4_gfx950E");
  struct Case {
    std::vector<std::string> options, words;
  };
  const auto refuse = [](const std::string& file, const std::string& abi, const std::vector<Case>& cases) {
    for (const Case& c : cases) {
      std::vector<std::string> command = {file, "--abi", abi};
      command.insert(command.end(), c.options.begin(), c.options.end());
      CAPTURE(command);
      check_refused(run(command), c.words);
    }
  };
  CHECK(run({v4, "--abi", "aiter-v4", "--seqlen", "5", "--no-check"}).exit_code == 0);
  CHECK(run({group, "--abi", "aiter-v3-group", "--seqlens", "5,0", "--seqlens-k", "1,2", "--no-check"}).exit_code == 0);
  CHECK(run({packed, "--abi", "aiter-v4", "--seqlen", "5", "--no-check"}).exit_code == 0);
  refuse(v4, "aiter-v4",
         {{{"--seqlen", "-5"}, {"--seqlen: '-5' is not a whole number of at least 0"}},
          {{"--seqlen-k", "-5"}, {"--seqlen-k", "-5"}},
          {{"--batch", "-1"}, {"--batch: '-1' is not a whole number of at least 1"}},
          {{"--heads", "0"}, {"--heads", "0"}},
          {{"--softmax-scale", "0"}, {"softmax_scale is 0", "positive"}},
          {{"--sigma", "nan"}, {"sigma is nan", "0 .. 1e6"}},
          {{"--sigma", "-1"}, {"sigma is -1"}},
          {{"--check-stride", "0"}, {"--check-stride"}},
          {{"--shuffle", "-1"}, {"--shuffle", "-1"}},
          {{"--seed", "-1"}, {"--seed", "-1"}},
          {{"--head-dim", "128"}, {"--head-dim"}},
          {{"--causal", "true"}, {"--causal"}},
          {{"--layout", "bhsd"}, {"--layout", "--abi"}},
          {{"--distinct-descales"}, {"--distinct-descales", "--abi"}},
          {{"--manifest", "nofile"}, {"--manifest", "--abi"}},
          {{"--q", "q.npy"}, {"--q", "--abi"}},
          {{"--output", "o.npy"}, {"--output", "--abi"}},
          {{"--input", "noise"}, {"noise", "gaussian", "sink", "ones", "peaked"}},
          {{"--v-mean", "nan"}, {"v_mean is nan"}},
          {{"--input", "peaked", "--v-mean", "1"}, {"v_mean is 1", "exactly 1"}},
          {{"--v-ones", "--v-mean", "1"}, {"--v-ones", "--v-mean"}},
          {{"--seqlens", "5"}, {"--seqlens is for --abi aiter-v3-group", "--seqlen"}},
          {{"--no-check", "--tolerance", "1"}, {"--no-check", "--tolerance"}},
          {{"--no-check", "--check-stride", "2"}, {"--no-check", "--check-stride"}}});
  refuse(group, "aiter-v3-group",
         {{{"--seqlens-k", "5"}, {"--seqlens-k", "--seqlens"}},
          {{"--seqlens", ""}, {"--seqlens ''", "100,200"}},
          {{"--seqlens", "5", "--seqlens-k", ""}, {"--seqlens-k ''", "100,200"}},
          {{"--seqlens", "5", "--seqlen", "5"}, {"--seqlens", "--seqlen"}},
          {{"--seqlens", "5", "--seqlen-k", "5"}, {"--seqlens", "--seqlen-k"}},
          {{"--seqlens", "5", "--batch", "1"}, {"--seqlens", "--batch"}},
          {{"--seqlens", "5", "--input", "sink"}, {"aiter-v3-group", "--input gaussian or ones"}},
          {{"--seqlens", "5", "--v-mean", "1"}, {"aiter-v3-group", "--v-mean"}}});
  refuse(packed, "aiter-v4",
         {{{"--no-check", "--sigma", "2"}, {"sigma", "packed"}},
          {{"--no-check", "--v-ones"}, {"V of ones", "packed"}},
          {{"--no-check", "--input", "sink"}, {"f4f4", "--input gaussian or ones"}}});
  refuse(v4, "", {{{}, {"abi ''", "aiter-v3-group"}}});
}

TEST_CASE("zyfa-run takes tensors from files and saves its output", "[quick][commands]") {
  using runtime::Tensor;
  const KernelDirectory kernel;
  const auto save = [&](const std::string& name, std::vector<std::int64_t> shape, float phase) {
    std::vector<float> values(static_cast<std::size_t>(runtime::element_count(shape)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 2 * std::sin(phase + 0.37F * static_cast<float>(i));
    runtime::save_npy(kernel.file(name), runtime::tensor_of(values, std::move(shape)));
    return kernel.file(name);
  };
  const std::string q = save("q.npy", {2, 50, 4, 128}, 0), k = save("k.npy", {2, 70, 2, 128}, 1);
  const std::string v = save("v.npy", {2, 70, 2, 128}, 2);
  const std::string o = kernel.file("o.npy");
  const ProcessResult result = run({kernel.co(), "--q", q, "--k", k, "--v", v, "--output", o});
  CAPTURE(result.out, result.err);
  CHECK(result.exit_code == 0);
  check_holds(result.out, {"q descale", "PASSED"});

  const Tensor output = runtime::load_tensor(o);
  REQUIRE(output.shape == std::vector<std::int64_t>{2, 50, 4, 128});
  // The layout in memory is no part of the result, and the output may serve as input.
  REQUIRE(run({kernel.co(), "--q", q, "--k", k, "--v", v, "--layout", "bhsd", "--output", kernel.file("o2.npy")})
              .exit_code == 0);
  CHECK(runtime::load_tensor(kernel.file("o2.npy")).bytes == output.bytes);
  CHECK(run({kernel.co(), "--q", o, "--k", k, "--v", v}).exit_code == 0);
  check_refused(run({kernel.co(), "--q", q, "--k", k, "--v", q}), {"v is [2, 50, 4, 128]", "[2, 70, 2, 128]"});
}
