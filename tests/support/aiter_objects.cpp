#include "tests/support/aiter_objects.h"

#include "generator/assemble.h"
#include "generator/link.h"
#include "isa/error.h"

#include <cstdlib>

namespace zyfa::tests {

std::optional<std::filesystem::path> aiter_objects() {
  const char* folder = std::getenv("ZYFA_AITER_OBJECTS");
  if (!folder || !*folder) return std::nullopt;
  if (!std::filesystem::is_directory(folder)) throw Error("ZYFA_AITER_OBJECTS names {}, which is no folder", folder);
  return folder;
}

std::vector<std::byte> aiter_stub(std::string_view symbol) {
  const std::string text = fmt::format(
      ".amdgcn_target \"amdgcn-amd-amdhsa--gfx950\"\n.amdhsa_code_object_version 5\n.text\n.globl {0}\n.p2align 8\n"
      ".type {0},@function\n{0}:\ns_endpgm\n.L{0}_end:\n.size {0}, .L{0}_end-{0}\n"
      ".section .rodata,\"a\",@progbits\n.p2align 6\n.amdhsa_kernel {0}\n.amdhsa_next_free_vgpr 8\n"
      ".amdhsa_next_free_sgpr 8\n.amdhsa_accum_offset 8\n.end_amdhsa_kernel\n"
      ".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.target: amdgcn-amd-amdhsa--gfx950\namdhsa.kernels:\n"
      "  - .name: {0}\n    .symbol: {0}.kd\n    .kernarg_segment_size: 656\n    .kernarg_segment_align: 8\n"
      "    .group_segment_fixed_size: 0\n    .private_segment_fixed_size: 0\n    .wavefront_size: 64\n"
      "    .sgpr_count: 8\n    .vgpr_count: 8\n    .max_flat_workgroup_size: 512\n...\n.end_amdgpu_metadata\n",
      symbol);
  return generator::link(generator::assemble(text, "stub.s"));
}

}  // namespace zyfa::tests
