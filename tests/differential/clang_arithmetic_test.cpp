// Plain C arithmetic compiled by clang for gfx950 against the same C on the host, bit for bit, on values at which
// instructions change their mind: limits, denormals, infinities, NaNs, ties.
#include "tests/support/catch.h"
#include "tests/support/clang_kernel.h"

#include <bit>
#include <limits>
#include <random>

namespace zyfa::tests {
namespace {

#include "tests/differential/kernels/arithmetic.c"

constexpr Grid grid{.workgroups = 2, .makes_infinities = true};
constexpr std::uint32_t items = 2 * workgroup_items;
constexpr std::size_t most_planes = 80;

std::mt19937_64 rng(1);

template <class T>
std::vector<T> integers() {
  const T special[] = {0,
                       1,
                       2,
                       10,
                       std::numeric_limits<T>::min(),
                       std::numeric_limits<T>::max(),
                       static_cast<T>(std::numeric_limits<T>::max() - 1),
                       static_cast<T>(-1),
                       static_cast<T>(0x5555555555555555),
                       static_cast<T>(std::uint64_t{1} << (sizeof(T) * 4))};
  std::vector<T> values(items);
  for (T& value : values) {
    const std::uint64_t random = rng();
    value = random % 4 == 0 ? special[rng() % std::size(special)] : static_cast<T>(rng() >> random % 64);
  }
  return values;
}

template <class T, class Bits>
std::vector<T> numbers(int spread) {
  using L = std::numeric_limits<T>;
  const T special[] = {T(0),          T(-0.0),          T(1),           T(-2.5),         T(0.5),
                       T(1.5),        L::max(),         L::min(),       L::denorm_min(), -L::min() / 3,
                       L::infinity(), -L::infinity(),   L::quiet_NaN(), L::lowest(),     L::max() / 2,
                       L::min() * 2,  L::min() * 5 / 3, T(8388609),     T(1e300),        T(-1e-300)};
  std::vector<T> values(items);
  for (T& value : values) {
    const std::uint64_t random = rng();
    value = std::ldexp(static_cast<T>(static_cast<std::int64_t>(rng())),
                       static_cast<int>(rng() % (2 * spread)) - spread - 62);
    if (random % 5 == 0) value = special[rng() % std::size(special)];
    if (random % 5 == 1) value = std::bit_cast<T>(static_cast<Bits>(rng()));
    if (value != value) value = L::quiet_NaN();
  }
  return values;
}

template <class T>
void check_integers(const ClangKernels& kernels, const char* name,
                    void (*host)(WorkItem, T*, const T*, const T*, const T*, std::uint32_t)) {
  const std::vector<T> out(items * most_planes), a = integers<T>(), b = integers<T>(), c = integers<T>();
  CHECK(compare_with_host(kernels, name, host, grid, out, a, b, c, items) == "");
}

template <class T, class Bits>
void check_numbers(const ClangKernels& kernels, const char* name,
                   void (*host)(WorkItem, T*, const T*, const T*, const T*, std::uint32_t)) {
  constexpr int range = std::numeric_limits<T>::max_exponent;
  for (int trial = 0; trial < 4; ++trial) {
    const std::vector<T> out(items * most_planes),
        a = numbers<T, Bits>(range), b = numbers<T, Bits>(trial < 2 ? range : 20), c = numbers<T, Bits>(24);
    CHECK(compare_with_host(kernels, name, host, grid, out, a, b, c, items) == "");
  }
}

}  // namespace

TEST_CASE("clang's arithmetic computes what the host computes", "[quick]") {
  if (!have_clang()) {
    WARN(no_clang);
    return;
  }
  const ClangKernels kernels("arithmetic.c");
  check_integers(kernels, "integers_i8", integers_i8);
  check_integers(kernels, "integers_u8", integers_u8);
  check_integers(kernels, "integers_i16", integers_i16);
  check_integers(kernels, "integers_u16", integers_u16);
  check_integers(kernels, "integers_i32", integers_i32);
  check_integers(kernels, "integers_u32", integers_u32);
  check_integers(kernels, "integers_i64", integers_i64);
  check_integers(kernels, "integers_u64", integers_u64);
  check_numbers<float, std::uint32_t>(kernels, "floats", floats);
  check_numbers<double, std::uint64_t>(kernels, "doubles", doubles);
}

}  // namespace zyfa::tests
