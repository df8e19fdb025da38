#include "generator/machine_file.h"

#include "generator/json_file.h"
#include "isa/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

namespace zyfa::generator {
namespace {

using isa::Machine;
using isa::Parameter;
using isa::PerPass;
using Json = nlohmann::ordered_json;

Json value_of(int number) { return number; }
Json value_of(double number) { return number; }
template <class Choice>
Json value_of(Choice choice) requires std::is_enum_v<Choice> {
  return isa::value_names(choice)[static_cast<std::size_t>(choice)];
}
Json value_of(PerPass numbers) { return {numbers.p2, numbers.p4, numbers.p8, numbers.p16}; }

// Wait states and clocks may be none; a size, a rate or a limit of zero means a mistake in the file.
int minimum(const Parameter& parameter) {
  const std::string_view unit = parameter.unit;
  const bool may_be_none = unit == "wait states" || unit == "clk" || unit == "0 or 1";
  return may_be_none && parameter.name != "turn_clk" ? 0 : 1;
}

// The pipe model counts an instruction's clocks in 16 bits and reserves the LDS for some time ahead.
constexpr int most_clk = 16383;

std::int64_t maximum(const Parameter& parameter) {
  if (parameter.unit == "0 or 1") return 1;
  return parameter.unit == "clk" ? most_clk : std::numeric_limits<int>::max();
}

struct Key {
  const std::filesystem::path& file;
  const Parameter& parameter;

  [[noreturn]] void reject(std::string_view expected) const {
    throw Error("{}: \"{}\" takes {}", file.string(), parameter.name, expected);
  }
};

int read_int(const Key& key, const Json& value) {
  const int low = minimum(key.parameter);
  const std::int64_t high = maximum(key.parameter);
  if (!value.is_number_integer() || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high)
    key.reject(high == 1          ? "0 or 1"
               : high == most_clk ? fmt::format("an integer from {} to {}", low, high)
                                  : fmt::format("an integer of at least {}", low));
  return value.get<int>();
}

void read(const Key& key, const Json& value, int& number) {
  const int given = read_int(key, value);
  // Emulator and model are built for these.
  const bool is_fixed = key.parameter.name == "simds_per_cu" || key.parameter.name == "wave_lanes";
  if (is_fixed && given != number) key.reject(fmt::format("{} and nothing else", number));
  number = given;
}

void read(const Key& key, const Json& value, double& number) {
  // An energy may be none: whoever leaves something out of the sum says 0.
  const bool is_energy = key.parameter.unit.starts_with("pJ");
  const double given = value.is_number() ? value.get<double>() : -1;
  if (!(given > 0) && !(is_energy && given == 0))
    key.reject(is_energy ? "a number of at least 0" : "a positive number");
  number = given;
}

void read(const Key& key, const Json& value, PerPass& numbers) {
  if (!value.is_array() || value.size() != 4) key.reject("a list of four integers, for 2, 4, 8 and 16 passes");
  numbers = {read_int(key, value[0]), read_int(key, value[1]), read_int(key, value[2]), read_int(key, value[3])};
}

template <class Choice>
void read(const Key& key, const Json& value, Choice& choice) requires std::is_enum_v<Choice> {
  const auto names = isa::value_names(choice);
  const auto found = value.is_string() ? std::ranges::find(names, value.get<std::string>()) : names.end();
  if (found == names.end()) key.reject(fmt::format("one of {}", fmt::join(names, ", ")));
  choice = static_cast<Choice>(found - names.begin());
}

// A bare value, or what to_json wrote: confidence and source are the file's remarks on its own number.
const Json& value_in(const Key& key, const Json& entry) {
  if (!entry.is_object()) return entry;
  for (const auto& [field, content] : entry.items()) {
    if (field != "value" && field != "unit" && field != "confidence" && field != "source")
      throw Error("{}: \"{}\" has the unknown field \"{}\"; accepted are value, unit, confidence, source",
                  key.file.string(), key.parameter.name, field);
    if (field == "unit" && content != key.parameter.unit)
      key.reject(fmt::format("the unit \"{}\"", key.parameter.unit));
  }
  if (!entry.contains("value")) key.reject("a field \"value\"");
  return entry.at("value");
}

}  // namespace

Json to_json(const Machine& machine) {
  Json json = Json::object();
  for (const Parameter& parameter : isa::machine_parameters())
    json[std::string(parameter.name)] = {
        {"value", std::visit([&](auto member) { return value_of(machine.*member); }, parameter.member)},
        {"unit", parameter.unit},
        {"confidence", isa::name(parameter.confidence)},
        {"source", parameter.source}};
  return json;
}

Json changed_values(const Machine& machine) {
  Json changes = Json::object();
  const Json built_in = to_json(Machine{}), given = to_json(machine);
  for (const auto& [name, entry] : given.items())
    if (entry != built_in[name]) changes[name] = entry["value"];
  return changes;
}

Machine load_machine(const std::filesystem::path& path) {
  Machine machine;
  const Json json = read_json_file(path);
  if (!json.is_object()) throw Error("{}: not a JSON object of machine parameters", path.string());
  for (const auto& [name, entry] : json.items()) {
    const auto parameters = isa::machine_parameters();
    const auto found = std::ranges::find(parameters, std::string_view(name), &Parameter::name);
    if (found == parameters.end())
      throw Error("{}: \"{}\" is not a parameter of the machine; zyfa's list is isa/machine.def", path.string(), name);
    const Key key{path, *found};
    std::visit([&](auto member) { read(key, value_in(key, entry), machine.*member); }, found->member);
  }
  return machine;
}

Machine find_machine(const std::string& name_or_file) {
  if (name_or_file == "nominal") return {};
  if (name_or_file == "optimistic") return isa::optimistic_machine();
  if (name_or_file == "pessimistic") return isa::pessimistic_machine();
  return load_machine(name_or_file);
}

}  // namespace zyfa::generator
