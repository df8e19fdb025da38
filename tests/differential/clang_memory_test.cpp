// Kernels of memory accesses and atomics that clang compiles at test time, against the same C or its meaning on the
// host.
#include "tests/support/catch.h"
#include "tests/support/clang_kernel.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

namespace zyfa::tests {
namespace {

#include "tests/differential/kernels/memory.c"

constexpr Grid grid{.workgroups = 3};
constexpr std::size_t items = 3 * workgroup_items;

template <class T>
std::vector<T> random_bytes(std::size_t count, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<T> values(count);
  auto* bytes = reinterpret_cast<unsigned char*>(values.data());
  // Below 0x40, so that no float among them is NaN or infinite.
  for (std::size_t i = 0; i < count * sizeof(T); ++i) bytes[i] = static_cast<unsigned char>(rng() & 0x3f);
  return values;
}

template <class T>
std::vector<T> contents(const KernelArguments& arguments, std::size_t index) {
  const auto bytes = arguments.contents(index);
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace

TEST_CASE("clang's copies of structs, packed ones too, byte strings and private arrays", "[quick]") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const ClangKernels kernels("memory.c");
  const auto records = random_bytes<record>(items, 1);
  CHECK(compare_with_host(kernels, "copy_records", copy_records, grid, std::vector<record>(items), records) == "");
  const auto odd = random_bytes<odd_record>(items, 2);
  CHECK(compare_with_host(kernels, "copy_odd_records", copy_odd_records, grid, std::vector<odd_record>(items), odd) ==
        "");

  constexpr std::uint32_t length = 13;
  std::vector<char> words(items * length);
  std::mt19937 rng(3);
  for (std::size_t i = 0; i < items; ++i)
    for (std::size_t c = 0; c < rng() % (length + 1); ++c) words[i * length + c] = static_cast<char>('A' + rng() % 58);
  CHECK(compare_with_host(kernels, "reverse_words", reverse_words, grid, std::vector<char>(words.size()),
                          std::vector<std::uint32_t>(items), words, length) == "");

  std::vector<std::uint32_t> numbers(items * 40);
  for (std::uint32_t& n : numbers) n = static_cast<std::uint32_t>(rng());
  CHECK(compare_with_host(kernels, "sort_and_count", sort_and_count, grid, std::vector<std::uint32_t>(items),
                          numbers) == "");
}

TEST_CASE("clang's atomics on LDS and global memory", "[quick]") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const ClangKernels kernels("memory.c");
  KernelArguments arguments;
  SECTION("histogram") {
    const Grid four{.workgroups = 4};
    const auto in = random_bytes<std::uint8_t>(5001, 4);
    std::vector<std::uint32_t> expected(256);
    for (const std::uint8_t byte : in) ++expected[byte];
    arguments.add(std::vector<std::uint32_t>(256));
    arguments.add(in);
    arguments.add(std::uint32_t{5001});
    REQUIRE(kernels.launch("histogram", four, arguments) == "");
    CHECK(bit_difference("histogram", expected, arguments.contents(0)) == "");
  }
  SECTION("work queue") {
    constexpr std::uint32_t jobs = 1000;
    std::vector<std::uint32_t> expected(jobs);
    for (std::uint32_t i = 0; i < jobs; ++i) expected[i] = i * 7 + 1;
    arguments.add(std::vector<std::uint32_t>(1));
    arguments.add(std::vector<std::uint32_t>(jobs));
    arguments.add(std::vector<std::uint64_t>(1));
    arguments.add(jobs);
    REQUIRE(kernels.launch("work_queue", grid, arguments) == "");
    CHECK(bit_difference("jobs", expected, arguments.contents(1)) == "");
    CHECK(contents<std::uint32_t>(arguments, 0)[0] == jobs + items);
    CHECK(contents<std::uint64_t>(arguments, 2)[0] == (std::uint64_t{jobs} * (jobs - 1) / 2) << 20);
  }
  SECTION("compare and swap") {
    std::mt19937_64 rng(5);
    std::vector<std::uint64_t> in(items);
    for (std::uint64_t& number : in) number = rng();
    std::vector<std::uint32_t> expected(3, 1);
    for (std::size_t i = 0; i < items; ++i) expected[i / workgroup_items] *= static_cast<std::uint32_t>(in[i]) | 1;
    arguments.add(std::vector<std::uint64_t>(1));
    arguments.add(std::vector<std::uint32_t>(3));
    arguments.add(in);
    REQUIRE(kernels.launch("swap_loops", grid, arguments) == "");
    CHECK(contents<std::uint64_t>(arguments, 0)[0] == *std::ranges::max_element(in));
    CHECK(bit_difference("product", expected, arguments.contents(1)) == "");
  }
  SECTION("floating-point numbers") {
    std::vector<float> in(items), local(24, 0.5f), f(4);
    std::vector<double> wide(items), d(8);
    for (std::size_t i = 0; i < items; ++i) {
      in[i] = static_cast<float>(i * 37 % 101) - 50;
      wide[i] = static_cast<double>(i) * 0.25;
      f[i % 4] += in[i];
      d[i % 8] += wide[i];
      local[i / workgroup_items * 8 + i % 8] += in[i];
    }
    arguments.add(std::vector<float>(4));
    arguments.add(std::vector<double>(8));
    arguments.add(std::vector<float>(24));
    arguments.add(in);
    arguments.add(wide);
    REQUIRE(kernels.launch("sums", grid, arguments) == "");
    CHECK(bit_difference("single", f, arguments.contents(0)) == "");
    CHECK(bit_difference("double", d, arguments.contents(1)) == "");
    CHECK(bit_difference("in LDS", local, arguments.contents(2)) == "");
  }
}

TEST_CASE("clang's pointers that may point anywhere, and what workgroups hand on", "[quick]") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const ClangKernels kernels("memory.c");
  KernelArguments arguments;
  SECTION("a chain through all memories") {
    std::vector<std::uint32_t> expected(items);
    for (std::uint32_t i = 0; i < items; ++i) {
      std::uint32_t sum = i % workgroup_items;
      for (const std::uint32_t value : {1000u, 1000000u, 20000u, 300000u})
        if (value != 20000 || (i & 3) != 0) sum = sum << 1 ^ value;
      expected[i] = sum;
    }
    arguments.add(std::vector<std::uint32_t>(items));
    arguments.add(std::vector<std::uint64_t>(items * 4));
    REQUIRE(kernels.launch("walk", grid, arguments) == "");
    CHECK(bit_difference("walk", expected, arguments.contents(0)) == "");
  }
  SECTION("release and acquire") {
    std::vector<std::uint32_t> data(workgroup_items + 1), stage(1);
    std::iota(data.begin(), data.end(), 1u);
    std::vector<std::uint32_t> expected = data;
    for (std::uint32_t workgroup = 0; workgroup < 3; ++workgroup)
      for (std::size_t i = 1; i < expected.size(); ++i) expected[i] = expected[i] << 1 ^ (workgroup + 5);
    arguments.add(data);
    arguments.add(stage);
    REQUIRE(kernels.launch("relay", grid, arguments) == "");
    CHECK(bit_difference("relay", expected, arguments.contents(0)) == "");
  }
  SECTION("an atomic that nothing orders behind the first write") {
    arguments.add(std::vector<std::uint32_t>(items));
    CHECK(kernels.launch("sum_without_barrier", grid, arguments).find("LDS") != std::string::npos);
  }
}

}  // namespace zyfa::tests
