// JSON files that users write: configurations, machine parameters, manifests.
#pragma once

#include "isa/error.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace zyfa::generator {

// The file's JSON; comments are allowed. Throws Error that names the file where it cannot be read, is not JSON, nests
// deeper than depth_limit() allows or is larger than 256 KiB, at which the ordered object's search for each key still
// ends soon.
nlohmann::ordered_json read_json_file(const std::filesystem::path& file);

// The same of a text; `source` stands for it in messages.
nlohmann::ordered_json parse_json(std::string_view text, const std::string& source);

// A callback for the JSON library's parse, which throws Error where values nest deeper than any file of ours: the
// library copies and prints by recursion, so depth is the host's stack. `source` stands for the file.
inline auto depth_limit(std::string source) {
  return [source = std::move(source)](int depth, auto, auto&) {
    constexpr int deepest = 64;
    if (depth > deepest) throw Error("{} nests JSON values more than {} deep", source, deepest);
    return true;
  };
}

}  // namespace zyfa::generator
