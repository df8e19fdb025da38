#include "generator/probe_files.h"

#include "generator/assemble.h"
#include "generator/emit.h"
#include "generator/generate.h"
#include "generator/link.h"
#include "generator/sha256.h"
#include "schedules/probes/probe.h"

#include <algorithm>

namespace zyfa::generator {
namespace {

namespace fs = std::filesystem;
using schedules::Probe;
using Json = nlohmann::ordered_json;

constexpr KernargField arguments[] = {
    {"out", schedules::probe_out_offset, 8, "global_buffer", "u32", "address", "what the probe stores"},
    {"in", schedules::probe_in_offset, 8, "global_buffer", "u32", "address", "anything that may be read"}};

// Launches on a device of which the last counts: the first ones wake its clocks and fill its caches.
constexpr int launches = 10;

std::string symbol_of(const Probe& probe) {
  std::string symbol = fmt::format("zyfa_probe_{}_gfx950", probe.name);
  std::ranges::replace(symbol, '-', '_');
  return symbol;
}

Json describe(const Probe& probe) {
  return {{"name", probe.name}, {"question", probe.question}, {"parameters", probe.parameters}};
}

Json write_probe(const Probe& probe, const fs::path& directory) {
  constexpr int wave_lanes = 64;
  const KernelFrame frame{.symbol = symbol_of(probe),
                          .about = fmt::format("probe {}: {}", probe.name, probe.question),
                          .lds_bytes = probe.lds_bytes,
                          .kernarg_bytes = schedules::probe_kernarg_bytes,
                          .arguments = arguments,
                          .workgroup_size = wave_lanes * probe.waves,
                          .fp16_overflow = probe.fp16_overflow};
  const std::string assembly = emit_assembly(frame, probe.build());
  const std::vector<std::byte> code_object = link(assemble(assembly, frame.symbol + ".s"));
  Json json = describe(probe);
  json["symbol"] = frame.symbol;
  json["code_object"] = frame.symbol + ".co";
  json["code_object_sha256"] = sha256(code_object);
  json["grid"] = {1, 1, 1};
  json["block"] = {frame.workgroup_size, 1, 1};
  json["lds_bytes"] = frame.lds_bytes;
  json["kernarg_bytes"] = frame.kernarg_bytes;
  json["arguments"] = Json::array();
  for (const KernargField& field : arguments)
    json["arguments"].push_back({{"name", field.name}, {"offset", field.offset}, {"meaning", field.meaning}});
  json["out_bytes"] = probe.out_bytes;
  json["in_bytes"] = probe.in_bytes;
  json["launches"] = launches;
  const std::string stem = (directory / frame.symbol).string();
  write_file(stem + ".s", std::as_bytes(std::span(assembly)));
  write_file(stem + ".co", code_object);
  const std::string text = json.dump(2) + "\n";
  write_file(stem + ".json", std::as_bytes(std::span(text)));
  return json;
}

}  // namespace

Json list_probes() {
  Json list = Json::array();
  for (const Probe& probe : schedules::all_probes()) list.push_back(describe(probe));
  return list;
}

Json write_probes(const std::vector<std::string>& names, const fs::path& directory) {
  const std::vector<Probe> all = schedules::all_probes();
  for (const std::string& name : names)
    if (std::ranges::find(all, name, &Probe::name) == all.end()) {
      std::vector<std::string_view> known;
      for (const Probe& probe : all) known.push_back(probe.name);
      throw Error("there is no probe '{}'; accepted: {}", name, fmt::join(known, ", "));
    }
  make_directory(directory);
  Json index = {{"zyfa", ZYFA_VERSION}, {"target", "gfx950"}, {"probes", Json::array()}};
  for (const Probe& probe : all)
    if (names.empty() || std::ranges::find(names, probe.name) != names.end())
      index["probes"].push_back(write_probe(probe, directory));
  const std::string text = index.dump(2) + "\n";
  write_file(directory / "probes.json", std::as_bytes(std::span(text)));
  return index["probes"];
}

}  // namespace zyfa::generator
