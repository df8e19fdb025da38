// The largest value of a workgroup, and the descale that follows from the largest of all.
#pragma once

#include "schedules/quantise_rows.h"

namespace zyfa::schedules {

// `value`, at least 0 in each work-item, becomes the largest of the workgroup's. Once in a kernel: it uses the LDS from
// its start.
void find_largest_of_workgroup(Builder& k, const QuantisePlace& place, V<1> value);

// quotient = a / b, correctly rounded, b not 0. `quotient` may be a.
void divide(Builder& k, V<1> quotient, V<1> a, V<1> b);

// largest / 448, at least 2^-126; 1 where `largest` is 0. With k_descale the least value, at least about as large, that
// makes softmax_scale * descale * k_descale * log2(e) a power of two, if that is not 0. In fp32, with frexp(x) =
// (x.m, x.e), x = x.m * 2^x.e, 1/2 <= x.m < 1:
//
//   t = (softmax_scale.m * k_descale.m) * log2(e); p = descale.m * t.m
//   descale = (1 / t.m) * 2^(descale.e + p.e - (p.m == 1/2))
void find_descale(Builder& k, const QuantiseArguments& args, const QuantisePlace& place, V<1> largest, V<1> descale);

}  // namespace zyfa::schedules
