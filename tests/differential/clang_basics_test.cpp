// Kernels that clang compiles at test time against the same C on the host, and proof that the comparison bites.
#include "generator/assemble.h"
#include "generator/decode.h"
#include "isa/error.h"
#include "tests/support/catch.h"
#include "tests/support/clang_kernel.h"

#include <algorithm>
#include <numeric>

namespace zyfa::tests {
namespace {

#include "tests/differential/kernels/basics.c"

constexpr Grid grid{.workgroups = 2};
constexpr std::size_t items = 2 * workgroup_items;

std::vector<float> ramp(float first, float step) {
  std::vector<float> values(items);
  for (std::size_t i = 0; i < items; ++i) values[i] = first + step * static_cast<float>(i);
  return values;
}

// Wrong in one element.
void wrong_scale(WorkItem here, float* out, const float* x, const float* y, float factor) {
  scale_and_add(here, out, x, y, factor);
  if (here.workgroup == 1 && here.item == 77) out[GLOBAL_ID] += 1;
}

std::string message_of(const ClangKernels& kernels, const std::string& symbol, KernelArguments& arguments) {
  try {
    return kernels.launch(symbol, grid, arguments);
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("clang's kernels compute what the host computes", "[quick]") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const ClangKernels kernels("basics.c");
  const std::vector<float> x = ramp(-1, 0.1f), y = ramp(1000, 0.3f), out(items);
  CHECK(compare_with_host(kernels, "scale_and_add", scale_and_add, grid, out, x, y, 1.7f) == "");
  std::vector<std::uint32_t> matrix(items * 37), sums(items);
  std::iota(matrix.begin(), matrix.end(), 0xfffff000U);
  CHECK(compare_with_host(kernels, "sum_of_row", sum_of_row, grid, sums, matrix, 37U) == "");

  std::vector<std::uint32_t> numbers(items), reversed(items);
  std::iota(numbers.begin(), numbers.end(), 5U);
  KernelArguments arguments;
  arguments.add(reversed);
  arguments.add(numbers);
  REQUIRE(kernels.launch("reverse", grid, arguments) == "");
  std::reverse(numbers.begin(), numbers.begin() + workgroup_items);
  std::reverse(numbers.begin() + workgroup_items, numbers.end());
  CHECK(bit_difference("reverse", numbers, arguments.contents(0)) == "");
}

TEST_CASE("the comparison with the host bites", "[quick]") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  ClangKernels kernels("basics.c");
  const std::vector<float> x = ramp(-1, 0.1f), y = ramp(1000, 0.3f), out(items);
  SECTION("another function on the host") {
    const std::string difference = compare_with_host(kernels, "scale_and_add", wrong_scale, grid, out, x, y, 1.7f);
    CHECK(difference.find("scale_and_add, argument 0 element 333: expected 0x44") == 0);
  }
  SECTION("another instruction in the machine code") {
    // The vector addition becomes a subtraction: VOP2 opcodes 1 and 2 in bits 30..25 (CDNA4 ISA 13.3.4).
    std::vector<std::byte>& code = kernels.code();
    const generator::KernelImage& image = generator::find_kernel(kernels.object(), "scale_and_add", "basics.c");
    const auto text = generator::disassemble(std::span(code).subspan(image.code_offset, image.code_bytes));
    int changed = 0;
    for (const generator::DisassembledLine& line : text)
      if (line.text.starts_with("v_add_f32_e32")) {
        code[image.code_offset + line.offset + 3] ^= std::byte{0x06};
        ++changed;
      }
    REQUIRE(changed == 1);
    CHECK(compare_with_host(kernels, "scale_and_add", scale_and_add, grid, out, x, y, 1.7f) != "");
  }
  SECTION("an instruction that is not in the table is named") {
    KernelArguments arguments;
    arguments.add(out);
    const std::string message = message_of(kernels, "not_in_the_table", arguments);
    CHECK(message.find("s_icache_inv") != std::string::npos);
  }
  SECTION("strict mode watches") {
    const std::vector<std::uint32_t> numbers(items);
    KernelArguments arguments;
    arguments.add(numbers);
    arguments.add(numbers);
    const std::string message = message_of(kernels, "reverse_without_barrier", arguments);
    CHECK(message.find("LDS") != std::string::npos);
  }
  SECTION("arguments that are left out") {
    KernelArguments arguments;
    arguments.add(out);
    CHECK(message_of(kernels, "reverse", arguments).find("bytes of arguments") != std::string::npos);
  }
  SECTION("C that is wrong") { CHECK_THROWS_AS(ClangKernels("no_such_file.c"), Error); }
}

}  // namespace zyfa::tests
