#include "runtime_loader/tensor_file.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "generator/json_file.h"
#include "isa/error.h"
#include "runtime_loader/npy_header.h"

namespace zyfa::runtime {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view safetensors_suffix = ".safetensors";
// The safetensors reference reader refuses longer headers too.
constexpr std::uint64_t max_header_bytes = 100'000'000;

class InputFile {
 public:
  explicit InputFile(const std::string& path) : path_(path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) throw Error("{}: no such file", path);
    if (!fs::is_regular_file(status)) throw Error("{}: not a regular file", path);
    size_ = fs::file_size(path, error);
    stream_.open(path, std::ios::binary);
    if (error || !stream_) throw Error("{}: cannot be opened for reading", path);
  }

  std::uint64_t size() const { return size_; }

  // Reads exactly `count` bytes at `offset`; `what` names them where the file is too short.
  void read(std::uint64_t offset, void* out, std::uint64_t count, std::string_view what) {
    if (offset > size_ || count > size_ - offset) {
      throw Error("{}: truncated: {} needs {} bytes at offset {}, the file has {}", path_, what, count, offset, size_);
    }
    stream_.seekg(static_cast<std::streamoff>(offset));
    stream_.read(static_cast<char*>(out), static_cast<std::streamsize>(count));
    if (!stream_) throw Error("{}: reading {} failed", path_, what);
  }

  std::uint64_t read_little_endian(std::uint64_t offset, int bytes, std::string_view what) {
    unsigned char raw[8] = {};
    read(offset, raw, static_cast<std::uint64_t>(bytes), what);
    std::uint64_t value = 0;
    for (int i = bytes; i-- > 0;) value = value << 8 | raw[i];
    return value;
  }

 private:
  std::string path_;
  std::ifstream stream_;
  std::uint64_t size_ = 0;
};

// Doubles beyond the range of float become infinities, which the quantisation refuses by name.
std::vector<std::byte> doubles_to_floats(const std::vector<std::byte>& bytes) {
  std::vector<std::byte> floats(bytes.size() / 2);
  for (std::size_t i = 0; i < bytes.size() / 8; ++i) {
    double wide;
    std::memcpy(&wide, bytes.data() + i * 8, 8);
    const float narrow = static_cast<float>(wide);
    std::memcpy(floats.data() + i * 4, &narrow, 4);
  }
  return floats;
}

Tensor load_npy(const std::string& path) {
  InputFile file(path);
  char magic[8];
  file.read(0, magic, sizeof magic, "the .npy magic");
  if (std::memcmp(magic, "\x93NUMPY", 6) != 0) throw Error("{}: does not begin with the .npy magic", path);
  const int major = static_cast<unsigned char>(magic[6]);
  if (major < 1 || major > 3) throw Error("{}: .npy version {}; versions 1 to 3 are read", path, major);
  const int length_bytes = major == 1 ? 2 : 4;
  const std::uint64_t header_bytes = file.read_little_endian(8, length_bytes, "the header length");
  const std::uint64_t header_at = 8 + static_cast<std::uint64_t>(length_bytes);
  if (header_bytes > file.size() - header_at) {
    throw Error("{}: truncated: the header needs {} bytes, {} follow", path, header_bytes, file.size() - header_at);
  }
  std::string text(header_bytes, '\0');
  file.read(header_at, text.data(), header_bytes, "the header");

  const NpyHeader header = parse_npy_header(text, path);
  const std::uint64_t data_bytes = static_cast<std::uint64_t>(element_count(header.shape)) * header.file_element_bytes;
  const std::uint64_t available = file.size() - header_at - header_bytes;
  if (data_bytes != available) {
    throw Error("{}: shape {} needs {} bytes of data, {} follow the header", path, shape_text(header.shape), data_bytes,
                available);
  }
  Tensor tensor{header.type, header.shape, std::vector<std::byte>(data_bytes)};
  file.read(header_at + header_bytes, tensor.bytes.data(), data_bytes, "the data");
  if (header.file_element_bytes == 8) tensor.bytes = doubles_to_floats(tensor.bytes);
  return tensor;
}

std::optional<ElementType> safetensors_type(const std::string& name) {
  if (name == "F32") return ElementType::f32;
  if (name == "F16") return ElementType::f16;
  if (name == "BF16") return ElementType::bf16;
  if (name == "F8_E4M3") return ElementType::e4m3fn;
  if (name == "F8_E5M2") return ElementType::e5m2;
  return std::nullopt;
}

// Extents and offsets: a JSON array of whole numbers that are not negative and fit 63 bits.
std::vector<std::int64_t> whole_numbers(const Json& entry, const char* key, const std::string& where) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_array()) throw Error("{}: '{}' is missing or no array", where, key);
  std::vector<std::int64_t> numbers;
  for (const Json& number : *found) {
    if (!number.is_number_unsigned() || number.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
      throw Error("{}: '{}' holds {}, which is no whole number of 63 bits", where, key, number.dump());
    }
    numbers.push_back(number.get<std::int64_t>());
  }
  return numbers;
}

std::string choose_tensor(const Json& header, const std::string& path, const std::string& name) {
  std::string names;
  std::string only;
  int count = 0;
  for (const auto& [key, entry] : header.items()) {
    if (key == "__metadata__") continue;
    if (!name.empty() && key == name) return key;
    only = key;
    if (++count <= 8) names += (count > 1 ? ", " : "") + key;
  }
  if (count > 8) names += fmt::format(" and {} more", count - 8);
  if (!name.empty()) throw Error("{}: has no tensor '{}'; it has: {}", path, name, names);
  if (count != 1) {
    throw Error("{}: has {} tensors, name one as FILE.safetensors:NAME; it has: {}", path, count, names);
  }
  return only;
}

Json read_safetensors_header(InputFile& file, const std::string& path, std::uint64_t header_bytes) {
  if (header_bytes > max_header_bytes || header_bytes > file.size() - 8) {
    throw Error("{}: safetensors header of {} bytes does not fit the file of {} bytes", path, header_bytes,
                file.size());
  }
  std::string text(header_bytes, '\0');
  file.read(8, text.data(), header_bytes, "the safetensors header");
  // Without exceptions: the parser's own message quotes input bytes, which may be anything.
  Json header = Json::parse(text, generator::depth_limit(path), false);
  if (header.is_discarded() || !header.is_object()) throw Error("{}: the safetensors header is no JSON object", path);
  return header;
}

Tensor load_safetensors(const std::string& path, const std::string& name) {
  InputFile file(path);
  const std::uint64_t header_bytes = file.read_little_endian(0, 8, "the header length");
  const Json header = read_safetensors_header(file, path, header_bytes);
  const std::string key = choose_tensor(header, path, name);
  const std::string where = path + ":" + key;
  const Json& entry = header[key];
  if (!entry.is_object()) throw Error("{}: the header's entry is no JSON object", where);
  const auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string()) throw Error("{}: 'dtype' is missing or no string", where);
  const std::optional<ElementType> type = safetensors_type(dtype->get<std::string>());
  if (!type) {
    throw Error("{}: dtype {}; F32, F16, BF16, F8_E4M3 and F8_E5M2 are read", where, dtype->get<std::string>());
  }

  Tensor tensor{*type, whole_numbers(entry, "shape", where), {}};
  const std::vector<std::int64_t> range = whole_numbers(entry, "data_offsets", where);
  if (range.size() != 2 || range[1] < range[0]) throw Error("{}: 'data_offsets' is no [begin, end]", where);
  std::int64_t count = 0;
  try {
    count = element_count(tensor.shape);
  } catch (const Error& error) {
    throw Error("{}: {}", where, error.what());
  }
  const auto data_bytes = static_cast<std::uint64_t>(range[1] - range[0]);
  if (data_bytes != static_cast<std::uint64_t>(count) * element_bytes(*type)) {
    throw Error("{}: shape {} of {} does not fill the {} bytes of its 'data_offsets'", where, shape_text(tensor.shape),
                to_string(*type), data_bytes);
  }
  const std::uint64_t data_size = file.size() - 8 - header_bytes;
  if (static_cast<std::uint64_t>(range[1]) > data_size) {
    throw Error("{}: truncated: 'data_offsets' ends at {}, the file has {} bytes of data", where, range[1], data_size);
  }
  tensor.bytes.resize(data_bytes);
  file.read(8 + header_bytes + static_cast<std::uint64_t>(range[0]), tensor.bytes.data(), data_bytes, "the data");
  return tensor;
}

std::ofstream open_output(const fs::path& path) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  if (!stream) throw Error("{}: cannot be opened for writing", path.string());
  return stream;
}

void write_and_close(std::ofstream stream, const fs::path& path, const std::string& header,
                     const std::vector<std::byte>& data) {
  stream.write(header.data(), static_cast<std::streamsize>(header.size()));
  stream.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  stream.close();
  if (!stream) throw Error("{}: writing {} bytes failed", path.string(), header.size() + data.size());
}

// What a path's symbolic links lead to, so that a rename replaces the file and not the link.
fs::path resolved(const std::string& path) {
  std::error_code error;
  fs::path target = fs::weakly_canonical(path, error);
  return error ? fs::path(path) : target;
}

}  // namespace

Tensor load_tensor(const std::string& path, const std::string& name) {
  const std::string_view view = path;
  if (view.ends_with(".npy")) {
    if (!name.empty()) throw Error("{}: a .npy file has no tensor names, '{}' was asked for", path, name);
    return load_npy(path);
  }
  if (view.ends_with(safetensors_suffix)) return load_safetensors(path, name);
  const std::size_t at = name.empty() ? view.rfind(".safetensors:") : view.npos;
  if (at != view.npos) {
    const std::size_t file_end = at + safetensors_suffix.size();
    if (file_end + 1 == view.size()) throw Error("{}: no tensor name follows the colon", path);
    return load_safetensors(path.substr(0, file_end), path.substr(file_end + 1));
  }
  throw Error("{}: not a tensor file; .npy, .safetensors and FILE.safetensors:NAME are read", path);
}

void save_npy(const std::string& path, const Tensor& tensor) {
  const std::size_t wanted = static_cast<std::size_t>(element_count(tensor.shape)) * element_bytes(tensor.type);
  if (tensor.bytes.size() != wanted) {
    throw Error("{}: a tensor {} of {} needs {} bytes, it has {}", path, shape_text(tensor.shape),
                to_string(tensor.type), wanted, tensor.bytes.size());
  }
  const bool kept = tensor.type == ElementType::f32 || tensor.type == ElementType::f16;
  const Tensor& stored = kept ? tensor : tensor_of(to_floats(tensor), tensor.shape);
  const std::string header = npy_header(stored.type == ElementType::f16 ? "<f2" : "<f4", stored.shape);

  const fs::path target = resolved(path);
  std::error_code error;
  if (fs::exists(target, error) && !fs::is_regular_file(target, error)) {
    if (fs::is_directory(target, error)) throw Error("{}: is a directory", path);
    write_and_close(open_output(target), target, header, stored.bytes);
    return;
  }
  const fs::path part = target.string() + ".part";
  std::ofstream stream = open_output(part);
  try {
    write_and_close(std::move(stream), part, header, stored.bytes);
    fs::rename(part, target, error);
    if (error) throw Error("{}: cannot be replaced: {}", path, error.message());
  } catch (const Error&) {
    std::error_code ignored;
    fs::remove(part, ignored);
    throw;
  }
}

}  // namespace zyfa::runtime
