#include "isa/machine.h"

#include "generator/machine_file.h"
#include "isa/error.h"
#include "tests/support/catch.h"

#include <unistd.h>

#include <fstream>
#include <set>

using namespace zyfa;
using namespace zyfa::generator;
using namespace zyfa::isa;

namespace {

struct TextFile {
  std::filesystem::path path = std::filesystem::temp_directory_path() / fmt::format("zyfa-machine-{}.json", getpid());

  explicit TextFile(const std::string& text) { std::ofstream(path) << text; }
  ~TextFile() { std::filesystem::remove(path); }
};

std::string problem_with(const std::string& text) {
  const TextFile file(text);
  try {
    load_machine(file.path);
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find(file.path.string()) != std::string::npos);
    return error.what();
  }
  return {};
}

bool names(const std::string& message, const std::string& part) { return message.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("Every number of the machine has a name of its own, a unit and a source", "[quick][machine]") {
  std::set<std::string_view> seen;
  for (const Parameter& p : machine_parameters()) {
    CAPTURE(p.name);
    CHECK(seen.insert(p.name).second);
    CHECK_FALSE(p.unit.empty());
    CHECK_FALSE(p.source.empty());
    CHECK_FALSE(name(p.confidence).empty());
  }
  CHECK(seen.size() == to_json(Machine{}).size());
}

TEST_CASE("Waves per SIMD follow from the registers", "[quick][machine]") {
  const Machine machine;
  struct Row {
    int vgprs, waves;
  };
  // gfx950.md 1.
  for (const Row row : {Row{0, 8}, Row{1, 8}, Row{64, 8}, Row{65, 7}, Row{72, 7}, Row{73, 6}, Row{80, 6}, Row{81, 5},
                        Row{96, 5}, Row{97, 4}, Row{128, 4}, Row{129, 3}, Row{168, 3}, Row{169, 2}, Row{256, 2},
                        Row{257, 1}, Row{512, 1}, Row{513, 0}}) {
    CAPTURE(row.vgprs);
    CHECK(waves_per_simd(machine, row.vgprs) == row.waves);
  }
}

TEST_CASE("A machine survives the way to JSON and back", "[quick][machine]") {
  Machine machine;
  machine.clock_ghz = 2.1;
  machine.lds_banks = 32;
  machine.xdl_write_to_read = {1, 2, 3, 4};
  const TextFile file(to_json(machine).dump(2));
  CHECK(load_machine(file.path) == machine);
  CHECK_FALSE(load_machine(file.path) == Machine{});
}

TEST_CASE("A file overrides what it names and nothing else", "[quick][machine]") {
  const TextFile file(R"({"clock_ghz": 2, "xdl_write_to_read": {"value": [5, 7, 11, 19], "source": "my own"}})");
  Machine expected;
  expected.clock_ghz = 2;
  expected.xdl_write_to_read = {5, 7, 11, 19};
  CHECK(load_machine(file.path) == expected);
}

TEST_CASE("Mistakes in a machine file are named with their key", "[quick][machine]") {
  CHECK(names(problem_with(R"({"clock_ghs": 2})"), "clock_ghs"));
  CHECK(names(problem_with(R"({"lds_banks": 2.5})"), "\"lds_banks\" takes an integer"));
  CHECK(names(problem_with(R"({"lds_banks": 0})"), "\"lds_banks\" takes an integer of at least 1"));
  CHECK(names(problem_with(R"({"trans_clk": 65540})"), "\"trans_clk\" takes an integer from 0 to 16383"));
  CHECK(names(problem_with(R"({"simds_per_cu": 8})"), "\"simds_per_cu\" takes 4 and nothing else"));
  CHECK(names(problem_with(R"({"turn_clk": 0})"), "\"turn_clk\" takes an integer from 1 to 16383"));
  CHECK(names(problem_with(R"({"lds_banks": 5000000000})"), "\"lds_banks\" takes an integer"));
  CHECK(names(problem_with(R"({"clock_ghz": "fast"})"), "\"clock_ghz\" takes a positive number"));
  CHECK(names(problem_with(R"({"xdl_write_to_read": 20})"), "\"xdl_write_to_read\" takes a list of four"));
  CHECK(names(problem_with(R"({"xdl_write_to_read": [1, 2, 3, -4]})"), "\"xdl_write_to_read\" takes an integer"));
  CHECK(names(problem_with(R"({"lds_bytes": {"value": 64, "unit": "KiB"}})"), "the unit \"bytes per CU\""));
  CHECK(names(problem_with(R"({"lds_bytes": {"unit": "bytes per CU"}})"), "a field \"value\""));
  CHECK(names(problem_with(R"({"lds_bytes": {"valu": 3}})"), "unknown field \"valu\""));
  CHECK(names(problem_with("[]"), "not a JSON object"));
  CHECK(names(problem_with("{"), "not JSON"));
  CHECK_THROWS_AS(load_machine("/nonexistent/machine.json"), Error);
}
