// Kernels whose lanes go separate ways, compiled by clang, against the same C on the host.
#include "tests/support/catch.h"
#include "tests/support/clang_kernel.h"

#include <algorithm>
#include <random>

namespace zyfa::tests {
namespace {

#include "tests/differential/kernels/branches.c"

std::vector<std::uint32_t> random_words(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint32_t> words(count);
  for (std::uint32_t& word : words) word = random();
  return words;
}

}  // namespace

TEST_CASE("clang's kernels whose lanes branch apart compute what the host computes", "[quick]") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const ClangKernels kernels("branches.c");
  constexpr Grid grid{.workgroups = 2};
  constexpr std::size_t items = 2 * workgroup_items;
  const std::vector<std::uint32_t> x = random_words(items, 10), out(items);
  std::vector<std::uint32_t> y = random_words(items, 11);
  y[3] = y[100] = 0;
  CHECK(compare_with_host(kernels, "collatz", collatz, grid, out, x) == "");
  CHECK(compare_with_host(kernels, "greatest_common_divisor", greatest_common_divisor, grid, out, x, y) == "");
  std::vector<std::int32_t> numbers;
  for (const std::uint32_t word : random_words(items, 12)) numbers.push_back(static_cast<std::int32_t>(word % 1000));
  CHECK(compare_with_host(kernels, "nested", nested, grid, std::vector<std::int32_t>(items), numbers, 40) == "");
  std::vector<std::uint32_t> table = random_words(1000, 13);
  std::sort(table.begin(), table.end());
  CHECK(compare_with_host(kernels, "lower_bound", lower_bound, grid, out, x, table, 1000U) == "");
}

}  // namespace zyfa::tests
