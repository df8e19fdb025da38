// Probes on the pipe model give back the machine that the model was given: docs/probes.md.
#include "generator/generate.h"
#include "generator/machine_file.h"
#include "generator/probe_files.h"
#include "isa/error.h"
#include "runtime_loader/probe_report.h"
#include "tests/support/catch.h"
#include "tests/support/process.h"

#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

using namespace zyfa;
using namespace zyfa::runtime;
using isa::Machine;
using schedules::Answer;
using schedules::Fact;

namespace {

// As zyfa-gen writes them; all if there are no names.
std::vector<LoadedProbe> written(const std::vector<std::string>& names) {
  const TemporaryDirectory directory;
  generator::write_probes(names, directory.path());
  return load_probes(directory.path());
}

const std::vector<LoadedProbe>& probes() {
  static const std::vector<LoadedProbe> all = written({});
  return all;
}

LoadedProbe probe_for(std::string_view parameter) {
  for (const schedules::Probe& probe : schedules::all_probes())
    if (std::ranges::find(probe.parameters, parameter) != probe.parameters.end())
      return written({std::string(probe.name)}).front();
  throw Error("no probe asks for {}", parameter);
}

std::vector<ProbeResult> run_all(const Machine& machine) {
  std::vector<Recorded> recorded;
  for (const LoadedProbe& probe : probes()) recorded.push_back(simulate_probe(probe, machine));
  return evaluate_probes(recorded);
}

nlohmann::ordered_json value_of(const Machine& machine, std::string_view parameter) {
  return generator::to_json(machine).at(std::string(parameter)).at("value");
}

std::set<std::string_view> answered(const std::vector<ProbeResult>& results) {
  std::set<std::string_view> names;
  for (const ProbeResult& result : results)
    for (const Answer& answer : result.findings.answers) CHECK(names.insert(answer.parameter).second);
  return names;
}

std::set<std::string_view> asked() {
  static const std::vector<schedules::Probe> all = schedules::all_probes();
  std::set<std::string_view> names;
  for (const schedules::Probe& probe : all) names.insert(probe.parameters.begin(), probe.parameters.end());
  return names;
}

// Every answer agrees, and is the number itself where turns of 4 clk hide nothing of it, but for a turn of two waves'
// 32 repetitions each, which slow instruction fetch can add.
void check_all(const std::vector<ProbeResult>& results, const Machine& machine) {
  constexpr double turn_of_a_stream = 4.0 / (2 * 32);
  for (const ProbeResult& result : results)
    for (const Answer& answer : result.findings.answers) {
      const auto is = value_of(machine, answer.parameter);
      const double* number = std::get_if<double>(&answer.value);
      CAPTURE(result.name, answer.parameter, is.dump(), number ? *number : -1);
      CHECK(agrees(answer, machine));
      if (number && !answer.at_most && is.get<int>() % 4 == 0)
        CHECK(*number == Approx(is.get<double>()).margin(turn_of_a_stream));
    }
}

// Ranges within which docs/probes.md promises answers.
struct Range {
  int Machine::*parameter;
  int low, high, step;
};
constexpr Range ranges[] = {
    {&Machine::turn_clk, 4, 8, 4},
    {&Machine::valu_clk, 1, 12, 1},
    {&Machine::valu_quarter_clk, 4, 32, 1},
    {&Machine::valu_64_clk, 1, 20, 1},
    {&Machine::trans_clk, 1, 20, 1},
    {&Machine::packed_clk, 1, 20, 1},
    {&Machine::packed_after_matrix_clk, 0, 24, 1},
    {&Machine::cvt_int_clk, 1, 20, 1},
    {&Machine::cvt_fp8_clk, 1, 20, 1},
    {&Machine::cvt_fp8_after_matrix, 0, 1, 1},
    {&Machine::pack_int_clk, 1, 20, 1},
    {&Machine::dependent_valu_clk, 1, 32, 1},
    {&Machine::matrix_read_clk, 0, 16, 1},
    {&Machine::matrix_chain_clk, 0, 16, 1},
    {&Machine::ld_scale_clk, 0, 12, 1},
    {&Machine::lds_latency_clk, 20, 120, 1},
    {&Machine::lds_fifo, 2, 12, 1},
    {&Machine::lds_write_banks, 32, 64, 32},
    {&Machine::lds_banks, 32, 64, 32},
    {&Machine::vmem_in_flight_bytes, 16384, 40960, 1024},
    {&Machine::vmem_queue, 4, 16, 1},
    {&Machine::vmem_latency_clk, 100, 1200, 1},
    {&Machine::smem_latency_clk, 20, 400, 1},
    {&Machine::barrier_release_clk, 1, 80, 1},
    {&Machine::branch_clk, 4, 40, 1},
};

Machine random_machine(std::uint32_t seed) {
  std::mt19937 bits(seed);
  const auto below = [&bits](int count) { return static_cast<int>(bits() % static_cast<std::uint32_t>(count)); };
  Machine machine;
  for (const Range& range : ranges)
    machine.*range.parameter = range.low + below((range.high - range.low) / range.step + 1) * range.step;
  machine.lds_pair_bytes_per_clk = 32 << below(3);
  machine.vmem_bytes_per_clk = 16 << below(3);
  return machine;
}

// Another value, of which no answer to the first can be one.
Machine changed(const Machine& machine, const isa::Parameter& parameter) {
  constexpr int clearly_more = 8;
  Machine other = machine;
  std::visit(
      [&](auto member) {
        auto& value = other.*member;
        using Value = std::remove_reference_t<decltype(value)>;
        if constexpr (std::is_enum_v<Value>)
          value = static_cast<Value>(1);
        else if constexpr (std::is_same_v<Value, int>)
          value = parameter.unit == "clk"                   ? value + clearly_more
                  : parameter.unit == "0 or 1"              ? 1 - value
                  : parameter.unit == "instructions"        ? value - 3
                  : parameter.unit == "instructions per CU" ? value - 3
                  : parameter.name == "lds_write_banks"     ? 2 * value
                                                            : value / 2;
      },
      parameter.member);
  return other;
}

emulator::Result run_strictly(const LoadedProbe& probe) {
  emulator::Result kept;
  run_probe(probe,
            [&](const isa::Program& program, const emulator::Launch& launch, const emulator::GlobalMemory& memory) {
              emulator::Options options;
              options.strict = true;
              options.threads = 1;
              return kept = emulator::run(program, launch, memory, options);
            });
  return kept;
}

template <class Action>
std::string problem_with(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

bool mentions(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("Probes: each parameter of the machine has one or a reason why not", "[quick][probes]") {
  std::ifstream stream(std::string(ZYFA_SOURCE_DIR) + "/docs/probes.md");
  std::stringstream docs;
  docs << stream.rdbuf();
  std::set<std::string_view> known;
  for (const isa::Parameter& parameter : isa::machine_parameters()) {
    CAPTURE(parameter.name, parameter.unit);
    known.insert(parameter.name);
    const std::string_view reason = schedules::why_not_probed(parameter.name, parameter.unit);
    CHECK(reason.empty() == asked().contains(parameter.name));
    CHECK(mentions(docs.str(), reason.empty() ? parameter.name : reason));
  }
  std::set<std::string_view> names;
  for (const schedules::Probe& probe : schedules::all_probes()) {
    CAPTURE(probe.name);
    CHECK(names.insert(probe.name).second);
    CHECK(mentions(docs.str(), fmt::format("`{}`", probe.name)));
    for (const std::string_view parameter : probe.parameters) CHECK(known.contains(parameter));
  }
  CHECK(schedules::why_not_probed("no_such_parameter", "furlongs").empty());
}

TEST_CASE("Probes give back the machines of the spread", "[quick][probes]") {
  for (const char* name : {"nominal", "optimistic", "pessimistic"}) {
    CAPTURE(name);
    const Machine machine = generator::find_machine(name);
    const std::vector<ProbeResult> results = run_all(machine);
    check_all(results, machine);
    CHECK(answered(results) == asked());
    // The file that the answers make is the machine, but for what no probe asks.
    Machine expected;
    for (const isa::Parameter& parameter : isa::machine_parameters())
      if (asked().contains(parameter.name))
        std::visit([&](auto member) { expected.*member = machine.*member; }, parameter.member);
    const TemporaryDirectory directory;
    const std::string file = directory.file("machine.json");
    std::ofstream(file) << machine_file(results, isa::Confidence::inferred, "a test").dump();
    CHECK(generator::load_machine(file) == expected);
  }
}

TEST_CASE("Probes give back any machine within their ranges", "[probes]") {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    const Machine machine = random_machine(seed);
    CAPTURE(seed, generator::changed_values(machine).dump());
    const std::vector<ProbeResult> results = run_all(machine);
    check_all(results, machine);
    CHECK(answered(results) == asked());
  }
}

TEST_CASE("Probes give back any arithmetic", "[quick][probes]") {
  const std::vector<LoadedProbe> asking = written({"u8-rounding", "matrix-denormals", "matrix-sums"});
  for (int choice = 0; choice < 16; ++choice) {
    Machine machine;
    machine.mfma_accumulation = static_cast<isa::MfmaAccumulation>(choice % 4);
    machine.mfma_denormals = static_cast<isa::MfmaDenormals>(choice / 4 % 2);
    machine.cvt_pk_u8_rounding = static_cast<isa::CvtRounding>(choice / 8);
    std::vector<Recorded> recorded;
    for (const LoadedProbe& probe : asking) recorded.push_back(simulate_probe(probe, machine));
    const std::vector<ProbeResult> results = evaluate_probes(recorded);
    CAPTURE(choice);
    check_all(results, machine);
    CHECK(answered(results).size() == 3);
  }
}

TEST_CASE("Probes: a parameter that is another gives another answer", "[quick][probes]") {
  const Machine nominal;
  for (const isa::Parameter& parameter : isa::machine_parameters()) {
    if (!asked().contains(parameter.name)) continue;
    CAPTURE(parameter.name);
    const Machine other = changed(nominal, parameter);
    REQUIRE_FALSE(other == nominal);
    for (const ProbeResult& result : evaluate_probes({simulate_probe(probe_for(parameter.name), other)}))
      for (const Answer& answer : result.findings.answers) {
        CAPTURE(answer.parameter);
        CHECK(agrees(answer, other));
        CHECK(agrees(answer, nominal) == (answer.parameter != parameter.name));
      }
  }
}

TEST_CASE("Probes: what kernels take for granted is as assumed, and would show if not", "[quick][probes]") {
  int assumptions = 0;
  for (const LoadedProbe& probe : probes()) {
    Recorded recorded = simulate_probe(probe, {});
    const std::vector<Fact> facts = evaluate_probes({recorded}).front().findings.facts;
    if (std::ranges::all_of(facts, [](const Fact& fact) { return fact.assumed.empty(); })) continue;
    for (std::uint32_t& word : recorded.words) word ^= 0x01c14141;
    const std::vector<Fact> spoilt = evaluate_probes({recorded}).front().findings.facts;
    REQUIRE(spoilt.size() == facts.size());
    for (std::size_t i = 0; i < facts.size(); ++i) {
      if (facts[i].assumed.empty()) continue;
      ++assumptions;
      CAPTURE(facts[i].what);
      CHECK(facts[i].found == facts[i].assumed);
      CHECK(spoilt[i].found != facts[i].assumed);
    }
  }
  CHECK(assumptions == 12);
}

TEST_CASE("Probes: denormals and sums that machine.def does not know are no answer", "[quick][probes]") {
  for (const char* parameter : {"mfma_denormals", "mfma_accumulation", "cvt_pk_u8_rounding"}) {
    CAPTURE(parameter);
    Recorded recorded = simulate_probe(probe_for(parameter), {});
    CHECK(evaluate_probes({recorded}).front().findings.answers.size() == 1);
    recorded.words[0] = 0x00000003;
    CHECK(evaluate_probes({recorded}).front().findings.answers.empty());
  }
}

TEST_CASE("Probes: it does not matter when the clock started", "[quick][probes]") {
  Recorded recorded = simulate_probe(probe_for("lds_latency_clk"), {});
  const Answer before = evaluate_probes({recorded}).front().findings.answers.front();
  constexpr std::uint64_t start = 0xfffffff0;
  for (std::size_t i = 0; i < recorded.words.size(); i += 2) {
    const std::uint64_t clock = (recorded.words[i] | std::uint64_t{recorded.words[i + 1]} << 32) + start;
    recorded.words[i] = static_cast<std::uint32_t>(clock);
    recorded.words[i + 1] = static_cast<std::uint32_t>(clock >> 32);
  }
  CHECK(evaluate_probes({recorded}).front().findings.answers.front().value == before.value);
}

TEST_CASE("Probes keep to the architecture's rules", "[quick][probes]") {
  // What the probe is about.
  const std::map<std::string_view, std::set<std::string>> expected = {{"fp8-overflow", {"NaN born"}},
                                                                      {"fp8-saturation", {"NaN born"}}};
  for (const LoadedProbe& probe : probes()) {
    CAPTURE(probe.name);
    std::set<std::string> kinds;
    for (const auto& [kind, count] : run_strictly(probe).finding_counts) kinds.insert(kind.substr(0, kind.find(':')));
    const auto known = expected.find(probe.name);
    CHECK(kinds == (known == expected.end() ? std::set<std::string>{} : known->second));
  }
}

TEST_CASE("Probes: records and lists that do not fit are refused", "[quick][probes]") {
  CHECK(mentions(problem_with([] { evaluate_probes({{"turns", {}}}); }), "there is no probe 'turns'"));
  CHECK(mentions(problem_with([] { evaluate_probes({{"turn", {1, 2}}}); }), "not 8"));
  const TemporaryDirectory directory;
  generator::write_probes({"turn"}, directory.path());
  const std::vector<LoadedProbe> loaded = load_probes(directory.path());
  const std::string file = directory.file("zyfa_probe_turn_gfx950.out");
  CHECK(mentions(problem_with([&] { read_recorded(loaded, directory.path()); }), file));
  std::ofstream(file) << "short";
  CHECK(mentions(problem_with([&] { read_recorded(loaded, directory.path()); }), "has 5 bytes"));

  const auto index = nlohmann::ordered_json::parse(std::ifstream(directory.file("probes.json")));
  const auto problem = [&](const std::string& key, const nlohmann::ordered_json& value) {
    auto changed = index;
    changed["probes"][0][key] = value;
    std::ofstream(directory.file("probes.json")) << changed.dump();
    return problem_with([&] { load_probes(directory.path()); });
  };
  CHECK(mentions(problem("out_bytes", 4), "another version"));
  CHECK(mentions(problem("name", "tern"), "'tern'"));
  CHECK(mentions(problem("code_object_sha256", "0"), "sha256 differs"));
  CHECK(mentions(problem("block", "wide"), "of another version"));
  CHECK(mentions(problem("block", {0, 1, 1}), "of another version"));
  CHECK(mentions(problem("symbol", 7), "is not what zyfa-gen --probe writes"));
  CHECK(problem("launches", 1).empty());
}
