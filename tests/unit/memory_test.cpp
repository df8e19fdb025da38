#include "isa/emulator/memory.h"
#include "isa/error.h"
#include "tests/support/catch.h"

#include <array>
#include <limits>

using zyfa::Error;
using zyfa::emulator::GlobalMemory;

namespace {

std::string refusal(GlobalMemory& memory, std::uint64_t address, std::span<std::byte> bytes) {
  try {
    memory.map("new", address, bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "was accepted";
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("global memory finds bytes of mapped regions only", "[quick]") {
  std::array<std::byte, 64> a{}, b{};
  GlobalMemory memory;
  memory.map("b", 0x2000, b);
  memory.map("a", 0x1000, a);

  CHECK(memory.find(0x1000, 64) == a.data());
  CHECK(memory.find(0x103f, 1) == &a[63]);
  CHECK(memory.find(0x2010, 48) == &b[16]);
  CHECK(memory.find(0x1000, 65) == nullptr);
  CHECK(memory.find(0x103f, 2) == nullptr);
  CHECK(memory.find(0xfff, 4) == nullptr);
  CHECK(memory.find(0x1040, 1) == nullptr);
  CHECK(memory.find(0x1000, std::numeric_limits<std::size_t>::max()) == nullptr);
  CHECK(memory.find(std::numeric_limits<std::uint64_t>::max(), 4) == nullptr);
}

TEST_CASE("global memory refuses overlaps and wrap-around, and names both regions", "[quick]") {
  std::array<std::byte, 64> a{};
  std::array<std::byte, 16> b{};
  GlobalMemory memory;
  memory.map("keys", 0x1000, a);

  CHECK(has(refusal(memory, 0x1030, b), "cannot map new at 0x1030 (16 bytes): it overlaps keys (0x1000, 64 bytes)"));
  CHECK(has(refusal(memory, 0x1000, b), "overlaps keys"));
  CHECK(has(refusal(memory, 0xff1, b), "overlaps keys"));
  CHECK(has(refusal(memory, ~std::uint64_t{0} - 3, b), "end of the address space"));
  CHECK(refusal(memory, 0xff0, b) == "was accepted");
  CHECK(refusal(memory, 0x1040, b) == "was accepted");
}

TEST_CASE("read-only regions can be read but not written", "[quick]") {
  const std::array<std::byte, 16> bytes{};
  GlobalMemory memory;
  memory.map_read_only("kernarg", 0x1000, bytes);
  CHECK(memory.find(0x1000, 16) == bytes.data());
  CHECK(memory.find_writable(0x1000, 4) == nullptr);
  CHECK(memory.describe(0x1004) == "0x1004: byte 4 of kernarg (0x1000, 16 bytes, read-only)");
}

TEST_CASE("place finds fresh page-aligned addresses with room around", "[quick]") {
  std::array<std::byte, 5000> a{};
  std::array<std::byte, 1> b{};
  GlobalMemory memory;
  const std::uint64_t first = memory.place("a", a);
  memory.map("in the way", first + 12288, a);
  const std::uint64_t second = memory.place("b", b);
  const std::uint64_t third = memory.place_read_only("empty", std::span<const std::byte>());
  const std::uint64_t fourth = memory.place("c", a);
  for (const std::uint64_t address : {first, second, third, fourth}) CHECK(address % 4096 == 0);
  CHECK(memory.find(second, 1) == b.data());
  CHECK(memory.find(second - 4096, 1) == nullptr);
  CHECK(memory.find(second + 1, 1) == nullptr);
  CHECK(memory.find(third, 1) == nullptr);
  CHECK(fourth > third);
  CHECK(memory.describe(third) ==
        fmt::format("{:#x}: 0 bytes past the end of empty ({:#x}, 0 bytes, read-only)", third, third));
}

TEST_CASE("describe names what lies nearest", "[quick]") {
  std::array<std::byte, 64> a{}, b{};
  GlobalMemory memory;
  CHECK(memory.describe(0x10) == "0x10: nothing is mapped");
  memory.map("q", 0x1000, a);
  memory.map("k", 0x2000, b);
  CHECK(memory.describe(0x1008) == "0x1008: byte 8 of q (0x1000, 64 bytes)");
  CHECK(memory.describe(0x1080) == "0x1080: 64 bytes past the end of q (0x1000, 64 bytes)");
  CHECK(memory.describe(0x1ff0) == "0x1ff0: 16 bytes before k (0x2000, 64 bytes)");
  CHECK(memory.describe(0x800) == "0x800: 2048 bytes before q (0x1000, 64 bytes)");
}
