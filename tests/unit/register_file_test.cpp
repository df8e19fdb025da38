// First fit, alignment, scopes, the map of names.
#include "generator/register_file.h"

#include "isa/error.h"
#include "tests/support/catch.h"

using namespace zyfa;
using generator::RegisterFile;

TEST_CASE("Registers are taken at the lowest place that fits", "[quick][register_file]") {
  RegisterFile file('v', 16);
  CHECK(file.allocate(1, 1, "a") == 0);
  CHECK(file.allocate(4, 4, "b") == 4);
  CHECK(file.allocate(2, 2, "c") == 2);
  CHECK(file.allocate(1, 1, "d") == 1);
  CHECK(file.allocate(8, 2, "e") == 8);
  CHECK(file.peak() == 16);
  CHECK(file.map() == "v0 a, v[4:7] b, v[2:3] c, v1 d, v[8:15] e");
  REQUIRE_THROWS_AS(file.allocate(1, 1, "f"), Error);
}

TEST_CASE("A release frees what came after the mark and nothing else", "[quick][register_file]") {
  RegisterFile file('s', 8);
  file.allocate(2, 2, "kept");
  const std::size_t mark = file.mark();
  file.allocate(4, 4, "temporary");
  file.release_to(mark);
  CHECK(file.map() == "s[0:1] kept");
  CHECK(file.allocate(4, 4, "next") == 4);
  CHECK(file.peak() == 8);
  REQUIRE(file.history().size() == 3);
  CHECK(file.history()[1].text() == "s[4:7]");
  CHECK(file.history()[1].name == "temporary");
}

TEST_CASE("A claim takes exactly its range, or says who has it", "[quick][register_file]") {
  RegisterFile file('s', 8);
  file.claim(2, 3, "ids");
  CHECK(file.allocate(1, 1, "a") == 0);
  CHECK(file.allocate(2, 2, "b") == 6);
  for (const auto& [first, count] : {std::pair{4, 1}, std::pair{1, 2}, std::pair{7, 2}, std::pair{-1, 1}})
    REQUIRE_THROWS_AS(file.claim(first, count, "c"), Error);
  try {
    file.claim(4, 1, "c");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) == "registers s[4:4] are not free for 'c'; taken: s[2:4] ids, s0 a, s[6:7] b");
  }
  file.claim(5, 1, "d");
}
