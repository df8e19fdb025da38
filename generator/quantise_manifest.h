// The JSON beside the code object of a kernel that quantises. docs/quantise.md describes it.
#pragma once

#include "generator/builder.h"
#include "generator/quantise.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <filesystem>
#include <span>

namespace zyfa::generator {

nlohmann::ordered_json make_manifest(const QuantisePlan& plan, const KernelBody& body, const isa::Machine& machine,
                                     std::span<const std::byte> code_object);

// What the loader takes from it.
struct QuantiseManifest {
  std::string symbol;
  QuantiseConfig config;
  std::uint32_t rows_per_workgroup = 0;
  std::uint32_t workgroup_size = 0;  // work-items
  std::uint32_t workspace_bytes_per_workgroup = 0;
  std::uint32_t kernarg_bytes = 0;
  std::uint32_t lds_bytes = 0;
  std::int64_t max_row_stride_bytes = 0;
  std::string code_object_sha256;
  std::vector<NamedRegisters> register_map;  // empty where a manifest has none
};

// Throws Error naming the source and the key that is missing or malformed, or the kind of kernel that it is.
QuantiseManifest quantise_manifest_from_json(const nlohmann::json& json, const std::string& source);

}  // namespace zyfa::generator
