// Where a workgroup of the quantising kernel stands, and the rows that its waves work on.
#pragma once

#include "generator/quantise.h"
#include "schedules/arguments.h"

#include <vector>

namespace zyfa::schedules {

using generator::QuantisePlan;

// What is needed for long of generator::QuantiseKernargs.
struct QuantiseArguments {
  S<2> kernarg;
  TensorArgument x, codes;
  S<2> descale, k_descale, workspace;  // addresses
  S<1> rows, heads, heads_per_scale, phase;
};
QuantiseArguments load_quantise_arguments(Builder& k, S<2> kernarg);

struct QuantisePlace {
  S<1> workgroup, head, batch;  // of the grid
  S<1> scale_head;              // head / heads_per_scale
  S<1> wave, first_row;
  V<1> work_item, lane;
};
QuantisePlace find_quantise_place(Builder& k, const QuantiseArguments& args, S<1> workgroup, S<1> head, S<1> batch,
                                  V<1> work_item);

// The wave's rows of a tensor. Loads of rows that do not exist give 0, stores are dropped.
struct WaveRows {
  S<4> resource;
  std::vector<V<1>> offsets;  // of each tile: the lane's row and its 16 bytes of 64
};
WaveRows find_rows(Builder& k, const QuantiseArguments& args, const QuantisePlace& place, const TensorArgument& tensor);

// 4 bytes for each workgroup of a head: the distance of heads in the workspace.
S<2> partials_of_head(Builder& k, const QuantiseArguments& args);
// The address of the partial maxima of a head of the place's batch entry.
S<2> partials_address(Builder& k, const QuantiseArguments& args, const QuantisePlace& place, S<1> head,
                      S<2> partials_of_head);

}  // namespace zyfa::schedules
