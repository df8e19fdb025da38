#include "runtime_loader/kernel.h"

#include "generator/sha256.h"
#include "isa/error.h"

#include <fstream>
#include <iterator>

namespace zyfa::runtime {

namespace fs = std::filesystem;

std::vector<std::byte> read_file(const fs::path& file) {
  std::error_code error;
  if (fs::is_directory(file, error)) throw Error("{} is a directory, not a file", file.string());
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error("cannot open {}", file.string());
  std::vector<std::byte> bytes;
  std::transform(std::istreambuf_iterator<char>(stream), {}, std::back_inserter(bytes),
                 [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}

Kernel load_kernel(const fs::path& code_object, const fs::path& manifest) {
  const std::vector<std::byte> bytes = read_file(code_object);
  const generator::CodeObject object = generator::read_code_object(bytes, code_object.string());
  const fs::path json = manifest.empty() ? fs::path(code_object).replace_extension(".json") : manifest;
  Kernel kernel{generator::read_manifest(json), {}, {}};
  if (generator::sha256(bytes) != kernel.manifest.code_object_sha256)
    throw Error("{} is not the manifest of {}: the code object's sha256 differs", json.string(), code_object.string());
  const generator::KernelImage& image = generator::find_kernel(object, kernel.manifest.symbol, code_object.string());
  kernel.descriptor = image.descriptor;
  if (image.descriptor.kernarg_bytes != kernel.manifest.kernarg_bytes)
    throw Error("{} takes {} bytes of arguments, its manifest says {}", code_object.string(),
                image.descriptor.kernarg_bytes, kernel.manifest.kernarg_bytes);
  if (image.descriptor.group_segment_bytes != kernel.manifest.lds_bytes)
    throw Error("{} takes {} bytes of LDS, its manifest says {}", code_object.string(),
                image.descriptor.group_segment_bytes, kernel.manifest.lds_bytes);
  kernel.code = generator::decode(object, image);
  return kernel;
}

}  // namespace zyfa::runtime
