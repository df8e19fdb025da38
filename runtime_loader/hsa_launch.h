// What a launch passes to a kernel beside the arguments that its source names: AMDGPUUsage, "Code Object V5 Metadata"
// and "Kernel Dispatch".
#pragma once

#include "generator/code_object.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace zyfa::runtime {

struct LaunchShape {
  std::array<std::uint32_t, 3> grid{1, 1, 1};   // workgroups
  std::array<std::uint32_t, 3> block{1, 1, 1};  // work-items of a workgroup
  std::uint32_t dynamic_lds_bytes = 0;
};

// Writes a hidden argument into the argument segment, which grows as needed: sizes of the launch where it says one, 0
// for what there is no runtime for (printf, heap, queue).
void write_hidden_argument(std::vector<std::byte>& segment, const generator::KernelArgument& argument,
                           const LaunchShape& shape);

// The part of the HSA's kernel dispatch packet that compilers read: sizes of workgroup and grid. 64 bytes.
std::vector<std::byte> dispatch_packet(const LaunchShape& shape);

}  // namespace zyfa::runtime
