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

namespace {

Kernel join(const generator::CodeObject& object, std::span<const std::byte> bytes, generator::Manifest manifest,
            const std::string& name) {
  if (generator::sha256(bytes) != manifest.code_object_sha256)
    throw Error("the manifest of {} does not belong to {}: the code object's sha256 differs", manifest.symbol, name);
  const generator::KernelImage& image = generator::find_kernel(object, manifest.symbol, name);
  if (image.descriptor.kernarg_bytes != manifest.kernarg_bytes)
    throw Error("{} takes {} bytes of arguments, its manifest says {}", name, image.descriptor.kernarg_bytes,
                manifest.kernarg_bytes);
  if (image.descriptor.group_segment_bytes != manifest.lds_bytes)
    throw Error("{} takes {} bytes of LDS, its manifest says {}", name, image.descriptor.group_segment_bytes,
                manifest.lds_bytes);
  Kernel kernel{std::move(manifest), image.descriptor, generator::decode(object, image)};
  for (const generator::SkippingWay& way : kernel.manifest.skipping_ways)
    if (way.instruction >= kernel.code.program.code.size())
      throw Error("{} has {} instructions, its manifest speaks of number {}", name, kernel.code.program.code.size(),
                  way.instruction);
  return kernel;
}

}  // namespace

Kernel make_kernel(std::span<const std::byte> code_object, generator::Manifest manifest, const std::string& name) {
  return join(generator::read_code_object(code_object, name), code_object, std::move(manifest), name);
}

Kernel load_kernel(const fs::path& code_object, const fs::path& manifest) {
  const std::vector<std::byte> bytes = read_file(code_object);
  const generator::CodeObject object = generator::read_code_object(bytes, code_object.string());
  const fs::path json = manifest.empty() ? fs::path(code_object).replace_extension(".json") : manifest;
  if (manifest.empty() && !fs::exists(json))
    throw Error("{} has no manifest {} beside it; kernels of others take --abi, in zyfa-sim also --launch",
                code_object.string(), json.string());
  return join(object, bytes, generator::read_manifest(json), code_object.string());
}

}  // namespace zyfa::runtime
