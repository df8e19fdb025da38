// Steps at the start of a kernel: arguments into scalar registers, which rows this wave works on, the factor of the
// logits.
#pragma once

#include "generator/builder.h"
#include "generator/plan.h"

namespace zyfa::schedules {

using generator::A;
using generator::AttentionPlan;
using generator::Builder;
using generator::S;
using generator::Token;
using generator::V;

// A tensor of (batch, head, row) with strides in bytes.
struct TensorArgument {
  S<2> base, row_stride, head_stride, batch_stride;
};

// One float per (batch, head).
struct PerHeadArgument {
  S<2> base, head_stride, batch_stride;
};

struct Arguments {
  S<2> kernarg;  // the kernel argument segment
  TensorArgument q, k, v, o;
  S<1> seqlen_q, seqlen_k, heads_per_kv_head, softmax_scale;
};

// Loads what is needed for long of generator::AttentionKernargs from the kernel argument segment at `kernarg`; it has
// arrived on return.
Arguments load_arguments(Builder& k, S<2> kernarg);

// The rest is loaded where it is needed, into registers of the present scope.
enum class PerHead { lse, q_descale, k_descale, v_descale };
PerHeadArgument load_argument(Builder& k, const Arguments& args, PerHead which);

// Columns of a 32x32 matrix instruction: a wave works on as many queries, or on a multiple.
inline constexpr int matrix_queries = 32;

// The workgroup's numbers in the grid become those of the work that it does, by generator::work_of.
void find_work(Builder& k, const AttentionPlan& plan, S<2> kernarg, const Arguments& args, S<1> workgroup, S<1> head,
               const isa::Machine& machine);

// Where in the problem this wave stands. The grid is (workgroups, heads, batch).
struct Place {
  S<1> batch, head, kv_head;
  S<1> wave;                   // 0..7
  S<1> workgroup_first_query;  // of the present tile of queries
  S<1> first_query;            // of the wave: workgroup_first_query + wave * queries_per_wave
  V<1> lane;                   // 0..63
};
// The wave's number in its workgroup, and in `lane` a work-item's in its wave.
S<1> find_wave(Builder& k, V<1> work_item, V<1> lane);
// x / n, rounded down, in a new register; exact for x up to generator::max_heads and n from 1.
S<1> divide(Builder& k, S<1> x, S<1> n, std::string_view name);

// All but the queries.
Place find_place(Builder& k, const Arguments& args, S<1> head, S<1> batch, V<1> work_item);
// The queries of a tile of AttentionPlan::queries_per_tile.
void go_to_tile(Builder& k, const AttentionPlan& plan, const Place& place, S<1> tile);

// address += index * stride, 64 bits. `index` is not negative; `stride` may be.
void advance(Builder& k, S<2> address, S<1> index, S<2> stride);

// The address of a head's first row: base + batch * batch_stride + head * head_stride.
S<2> head_address(Builder& k, const TensorArgument& tensor, S<1> batch, S<1> head, std::string_view name);

// The address of the value at (batch, head), in a register of the present scope; and a request for it.
S<2> per_head_address(Builder& k, const Arguments& args, PerHead which, S<1> batch, S<1> head);
Token load_per_head(Builder& k, S<1> value, const Arguments& args, PerHead which, S<1> batch, S<1> head);

// How many of the 32 queries from first_query on exist: clamp(seqlen_q - first_query, 0, 32).
S<1> queries_there(Builder& k, const Arguments& args, const Place& place);

// Word 3 of a raw buffer descriptor: 32-bit data format, no stride or swizzle (CDNA4 ISA 9.1.8).
inline constexpr std::uint32_t raw_buffer_word3 = 0x00020000;

// A raw buffer descriptor over `rows` rows from `address` on; accesses to further rows are out of range: loads give 0,
// stores are dropped. rows * row_stride must fit 32 bits (generator::max_row_stride_bytes sees to that).
void make_resource(Builder& k, S<4> resource, S<2> address, S<1> rows, S<1> row_stride);

// factor = what turns a dot product of codes into an exponent of two: softmax_scale * q_descale * k_descale * log2(e).
void exponent_factor(Builder& k, V<1> factor, const Arguments& args, const Place& place);

}  // namespace zyfa::schedules
