// Whole inputs that mutation starts from, made in memory: kernels that zyfa generates, small assembled ones that use
// what those do not, and instructions of every row of the table.
#pragma once

#include "tests/fuzz/targets.h"

namespace zyfa::fuzz {

std::vector<Bytes> code_seeds();
std::vector<Bytes> code_object_seeds();
std::vector<Bytes> text_seeds();
std::vector<Bytes> json_seeds();
std::vector<Bytes> tensor_seeds();

}  // namespace zyfa::fuzz
