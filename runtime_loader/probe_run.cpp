#include "runtime_loader/probe_run.h"

#include "generator/generate.h"
#include "generator/json_file.h"
#include "generator/sha256.h"
#include "isa/error.h"
#include "isa/pipes/compute_unit.h"

#include <algorithm>
#include <cstring>

namespace zyfa::runtime {
namespace {

namespace fs = std::filesystem;
using schedules::Probe;

const Probe& known_probe(const std::vector<Probe>& all, std::string_view name, const std::string& source) {
  const auto found = std::ranges::find(all, name, &Probe::name);
  if (found == all.end()) throw Error("{}: there is no probe '{}' (zyfa-gen --probe --list)", source, name);
  return *found;
}

LoadedProbe load(const nlohmann::ordered_json& entry, const std::vector<Probe>& all, const fs::path& index) {
  const std::string name = entry.at("name");
  const Probe& probe = known_probe(all, name, index.string());
  LoadedProbe loaded;
  loaded.name = name;
  loaded.symbol = entry.at("symbol");
  loaded.out_bytes = entry.at("out_bytes");
  loaded.in_bytes = entry.at("in_bytes");
  loaded.launches = entry.at("launches");
  const nlohmann::ordered_json block = {64 * probe.waves, 1, 1};
  if (loaded.out_bytes != probe.out_bytes || loaded.in_bytes != probe.in_bytes || entry.at("block") != block)
    throw Error("{}: probe '{}' is of another version of zyfa; write it anew with zyfa-gen --probe", index.string(),
                name);
  const fs::path file = index.parent_path() / fs::path(entry.at("code_object").get<std::string>()).filename();
  loaded.code_object = read_file(file);
  if (generator::sha256(loaded.code_object) != entry.at("code_object_sha256").get<std::string>())
    throw Error("{} does not belong to {}: the code object's sha256 differs", file.string(), index.string());
  const generator::CodeObject object = generator::read_code_object(loaded.code_object, file.string());
  const generator::KernelImage& image = generator::find_kernel(object, loaded.symbol, file.string());
  loaded.launch = initial_state(image.descriptor);
  loaded.launch.workgroup_size = {64 * static_cast<std::uint32_t>(probe.waves), 1, 1};
  loaded.code = generator::decode(object, image);
  return loaded;
}

}  // namespace

std::vector<LoadedProbe> load_probes(const fs::path& directory) {
  const fs::path index = directory / "probes.json";
  const nlohmann::ordered_json json = generator::read_json_file(index);
  const std::vector<Probe> all = schedules::all_probes();
  std::vector<LoadedProbe> probes;
  try {
    for (const auto& entry : json.at("probes")) probes.push_back(load(entry, all, index));
  } catch (const nlohmann::json::exception&) {
    throw Error("{} is not what zyfa-gen --probe writes", index.string());
  }
  if (probes.empty()) throw Error("{} lists no probe", index.string());
  return probes;
}

ProbeArguments probe_arguments(std::uint64_t out, std::uint64_t in) {
  ProbeArguments arguments{};
  arguments[schedules::probe_out_offset / sizeof(std::uint64_t)] = out;
  arguments[schedules::probe_in_offset / sizeof(std::uint64_t)] = in;
  return arguments;
}

Recorded run_probe(const LoadedProbe& probe, const Runner& runner) {
  Recorded recorded{probe.name, std::vector<std::uint32_t>(probe.out_bytes / sizeof(std::uint32_t), ~0u)};
  const std::vector<std::byte> in(probe.in_bytes);
  emulator::GlobalMemory memory;
  const std::uint64_t out = memory.place("out", std::as_writable_bytes(std::span(recorded.words)));
  const ProbeArguments arguments = probe_arguments(out, in.empty() ? 0 : memory.place_read_only("in", in));
  emulator::Launch launch = probe.launch;
  launch.kernarg_address = memory.place_read_only("kernel arguments", std::as_bytes(std::span(arguments)));
  const emulator::Result result = runner(probe.code.program, launch, memory);
  if (result.trap) throw Error("probe '{}': {}", probe.name, result.trap->message);
  return recorded;
}

Recorded simulate_probe(const LoadedProbe& probe, const isa::Machine& machine) {
  return run_probe(
      probe, [&](const isa::Program& program, const emulator::Launch& launch, const emulator::GlobalMemory& memory) {
        emulator::Result result;
        result.trap = pipes::simulate(program, launch, memory, 0, {.machine = machine, .on_issue = {}}).trap;
        return result;
      });
}

std::vector<Recorded> read_recorded(const std::vector<LoadedProbe>& probes, const fs::path& directory) {
  std::vector<Recorded> recorded;
  for (const LoadedProbe& probe : probes) {
    const fs::path file = directory / (probe.symbol + ".out");
    const std::vector<std::byte> bytes = read_file(file);
    if (bytes.size() != probe.out_bytes)
      throw Error("{} has {} bytes; probe '{}' stores {}", file.string(), bytes.size(), probe.name, probe.out_bytes);
    Recorded record{probe.name, std::vector<std::uint32_t>(bytes.size() / sizeof(std::uint32_t))};
    std::memcpy(record.words.data(), bytes.data(), bytes.size());
    recorded.push_back(std::move(record));
  }
  return recorded;
}

void write_recorded(const std::vector<LoadedProbe>& probes, const std::vector<Recorded>& recorded,
                    const fs::path& directory) {
  generator::make_directory(directory);
  for (std::size_t i = 0; i < probes.size(); ++i)
    generator::write_file(directory / (probes[i].symbol + ".out"), std::as_bytes(std::span(recorded[i].words)));
}

ProbeResult evaluate_probe(const Recorded& record) {
  const std::vector<Probe> all = schedules::all_probes();
  const Probe& probe = known_probe(all, record.name, "what was recorded");
  if (record.words.size() * sizeof(std::uint32_t) != probe.out_bytes)
    throw Error("probe '{}' stores {} bytes, not {}", record.name, probe.out_bytes,
                record.words.size() * sizeof(std::uint32_t));
  return {record.name, probe.evaluate(record.words)};
}

std::vector<ProbeResult> evaluate_probes(const std::vector<Recorded>& recorded) {
  std::vector<ProbeResult> results;
  for (const Recorded& record : recorded) results.push_back(evaluate_probe(record));
  return results;
}

}  // namespace zyfa::runtime
