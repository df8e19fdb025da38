#include "runtime_loader/quantise_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "isa/numeric.h"
#include "runtime_loader/parallel.h"

namespace zyfa::runtime {
namespace {

constexpr float e4m3_max = 448;

// Calls visit(batch, row, head, values, worker) with every row's values.
template <typename Visit>
void for_each_row(const RowsShape& shape, int threads, const RowValues& values, const Visit& visit) {
  const std::int64_t tasks = std::int64_t{shape.batch} * shape.rows;
  std::vector<std::vector<float>> buffers(static_cast<std::size_t>(std::max(threads, 1)),
                                          std::vector<float>(static_cast<std::size_t>(shape.dim)));
  parallel_for(tasks, threads, [&](std::int64_t task, int worker) {
    const int batch = static_cast<int>(task / shape.rows);
    const int row = static_cast<int>(task % shape.rows);
    const std::span<float> buffer = buffers[static_cast<std::size_t>(worker)];
    for (int head = 0; head < shape.heads; ++head) {
      values(batch, row, head, buffer);
      visit(batch, row, head, buffer, worker);
    }
  });
}

// A denormal scale would lose its own precision, so tiny heads are scaled less than they could be.
float descale_for(float amax) {
  if (amax == 0) return 1;
  return std::max(amax / e4m3_max, std::numeric_limits<float>::min());
}

}  // namespace

QuantisedRows quantise_rows(const RowsShape& shape, int threads, const RowValues& values, const DescaleChoice& choose) {
  const auto scales = static_cast<std::size_t>(shape.batch) * static_cast<std::size_t>(shape.kv_heads);
  const int group = shape.heads / shape.kv_heads;
  const auto scale_index = [&](int batch, int head) {
    return static_cast<std::size_t>(batch) * static_cast<std::size_t>(shape.kv_heads) +
           static_cast<std::size_t>(head / group);
  };

  std::vector<std::vector<float>> amax(static_cast<std::size_t>(std::max(threads, 1)), std::vector<float>(scales));
  for_each_row(shape, threads, values, [&](int batch, int, int head, std::span<const float> row, int worker) {
    float& largest = amax[static_cast<std::size_t>(worker)][scale_index(batch, head)];
    for (const float value : row) largest = std::max(largest, std::abs(value));
  });

  QuantisedRows result;
  result.descales.resize(scales);
  for (std::size_t i = 0; i < scales; ++i) {
    float largest = 0;
    for (const std::vector<float>& of_worker : amax) largest = std::max(largest, of_worker[i]);
    result.descales[i] = choose ? choose(descale_for(largest), i) : descale_for(largest);
  }

  const auto dim = static_cast<std::size_t>(shape.dim);
  result.codes.resize(static_cast<std::size_t>(shape.batch) * static_cast<std::size_t>(shape.rows) *
                      static_cast<std::size_t>(shape.heads) * dim);
  for_each_row(shape, threads, values, [&](int batch, int row, int head, std::span<const float> reals, int) {
    const float descale = result.descales[scale_index(batch, head)];
    const std::size_t index =
        (static_cast<std::size_t>(batch) * static_cast<std::size_t>(shape.rows) + static_cast<std::size_t>(row)) *
            static_cast<std::size_t>(shape.heads) +
        static_cast<std::size_t>(head);
    std::uint8_t* codes = result.codes.data() + index * dim;
    for (std::size_t d = 0; d < dim; ++d) {
      codes[d] = isa::float_to_e4m3(reals[d] / descale, isa::Overflow::saturate);
    }
  });
  return result;
}

std::vector<std::uint16_t> bf16_rows(const RowsShape& shape, int threads, const RowValues& values) {
  const auto dim = static_cast<std::size_t>(shape.dim);
  std::vector<std::uint16_t> result(static_cast<std::size_t>(shape.batch) * static_cast<std::size_t>(shape.rows) *
                                    static_cast<std::size_t>(shape.heads) * dim);
  for_each_row(shape, threads, values, [&](int batch, int row, int head, std::span<const float> reals, int) {
    const std::int64_t index = (std::int64_t{batch} * shape.rows + row) * shape.heads + head;
    for (std::size_t d = 0; d < dim; ++d)
      result[static_cast<std::size_t>(index) * dim + d] = isa::float_to_bf16(reals[d]);
  });
  return result;
}

}  // namespace zyfa::runtime
