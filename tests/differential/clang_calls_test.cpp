// Kernels with functions, constant tables, indexed registers and hardware registers, compiled by clang, against the
// same C on the host; and where such programs must be stopped.
#include "isa/error.h"
#include "tests/support/catch.h"
#include "tests/support/clang_kernel.h"
#include "tests/support/oracle_trigonometry.h"

#include <bit>
#include <cstring>
#include <random>
#include <set>

namespace zyfa::tests {
namespace {

#include "tests/differential/kernels/calls.c"

using u32 = std::uint32_t;

constexpr Grid grid{.workgroups = 2};
constexpr std::size_t items = 2 * workgroup_items;

std::vector<u32> random_words(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<u32> words(count);
  for (u32& word : words) word = random();
  return words;
}

std::vector<u32> words_of(std::span<const std::byte> bytes) {
  std::vector<u32> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

// Doubles of every exponent from 1 on.
std::vector<double> angles() {
  std::mt19937_64 random(3);
  std::vector<double> values(items);
  for (std::size_t i = 0; i < items; ++i) {
    const std::uint64_t exponent = 1023 + i * 1023 / items;
    values[i] = std::bit_cast<double>(exponent << 52 | random() >> 12);
  }
  return values;
}

bool skips() {
  if (!have_clang()) WARN(no_clang);
  return !have_clang();
}

}  // namespace

TEST_CASE("clang's tables and functions compute what the host computes", "[quick]") {
  if (skips()) return;
  const ClangKernels kernels("calls.c");
  const std::vector<u32> in = random_words(items, 1), out(items);
  CHECK(compare_with_host(kernels, "look_up", look_up, grid, out, in) == "");
  CHECK(compare_with_host(kernels, "switches", switches, grid, out, in) == "");
  CHECK(compare_with_host(kernels, "switch_of_constants", switch_of_constants, grid, out, in) == "");
  CHECK(compare_with_host(kernels, "call", call, grid, out, in) == "");
  CHECK(compare_with_host(kernels, "chain_of_calls", chain_of_calls, grid, out, in) == "");
  for (u32 which = 0; which < 3; ++which)
    CHECK(compare_with_host(kernels, "call_by_pointer", call_by_pointer, grid, out, in, which) == "");
  CHECK(compare_with_host(kernels, "call_by_pointers", call_by_pointers, grid, out, in) == "");
  const auto names = kernels.mnemonics("call");
  for (const char* name : {"s_getpc_b64", "s_swappc_b64", "s_setpc_b64"}) CHECK(names.contains(name));
}

TEST_CASE("clang's indexed registers hold what the host's array holds", "[quick]") {
  if (skips()) return;
  const ClangKernels kernels("calls.c");
  const std::vector<u32> in = random_words(items * 16, 2), out(items);
  for (u32 i = 0; i < 16; ++i)
    CHECK(compare_with_host(kernels, "indexed_registers", indexed_registers, grid, out, in, i, (i * 7 + 3) % 16) == "");
  CHECK(kernels.mnemonics("indexed_registers").contains("s_set_gpr_idx_on"));
}

TEST_CASE("clang's reduction of large angles gives the host's bits", "[quick]") {
  if (skips()) return;
  const ClangKernels kernels("calls.c");
  CHECK(compare_with_host(kernels, "quarter_turns", quarter_turns, grid, std::vector<double>(items * 4), angles()) ==
        "");
  CHECK(kernels.mnemonics("quarter_turns").contains("v_trig_preop_f64"));
}

TEST_CASE("clang's lane counters give every wave a place of its own", "[quick]") {
  if (skips()) return;
  const ClangKernels kernels("calls.c");
  KernelArguments arguments;
  arguments.add(std::vector<u32>(workgroup_items * 4));
  REQUIRE(kernels.launch("count_lanes", {.workgroups = 1}, arguments) == "");
  const std::vector<u32> out = words_of(arguments.contents(0));
  std::set<u32> places, returned;
  for (u32 item = 0; item < workgroup_items; ++item) {
    places.insert(out[4 * item]);
    if (item % 2) returned.insert(out[4 * item + 1]);
    CHECK(out[4 * item] == out[4 * (item & ~63u)]);
    CHECK(out[4 * item + 2] == 1000 + workgroup_items);
    CHECK(out[4 * item + 3] == 2000 - workgroup_items / 2);
  }
  CHECK(places == std::set<u32>{1000, 1064, 1128, 1192});
  CHECK(returned == std::set<u32>{2000, 1968, 1936, 1904});
}

TEST_CASE("clang's LDS-DMA of bytes and halves fills a dword a lane", "[quick]") {
  if (skips()) return;
  const ClangKernels kernels("calls.c");
  const std::vector<u32> in = random_words(items, 4);
  const auto check = [&](const char* kernel, auto element) {
    using Element = decltype(element);
    std::vector<Element> elements(items);
    std::memcpy(elements.data(), in.data(), items * sizeof(Element));
    KernelArguments arguments;
    arguments.add(std::vector<std::int32_t>(items));
    arguments.add(elements);
    REQUIRE(kernels.launch(kernel, grid, arguments) == "");
    CHECK(bit_difference(kernel, std::vector<std::int32_t>(elements.begin(), elements.end()), arguments.contents(0)) ==
          "");
  };
  check("transfer_bytes", std::uint8_t{});
  check("transfer_halves", std::uint16_t{});
}

TEST_CASE("clang's access to MODE sees what the descriptor and the kernel set", "[quick]") {
  if (skips()) return;
  const ClangKernels kernels("calls.c");
  KernelArguments arguments;
  arguments.add(std::vector<u32>(items * 2));
  REQUIRE(kernels.launch("mode_register", grid, arguments) == "");
  const std::vector<u32> out = words_of(arguments.contents(0));
  CHECK(out[0] == 0x3f0);
  CHECK(out[1] == 0x3c0);
}

TEST_CASE("programs that go where the emulator can not follow are stopped", "[quick]") {
  if (skips()) return;
  const ClangKernels kernels("calls.c");
  const auto stopped = [&](const char* kernel, std::uint64_t word) {
    KernelArguments arguments;
    arguments.add(std::vector<std::uint64_t>(items, word));
    return kernels.launch(kernel, grid, arguments);
  };
  CHECK(stopped("trap_on_zero", ~std::uint64_t{0}) == "");
  CHECK(stopped("trap_on_zero", 0).find("trap handler at instruction") == 0);
  CHECK(stopped("round_toward_zero", 0).find("bad mode at instruction") == 0);
  const std::string nowhere = stopped("jump_into_nowhere", 0x123456);
  CHECK(nowhere.find("bad branch at instruction") == 0);
  CHECK(nowhere.find("no instruction of the program begins at address 0x123456") != std::string::npos);
}

}  // namespace zyfa::tests
