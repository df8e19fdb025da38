// The kernel that quantises: every bit of its codes and descales against the host's, wherever rows lie and however many
// there are.
#include "isa/error.h"
#include "isa/numeric.h"
#include "tests/support/catch.h"
#include "tests/support/quantise_problem.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

using namespace zyfa;
using namespace zyfa::runtime;
using generator::QuantiseConfig;
using generator::Rotation;

namespace {

constexpr QuantiseShape shapes[] = {
    {.rows = 1},
    {.rows = 15, .heads = 2},
    {.rows = 33, .heads = 3, .outlier = 30},
    {.batch = 2, .rows = 128, .heads = 2},
    {.batch = 2, .rows = 129, .heads = 6, .heads_per_scale = 3, .outlier = 20},
    {.rows = 300, .heads = 2, .heads_per_scale = 2},
};

// The first difference, for a message; empty if there is none.
std::string difference(const Quantised& found, const Quantised& expected) {
  if (std::memcmp(found.descales.data(), expected.descales.data(), 4 * expected.descales.size()) != 0)
    for (std::size_t i = 0; i < expected.descales.size(); ++i)
      if (found.descales[i] != expected.descales[i])
        return fmt::format("descale {}: {:a}, not {:a}", i, found.descales[i], expected.descales[i]);
  const auto [a, b] = std::ranges::mismatch(found.codes, expected.codes);
  if (a == found.codes.end()) return {};
  return fmt::format("code {}: {:#x}, not {:#x}", a - found.codes.begin(), *a, *b);
}

}  // namespace

TEST_CASE("Quantise: codes and descales are the host's, bit by bit", "[quantise]") {
  for (const QuantiseConfig& config : generator::supported_quantise_configs()) {
    const QuantiseKernel kernel = generate_quantise_kernel(config);
    for (const QuantiseShape& shape : shapes)
      for (const Layout layout : {Layout::bshd, Layout::bhsd}) {
        CAPTURE(kernel.manifest.symbol, shape.batch, shape.rows, shape.heads, to_string(layout));
        const QuantiseInputs inputs = make_quantise_inputs(config, shape);
        CHECK(difference(run_quantise(kernel, inputs, {.layout = layout, .emulator = {}}),
                         reference_quantise(config.rotation, inputs)) == "");
      }
  }
}
