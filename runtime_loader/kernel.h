// A kernel ready to launch: decoded code object and manifest, known to belong together.
#pragma once

#include "generator/decode.h"
#include "generator/manifest.h"
#include "generator/quantise_manifest.h"

#include <filesystem>

namespace zyfa::runtime {

template <class AnyManifest>
struct KernelOf {
  AnyManifest manifest;
  generator::KernelDescriptor descriptor;
  generator::DecodedKernel code;
};
using Kernel = KernelOf<generator::Manifest>;
using QuantiseKernel = KernelOf<generator::QuantiseManifest>;

// Reads a .co and the manifest, by default the .json beside it. Throws Error naming the file for anything missing,
// damaged or not decodable, and where manifest and code object contradict each other.
Kernel load_kernel(const std::filesystem::path& code_object, const std::filesystem::path& manifest = {});
QuantiseKernel load_quantise_kernel(const std::filesystem::path& code_object,
                                    const std::filesystem::path& manifest = {});

// The kind that the manifest states: "attention" or "quantise". Throws Error as load_kernel does.
std::string kernel_kind(const std::filesystem::path& code_object, const std::filesystem::path& manifest = {});

// The same from memory; `name` stands for the code object in messages.
Kernel make_kernel(std::span<const std::byte> code_object, generator::Manifest manifest, const std::string& name);
QuantiseKernel make_kernel(std::span<const std::byte> code_object, generator::QuantiseManifest manifest,
                           const std::string& name);

std::vector<std::byte> read_file(const std::filesystem::path& file);

}  // namespace zyfa::runtime
