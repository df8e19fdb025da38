#include "generator/json_file.h"

#include <fstream>

namespace zyfa::generator {

nlohmann::ordered_json read_json_file(const std::filesystem::path& file) {
  constexpr std::size_t most_bytes = 256 * 1024;
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) throw Error("{} is a directory, not a JSON file", file.string());
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error("cannot open {}", file.string());
  std::string text(most_bytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > most_bytes) throw Error("{} is larger than {} bytes", file.string(), most_bytes);
  auto json = nlohmann::ordered_json::parse(text, depth_limit(file.string()), /*allow_exceptions=*/false,
                                            /*ignore_comments=*/true);
  if (json.is_discarded()) throw Error("{} is not JSON", file.string());
  return json;
}

}  // namespace zyfa::generator
