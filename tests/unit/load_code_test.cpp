// Code objects in a kernel's memory: segments, relocated tables, and files that ask for the impossible.
#include "runtime_loader/load_code.h"

#include "generator/assemble.h"
#include "generator/link.h"
#include "isa/error.h"
#include "tests/support/catch.h"

#include <cstring>
#include <set>

using namespace zyfa;
using namespace zyfa::runtime;

namespace {

// A kernel, a constant, and a table with the addresses of both in which `table` stands for itself.
generator::CodeObject object_with_table() {
  const std::string text = R"(
.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.amdhsa_code_object_version 5
.text
.globl k
.p2align 8
.type k,@function
k:
s_endpgm
.Lk_end:
.size k, .Lk_end-k
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel k
.amdhsa_next_free_vgpr 8
.amdhsa_next_free_sgpr 8
.amdhsa_accum_offset 8
.end_amdhsa_kernel
constant:
.long 0x12345678, 0
.section .data.rel.ro,"aw",@progbits
.p2align 3
.globl table
.type table,@object
table:
.quad constant
.quad constant+4
.size table, 16
.data
.p2align 3
.globl counter
.type counter,@object
counter:
.quad table
.size counter, 8
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx950
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 8
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
...
.end_amdgpu_metadata
)";
  return generator::read_code_object(generator::link(generator::assemble(text, "test.s")), "test.co");
}

template <class Word>
Word word_at(const emulator::GlobalMemory& memory, std::uint64_t address) {
  Word word = 0;
  const std::byte* host = memory.find(address, sizeof word);
  REQUIRE(host != nullptr);
  std::memcpy(&word, host, sizeof word);
  return word;
}

}  // namespace

TEST_CASE("tables of a loaded code object hold addresses in the kernel's memory", "[quick]") {
  const generator::CodeObject object = object_with_table();
  REQUIRE(object.relocations.size() == 3);
  emulator::GlobalMemory memory;
  const LoadedCode loaded(object, memory);
  std::set<std::uint64_t> targets;
  std::uint64_t constant = 0, table = 0;
  for (const generator::Relocation& relocation : object.relocations) {
    const std::uint64_t place = load_address + relocation.address, target = word_at<std::uint64_t>(memory, place);
    targets.insert(target);
    if (memory.find_writable(target, 4) || word_at<std::uint32_t>(memory, target) != 0x12345678) continue;
    constant = target;
    table = place;
  }
  REQUIRE(constant != 0);
  CHECK(targets == std::set<std::uint64_t>{constant, constant + 4, table});
  CHECK(word_at<std::uint32_t>(memory, code_address(object)) == 0xbf810000);  // s_endpgm
  CHECK(memory.find_writable(code_address(object), 4) == nullptr);
}

TEST_CASE("a relocation outside the segments is named", "[quick]") {
  generator::CodeObject object = object_with_table();
  object.relocations[1].address = 0x1234567;
  emulator::GlobalMemory memory;
  REQUIRE_THROWS_WITH(LoadedCode(object, memory),
                      "a relocation at address 0x1234567 is in no segment of the code object");
}
