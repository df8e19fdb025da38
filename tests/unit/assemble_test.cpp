// Text to object and machine code to text: messages, reproducible bytes, agreement with llvm-mc.
#include "generator/assemble.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "generator/code_object.h"
#include "generator/link.h"
#include "isa/error.h"
#include "tests/support/catch.h"

using zyfa::generator::assemble;
using zyfa::generator::disassemble;

namespace {

const std::string head = ".amdgcn_target \"amdgcn-amd-amdhsa--gfx950\"\n.amdhsa_code_object_version 6\n.text\n";

const std::string with_lines = head + R"(.globl f
f:
.file 1 "schedules/steps.cpp"
.loc 1 41 0
v_fma_f32 v0, v1, v2, v3
.loc 1 42 0
s_endpgm
)";

std::string message_of(const std::string& text) {
  try {
    assemble(text, "kernel.s");
  } catch (const zyfa::Error& error) {
    return error.what();
  }
  return "no error";
}

// The machine code of `instructions`, through an object and a code object.
std::vector<std::byte> code_of(const std::string& instructions) {
  const std::string text = head + ".p2align 8\n" + instructions + R"(
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels: []
.end_amdgpu_metadata
)";
  return zyfa::generator::read_code_object(zyfa::generator::link(assemble(text, "k.s")), "k.co").code;
}

std::vector<std::byte> bytes_of(std::initializer_list<std::uint32_t> dwords) {
  std::vector<std::byte> bytes;
  for (const std::uint32_t dword : dwords) {
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::byte>(dword >> shift));
  }
  return bytes;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("assembly errors name the line and show it", "[quick]") {
  CHECK(message_of(head + "s_nop 0\n") == "no error");
  const std::string one = message_of(head + "s_nop 0\n  v_wrong_f32 v0, v1\ns_endpgm\n");
  CHECK(one.find("kernel.s:5: invalid instruction") == 0);
  CHECK(one.find("`v_wrong_f32 v0, v1`") + 20 == one.size());
  const std::string two = message_of(head + "v_fma_f32 v0, v1\nv_wrong_f32 v0\n");
  CHECK(two.find("kernel.s:4: ") == 0);
  CHECK(two.find("`v_fma_f32 v0, v1` (and 1 more)") != std::string::npos);

  SECTION("found only when the object is laid out") {
    CHECK(message_of(head + "s_branch far\n.fill 40000, 4, 0xbf800000\nfar: s_endpgm\n").find("kernel.s:4: ") == 0);
  }
  SECTION("another processor, its instructions, metadata and descriptors that are none") {
    CHECK(message_of(".amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n").find("kernel.s:1: ") == 0);
    CHECK(message_of(head + "s_wait_loadcnt 0\n").find("kernel.s:4: ") == 0);
    CHECK(message_of(head + ".amdgpu_metadata\namdhsa.kernels: 5\n.end_amdgpu_metadata\n").find("kernel.s:") == 0);
    CHECK(message_of(head + ".amdhsa_kernel k\n.end_amdhsa_kernel\n").find("kernel.s:") == 0);
  }
}

TEST_CASE("gfx950's own instructions assemble and come back as text", "[quick]") {
  const std::vector<std::string> wanted{
      "v_fma_f32 v0, v1, v2, v3",
      "v_mfma_f32_32x32x64_f8f6f4 a[0:15], v[0:7], v[8:15], a[0:15]",
      "ds_read_b64_tr_b8 v[0:1], v2 offset:64",
      "buffer_load_dwordx4 v1, s[8:11], 0 offen lds",
      "v_mov_b32_e32 v0, 0x3fb8aa3b",
      "v_permlane32_swap_b32_e32 v0, v1",
      "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)",
      "s_endpgm",
  };
  std::string text;
  for (const std::string& line : wanted) text += line + "\n";
  const auto lines = disassemble(code_of(text));
  REQUIRE(lines.size() == wanted.size());
  std::uint32_t offset = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CHECK(lines[i].text == wanted[i]);
    CHECK(lines[i].offset == offset);
    offset += lines[i].size;
  }
  CHECK(lines[4].size == 8);
  CHECK(lines[7].size == 4);
}

TEST_CASE("dwords that are no instruction are shown as such", "[quick]") {
  const auto lines = disassemble(bytes_of({0xbf800000, 0xffffffff, 0xbf810000}));
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].text == "s_nop 0");
  CHECK(lines[1].text == ".long 0xffffffff");
  CHECK(lines[1].offset == 4);
  CHECK(lines[1].size == 4);
  CHECK(lines[2].text == "s_endpgm");

  SECTION("half an instruction at the end") {
    const auto cut = disassemble(bytes_of({0xbf800000, 0xd1cb0000}));  // v_fma_f32 without its second dword
    REQUIRE(cut.size() == 2);
    CHECK(cut[1].text == ".long 0xd1cb0000");
  }
  SECTION("stray bytes") {
    auto bytes = bytes_of({0xbf800000, 0xbf810000});
    for (int left = 3; left > 0; --left) {
      bytes.pop_back();
      CHECK_THROWS_AS(disassemble(bytes), zyfa::Error);
    }
    bytes.pop_back();
    CHECK(disassemble(bytes).size() == 1);
    CHECK(disassemble({}).empty());
  }
}

TEST_CASE("the same text gives the same bytes anywhere", "[quick]") {
  const auto first = assemble(with_lines, "a.s");
  CHECK((assemble(with_lines, "b.s") == first));
  CHECK((assemble(head + "s_endpgm\n", "a.s") != first));

  SECTION("from another working directory, even with a DWARF 5 root file") {
    const std::string root = head + ".file 0 \"\" \"x\"\n" + with_lines.substr(head.size());
    const auto here = std::filesystem::current_path();
    const auto here_bytes = assemble(root, "a.s");
    const auto here_linked = zyfa::generator::link(first);
    std::filesystem::current_path(std::filesystem::temp_directory_path());
    const auto there_bytes = assemble(root, "a.s");
    const auto there_linked = zyfa::generator::link(assemble(with_lines, "a.s"));
    std::filesystem::current_path(here);
    CHECK((there_bytes == here_bytes));
    CHECK((there_linked == here_linked));
    CHECK(text_of(here_bytes).find(here.string()) == std::string::npos);
  }
  SECTION("from several threads") {
    std::vector<std::vector<std::byte>> objects(4);
    std::vector<std::thread> threads;
    for (auto& object : objects) {
      threads.emplace_back([&object] { object = zyfa::generator::link(assemble(with_lines, "a.s")); });
    }
    for (std::thread& thread : threads) thread.join();
    const auto linked = zyfa::generator::link(first);
    for (const auto& object : objects) CHECK((object == linked));
  }
}
