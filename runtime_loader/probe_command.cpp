#include "runtime_loader/probe_command.h"

#include "generator/machine_file.h"
#include "generator/probe_files.h"
#include "runtime_loader/hip/hip_probe.h"
#include "runtime_loader/probe_report.h"
#include "runtime_loader/progress.h"

#include <fmt/ostream.h>

#include <cmath>
#include <variant>

namespace zyfa::runtime {
namespace {

// Answers that do not agree, by name.
std::vector<std::string> differing(const std::vector<ProbeResult>& results, const isa::Machine& machine) {
  std::vector<std::string> names;
  for (const ProbeResult& result : results)
    for (const schedules::Answer& answer : result.findings.answers)
      if (!agrees(answer, machine)) names.emplace_back(answer.parameter);
  return names;
}

std::vector<Recorded> run_on_gpu(const std::vector<LoadedProbe>& probes,
                                 const std::shared_ptr<const HipDevice>& device) {
  ProgressBar bar("probing", probes.size());
  std::vector<Recorded> recorded;
  for (const LoadedProbe& probe : probes) {
    recorded.push_back(run_probe_on_gpu(probe, device));
    ++bar.done();
  }
  return recorded;
}

// What each probe answers, and what is no answer, with the reason.
struct Evaluated {
  std::vector<ProbeResult> results;
  std::vector<std::string> failed;
};

// Takes answers out that no machine can have.
void drop_impossible(ProbeResult& result, std::vector<std::string>& failed) {
  std::erase_if(result.findings.answers, [&](const schedules::Answer& answer) {
    const double* number = std::get_if<double>(&answer.value);
    const bool impossible = number && !(std::round(*number) >= 0);
    if (impossible) failed.push_back(fmt::format("{}: {} comes out as {:g}", result.name, answer.parameter, *number));
    return impossible;
  });
}

Evaluated evaluate(const std::vector<Recorded>& recorded) {
  Evaluated evaluated;
  for (const Recorded& record : recorded) {
    try {
      drop_impossible(evaluated.results.emplace_back(evaluate_probe(record)), evaluated.failed);
    } catch (const Error& error) {
      evaluated.failed.push_back(fmt::format("{}: {}", record.name, error.what()));
    }
  }
  return evaluated;
}

// Why there is no machine file; empty if there is one.
std::string write_answers(const std::vector<ProbeResult>& results, const HipDeviceInfo& device,
                          const std::filesystem::path& file) {
  try {
    write_machine(results,
                  {fmt::format("{}, {}", device.name, device.runtime),
                   device.emulated ? isa::Confidence::inferred : isa::Confidence::measured},
                  file);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

int run_probe_command(const ProbeCommand& command) {
  const isa::Machine machine = generator::find_machine(command.machine);
  const std::shared_ptr<const HipDevice> device = HipDevice::open(command.device);
  if (!std::filesystem::exists(command.directory / "probes.json")) generator::write_probes({}, command.directory);
  const std::vector<LoadedProbe> probes = load_probes(command.directory);
  const std::vector<Recorded> recorded = run_on_gpu(probes, device);
  write_recorded(probes, recorded, command.directory);
  const Evaluated evaluated = evaluate(recorded);
  const std::filesystem::path file = command.directory / "machine.json";
  const std::string no_machine = write_answers(evaluated.results, device->info(), file);
  const std::vector<std::string> differences = differing(evaluated.results, machine);
  if (command.json) {
    nlohmann::ordered_json json = {
        {"device", device->info().name},
        {"arch", device->info().arch},
        {"runtime", device->info().runtime},
        {"measured", !device->info().emulated},
        {"machine", command.machine},
        {"machine_file", no_machine.empty() ? nlohmann::ordered_json(file.string()) : nullptr},
        {"no_machine_file", no_machine},
        {"failed", evaluated.failed},
        {"differs", differences}};
    json.update(probe_json(evaluated.results, machine));
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("device     {}, {}\n", device->info().name, device->info().runtime);
    print_probes(evaluated.results, machine);
    for (const std::string& reason : evaluated.failed) fmt::print("failed     {}\n", reason);
    fmt::print("differs    {} from {}: {}\n", differences.size(), command.machine,
               differences.empty() ? "nothing" : fmt::format("{}", fmt::join(differences, ", ")));
    fmt::print("{}\n", no_machine.empty() ? "wrote      " + file.string() : "no machine " + no_machine);
  }
  return differences.empty() && evaluated.failed.empty() && no_machine.empty() ? 0 : 1;
}

}  // namespace zyfa::runtime
