// The patterns of ds_swizzle_b32 as LLVM spells them: swizzle(SWAP,16), swizzle(QUAD_PERM,3,2,1,0), ... The encodings
// are those of AMDGPU's Swizzle namespace (SIDefines.h); fast Fourier and rotation patterns have no spelling here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zyfa::isa {

std::string print_swizzle(std::uint32_t pattern);
std::optional<std::uint32_t> parse_swizzle(std::string_view text);

}  // namespace zyfa::isa
