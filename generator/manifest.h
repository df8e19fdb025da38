// The JSON beside every code object: all that a runtime needs to launch the kernel and a user to judge it.
// docs/kernel.md describes the fields.
#pragma once

#include "generator/builder.h"
#include "generator/plan.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <filesystem>
#include <span>

namespace zyfa::generator {

nlohmann::ordered_json make_manifest(const AttentionPlan& plan, const KernelBody& body, const isa::Machine& machine,
                                     std::span<const std::byte> code_object);

// A part of the LDS, in bytes.
struct LdsRegion {
  std::string name;
  std::uint32_t offset = 0, bytes = 0;
};

// Where a matrix phase goes on that leaves out the output of `skipped` of two blocks of 64 keys.
struct SkippingWay {
  std::uint32_t instruction = 0;
  int skipped = 0;
};

// What the loader takes from a manifest.
struct Manifest {
  std::string symbol;
  AttentionConfig config;
  std::uint32_t queries_per_workgroup = 0;
  std::uint32_t workgroup_size = 0;  // work-items
  int dies = 1;                      // work_of
  std::uint32_t kernarg_bytes = 0;
  std::uint32_t lds_bytes = 0;
  std::int64_t max_row_stride_bytes = 0;
  std::string code_object_sha256;
  std::vector<NamedRegisters> register_map;  // empty where a manifest has none
  std::vector<LdsRegion> lds_map;            //
  std::vector<SkippingWay> skipping_ways;    // with skip_zero_blocks: all ways, also those that leave out none
};

// Throws Error naming the source and the key that is missing or malformed.
Manifest manifest_from_json(const nlohmann::json& json, const std::string& source);
Manifest read_manifest(const std::filesystem::path& file);

}  // namespace zyfa::generator
