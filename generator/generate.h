// The whole way from a configuration to a kernel's files.
#pragma once

#include "generator/manifest.h"
#include "generator/quantise_manifest.h"

namespace zyfa::generator {

template <class Plan>
struct Generated {
  Plan plan;
  KernelBody body;
  std::string assembly;                // .s
  std::vector<std::byte> code_object;  // .co
  nlohmann::ordered_json manifest;     // .json
};
using GeneratedKernel = Generated<AttentionPlan>;
using GeneratedQuantise = Generated<QuantisePlan>;

// The same configuration and machine give the same bytes. Throws Error for a shape without a schedule and for a kernel
// that does not pass its checks.
GeneratedKernel generate(const AttentionConfig& config, const isa::Machine& machine);
// The same of a plan, whose schedule may be any.
GeneratedKernel generate_plan(const AttentionPlan& plan, const isa::Machine& machine);
// The kernel that quantises, likewise.
GeneratedQuantise generate_quantise(const QuantiseConfig& config, const isa::Machine& machine);

struct KernelFiles {
  std::filesystem::path assembly, code_object, manifest;
};

// Writes <symbol>.s, .co and .json into `directory`, which is created if need be. Files appear whole or not at all.
KernelFiles write_kernel(const GeneratedKernel& kernel, const std::filesystem::path& directory);
KernelFiles write_kernel(const GeneratedQuantise& kernel, const std::filesystem::path& directory);

// Creates a directory and those it lies in, unless it is there. Throws Error naming it and the system's reason.
void make_directory(const std::filesystem::path& directory);

// Writes a file by way of a temporary beside it. Throws Error naming the file and the system's reason.
void write_file(const std::filesystem::path& file, std::span<const std::byte> bytes);

}  // namespace zyfa::generator
