#include "runtime_loader/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "isa/error.h"
#include "isa/numeric.h"

namespace zyfa::runtime {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void check_output(const AttentionShape& shape, const AttentionOutput& output) {
  if (output.batch_stride < 0 || output.row_stride < 0 || output.head_stride < 0) {
    throw Error("output strides {}, {}, {} (batch, row, head) must not be negative", output.batch_stride,
                output.row_stride, output.head_stride);
  }
  const bool empty = shape.seqlen_q == 0;
  const std::int64_t needed = empty
                                  ? 0
                                  : (shape.batch - 1) * output.batch_stride + (shape.seqlen_q - 1) * output.row_stride +
                                        (shape.heads - 1) * output.head_stride + shape.v_head_dim;
  if (static_cast<std::int64_t>(output.o.size()) < needed) {
    throw Error("the output has {} elements, its shape and strides reach {}", output.o.size(), needed);
  }
  const std::int64_t rows = std::int64_t{shape.batch} * shape.heads * shape.seqlen_q;
  if (!output.lse.empty() && static_cast<std::int64_t>(output.lse.size()) != rows) {
    throw Error("LSE has {} values, batch * heads * seqlen_q is {}", output.lse.size(), rows);
  }
}

// Ratio of norms that need not be positive.
double ratio(double error, double reference) {
  if (error == 0) return 0;
  return reference == 0 ? infinity : error / reference;
}

struct Sums {
  double error = 0, reference = 0;  // of squares
};

// A row that sees a key, or whose elements must all be 0 (`empty`).
void compare_row(std::span<const double> wanted, std::span<const std::uint16_t> got, bool empty, ElementPlace place,
                 Sums& sums, Comparison& result) {
  double row_sum = 0;
  for (const double value : wanted) row_sum += value * value;
  const double row_rms = std::sqrt(row_sum / static_cast<double>(wanted.size()));
  sums.reference += row_sum;
  for (std::size_t d = 0; d < wanted.size(); ++d) {
    place.dim = static_cast<int>(d);
    const double value = isa::bf16_to_float(got[d]);
    if (!std::isfinite(value)) {
      if (result.finite) result.worst = place;
      result.finite = false;
      continue;
    }
    const double error = std::abs(value - wanted[d]);
    sums.error += error * error;
    result.max_abs_error = std::max(result.max_abs_error, error);
    if (empty && value != 0) result.empty_rows_zero = false;
    const double element_error = ratio(error, row_rms);
    if (element_error > result.max_element_error) {
      result.max_element_error = element_error;
      if (result.finite) result.worst = place;
    }
  }
}

void compare_lse(double wanted, float got, double relative, Comparison& result) {
  if (std::isnan(got)) {
    result.finite = false;
    return;
  }
  const bool match = std::isfinite(wanted) ? std::isfinite(got) : static_cast<double>(got) == wanted;
  if (!match) {
    result.lse_infinities_match = false;
  } else if (std::isfinite(wanted)) {
    const double error = std::abs(got - wanted);
    result.lse_max_error = std::max(result.lse_max_error, error);
    result.lse_max_excess = std::max(result.lse_max_excess, error - relative * std::abs(wanted));
  }
}

}  // namespace

AttentionOutput contiguous_output(const AttentionShape& shape, std::span<const std::uint16_t> o,
                                  std::span<const float> lse) {
  const std::int64_t row = std::int64_t{shape.heads} * shape.v_head_dim;
  return {o, row * shape.seqlen_q, row, shape.v_head_dim, lse};
}

Comparison compare(const AttentionResult& reference, const AttentionOutput& output, const Tolerances& tolerances) {
  const AttentionShape& shape = reference.shape;
  check_output(shape, output);
  const int rows = selected_rows(reference.rows, shape.seqlen_q);
  const auto dim = static_cast<std::size_t>(shape.v_head_dim);
  Comparison result;
  Sums sums;
  for (int batch = 0; batch < shape.batch; ++batch) {
    for (int selected = 0; selected < rows; ++selected) {
      const int row = reference.rows.offset + selected * reference.rows.stride;
      for (int head = 0; head < shape.heads; ++head) {
        const std::int64_t flat = (std::int64_t{batch} * rows + selected) * shape.heads + head;
        const std::int64_t at = batch * output.batch_stride + row * output.row_stride + head * output.head_stride;
        const bool empty = visible_keys(shape, row) == 0;
        compare_row(std::span(reference.o).subspan(static_cast<std::size_t>(flat) * dim, dim),
                    output.o.subspan(static_cast<std::size_t>(at), dim), empty, {batch, row, head, 0}, sums, result);
        if (!output.lse.empty()) {
          const std::int64_t of_head = std::int64_t{batch} * shape.heads + head;
          compare_lse(reference.lse[static_cast<std::size_t>(of_head * rows + selected)],
                      output.lse[static_cast<std::size_t>(of_head * shape.seqlen_q + row)], tolerances.lse_relative,
                      result);
        }
      }
    }
  }
  result.relative_error = ratio(std::sqrt(sums.error), std::sqrt(sums.reference));
  if (!result.finite) result.relative_error = result.max_abs_error = infinity;
  result.passed = failures(result, tolerances).empty();
  return result;
}

double relative_error(std::span<const double> o, std::span<const double> reference) {
  Sums sums;
  for (std::size_t i = 0; i < o.size(); ++i) {
    sums.error += (o[i] - reference[i]) * (o[i] - reference[i]);
    sums.reference += reference[i] * reference[i];
  }
  return ratio(std::sqrt(sums.error), std::sqrt(sums.reference));
}

std::vector<std::string> failures(const Comparison& c, const Tolerances& tolerances) {
  std::vector<std::string> reasons;
  const ElementPlace& w = c.worst;
  const std::string place = fmt::format("batch {}, query {}, head {}, element {}", w.batch, w.row, w.head, w.dim);
  if (!c.finite) reasons.push_back(fmt::format("NaN or infinity in O or NaN in the LSE; first in O: {}", place));
  if (!c.empty_rows_zero) reasons.emplace_back("O is not 0 in a row that sees no key");
  if (!c.lse_infinities_match)
    reasons.emplace_back("the LSE is not -infinity in the rows that see no key and in those alone");
  if (!(c.relative_error <= tolerances.relative))
    reasons.push_back(fmt::format("relative error {:.3g}, accepted: {:.3g}", c.relative_error, tolerances.relative));
  if (!(c.max_element_error <= tolerances.element))
    reasons.push_back(fmt::format("error of {:.3g} of the row's root mean square, accepted: {:.3g}; {}",
                                  c.max_element_error, tolerances.element, place));
  if (!(c.lse_max_excess <= tolerances.lse))
    reasons.push_back(fmt::format("LSE error {:.3g}, accepted: {:.3g} and {:.3g} of the LSE", c.lse_max_error,
                                  tolerances.lse, tolerances.lse_relative));
  return reasons;
}

}  // namespace zyfa::runtime
