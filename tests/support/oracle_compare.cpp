// The comparisons of the lane oracle: v_cmp and v_cmpx of every type, classes of numbers.
#include "tests/support/oracle.h"

#include <bit>
#include <cmath>

namespace zyfa::tests {
namespace {

using In = LaneInput;
using u64 = std::uint64_t;

float f32(u64 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x)); }
double f64(u64 x) { return std::bit_cast<double>(x); }
std::int16_t i16(u64 x) { return static_cast<std::int16_t>(x); }
std::uint16_t u16(u64 x) { return static_cast<std::uint16_t>(x); }
std::int32_t i32(u64 x) { return static_cast<std::int32_t>(x); }
std::uint32_t u32(u64 x) { return static_cast<std::uint32_t>(x); }
std::int64_t i64(u64 x) { return static_cast<std::int64_t>(x); }

// The classes as AMD's pseudo code numbers them.
template <class T>
u64 class_of(T x, bool is_quiet, u64 classes) {
  int bit = 0;
  switch (std::fpclassify(x)) {
    case FP_NAN:
      return classes >> (is_quiet ? 1 : 0) & 1;
    case FP_INFINITE:
      bit = 9;
      break;
    case FP_NORMAL:
      bit = 8;
      break;
    case FP_SUBNORMAL:
      bit = 7;
      break;
    default:
      bit = 6;
  }
  return classes >> (std::signbit(x) ? 11 - bit : bit) & 1;
}

#define LANE(expression) []([[maybe_unused]] const In& in) -> u64 { return expression; }
#define BOTH(name, expression) \
  {"v_cmp_" name, LANE(expression)}, { "v_cmpx_" name, LANE(expression) }
#define INTEGER(name, type, op) BOTH(name "_" #type, type(in.s[0]) op type(in.s[1]))
#define INTEGERS(name, op)                                                                        \
  INTEGER(name, i16, op), INTEGER(name, u16, op), INTEGER(name, i32, op), INTEGER(name, u32, op), \
      INTEGER(name, i64, op), BOTH(name "_u64", in.s[0] op in.s[1])
// `less`, `equal`, `greater` and `unordered` say for which of the four outcomes the comparison holds.
#define FLOAT(name, type, less, equal, greater, unordered) \
  BOTH(name "_" #type, order(type(in.s[0]), type(in.s[1]), {less, equal, greater, unordered}))
#define FLOATS(name, ...) FLOAT(name, f32, __VA_ARGS__), FLOAT(name, f64, __VA_ARGS__)
#define CONSTANTS(type, never, always) BOTH(never "_" type, 0), BOTH(always "_" type, 1)

u64 order(double a, double b, std::array<bool, 4> holds) {
  return std::isunordered(a, b) ? holds[3] : a < b ? holds[0] : a > b ? holds[2] : holds[1];
}

}  // namespace

const LaneOracles& compare_oracles() {
  // clang-format off
  static const LaneOracles table = {
      INTEGERS("lt", <), INTEGERS("eq", ==), INTEGERS("le", <=), INTEGERS("gt", >), INTEGERS("ne", !=), INTEGERS("ge", >=),
      CONSTANTS("i16", "f", "t"), CONSTANTS("u16", "f", "t"), CONSTANTS("i32", "f", "t"), CONSTANTS("u32", "f", "t"),
      CONSTANTS("i64", "f", "t"), CONSTANTS("u64", "f", "t"), CONSTANTS("f32", "f", "tru"), CONSTANTS("f64", "f", "tru"),
      FLOATS("lt", true, false, false, false), FLOATS("eq", false, true, false, false),
      FLOATS("le", true, true, false, false), FLOATS("gt", false, false, true, false),
      FLOATS("lg", true, false, true, false), FLOATS("ge", false, true, true, false),
      FLOATS("o", true, true, true, false), FLOATS("u", false, false, false, true),
      FLOATS("nge", true, false, false, true), FLOATS("nlg", false, true, false, true),
      FLOATS("ngt", true, true, false, true), FLOATS("nle", false, false, true, true),
      FLOATS("neq", true, false, true, true), FLOATS("nlt", false, true, true, true),
      BOTH("class_f32", class_of(f32(in.s[0]), (in.s[0] >> 22 & 1) != 0, in.s[1])),
      BOTH("class_f64", class_of(f64(in.s[0]), (in.s[0] >> 51 & 1) != 0, in.s[1])),
  };
  // clang-format on
  return table;
}

}  // namespace zyfa::tests
