#include "runtime_loader/probe_report.h"

#include "generator/generate.h"
#include "generator/machine_file.h"
#include "isa/error.h"

#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>

namespace zyfa::runtime {
namespace {

using schedules::Answer;
using schedules::Fact;
using Json = nlohmann::ordered_json;

const isa::Parameter& parameter_of(const Answer& answer) {
  const auto parameters = isa::machine_parameters();
  const auto found = std::ranges::find(parameters, answer.parameter, &isa::Parameter::name);
  if (found == parameters.end()) throw Error("a probe answers for '{}', which is no parameter", answer.parameter);
  return *found;
}

Json found_value(const Answer& answer) {
  if (const auto* choice = std::get_if<std::string_view>(&answer.value)) return *choice;
  return std::get<double>(answer.value);
}

std::string text_of(const Json& value) {
  return value.is_number() ? fmt::format("{:g}", value.get<double>()) : value.get<std::string>();
}

}  // namespace

bool agrees(const Answer& answer, const isa::Machine& machine) {
  constexpr double resolution = 4;  // clk
  constexpr double noise = 0.5;
  const isa::Parameter& parameter = parameter_of(answer);
  const Json is = generator::to_json(machine).at(std::string(parameter.name)).at("value");
  if (!is.is_number()) return is == found_value(answer);
  const double over = std::get<double>(answer.value) - is.get<double>();
  if (answer.at_most) return over > -noise;
  return parameter.unit == "clk" ? over > -noise && over < resolution - noise : std::abs(over) < noise;
}

bool all_agree(const std::vector<ProbeResult>& results, const isa::Machine& machine) {
  return std::ranges::all_of(results, [&](const ProbeResult& result) {
    return std::ranges::all_of(result.findings.answers, [&](const Answer& answer) { return agrees(answer, machine); });
  });
}

Json machine_file(const std::vector<ProbeResult>& results, isa::Confidence confidence, std::string_view source) {
  Json file = Json::object();
  for (const ProbeResult& result : results)
    for (const Answer& answer : result.findings.answers) {
      Json value = found_value(answer);
      if (value.is_number()) {
        const long rounded = std::lround(value.get<double>());
        if (rounded < 0)
          throw Error("probe {} answers {} with {:g}", result.name, answer.parameter, value.get<double>());
        value = rounded;
      }
      file[std::string(answer.parameter)] = {{"value", value},
                                             {"unit", parameter_of(answer).unit},
                                             {"confidence", isa::name(confidence)},
                                             {"source", fmt::format("probe {}, {}", result.name, source)}};
    }
  return file;
}

Json probe_json(const std::vector<ProbeResult>& results, const isa::Machine& machine) {
  const Json is = generator::to_json(machine);
  Json json = {{"parameters", Json::array()}, {"facts", Json::array()}};
  for (const ProbeResult& result : results) {
    for (const Answer& answer : result.findings.answers)
      json["parameters"].push_back({{"name", answer.parameter},
                                    {"probe", result.name},
                                    {"found", found_value(answer)},
                                    {"machine", is.at(std::string(answer.parameter)).at("value")},
                                    {"at_most", answer.at_most},
                                    {"agrees", agrees(answer, machine)}});
    for (const Fact& fact : result.findings.facts) {
      Json entry = {{"probe", result.name}, {"what", fact.what}, {"found", fact.found}};
      if (!fact.assumed.empty()) entry["assumed"] = fact.assumed;
      json["facts"].push_back(std::move(entry));
    }
  }
  return json;
}

void write_machine(const std::vector<ProbeResult>& results, const ProbeSource& source,
                   const std::filesystem::path& file) {
  const std::string text = machine_file(results, source.confidence, source.text).dump(2) + "\n";
  const std::filesystem::path tried = file.string() + ".tried";
  generator::write_file(tried, std::as_bytes(std::span(text)));
  try {
    generator::load_machine(tried);
  } catch (const Error& problem) {
    std::filesystem::remove(tried);
    throw Error("what the probes stored makes no machine: {}", problem.what());
  }
  std::filesystem::rename(tried, file);
}

void print_probes(const std::vector<ProbeResult>& results, const isa::Machine& machine) {
  const Json json = probe_json(results, machine);
  fmt::print("{:<26} {:<18} {:>14} {:>14}  {}\n", "parameter", "probe", "from the probe", "machine file", "agrees");
  for (const Json& row : json["parameters"])
    fmt::print("{:<26} {:<18} {:>14} {:>14}  {}\n", row["name"].get<std::string>(), row["probe"].get<std::string>(),
               (row["at_most"].get<bool>() ? "at most " : "") + text_of(row["found"]), text_of(row["machine"]),
               row["agrees"].get<bool>() ? "yes" : "NO");
  fmt::print("facts\n");
  for (const Json& row : json["facts"]) {
    const std::string found = row["found"], assumed = row.value("assumed", "");
    if (assumed.empty())
      fmt::print("  {}: {}\n", row["what"].get<std::string>(), found);
    else
      fmt::print("  {}: {}\n", row["what"].get<std::string>(),
                 found == assumed ? "as assumed" : fmt::format("{}; assumed was {}", found, assumed));
  }
}

}  // namespace zyfa::runtime
