// AITER's objects, which are not part of this repository, and a stand-in for one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace zyfa::tests {

// The folder that ZYFA_AITER_OBJECTS names, with fmha_v3_fwd/ and fmha_v4_fwd/ of ROCm/aiter's hsa/gfx950; nothing if
// it is unset or empty. Throws Error if there is no such folder.
std::optional<std::filesystem::path> aiter_objects();

// A code object whose kernel of that name takes AITER's arguments and ends at once.
std::vector<std::byte> aiter_stub(std::string_view symbol);

}  // namespace zyfa::tests
