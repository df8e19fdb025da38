// Tensors from and to files: NumPy's .npy and safetensors.
// Invariant: a file that is not exactly what its header says is an Error that names the file and the defect,
// and a save that fails leaves the previous file as it was.
#pragma once

#include <string>

#include "runtime_loader/tensor.h"

namespace zyfa::runtime {

// Reads `path`, which ends in .npy or .safetensors. Extents are kept as the file has them, C order; attention
// inputs are (batch, seq, heads, dim).
//   .npy (versions 1 to 3): '<f4' -> f32; '<f8' -> f32, rounded; '<f2' -> f16; '<V2', '|V2', 'bfloat16' -> bf16;
//     '|u1', '|V1', '<V1', '<f1', 'float8_e4m3fn' -> e4m3fn, byte for byte (NumPy has no FP8 type of its own);
//     '|i1', '<u2' and the like are refused, because they do not say which format their bits are.
//   .safetensors: F32, F16, BF16, F8_E4M3, F8_E5M2. Takes the tensor called `name`, also spelled
//     "file.safetensors:name"; without a name the file must hold exactly one. Only that tensor's bytes are read.
Tensor load_tensor(const std::string& path, const std::string& name = "");

// Writes .npy version 1. f32 and f16 are kept; bf16, e4m3fn and e5m2 become float32, so that any NumPy can
// read them. Written beside `path` and renamed; an existing device or pipe is written to directly.
void save_npy(const std::string& path, const Tensor& tensor);

}  // namespace zyfa::runtime
