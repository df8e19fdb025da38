// The same configuration gives the same bytes: again, from another directory, and as the reference set in emitted/ has
// them.
#include "isa/error.h"
#include "isa/hazards.h"
#include "runtime_loader/kernel.h"
#include "tests/support/catch.h"
#include "tests/support/kernels.h"
#include "tests/support/process.h"

#include <algorithm>
#include <set>
#include <sstream>

using namespace zyfa;
namespace fs = std::filesystem;

namespace {

constexpr const char* extensions[] = {".s", ".co", ".json"};

generator::GeneratedKernel generated(const generator::AttentionConfig& config) {
  return generator::generate(config, isa::Machine{});
}

class WorkingDirectory {
 public:
  explicit WorkingDirectory(const fs::path& directory) : before_(fs::current_path()) { fs::current_path(directory); }
  ~WorkingDirectory() { fs::current_path(before_); }
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;

 private:
  fs::path before_;
};

std::string text_of(const fs::path& file) {
  const std::vector<std::byte> bytes = runtime::read_file(file);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// "line 7: `old` is now `new`": the first line in which two texts differ.
std::string first_difference(const std::string& old_text, const std::string& new_text) {
  std::istringstream old_lines(old_text), new_lines(new_text);
  std::string before, now;
  for (int line = 1;; ++line) {
    const bool more = static_cast<bool>(std::getline(old_lines, before));
    if (!more) before = "(end)";
    if (!std::getline(new_lines, now)) now = "(end)";
    if (before != now || !more) return fmt::format("line {}: `{}` is now `{}`", line, before, now);
  }
}

}  // namespace

TEST_CASE("Reproducible: the same bytes on every run and from every directory", "[reproducible]") {
  const TemporaryDirectory elsewhere;
  for (const generator::AttentionConfig& config : all_configurations()) {
    const generator::GeneratedKernel first = generated(config), second = generated(config);
    CAPTURE(first.plan.symbol, config.code_object_version);
    CHECK(first.assembly == second.assembly);
    CHECK(first.code_object == second.code_object);
    CHECK(first.manifest.dump() == second.manifest.dump());
    const WorkingDirectory away(elsewhere.path());
    CHECK(generated(config).code_object == first.code_object);
  }
}

TEST_CASE("Reproducible: zyfa-gen run in two directories", "[quick][reproducible]") {
  const TemporaryDirectory one, two;
  fs::create_directories(two.path() / "some/depth");
  const std::string program = std::string(ZYFA_BINARY_DIR) + "/zyfa-gen";
  REQUIRE(run_process({program, "--head-dim", "128", "--lse"}, one.path()).exit_code == 0);
  REQUIRE(
      run_process({program, "--head-dim", "128", "--lse", "--out", "../out"}, two.path() / "some/depth").exit_code ==
      0);
  const std::string stem = "zyfa_fwd_hd128_fp8_e4m3fn_lean_causal_lse_gfx950";
  for (const char* extension : extensions) {
    const std::string here = text_of(one.path() / (stem + extension));
    CAPTURE(extension);
    CHECK(here == text_of(two.path() / "some/out" / (stem + extension)));
    CHECK(here.find(one.path().string()) == std::string::npos);
    CHECK(here.find(ZYFA_SOURCE_DIR) == std::string::npos);
  }
}

TEST_CASE("Reproducible: no two kernels share a symbol", "[quick][reproducible]") {
  std::set<std::string> symbols;
  std::size_t kernels = 0;
  for (const generator::AttentionConfig& config : all_configurations()) {
    symbols.insert(generator::make_plan(config).symbol);
    ++kernels;
  }
  CHECK(symbols.size() == kernels);
}

TEST_CASE("Reproducible: a machine with other wait states gets a correct kernel of another name",
          "[quick][reproducible]") {
  const generator::AttentionConfig config;
  const generator::GeneratedKernel built_in = generated(config);
  CHECK(built_in.manifest["machine_overrides"].empty());
  for (const isa::Parameter& parameter : isa::machine_parameters()) {
    if (parameter.unit != "wait states") continue;
    CAPTURE(parameter.name);
    isa::Machine machine;
    std::visit(
        [&machine](auto member) {
          if constexpr (std::is_same_v<decltype(member), isa::PerPass isa::Machine::*>)
            for (int isa::PerPass::*pass :
                 {&isa::PerPass::p2, &isa::PerPass::p4, &isa::PerPass::p8, &isa::PerPass::p16})
              machine.*member.*pass += 3;
          else if constexpr (std::is_same_v<decltype(member), int isa::Machine::*>)
            machine.*member += 3;
        },
        parameter.member);
    const generator::GeneratedKernel kernel = generator::generate(config, machine);
    CHECK(isa::check_hazards(kernel.body.program, machine).empty());
    CHECK(kernel.plan.symbol != built_in.plan.symbol);
    CHECK(kernel.manifest["machine_overrides"].contains(std::string(parameter.name)));
  }
}

TEST_CASE("Reproducible: the reference set in emitted/", "[quick][reproducible]") {
  const fs::path emitted = fs::path(ZYFA_SOURCE_DIR) / "emitted";
  struct Reference {
    bool causal, lse;
    const char* options;
  };
  for (const Reference& reference :
       {Reference{true, false, "--head-dim 128"}, Reference{false, true, "--head-dim 128 --no-causal --lse"}}) {
    generator::AttentionConfig config;
    config.causal = reference.causal;
    config.lse = reference.lse;
    generator::GeneratedKernel kernel = generated(config);
    const fs::path stem = emitted / kernel.plan.symbol;
    INFO("If the change is meant: zyfa-gen " << reference.options << " --out emitted, and commit the .s and the .json");
    const std::string assembly = text_of(stem.string() + ".s");
    INFO(first_difference(assembly, kernel.assembly));
    CHECK((assembly == kernel.assembly));
    // The code object holds the linker's version string, so its hash is that of whoever generated it.
    auto manifest = nlohmann::ordered_json::parse(text_of(stem.string() + ".json"));
    manifest.erase("sha256");
    kernel.manifest.erase("sha256");
    CHECK(manifest.dump(2) == kernel.manifest.dump(2));
  }
}
