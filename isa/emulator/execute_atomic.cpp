#include "isa/emulator/execute_atomic.h"

#include "isa/numeric.h"

#include <atomic>
#include <bit>

namespace zyfa::emulator {
namespace {

using isa::Op;
using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;
using f32 = float;
using f64 = double;

template <class T>
T value(u64 bits) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(static_cast<u32>(bits));
  else
    return std::bit_cast<T>(bits);
}
template <class T>
u64 bits_of(T number) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<u32>(number);
  else
    return std::bit_cast<u64>(number);
}

// Sums of two halves rounded once: a float holds enough bits for the second rounding to do no harm. Denormals are kept,
// as by CDNA3's and later atomics (the MODE register is not looked at).
u32 add_pairs_f16(u32 a, u32 b) {
  const auto add = [](u32 x, u32 y) {
    return isa::float_to_f16(isa::f16_to_float(static_cast<std::uint16_t>(x)) +
                             isa::f16_to_float(static_cast<std::uint16_t>(y)));
  };
  return add(a, b) | u32{add(a >> 16, b >> 16)} << 16;
}
u32 add_pairs_bf16(u32 a, u32 b) {
  const auto add = [](u32 x, u32 y) {
    return isa::float_to_bf16(isa::bf16_to_float(static_cast<std::uint16_t>(x)) +
                              isa::bf16_to_float(static_cast<std::uint16_t>(y)));
  };
  return add(a, b) | u32{add(a >> 16, b >> 16)} << 16;
}

template <class T>
u64 update_as(std::byte* host, Atomic atomic, u64 b, u64 c) {
  std::atomic_ref<T> memory(*reinterpret_cast<T*>(host));
  T old = memory.load();
  while (!memory.compare_exchange_weak(old, static_cast<T>(atomic(old, b, c)))) {
  }
  return old;
}

}  // namespace

// clang-format off
#define ATOMIC(name, T, result) \
  case Op::name: return [](u64 a_, u64 b_, u64) -> u64 { \
    [[maybe_unused]] const T a = value<T>(a_); \
    const T b = value<T>(b_); \
    const T r = result; \
    return bits_of<T>(r); };
#define COMPARE(name, T, result) \
  case Op::name: return [](u64 a_, u64 b_, u64 c_) -> u64 { \
    const T a = value<T>(a_), b = value<T>(b_), c = value<T>(c_); \
    const T r = result; \
    return bits_of<T>(r); };
#define DS_ATOMIC(name, T, ...) ATOMIC(name, T, (__VA_ARGS__))
#define DS_ATOMIC_RTN(name, T, ...) ATOMIC(name, T, (__VA_ARGS__))
#define BUFFER_ATOMIC(name, T, ...) ATOMIC(name, T, (__VA_ARGS__))
#define GLOBAL_ATOMIC(name, T, ...) ATOMIC(name, T, (__VA_ARGS__))
#define FLAT_ATOMIC(name, T, ...) ATOMIC(name, T, (__VA_ARGS__))
#define DS_COUNT(name, ...) ATOMIC(name, u32, (__VA_ARGS__))
#define DS_COMPARE(name, T, ...) COMPARE(name, T, (__VA_ARGS__))
#define DS_COMPARE_RTN(name, T, ...) COMPARE(name, T, (__VA_ARGS__))
#define BUFFER_COMPARE(name, T, ...) COMPARE(name, T, (__VA_ARGS__))
#define GLOBAL_COMPARE(name, T, ...) COMPARE(name, T, (__VA_ARGS__))
#define FLAT_COMPARE(name, T, ...) COMPARE(name, T, (__VA_ARGS__))
// clang-format on

Atomic find_atomic(Op op) {
  switch (op) {
#include "isa/gfx950.def"
    default:
      return nullptr;
  }
}
#undef ATOMIC
#undef COMPARE

u64 update(std::byte* host, u32 bytes, Atomic atomic, u64 b, u64 c) {
  return bytes == 4 ? update_as<u32>(host, atomic, b, c) : update_as<u64>(host, atomic, b, c);
}

}  // namespace zyfa::emulator
