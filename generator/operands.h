// Argument types of the builder's methods. They accept what the instruction's operand accepts, so that a wrong width or
// a float where an integer is meant does not compile.
#pragma once

#include "isa/isa.h"

#include <type_traits>

namespace zyfa::generator {

using isa::A;
using isa::Operand;
using isa::S;
using isa::V;

// -x or |x| of a floating-point source register.
struct Modified {
  Operand operand;
};
inline Modified negated(Operand operand) {
  operand.neg = !operand.neg;
  return {operand};
}
inline Modified magnitude(Operand operand) {
  operand.abs = true;
  operand.neg = false;
  return {operand};
}

template <isa::Type T>
inline constexpr bool is_float =
    T == isa::Type::f32 || T == isa::Type::f64 || T == isa::Type::f16 || T == isa::Type::bf16;
template <isa::Type T>
inline constexpr int width =
    T == isa::Type::u64 || T == isa::Type::i64 || T == isa::Type::f64 || T == isa::Type::mask ? 2 : 1;

constexpr int element_bits(isa::Type t) {
  switch (t) {
    case isa::Type::e4m3:
    case isa::Type::e5m2:
    case isa::Type::i8:
      return 8;
    case isa::Type::bf16:
    case isa::Type::f16:
      return 16;
    default:
      return t == isa::Type::f64 ? 64 : 32;
  }
}

// A source of the vector ALU: vector or scalar registers, or a constant of the operand's own kind.
template <isa::Type T>
struct Source {
  Operand operand;
  Source(V<width<T>> r) : operand(r) {}
  Source(S<width<T>> r) : operand(r) {}
  Source(Modified m) requires(is_float<T>) : operand(m.operand) {}
  Source(float value) requires(is_float<T>) : operand(Operand::constant(value)) {}
  template <std::integral I>
  Source(I value) requires(!is_float<T>) : operand(Operand::constant(static_cast<std::uint32_t>(value))) {}
};

// A source of the scalar ALU.
template <isa::Type T>
struct ScalarSource {
  Operand operand;
  ScalarSource(S<width<T>> r) : operand(r) {}
  template <std::integral I>
  ScalarSource(I value) : operand(Operand::constant(static_cast<std::uint32_t>(value))) {}
  ScalarSource(float value) requires(width<T> == 1) : operand(Operand::constant(value)) {}
};

// Either vector file: matrix operands, and the data of memory instructions.
template <int N>
struct Data {
  Operand operand;
  Data(V<N> r) : operand(r) {}
  Data(A<N> r) : operand(r) {}
};

// The C of a matrix instruction: registers, or a constant for all elements.
template <int N>
struct Accumulator {
  Operand operand;
  Accumulator(V<N> r) : operand(r) {}
  Accumulator(A<N> r) : operand(r) {}
  Accumulator(Data<N> r) : operand(r.operand) {}
  Accumulator(float value) : operand(Operand::constant(value)) {}
};

// An absent vector address.
struct Off {};
inline constexpr Off off{};

struct Address {
  Operand operand;
  Address(V<1> r) : operand(r) {}
  Address(Off) {}
};

}  // namespace zyfa::generator
