// The order of a grid's work: generator::work_of.
#include "generator/plan.h"
#include "tests/support/catch.h"

#include <set>

using namespace zyfa;
using generator::work_of;

TEST_CASE("Order of the work: every piece is done once", "[quick][plan]") {
  for (const int dies : {1, 2, 3, 4, 8, 16})
    for (std::uint64_t all = 1; all < 300; ++all) {
      CAPTURE(dies, all);
      std::set<std::uint64_t> done;
      for (std::uint64_t i = 0; i < all; ++i) done.insert(work_of(i, all, dies));
      REQUIRE(done.size() == all);
      REQUIRE(*done.rbegin() == all - 1);
    }
}

TEST_CASE("Order of the work: each die does consecutive pieces, in order", "[quick][plan]") {
  for (const std::uint64_t all : {8u, 100u, 129u, 4096u})
    for (std::uint64_t i = 8; i < all; ++i) {
      CAPTURE(all, i);
      REQUIRE(work_of(i, all, 8) == work_of(i - 8, all, 8) + 1);
    }
  // 16 heads of 4 workgroups: two heads a die.
  for (std::uint64_t i = 0; i < 64; ++i) CHECK(work_of(i, 64, 8) / 8 == i % 8);
}

TEST_CASE("Order of the work: as the grid numbers it where dies are no power of two, and in very large grids",
          "[quick][plan]") {
  CHECK(work_of(5, 100, 6) == 5);
  CHECK(work_of(5, generator::max_ordered_workgroups + 1, 8) == 5);
  CHECK(work_of(5, generator::max_ordered_workgroups, 8) == 5 * generator::max_ordered_workgroups / 8);
}
