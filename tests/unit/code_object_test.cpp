// Link and read back: descriptor, metadata, code and lines; damaged files end in an Error and nothing else.
#include "generator/code_object.h"

#include <cstring>
#include <filesystem>
#include <random>
#include <string>

#include "generator/assemble.h"
#include "generator/link.h"
#include "isa/error.h"
#include "tests/support/catch.h"

using zyfa::generator::assemble;
using zyfa::generator::CodeObject;
using zyfa::generator::link;
using zyfa::generator::read_code_object;

namespace {

// Two kernels, so that every field with an accessor has two values.
std::string source(int code_object_version) {
  return fmt::format(".amdgcn_target \"amdgcn-amd-amdhsa--gfx950\"\n.amdhsa_code_object_version {}\n",
                     code_object_version) +
         R"(.text
.globl first
.p2align 8
.type first,@function
first:
.file 1 "schedules/steps.cpp"
.file 2 "schedules/forward.cpp"
.loc 1 41 0
s_load_dwordx2 s[2:3], s[0:1], 0x0
.loc 2 7 0
s_nop 0
s_endpgm
.globl second
.p2align 8
.type second,@function
second:
.loc 1 99 0
s_endpgm
.rodata
.p2align 6
.amdhsa_kernel first
  .amdhsa_group_segment_fixed_size 4096
  .amdhsa_kernarg_size 24
  .amdhsa_next_free_vgpr 300
  .amdhsa_next_free_sgpr 40
  .amdhsa_accum_offset 256
  .amdhsa_user_sgpr_dispatch_ptr 1
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_kernarg_preload_length 3
  .amdhsa_user_sgpr_kernarg_preload_offset 2
  .amdhsa_system_sgpr_workgroup_id_y 1
  .amdhsa_system_vgpr_workitem_id 1
  .amdhsa_dx10_clamp 0
  .amdhsa_ieee_mode 0
  .amdhsa_fp16_overflow 1
  .amdhsa_float_round_mode_32 3
  .amdhsa_float_denorm_mode_32 2
.end_amdhsa_kernel
.amdhsa_kernel second
  .amdhsa_private_segment_fixed_size 16
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 8
  .amdhsa_accum_offset 4
  .amdhsa_user_sgpr_queue_ptr 1
  .amdhsa_user_sgpr_dispatch_id 1
  .amdhsa_user_sgpr_private_segment_size 1
  .amdhsa_uses_dynamic_stack 1
  .amdhsa_enable_private_segment 1
  .amdhsa_system_sgpr_workgroup_id_x 0
  .amdhsa_system_sgpr_workgroup_id_z 1
  .amdhsa_system_sgpr_workgroup_info 1
  .amdhsa_tg_split 1
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: first
    .symbol: first.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 4096
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 46
    .vgpr_count: 300
    .agpr_count: 44
    .vgpr_spill_count: 5
    .max_flat_workgroup_size: 512
    .args:
      - {.name: out, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: scale, .offset: 8, .size: 4, .value_kind: by_value}
      - {.offset: 16, .size: 4, .value_kind: hidden_block_count_x}
  - .name: second
    .symbol: second.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 4
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 16
    .wavefront_size: 64
    .sgpr_count: 14
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
.end_amdgpu_metadata
)";
}

std::string message_of(std::span<const std::byte> file) {
  try {
    read_code_object(file, "kernel.co");
  } catch (const zyfa::Error& error) {
    return error.what();
  }
  return "no error";
}

// `replacement`, as long as `wanted`, at every place of `wanted` in the file.
std::vector<std::byte> with_text(std::vector<std::byte> file, std::string_view wanted, std::string_view replacement) {
  REQUIRE(wanted.size() == replacement.size());
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  REQUIRE(text.find(wanted) != std::string_view::npos);
  for (std::size_t at = 0; (at = text.find(wanted, at)) != std::string_view::npos; ++at) {
    std::memcpy(file.data() + at, replacement.data(), replacement.size());
  }
  return file;
}

std::vector<std::byte> with_byte(std::vector<std::byte> file, std::size_t at, int value) {
  file.at(at) = static_cast<std::byte>(value);
  return file;
}

}  // namespace

TEST_CASE("a kernel's metadata is read back", "[quick]") {
  const int version = GENERATE(4, 5, 6);
  CAPTURE(version);
  const CodeObject object = read_code_object(link(assemble(source(version), "two.s")), "two.co");
  CHECK(object.code_object_version == static_cast<std::uint32_t>(version));
  CHECK(object.code_address % 256 == 0);
  REQUIRE(object.kernels.size() == 2);

  const auto& first = object.kernels[0];
  CHECK(first.symbol == "first");
  CHECK(first.code_offset == 0);
  CHECK(first.max_workgroup_size == 512);
  CHECK(first.vgpr_count == 300);
  CHECK(first.sgpr_count == 46);
  CHECK(first.agpr_count == 44);
  CHECK(first.vgpr_spill_count == 5);
  REQUIRE(first.arguments.size() == 3);
  CHECK(first.arguments[0].name == "out");
  CHECK(first.arguments[0].kind == "global_buffer");
  CHECK(first.arguments[1].name == "scale");
  CHECK(first.arguments[1].offset == 8);
  CHECK(first.arguments[1].size == 4);
  CHECK(first.arguments[1].kind == "by_value");
  CHECK(first.arguments[2].name.empty());
  CHECK(first.arguments[2].offset == 16);

  const auto& second = object.kernels[1];
  CHECK(second.symbol == "second");
  CHECK(second.code_offset == 256);
  CHECK(second.arguments.empty());
  CHECK(second.agpr_count == 0);

  const auto text = zyfa::generator::disassemble(object.code);
  CHECK(text[0].text == "s_load_dwordx2 s[2:3], s[0:1], 0x0");
  CHECK(text.back().text == "s_endpgm");
  CHECK(text.back().offset == 256);
}

TEST_CASE("a kernel's descriptor is read back, field by field", "[quick]") {
  const CodeObject object = read_code_object(link(assemble(source(6), "two.s")), "two.co");
  const auto& a = object.kernels.at(0).descriptor;
  const auto& b = object.kernels.at(1).descriptor;
  CHECK(a.group_segment_bytes == 4096);
  CHECK(b.group_segment_bytes == 0);
  CHECK(a.private_segment_bytes == 0);
  CHECK(b.private_segment_bytes == 16);
  CHECK(a.kernarg_bytes == 24);
  CHECK(b.kernarg_bytes == 0);
  CHECK(a.vgpr_count() == 304);
  CHECK(b.vgpr_count() == 8);
  CHECK(a.accum_offset() == 256);
  CHECK(b.accum_offset() == 4);
  CHECK(a.sgpr_count() == 48);
  CHECK(b.sgpr_count() == 16);
  CHECK(a.user_sgpr_count() == 2 + 2 + 3);
  CHECK(b.user_sgpr_count() == 2 + 2 + 1);
  CHECK(a.float_mode() == 0b11'10'00'11);
  CHECK(b.float_mode() == 0b11'00'00'00);
  CHECK(a.workitem_id_dimensions() == 2);
  CHECK(b.workitem_id_dimensions() == 1);
  CHECK(a.kernarg_preload_dwords() == 3);
  CHECK(b.kernarg_preload_dwords() == 0);
  CHECK(a.kernarg_preload_offset() == 2);
  CHECK(b.kernarg_preload_offset() == 0);

  using Descriptor = zyfa::generator::KernelDescriptor;
  for (const auto field :
       {&Descriptor::fp16_overflow, &Descriptor::enable_workgroup_id_x, &Descriptor::enable_workgroup_id_y,
        &Descriptor::enable_sgpr_dispatch_ptr, &Descriptor::enable_sgpr_kernarg_segment_ptr}) {
    CHECK((a.*field)());
    CHECK_FALSE((b.*field)());
  }
  for (const auto field :
       {&Descriptor::dx10_clamp, &Descriptor::ieee_mode, &Descriptor::enable_private_segment,
        &Descriptor::enable_workgroup_id_z, &Descriptor::enable_workgroup_info, &Descriptor::threadgroup_split,
        &Descriptor::enable_sgpr_queue_ptr, &Descriptor::enable_sgpr_dispatch_id,
        &Descriptor::enable_sgpr_private_segment_size, &Descriptor::uses_dynamic_stack}) {
    CHECK_FALSE((a.*field)());
    CHECK((b.*field)());
  }
}

TEST_CASE("source lines survive assembling and linking", "[quick]") {
  const CodeObject object = read_code_object(link(assemble(source(6), "two.s")), "two.co");
  REQUIRE(object.lines.size() == 3);
  CHECK(object.lines[0].offset == 0);
  CHECK(object.lines[0].file == "schedules/steps.cpp");
  CHECK(object.lines[0].line == 41);
  CHECK(object.lines[1].offset == 8);
  CHECK(object.lines[1].file == "schedules/forward.cpp");
  CHECK(object.lines[1].line == 7);
  CHECK(object.lines[2].offset == 256);
  CHECK(object.lines[2].line == 99);

  SECTION("written as DWARF 5") {
    std::string text = source(6);
    text.insert(text.find(".file 1"), ".file 0 \"/build\" \"kernel.s\"\n");
    const CodeObject same = read_code_object(link(assemble(text, "two.s")), "two.co");
    REQUIRE(same.lines.size() == 3);
    CHECK(same.lines[1].file == "schedules/forward.cpp");
    CHECK(same.lines[1].line == 7);
  }
  std::string without = source(6);
  for (std::size_t at; (at = without.find(".loc ")) != std::string::npos;) {
    without.erase(at, without.find('\n', at) - at);
  }
  CHECK(read_code_object(link(assemble(without, "two.s")), "two.co").lines.empty());
}

TEST_CASE("linking leaves no files and no trace of where it ran", "[quick]") {
  const auto directory = std::filesystem::current_path() / "link-test";
  std::filesystem::create_directories(directory);
  const char* const before = std::getenv("TMPDIR");
  const std::string saved = before == nullptr ? "" : before;
  setenv("TMPDIR", directory.c_str(), 1);

  const auto object = assemble(source(6), "two.s");
  const auto file = link(object);
  CHECK((link(object) == file));
  CHECK((link(assemble(source(5), "two.s")) != file));
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  CHECK(text.find("link-test") == std::string_view::npos);
  CHECK(text.find("zyfa-link") == std::string_view::npos);

  const auto undefined = assemble(".text\n.globl f\nf: s_endpgm\n.data\n.quad missing\n", "f.s");
  std::string message;
  try {
    link(undefined);
  } catch (const zyfa::Error& error) {
    message = error.what();
  }
  CHECK(message.find("link: undefined symbol: missing") == 0);
  CHECK(message.find('\n') == std::string::npos);
  CHECK(message.find("link-test") == std::string::npos);

  for (std::size_t size = 0; size < object.size(); size += 97) {
    CHECK_THROWS_AS(link(std::span(object).first(size)), zyfa::Error);
  }
  CHECK_THROWS_AS(link(file), zyfa::Error);
  CHECK((link(object) == file));
  CHECK(std::filesystem::is_empty(directory));

  std::filesystem::remove_all(directory);
  CHECK_THROWS_AS(link(object), zyfa::Error);  // TMPDIR is no directory now
  if (before == nullptr) {
    unsetenv("TMPDIR");
  } else {
    setenv("TMPDIR", saved.c_str(), 1);
  }
}

TEST_CASE("files that are no gfx950 code object are named with their fault", "[quick]") {
  const auto object = assemble(source(6), "two.s");
  const auto file = link(object);
  CHECK(message_of(file) == "no error");
  CHECK(message_of({}) == "kernel.co: not an ELF file (0 bytes); a gfx950 code object (.co) is accepted");
  CHECK(message_of(object).find("not a linked code object") != std::string::npos);
  CHECK(message_of(with_byte(file, 0, 'x')).find("not an ELF file") != std::string::npos);
  CHECK(message_of(with_byte(file, 4, 1)).find("not a 64-bit") != std::string::npos);
  CHECK(message_of(with_byte(file, 7, 0)).find("not amdhsa") != std::string::npos);
  CHECK(message_of(with_byte(file, 8, 0)) == "kernel.co: code object version 2 is not 4, 5 or 6");
  CHECK(message_of(with_byte(file, 18, 62)).find("not AMDGPU") != std::string::npos);
  CHECK(message_of(with_byte(file, 48, 0x4c)).find("not gfx950 (0x4f)") != std::string::npos);
  CHECK(message_of(with_text(file, ".text", ".texx")) == "kernel.co: no section .text");
  CHECK(message_of(with_text(file, "AMDGPU", "AMDGPX")).find("no AMDGPU metadata note") != std::string::npos);
  CHECK(message_of(with_text(file, ".symbol", ".simbol")) == "kernel.co: metadata: kernel 0 has no .symbol");
  CHECK(message_of(with_text(file, ".offset", ".ofset_")) == "kernel.co: metadata: first argument 0 has no .offset");
  CHECK(message_of(with_text(file, "second.kd", "secund.kd")) == "no error");
}

TEST_CASE("damaged code objects end in an Error or are read, never more", "[quick]") {
  const auto file = link(assemble(source(6), "two.s"));
  SECTION("cut short") {
    for (std::size_t size = 0; size < file.size(); size += 97) {
      CAPTURE(size);
      // A heap block of exactly this size, so that the address sanitizer sees any read past the end.
      const std::vector<std::byte> cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
      CHECK(message_of(cut).find("kernel.co: ") == 0);
    }
  }
  SECTION("random bytes, with line tables of DWARF 4 and 5") {
    std::string text = source(6);
    text.insert(text.find(".file 1"), ".file 0 \"/build\" \"kernel.s\"\n");
    std::mt19937 random(950);
    for (const auto& whole : {file, link(assemble(text, "two.s"))}) {
      int refused = 0;
      for (int round = 0; round < 3000; ++round) {
        std::vector<std::byte> damaged = whole;
        for (std::size_t flips = 1 + random() % 8; flips > 0; --flips) {
          damaged[random() % damaged.size()] = static_cast<std::byte>(random());
        }
        const std::string message = message_of(damaged);
        if (message == "no error") continue;
        ++refused;
        if (message.find("kernel.co: ") != 0) FAIL_CHECK("round " << round << ": " << message);
      }
      CHECK(refused > 300);
      CHECK(refused < 3000);
    }
  }
}
