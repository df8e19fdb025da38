// BF16 queries become e4m3 in the prologue. The factor of the logits goes with them: its mantissa is multiplied in
// before rounding, and each query's power of two is its E8M0 scale operand in the first product, whose results are
// octaves then.
#pragma once

#include "schedules/tiles.h"

namespace zyfa::schedules {

bool is_bf16(const AttentionPlan& plan);

// softmax_scale * k_descale * log2(e) = mantissa * 2^exponent, mantissa in [1/2, 1) or 0.
struct QueryFactor {
  V<1> mantissa, exponent;  // the same in all lanes
};
QueryFactor load_query_factor(Builder& k, const Arguments& args, const Place& place);

// A query's factor 2^n is held within these bounds. Below, logits are less than 2^-70 octaves apart, above fp32 ends.
inline constexpr int bf16_least_factor_log2 = -96, bf16_largest_factor_log2 = 100;
// n less this is what its E8M0 form holds; keys' scale operands make up for it.
inline constexpr int bf16_key_factor_log2 = 30;

// Requests the lane's half of its query: for each 16 elements 8 registers of `raw`, in the order of Queries. Queries
// from seqlen_q on are zero.
Queries load_bf16_queries(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place, V<64> raw);

// With m = the factor's mantissa, e its exponent and a = the largest |element| of a query, at least 2^-100: codes are
// m * element / 2^r rounded to e4m3, 2^r such that m * a / 2^r lies in [128, 256). Byte 0 of `factors` becomes the E8M0
// form of 2^(r + e - bf16_key_factor_log2). Overwrites `raw`.
void quantise_queries(Builder& k, const QueryFactor& factor, V<64> raw, const Queries& q, V<1> factors);

}  // namespace zyfa::schedules
