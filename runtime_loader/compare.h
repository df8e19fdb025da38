// A kernel's output against the reference: the numbers zyfa-run prints, and the verdict.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime_loader/reference.h"

namespace zyfa::runtime {

// What still passes. The defaults are those of FP8 with exact P: P's rounding to e4m3 gives 0.006 to 0.025
// (kernel.md 4), BF16 output another 0.001 to 0.002; 0.05 is also what AITER asks of its FP8 kernels.
struct Tolerances {
  double relative = 0.05;  // of ||O - reference|| / ||reference||, Frobenius norm over all compared elements
  // Of an element's error, in units of its row's root mean square. A row's errors are about normal with at
  // most 0.06 of that (e4m3's largest rounding), so 0.5 is not reached by rounding, but by one wrong element.
  double element = 0.5;
  double lse = 0.01;  // absolute, in natural logarithms, beside lse_relative
  // Of the LSE itself: fp32 rounds scale, both descales, log2(e), their product with the maximum and ln 2, 2^-24 each.
  double lse_relative = 0x1p-21;
};

// What a kernel wrote. The last dimension of O is contiguous; strides are in elements.
struct AttentionOutput {
  std::span<const std::uint16_t> o;  // bf16
  std::int64_t batch_stride = 0;
  std::int64_t row_stride = 0;
  std::int64_t head_stride = 0;
  std::span<const float> lse;  // (batch, heads, seqlen_q), contiguous; empty where the kernel writes none
};

// O contiguous as (batch, seqlen_q, heads, v_head_dim).
AttentionOutput contiguous_output(const AttentionShape& shape, std::span<const std::uint16_t> o,
                                  std::span<const float> lse = {});

struct ElementPlace {
  int batch = 0, row = 0, head = 0, dim = 0;
};

struct Comparison {
  double relative_error = 0;         // 0 if both are zero; infinity if only the reference is, or if O is not finite
  double max_abs_error = 0;          // infinity if O is not finite
  double max_element_error = 0;      // in units of the row's root mean square
  ElementPlace worst;                // where max_element_error is, or the first element that is not finite
  double lse_max_excess = 0;         // the largest LSE error less what lse_relative allows its row
  double lse_max_error = 0;          // over rows with a finite reference; 0 if no LSE was given
  bool finite = true;                // no NaN or infinity in O, no NaN in LSE
  bool empty_rows_zero = true;       // O is exactly 0 in rows that see no key
  bool lse_infinities_match = true;  // LSE is -infinity in those rows and finite in all others
  bool passed = false;
};

// Compares the rows that `reference` holds. Throws Error if a span is too short for the reference's shape.
Comparison compare(const AttentionResult& reference, const AttentionOutput& output, const Tolerances& tolerances = {});

// Frobenius norm of the difference over that of the reference; 0 if both are zero.
double relative_error(std::span<const double> o, std::span<const double> reference);

// Why the comparison did not pass, a line for each limit that was not kept; empty if it passed.
std::vector<std::string> failures(const Comparison& comparison, const Tolerances& tolerances);

}  // namespace zyfa::runtime
