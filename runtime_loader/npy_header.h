// The header of a .npy file: a Python dictionary literal with exactly 'descr', 'fortran_order' and 'shape'.
// Format: NumPy's NEP 1 and numpy.lib.format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime_loader/tensor.h"

namespace zyfa::runtime {

struct NpyHeader {
  ElementType type = ElementType::f32;
  std::size_t file_element_bytes = 4;  // 8 where the file holds doubles, which become f32
  std::vector<std::int64_t> shape;
};

// Parses the dictionary (without magic and length). `path` names the file in errors.
NpyHeader parse_npy_header(std::string_view text, const std::string& path);

// Magic, version 1, length and dictionary, padded with blanks to a multiple of 64 bytes.
std::string npy_header(std::string_view descr, std::span<const std::int64_t> shape);

}  // namespace zyfa::runtime
