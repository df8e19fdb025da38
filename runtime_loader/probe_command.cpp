#include "runtime_loader/probe_command.h"

#include "generator/machine_file.h"
#include "generator/probe_files.h"
#include "runtime_loader/hip/hip_probe.h"
#include "runtime_loader/probe_report.h"
#include "runtime_loader/progress.h"

#include <fmt/ostream.h>

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

}  // namespace

int run_probe_command(const ProbeCommand& command) {
  const isa::Machine machine = generator::find_machine(command.machine);
  const std::shared_ptr<const HipDevice> device = HipDevice::open(command.device);
  if (!std::filesystem::exists(command.directory / "probes.json")) generator::write_probes({}, command.directory);
  const std::vector<LoadedProbe> probes = load_probes(command.directory);
  const std::vector<Recorded> recorded = run_on_gpu(probes, device);
  write_recorded(probes, recorded, command.directory);
  const std::vector<ProbeResult> results = evaluate_probes(recorded);
  const std::string where = fmt::format("{}, {}", device->info().name, device->info().runtime);
  const std::filesystem::path file = command.directory / "machine.json";
  write_machine(results, {where, isa::Confidence::measured}, file);
  const std::vector<std::string> differences = differing(results, machine);
  if (command.json) {
    nlohmann::ordered_json json = {{"device", device->info().name},     {"arch", device->info().arch},
                                   {"runtime", device->info().runtime}, {"machine", command.machine},
                                   {"machine_file", file.string()},     {"differs", differences}};
    json.update(probe_json(results, machine));
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("device     {}\n", where);
    print_probes(results, machine);
    fmt::print("differs    {} from {}: {}\nwrote      {}\n", differences.size(), command.machine,
               differences.empty() ? "nothing" : fmt::format("{}", fmt::join(differences, ", ")), file.string());
  }
  return differences.empty() ? 0 : 1;
}

}  // namespace zyfa::runtime
