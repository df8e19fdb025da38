#include "generator/json_file.h"

#include <fstream>

namespace zyfa::generator {

namespace {

constexpr std::size_t most_bytes = 256 * 1024;

}  // namespace

nlohmann::ordered_json parse_json(std::string_view text, const std::string& source) {
  if (text.size() > most_bytes) throw Error("{} is larger than {} bytes", source, most_bytes);
  auto json = nlohmann::ordered_json::parse(text, depth_limit(source), /*allow_exceptions=*/false,
                                            /*ignore_comments=*/true);
  if (json.is_discarded()) throw Error("{} is not JSON", source);
  return json;
}

nlohmann::ordered_json read_json_file(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) throw Error("{} is a directory, not a JSON file", file.string());
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error("cannot open {}", file.string());
  std::string text(most_bytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return parse_json(text, file.string());
}

void check_keys(const nlohmann::json& json, const nlohmann::ordered_json& known, std::string_view source) {
  if (!json.is_object()) throw Error("{}: a configuration is a JSON object, this is {}", source, json.type_name());
  for (const auto& item : json.items())
    if (!known.contains(item.key())) {
      std::string keys;
      for (const auto& k : known.items()) keys += (keys.empty() ? "" : ", ") + k.key();
      throw Error("{}: unknown key '{}'; accepted: {}", source, item.key(), keys);
    }
}

}  // namespace zyfa::generator
