// JSON files that users write: configurations, machine parameters, manifests.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>

namespace zyfa::generator {

// The file's JSON; comments are allowed. Throws Error that names the file where it cannot be read or is not JSON.
nlohmann::ordered_json read_json_file(const std::filesystem::path& file);

}  // namespace zyfa::generator
