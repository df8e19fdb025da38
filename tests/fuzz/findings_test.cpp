// Inputs that once crashed a reader, exhausted memory or time, or got past a check; each by itself.

#include "generator/assemble.h"
#include "generator/config.h"
#include "generator/debug_lines.h"
#include "generator/json_file.h"
#include "generator/manifest.h"
#include "isa/text.h"
#include "runtime_loader/aiter_abi.h"
#include "tests/fuzz/targets.h"
#include "tests/support/aiter_objects.h"
#include "tests/support/catch.h"
#include "tests/support/machine_code.h"

#include <cstring>

using namespace zyfa;

namespace {

fuzz::Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

fuzz::Outcome outcome(std::string_view target, std::string_view input) {
  return fuzz::find_target(target).take(bytes_of(input));
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

template <class Step>
std::string message_of(Step step) {
  try {
    step();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

// Of 129 elements the fifth block of 32 was read and written past the end.
TEST_CASE("an AITER object's head dims are those of its code", "[quick]") {
  for (const char* symbol : {"fmha_fwd_hd129_mxfp8E", "fmha_fwd_hd33_mxfp8E", "fmha_fwd_hd128_hd1_fp8E"}) {
    CAPTURE(symbol);
    const fuzz::Bytes object = tests::aiter_stub(symbol);
    CHECK(message_of([&] {
            runtime::read_aiter_kernel(object, "stub.co", runtime::AiterAbi::v4);
          }).find("objects of aiter-v4 have 128") != std::string::npos);
    CHECK(fuzz::find_target("code_object").take(object) == fuzz::Outcome::accepted);  // as any kernel
  }
}

// The shift count was the entry's number.
TEST_CASE("a bit list of any length is refused", "[quick]") {
  const std::string list = "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7] op_sel_hi:[" + repeated("1,", 70) + "1]";
  CHECK(message_of([&] { isa::parse(list); }).find("modifier op_sel_hi") == 0);
}

// LLVM's disassembler reads through a null pointer: A or B that are no vector registers, a literal for C or a scale.
TEST_CASE("matrix instructions that LLVM cannot decode are data", "[quick]") {
  using Dwords = std::vector<std::uint32_t>;
  const auto first_line = [](Dwords dwords) {
    return generator::disassemble(std::as_bytes(std::span(dwords))).at(0).text;
  };
  for (const Dwords& dwords : {Dwords{0xd3ad84fc, 0x21764473}, Dwords{0xd3ad041e, 0x28fdf095},
                               Dwords{0xd3ad0338, 0x57a4c0f1}, Dwords{0xd3ac3fa8, 0xa4cf5bb6, 0xd3ad8ed8, 0x8bfecbc7},
                               Dwords{0xd3ac02f9, 0x1f39feaa, 0xd3ae88e1, 0x74e7c9c9}}) {
    CAPTURE(dwords);
    CHECK(first_line(dwords) == fmt::format(".long 0x{:08x}", dwords[0]));
  }
  for (const char* text :
       {"v_mfma_f32_16x16x128_f8f6f4 a[0:3], v[0:7], a[8:15], 1.0",
        "v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[16:21], v[24:27], v[0:15] cbsz:2 blgp:4",
        "v_mfma_scale_f32_16x16x128_f8f6f4 a[0:3], v[0:7], v[8:15], a[0:3], v20, v21 op_sel_hi:[0,0,0]",
        "v_mfma_scale_f32_32x32x64_f8f6f4 a[0:15], v[0:7], v[8:15], 0, v20, v21 op_sel_hi:[0,0,0]"}) {
    const auto code = tests::machine_code(std::string(text) + "\n");
    CHECK(generator::disassemble(code).at(0).text == text);
  }
}

// Copies of the parsed value took a stack frame for each level.
TEST_CASE("JSON nested without end is refused", "[quick]") {
  const std::string deep = repeated("[", 200000);
  CHECK(outcome("json", R"({"launch": )" + deep) == fuzz::Outcome::refused);
  CHECK(outcome("json", R"({"launch": )" + deep + repeated("]", 200000) + "}") == fuzz::Outcome::refused);
  std::string header = R"({"q":)" + deep + repeated("]", 200000) + "}";
  std::string file(8, '\0');
  const std::uint64_t size = header.size();
  std::memcpy(file.data(), &size, sizeof size);
  CHECK(outcome("tensor", file + header) == fuzz::Outcome::refused);
}

// Each new key of the ordered object is compared with all before.
TEST_CASE("JSON files have a size limit", "[quick]") {
  CHECK(outcome("json", R"({"causal": true})" + std::string(256 * 1024 - 16, ' ')) == fuzz::Outcome::accepted);
  CHECK(outcome("json", R"({"causal": true})" + std::string(256 * 1024 - 15, ' ')) == fuzz::Outcome::refused);
}

// 2^64 - 128 came out as -128, 2^32 + 512 as 512 and 512.5 as 512.
TEST_CASE("numbers in JSON that do not fit are refused", "[quick]") {
  using nlohmann::json;
  const auto config = [](const char* text) { generator::config_from_json(json::parse(text), "config.json"); };
  CHECK(message_of([&] { config(R"({"head_dim": 18446744073709551488})"); }).find("which is too large") !=
        std::string::npos);
  CHECK(message_of([&] { config(R"({"head_dim": 128})"); }) == "no error");
  for (const char* size : {"[4294967808, 1, 1]", "[512.5, 1, 1]", "[-512, 1, 1]", "[1e30, 1, 1]", "[true, 1, 1]"}) {
    CAPTURE(size);
    const json manifest{
        {"manifest_version", 1}, {"kind", "attention"}, {"launch", {{"workgroup_size", json::parse(size)}}}};
    CHECK(message_of([&] {
            generator::manifest_from_json(manifest, "kernel.json");
          }).find("'launch.workgroup_size' has the wrong type or is out of range") != std::string::npos);
  }
}

TEST_CASE("what an error quotes cannot break its line", "[quick]") {
  const auto config = nlohmann::json::parse(R"({"head\ndim\u001b[2J": 1})");
  CHECK(message_of([&] { generator::config_from_json(config, "config.json"); }).find(R"('head\x0adim\x1b[2J')") !=
        std::string::npos);
  CHECK(message_of([&] { throw Error("tab\there, letters ÄÖ"); }) == R"(tab\x09here, letters ÄÖ)");
}

namespace {

// A line table of DWARF 4 with one file and a row for each of `rows` dwords of code.
std::string line_table(const std::string& file, int rows) {
  const auto number = [](std::uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i);
    return text;
  };
  // Instruction length 4, one operation, is_stmt, line base 0 and range 1, operands of the 12 standard opcodes.
  const std::string prologue = std::string("\x04\x01\x01\x00\x01\x0d", 6) +
                               std::string("\0\1\1\1\1\0\0\0\1\0\0\1", 12) + std::string(1, '\0') + file +
                               std::string("\0\0\0\0\0", 5);
  const std::string advance_and_row = "\x02\x01\x01";  // DW_LNS_advance_pc 1, DW_LNS_copy
  const std::string body = number(4, 2) + number(prologue.size(), 4) + prologue + std::string("\0\x09\x02", 3) +
                           number(0x1000, 8) + repeated(advance_and_row, rows) + std::string("\0\1\1", 3);
  return number(body.size(), 4) + body;
}

}  // namespace

// Every row has its own copy of the file's name: a file of 4 MB asked for 100 GB.
TEST_CASE("long names in a line table do not add up without limit", "[quick]") {
  const auto points = [](const std::string& table) {
    return generator::read_debug_lines({table, "", ""}, 0x1000, 4000004);
  };
  CHECK(points(line_table("short.s", 1000)).size() == 1000);
  CHECK(points(line_table("short.s", 1000)).at(7).file == "short.s");
  CHECK(points(line_table(std::string(10000, 'n'), 1000)).size() == 1000);
  CHECK(points(line_table(std::string(100000, 'n'), 1000)).empty());
  CHECK(points(line_table("two\nlines\xff.s", 1)).at(0).file == "two\\x0alines\xef\xbf\xbd.s");
}
