// Tensors as hooks capture them: orders of extents, types that belong together.
#include "runtime_loader/captured_inputs.h"

#include "isa/error.h"
#include "tests/support/catch.h"

#include <algorithm>
#include <numeric>

using namespace zyfa;
using namespace zyfa::runtime;

namespace {

Tensor counting(std::vector<std::int64_t> shape) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  std::iota(values.begin(), values.end(), 0.0F);
  return tensor_of(values, std::move(shape));
}

CapturedTensors of_types(ElementType q, ElementType k, ElementType v) {
  return {{q, {}, {}}, {k, {}, {}}, {v, {}, {}}};
}

}  // namespace

TEST_CASE("Captured: extents come into the order (batch, seq, heads, dim)", "[quick]") {
  const std::int64_t batch = 2, heads = 3, rows = 4, dim = 5;
  const Tensor file = counting({batch, heads, rows, dim}), turned = to_bshd("q", file, FileLayout::bhsd);
  CHECK(turned.shape == std::vector<std::int64_t>{batch, rows, heads, dim});
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t h = 0; h < heads; ++h)
        for (std::int64_t d = 0; d < dim; ++d)
          CHECK(element(turned, ((b * rows + r) * heads + h) * dim + d) ==
                element(file, ((b * heads + h) * rows + r) * dim + d));
  CHECK(to_bshd("q", file, FileLayout::bshd).bytes == file.bytes);
}

TEST_CASE("Captured: without a batch it is 1", "[quick]") {
  const Tensor file = counting({4, 3, 5});
  CHECK(to_bshd("q", file, FileLayout::bshd).shape == std::vector<std::int64_t>{1, 4, 3, 5});
  CHECK(to_bshd("q", file, FileLayout::bhsd).shape == std::vector<std::int64_t>{1, 3, 4, 5});
  REQUIRE_THROWS_WITH(to_bshd("q", counting({4, 5}), FileLayout::bshd),
                      "q is [4, 5]; (batch, seq, heads, dim) or (seq, heads, dim) is needed");
  REQUIRE_THROWS_WITH(to_bshd("k", counting({1, 1, 1, 4, 5}), FileLayout::bhsd),
                      "k is [1, 1, 1, 4, 5]; (batch, heads, seq, dim) or (heads, seq, dim) is needed");
}

TEST_CASE("Captured: which types belong together", "[quick]") {
  const ElementType all[] = {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::e4m3fn,
                             ElementType::e5m2};
  const auto fp8 = [](ElementType type) { return type == ElementType::e4m3fn || type == ElementType::e5m2; };
  int accepted = 0;
  for (const ElementType q : all)
    for (const ElementType k : all)
      for (const ElementType v : all) {
        const bool together = fp8(k) ? v == k && (!fp8(q) || q == k) : !fp8(v) && !fp8(q);
        CAPTURE(to_string(q), to_string(k), to_string(v));
        if (together) {
          ++accepted;
          CHECK_NOTHROW(check_types(of_types(q, k, v)));
        } else {
          CHECK_THROWS_AS(check_types(of_types(q, k, v)), Error);
        }
      }
  CHECK(accepted == 27 + 2 * 4);
}

TEST_CASE("Captured: file layouts by name", "[quick]") {
  for (const FileLayout layout : {FileLayout::bshd, FileLayout::bhsd})
    CHECK(parse_file_layout(to_string(layout)) == layout);
  REQUIRE_THROWS_WITH(parse_file_layout("sbhd"), "file layout 'sbhd' is not known; accepted: bshd, bhsd");
}
