#include "generator/json_file.h"

#include "isa/error.h"

#include <fstream>

namespace zyfa::generator {

nlohmann::ordered_json read_json_file(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) throw Error("{} is a directory, not a JSON file", file.string());
  std::ifstream stream(file);
  if (!stream) throw Error("cannot open {}", file.string());
  auto json = nlohmann::ordered_json::parse(stream, nullptr, /*allow_exceptions=*/false, /*ignore_comments=*/true);
  if (json.is_discarded()) throw Error("{} is not JSON", file.string());
  return json;
}

}  // namespace zyfa::generator
