// The C interface's structs as what the kernels read.
#pragma once

#include "generator/kernargs.h"
#include "generator/manifest.h"
#include "runtime_loader/library/zyfa.h"

namespace zyfa::runtime {

// Throws Failure ZYFA_INVALID_ARGUMENT that names the first argument which is null though it is needed, out of range or
// not aligned as the kernel's manifest asks.
generator::AttentionKernargs attention_kernargs(const generator::Manifest& manifest, const zyfa_attention& arguments);

zyfa_kernel_traits traits_of(const generator::Manifest& manifest);

}  // namespace zyfa::runtime
