// The matrix instructions that probes run vector instructions under.
#pragma once

#include "schedules/probes/stopwatch.h"

namespace zyfa::schedules {

struct MatrixRow {
  std::string_view name;
  int source_bytes;  // of a lane, the wider of A and B
  void (*emit)(Bench&, int i);
};

std::span<const MatrixRow> matrix_rows();

// FP8 32x32x64 into the tile of this number.
void fp8_matrix(Bench& b, int tile);

}  // namespace zyfa::schedules
