// Probes (schedules/probes) as files that any runtime can launch.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace zyfa::generator {

// Writes the probes of these names, or all if there are none: <symbol>.s, .co and .json for each, and probes.json, the
// list of what is in the .json files. Returns that list. Throws Error for an unknown name, which lists the known ones.
// docs/probes.md describes the fields.
nlohmann::ordered_json write_probes(const std::vector<std::string>& names, const std::filesystem::path& directory);

// Name, question and parameters of each.
nlohmann::ordered_json list_probes();

}  // namespace zyfa::generator
