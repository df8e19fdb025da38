#include "runtime_loader/kernel.h"

#include "generator/manifest_fields.h"
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

template <class AnyManifest>
KernelOf<AnyManifest> join(const generator::CodeObject& object, std::span<const std::byte> bytes, AnyManifest manifest,
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
  return {std::move(manifest), image.descriptor, generator::decode(object, image)};
}

Kernel check_ways(Kernel kernel, const std::string& name) {
  for (const generator::SkippingWay& way : kernel.manifest.skipping_ways)
    if (way.instruction >= kernel.code.program.code.size())
      throw Error("{} has {} instructions, its manifest speaks of number {}", name, kernel.code.program.code.size(),
                  way.instruction);
  return kernel;
}

// A code object, and where its manifest is.
struct Files {
  std::vector<std::byte> bytes;
  generator::CodeObject object;
  fs::path json;
};

Files find_files(const fs::path& code_object, const fs::path& manifest) {
  Files files{read_file(code_object), {}, manifest};
  files.object = generator::read_code_object(files.bytes, code_object.string());
  if (manifest.empty()) files.json = fs::path(code_object).replace_extension(".json");
  if (manifest.empty() && !fs::exists(files.json))
    throw Error("{} has no manifest {} beside it; kernels of others take --abi, in zyfa-sim also --launch",
                code_object.string(), files.json.string());
  return files;
}

}  // namespace

Kernel make_kernel(std::span<const std::byte> code_object, generator::Manifest manifest, const std::string& name) {
  return check_ways(join(generator::read_code_object(code_object, name), code_object, std::move(manifest), name), name);
}

QuantiseKernel make_kernel(std::span<const std::byte> code_object, generator::QuantiseManifest manifest,
                           const std::string& name) {
  return join(generator::read_code_object(code_object, name), code_object, std::move(manifest), name);
}

Kernel load_kernel(const fs::path& code_object, const fs::path& manifest) {
  const Files files = find_files(code_object, manifest);
  return check_ways(join(files.object, files.bytes, generator::read_manifest(files.json), code_object.string()),
                    code_object.string());
}

QuantiseKernel load_quantise_kernel(const fs::path& code_object, const fs::path& manifest) {
  const Files files = find_files(code_object, manifest);
  return join(files.object, files.bytes,
              generator::quantise_manifest_from_json(generator::read_json_file(files.json), files.json.string()),
              code_object.string());
}

std::string kernel_kind(const fs::path& code_object, const fs::path& manifest) {
  const Files files = find_files(code_object, manifest);
  return generator::manifest_kind(generator::read_json_file(files.json), files.json.string());
}

}  // namespace zyfa::runtime
