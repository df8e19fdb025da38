#include "runtime_loader/tensor.h"

#include <cstring>
#include <utility>

#include "isa/error.h"
#include "isa/numeric.h"

namespace zyfa::runtime {
namespace {

static_assert(std::endian::native == std::endian::little, "tensor bytes are used as the host's numbers");

// Far beyond any host's memory, and small enough that bytes and offsets never overflow 64 bits.
constexpr std::int64_t max_elements = std::int64_t{1} << 48;

template <typename T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace

std::size_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return 4;
    case ElementType::bf16:
    case ElementType::f16:
      return 2;
    case ElementType::e4m3fn:
    case ElementType::e5m2:
      return 1;
  }
  throw Error("element type {} is not one of f32, bf16, f16, e4m3fn, e5m2", static_cast<int>(type));
}

const char* to_string(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return "f32";
    case ElementType::bf16:
      return "bf16";
    case ElementType::f16:
      return "f16";
    case ElementType::e4m3fn:
      return "e4m3fn";
    case ElementType::e5m2:
      return "e5m2";
  }
  return "unknown";
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

std::int64_t element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) throw Error("shape {} has a negative extent", shape_text(shape));
    if (extent == 0) {
      empty = true;
    } else if (count > max_elements / extent) {
      throw Error("shape {} has more than 2^48 elements", shape_text(shape));
    } else {
      count *= extent;
    }
  }
  return empty ? 0 : count;
}

float element(const Tensor& tensor, std::int64_t index) {
  const std::size_t size = element_bytes(tensor.type);
  const std::byte* at = tensor.bytes.data() + static_cast<std::size_t>(index) * size;
  switch (tensor.type) {
    case ElementType::f32:
      return load<float>(at);
    case ElementType::bf16:
      return isa::bf16_to_float(load<std::uint16_t>(at));
    case ElementType::f16:
      return isa::f16_to_float(load<std::uint16_t>(at));
    case ElementType::e4m3fn:
      return isa::e4m3_to_float(load<std::uint8_t>(at));
    case ElementType::e5m2:
      return isa::e5m2_to_float(load<std::uint8_t>(at));
  }
  return 0;
}

std::vector<float> to_floats(const Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(element_count(tensor.shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = element(tensor, static_cast<std::int64_t>(i));
  return values;
}

Tensor tensor_of(std::span<const float> values, std::vector<std::int64_t> shape) {
  const std::int64_t count = element_count(shape);
  if (static_cast<std::size_t>(count) != values.size()) {
    throw Error("shape {} needs {} values, {} were given", shape_text(shape), count, values.size());
  }
  Tensor tensor{ElementType::f32, std::move(shape), std::vector<std::byte>(values.size_bytes())};
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), values.size_bytes());
  return tensor;
}

}  // namespace zyfa::runtime
