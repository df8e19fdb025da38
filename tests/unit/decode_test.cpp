// From code bytes to a program: branches, foreign instructions, kernels by name.
#include "generator/decode.h"

#include "generator/assemble.h"
#include "generator/link.h"
#include "isa/error.h"
#include "isa/text.h"
#include "tests/support/catch.h"

using namespace zyfa;
using namespace zyfa::generator;

namespace {

std::string kernel_text(const std::string& name, const std::string& body) {
  return fmt::format(
      ".text\n.globl {0}\n.p2align 8\n.type {0},@function\n{0}:\n{1}\n.L{0}_end:\n.size {0}, .L{0}_end-{0}\n"
      ".section .rodata,\"a\",@progbits\n.p2align 6\n.amdhsa_kernel {0}\n.amdhsa_next_free_vgpr 8\n"
      ".amdhsa_next_free_sgpr 8\n.amdhsa_accum_offset 8\n.end_amdhsa_kernel\n",
      name, body);
}

CodeObject code_object(const std::vector<std::pair<std::string, std::string>>& kernels) {
  std::string text = ".amdgcn_target \"amdgcn-amd-amdhsa--gfx950\"\n.amdhsa_code_object_version 5\n", list;
  for (const auto& [name, body] : kernels) {
    text += kernel_text(name, body);
    list += fmt::format(
        "  - .name: {0}\n    .symbol: {0}.kd\n    .kernarg_segment_size: 0\n    .kernarg_segment_align: 8\n"
        "    .group_segment_fixed_size: 0\n    .private_segment_fixed_size: 0\n    .wavefront_size: 64\n"
        "    .sgpr_count: 8\n    .vgpr_count: 8\n    .max_flat_workgroup_size: 64\n",
        name);
  }
  text += ".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.target: amdgcn-amd-amdhsa--gfx950\namdhsa.kernels:\n" +
          list + "...\n.end_amdgpu_metadata\n";
  return read_code_object(link(assemble(text, "test.s")), "test.co");
}

std::string refusal(const std::string& body) {
  const CodeObject object = code_object({{"k", body}});
  try {
    decode(object, find_kernel(object, "k", "test.co"));
  } catch (const Error& error) {
    return error.what();
  }
  return "not refused";
}

}  // namespace

TEST_CASE("Decode: of many unknown instructions the beginning is listed", "[quick][decode]") {
  const auto refused = [](int different) {
    std::string body;
    for (int i = 0; i < different; ++i) body += fmt::format("s_sethalt {}\n", i);
    const std::string message = refusal(body + "s_endpgm");
    int listed = 0;
    for (std::size_t at = 0; (at = message.find("s_sethalt is not in the table", at)) != std::string::npos; ++at)
      ++listed;
    return std::pair(listed, message.substr(message.size() - 8));
  };
  CHECK(refused(100).first == 100);
  CHECK(refused(100).second.find("more") == std::string::npos);
  CHECK(refused(150) == std::pair(100, std::string(" 50 more")));
}

TEST_CASE("Decode: a kernel that calls comes with all of the code, others alone", "[quick][decode]") {
  const CodeObject object = code_object({{"first", "v_mov_b32_e32 v0, 0x12345678\ns_endpgm"},
                                         {"second", "s_getpc_b64 s[0:1]\ns_swappc_b64 s[2:3], s[0:1]\ns_endpgm"}});
  const auto decoded = [&](const char* name) { return decode(object, find_kernel(object, name, "test.co")); };
  const DecodedKernel first = decoded("first"), second = decoded("second");
  CHECK(first.program.code.size() == 2);
  CHECK(first.entry == 0);
  CHECK(first.program.offsets == std::vector<std::uint32_t>{0, 8});
  REQUIRE(second.entry < second.program.code.size());
  CHECK(second.program.code[0] == first.program.code[0]);
  CHECK(second.program.code[second.entry].op == isa::Op::s_getpc_b64);
  CHECK(second.program.offsets[second.entry] == find_kernel(object, "second", "test.co").code_offset);
}

TEST_CASE("Decode: branches lead to instructions, whatever their sizes", "[quick][decode]") {
  const CodeObject object = code_object({{"k", R"(
s_branch forward
back:
v_mov_b32_e32 v0, 0x12345678
s_cbranch_scc1 back
forward:
v_add3_u32 v0, v1, v2, v3
s_cbranch_vccz back
s_endpgm)"}});
  const isa::Program program = decode(object, find_kernel(object, "", "test.co")).program;
  const std::vector<std::string> expected{"s_branch L3",       "v_mov_b32_e32 v0, 0x12345678",
                                          "s_cbranch_scc1 L1", "v_add3_u32 v0, v1, v2, v3",
                                          "s_cbranch_vccz L1", "s_endpgm"};
  std::vector<std::string> text;
  for (const isa::Inst& inst : program.code) text.push_back(isa::print(inst));
  CHECK(text == expected);
}

TEST_CASE("Decode: instructions outside the table are listed", "[quick][decode]") {
  const std::string message =
      refusal("s_nop 0\nv_cubeid_f32 v0, v1, v2, v3\nv_cubeid_f32 v0, v1, v2, v3\n.long 0xffffffff\ns_endpgm");
  CAPTURE(message);
  CHECK(message.find("kernel 'k' cannot be decoded") != std::string::npos);
  CHECK(message.find("v_cubeid_f32") != std::string::npos);
  CHECK(message.find("(at offset 0x4, 2 times)") != std::string::npos);
  CHECK(message.find("offset 0x14") != std::string::npos);
}

TEST_CASE("Decode: branches out of the kernel and into an instruction", "[quick][decode]") {
  CHECK(refusal("s_branch 100\ns_endpgm").find("'s_branch 100' at offset 0x0 branches out") != std::string::npos);
  CHECK(refusal("s_branch 1\nv_mov_b32_e32 v0, 0x12345678\ns_endpgm").find("branches out of the kernel or into") !=
        std::string::npos);
  CHECK(refusal("s_branch 1\ns_nop 0\ns_endpgm") == "not refused");
}

TEST_CASE("Decode: kernels are found by name, a single one also without", "[quick][decode]") {
  const CodeObject two = code_object({{"one", "s_endpgm"}, {"two", "s_nop 0\ns_endpgm"}});
  CHECK(find_kernel(two, "two", "test.co").symbol == "two");
  CHECK(decode(two, find_kernel(two, "two", "test.co")).program.code.size() == 2);
  for (const char* name : {"", "three"}) {
    try {
      find_kernel(two, name, "test.co");
      CHECK(false);
    } catch (const Error& error) {
      CHECK(std::string(error.what()) == fmt::format("test.co holds no kernel '{}'; it holds: one, two", name));
    }
  }
}
