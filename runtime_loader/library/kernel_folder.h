// Kernels in a folder, found by what they compute.
#pragma once

#include "runtime_loader/library/zyfa.h"

#include <filesystem>

namespace zyfa::runtime {

// The code object of the first manifest, by file name, whose kernel has these traits. Throws Failure:
// ZYFA_FILE_NOT_FOUND where there is no such folder, ZYFA_NO_KERNEL that names what was asked for and how many kernels
// there are, ZYFA_BAD_CODE_OBJECT for a manifest beside a .co that can not be read.
std::filesystem::path find_kernel_file(const std::filesystem::path& folder, const zyfa_kernel_traits& traits);

}  // namespace zyfa::runtime
