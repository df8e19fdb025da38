// The shapes that kernels are tested on, whoever launches them.
#pragma once

#include "runtime_loader/attention_problem.h"

#include <utility>
#include <vector>

namespace zyfa {

// The shapes of the first kernel: tiles that are whole and not, fewer and more keys than queries, single rows.
inline std::vector<runtime::AttentionShape> first_shapes() {
  return {
      {.batch = 1, .heads = 2, .kv_heads = 1, .seqlen_q = 512, .seqlen_k = 512},
      {.batch = 2, .heads = 6, .kv_heads = 2, .seqlen_q = 1000, .seqlen_k = 1000},
      {.batch = 1, .heads = 2, .kv_heads = 1, .seqlen_q = 300, .seqlen_k = 77},
      {.batch = 1, .heads = 2, .kv_heads = 1, .seqlen_q = 77, .seqlen_k = 300},
      {.batch = 3, .heads = 4, .kv_heads = 2, .seqlen_q = 1, .seqlen_k = 500},
      {.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 1, .seqlen_k = 1},
  };
}

// The lengths AITER tests its own kernels with (users.md B11).
inline std::vector<runtime::AttentionShape> aiter_shapes() {
  constexpr std::pair<int, int> lengths[] = {{113, 203}, {128, 217},   {113, 211},   {108, 256},  {256, 512},
                                             {512, 256}, {1024, 1024}, {1023, 1024}, {1024, 1023}};
  std::vector<runtime::AttentionShape> shapes;
  for (const auto& [queries, keys] : lengths)
    shapes.push_back({.batch = 1, .heads = 5, .kv_heads = 1, .seqlen_q = queries, .seqlen_k = keys});
  return shapes;
}

// Any number of query heads per key/value head.
inline std::vector<runtime::AttentionShape> grouped_shapes() {
  std::vector<runtime::AttentionShape> shapes;
  for (const int ratio : {1, 3, 5, 6, 7, 12})
    shapes.push_back({.batch = 2, .heads = 3 * ratio, .kv_heads = 3, .seqlen_q = 40, .seqlen_k = 150});
  return shapes;
}

}  // namespace zyfa
