// A dense array of numbers as a file holds it: element type, extents, raw bytes.
// Invariant: C order, little-endian, bytes.size() == element_count * element_bytes(type).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zyfa::runtime {

// e4m3fn and e5m2 are the OCP formats, the ones gfx950 has (not the fnuz formats of gfx942).
enum class ElementType { f32, bf16, f16, e4m3fn, e5m2 };

std::size_t element_bytes(ElementType type);
const char* to_string(ElementType type);

struct Tensor {
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};

// Product of the extents; 1 for a scalar. Throws Error on a negative extent or where the product passes 2^48.
std::int64_t element_count(std::span<const std::int64_t> shape);

// "[1, 512, 2, 128]".
std::string shape_text(std::span<const std::int64_t> shape);

// The element at a flat index as a float, which holds every value of every element type exactly.
float element(const Tensor& tensor, std::int64_t index);

std::vector<float> to_floats(const Tensor& tensor);

// An f32 tensor; throws Error if the number of values is not the shape's.
Tensor tensor_of(std::span<const float> values, std::vector<std::int64_t> shape);

}  // namespace zyfa::runtime
