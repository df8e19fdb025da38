// The C interface's structs as what the kernels read.
#pragma once

#include "generator/kernargs.h"
#include "generator/manifest.h"
#include "runtime_loader/library/zyfa.h"
#include "runtime_loader/quantise_launch.h"

namespace zyfa::runtime {

// Throws Failure ZYFA_INVALID_ARGUMENT that names the first argument which is null though it is needed, out of range or
// not aligned as the kernel's manifest asks.
generator::AttentionKernargs attention_kernargs(const generator::Manifest& manifest, const zyfa_attention& arguments);

// The same of the kernel that quantises.
QuantiseLaunches quantise_launches(const generator::QuantiseManifest& manifest, const zyfa_quantise& arguments);
QuantiseProblem quantise_problem(const zyfa_quantise& arguments);

// Bytes. Looks at the extents alone.
std::size_t quantise_workspace(const generator::QuantiseManifest& manifest, const zyfa_quantise& arguments);

// False for JSON that states another manifest_version than this library reads.
bool has_known_version(const nlohmann::json& manifest);

zyfa_kernel_traits traits_of(const generator::Manifest& manifest);
zyfa_kernel_traits traits_of(const generator::QuantiseManifest& manifest);

}  // namespace zyfa::runtime
