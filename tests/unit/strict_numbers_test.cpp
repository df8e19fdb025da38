// Strict mode on numbers: NaN and infinity are reported where they come into being, and nowhere else.
#include "tests/support/catch.h"
#include "tests/unit/strict_programs.h"

#include <bit>
#include <limits>

using namespace zyfa::emulator;

namespace {

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }
constexpr float infinity = std::numeric_limits<float>::infinity();

// Findings of one instruction that writes v20 (and v21) from words in v10, v12, v14 (and their successors).
std::string finding_of(Inst inst, const std::vector<std::uint64_t>& sources) {
  Code code;
  code.v_mov(20, 0);
  code.v_mov(21, 0);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const int reg = 10 + 2 * static_cast<int>(i);
    code.v_mov(reg, static_cast<std::uint32_t>(sources[i]));
    code.v_mov(reg + 1, static_cast<std::uint32_t>(sources[i] >> 32));
  }
  inst.where = {"kernel", code.here()};
  code.program.code.push_back(inst);
  code.add(Op::s_nop, {number(3)});
  code.end();
  const auto found = strict(code);
  REQUIRE(found.size() <= 1);
  return found.empty() ? std::string() : found[0].message;
}

constexpr std::uint32_t f16_one = 0x3c00, f16_largest = 0x7bff, f16_infinity = 0x7c00, f16_nan = 0x7e00;

}  // namespace

TEST_CASE("Strict: NaN and infinity are reported where they come into being", "[quick]") {
  const auto run = [](Op op, zyfa::isa::Form form, std::initializer_list<float> sources) {
    Code code;
    int reg = 10;
    Inst inst{.op = op, .form = form, .args = {vgpr(20)}};
    for (const float value : sources) {
      code.v_mov(reg, bits(value));
      inst.args[static_cast<std::size_t>(reg - 9)] = vgpr(reg);
      ++reg;
    }
    inst.where = {"kernel", code.here()};
    code.program.code.push_back(inst);
    code.add(Op::s_nop, {number(0)});
    // What is born once is not born again where it is used.
    code.e32(Op::v_add_f32, {vgpr(21), vgpr(20), vgpr(20)});
    code.end();
    const auto found = strict(code);
    REQUIRE(found.size() <= 1);
    return found.empty() ? std::string() : found[0].message;
  };
  using enum zyfa::isa::Form;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(run(Op::v_add_f32, e32, {1, 2}).empty());
  CHECK(run(Op::v_add_f32, e32, {-infinity, 2}).empty());
  CHECK(run(Op::v_mul_f32, e32, {nan, 2}).empty());
  CHECK(run(Op::v_exp_f32, e32, {-infinity}).empty());
  CHECK(run(Op::v_mov_b32, e32, {infinity}).empty());
  CHECK(contains(run(Op::v_add_f32, e32, {-infinity, infinity}), {"NaN born", "v_add_f32", "NaN from -inf, inf"}));
  CHECK(contains(run(Op::v_mul_f32, e32, {1e30F, 1e30F}), {"infinity born", "lane 0 becomes infinite"}));
  CHECK(contains(run(Op::v_exp_f32, e32, {200}), {"infinity born"}));
  CHECK(contains(run(Op::v_rcp_f32, e32, {0}), {"infinity born", "from 0"}));
  CHECK(contains(run(Op::v_log_f32, e32, {-1}), {"NaN born"}));
  CHECK(run(Op::v_log_f32, e32, {0}).empty());  // an empty row's LSE
  CHECK(contains(run(Op::v_fma_f32, natural, {infinity, 0, 1}), {"NaN born"}));
}

TEST_CASE("Strict: NaN from conversions, packed and matrix instructions", "[quick]") {
  Code code;
  std::size_t expected = 1;
  StrictRule rule = StrictRule::nan_born;
  SECTION("FP8 overflow") {
    code.v_mov(4, bits(1000.0F));
    code.add(Op::v_cvt_pk_fp8_f32, {vgpr(9), number(0), vgpr(4)});
  }
  SECTION("FP8 within range") {
    code.v_mov(4, bits(448.0F));
    code.add(Op::v_cvt_pk_fp8_f32, {vgpr(9), number(0), vgpr(4)});
    expected = 0;
  }
  SECTION("the high half of a packed sum") {
    for (const int r : {4, 6}) {
      code.v_mov(r, bits(r == 4 ? infinity : 1.0F));
      code.v_mov(r + 1, bits(3e38F));
    }
    code.add(Op::v_pk_add_f32, {vgpr(8, 2), vgpr(4, 2), vgpr(6, 2)});
    rule = StrictRule::infinity_born;
  }
  SECTION("matrix: an infinity that C had") {
    for (int r = 0; r < 8; ++r) code.v_mov(8 + r, 0x7e7e7e7e);
    for (int r = 0; r < 4; ++r) code.v_mov(4 + r, bits(infinity));
    code.add(Op::s_nop, {number(1)});
    code.add(Op::v_mfma_f32_16x16x128_f8f6f4, {vgpr(20, 4), vgpr(8, 8), vgpr(8, 8), vgpr(4, 4)});
    expected = 0;
  }
  SECTION("matrix: infinity times infinity") {
    Modifiers mods;
    mods.cbsz = mods.blgp = 1;  // e5m2, which has infinities
    for (int r = 0; r < 8; ++r) code.v_mov(8 + r, 0x7c7c7c7c);
    code.add(Op::s_nop, {number(1)});
    code.add(Op::v_mfma_f32_16x16x128_f8f6f4, {vgpr(20, 4), vgpr(8, 8), vgpr(8, 8), number(0)}, mods);
    expected = 0;
  }
  SECTION("matrix: infinity times zero") {
    Modifiers mods;
    mods.cbsz = mods.blgp = 1;
    for (int r = 0; r < 8; ++r) code.v_mov(8 + r, r == 0 ? 0x7c : 0);
    for (int r = 0; r < 8; ++r) code.v_mov(24 + r, 0);
    code.add(Op::s_nop, {number(1)});
    code.add(Op::v_mfma_f32_16x16x128_f8f6f4, {vgpr(20, 4), vgpr(8, 8), vgpr(24, 8), number(0)}, mods);
  }
  SECTION("matrix: a NaN of its sources") {
    for (int r = 0; r < 8; ++r) code.v_mov(8 + r, 0x7f);
    code.add(Op::s_nop, {number(1)});
    code.add(Op::v_mfma_f32_16x16x128_f8f6f4, {vgpr(20, 4), vgpr(8, 8), vgpr(8, 8), number(0)});
    expected = 0;
  }
  code.end();
  const auto found = strict(code);
  REQUIRE(found.size() == expected);
  for (const Finding& f : found) CHECK(f.rule == rule);
}

TEST_CASE("Strict: what an accumulator held before counts as its input", "[quick]") {
  Code code;
  code.v_mov(4, bits(infinity));
  code.v_mov(5, bits(1.0F));
  code.e32(Op::v_fmac_f32, {vgpr(4), vgpr(5), vgpr(5)});
  code.e32(Op::v_mul_f32, {vgpr(4), vgpr(4), vgpr(5)});
  code.end();
  CHECK(strict(code).empty());
}

TEST_CASE("Strict: NaN and infinity born in FP16", "[quick]") {
  using enum zyfa::isa::Form;
  const auto add = [](std::uint32_t a, std::uint32_t b) {
    return finding_of({.op = Op::v_add_f16, .form = e32, .args = {vgpr(20), vgpr(10), vgpr(12)}}, {a, b});
  };
  CHECK(add(f16_one, f16_largest).empty());
  CHECK(contains(add(f16_largest, f16_largest), {"infinity born", "v_add_f16", "from 65504, 65504"}));
  CHECK(contains(add(f16_infinity, f16_infinity | 0x8000), {"NaN born", "from inf, -inf"}));
  CHECK(add(f16_infinity, f16_one).empty());
  CHECK(add(f16_nan, f16_one).empty());
  // The upper halves of the sources are none of its business.
  CHECK(contains(add(f16_largest | f16_nan << 16, f16_largest), {"infinity born"}));

  Inst fma{.op = Op::v_fma_f16, .args = {vgpr(20), vgpr(10), vgpr(12), vgpr(14)}};
  fma.mods.op_sel = 1 | 8;  // the high half of source 0, into the high half of v20
  const std::uint32_t in_high = f16_largest << 16 | f16_nan;
  CHECK(contains(finding_of(fma, {in_high, f16_largest, f16_one}), {"infinity born", "v_fma_f16"}));
  CHECK(finding_of(fma, {f16_one << 16 | f16_nan, f16_largest, f16_one}).empty());
  fma.mods.op_sel = 0;
  CHECK(finding_of(fma, {in_high, f16_largest, f16_one}).empty());

  const Inst narrow{.op = Op::v_cvt_f16_f32, .form = e32, .args = {vgpr(20), vgpr(10)}};
  CHECK(finding_of(narrow, {bits(65504)}).empty());
  CHECK(contains(finding_of(narrow, {bits(1e5F)}), {"infinity born", "from 100000"}));
  const Inst wide{.op = Op::v_cvt_f32_f16, .form = e32, .args = {vgpr(20), vgpr(10)}};
  CHECK(finding_of(wide, {f16_infinity}).empty());
  const Inst log{.op = Op::v_log_f16, .form = e32, .args = {vgpr(20), vgpr(10)}};
  CHECK(finding_of(log, {0}).empty());
  CHECK(contains(finding_of(log, {f16_one | 0x8000}), {"NaN born"}));
}

TEST_CASE("Strict: NaN and infinity born in packed FP16", "[quick]") {
  Inst mul{.op = Op::v_pk_mul_f16, .args = {vgpr(20), vgpr(10), vgpr(12)}};
  const std::uint64_t high = f16_largest << 16 | f16_one, low = f16_one << 16 | f16_largest;
  CHECK(finding_of(mul, {high, low}).empty());
  CHECK(contains(finding_of(mul, {high, high}), {"infinity born", "v_pk_mul_f16", "from 65504, 65504"}));
  CHECK(contains(finding_of(mul, {low, low}), {"infinity born"}));
  CHECK(finding_of(mul, {f16_infinity << 16 | f16_one, high}).empty());
  // An infinity in the half that is not taken is no excuse.
  CHECK(contains(finding_of(mul, {f16_infinity << 16 | f16_largest, low}), {"infinity born"}));
  mul.mods.op_sel_hi = 0;  // both results from the low halves
  CHECK(finding_of(mul, {high, high}).empty());
  const Inst pair{.op = Op::v_cvt_pk_f16_f32, .args = {vgpr(20), vgpr(10), vgpr(12)}};
  CHECK(finding_of(pair, {bits(1), bits(65504)}).empty());
  CHECK(contains(finding_of(pair, {bits(1), bits(1e6F)}), {"infinity born", "from 1000000"}));
}

TEST_CASE("Strict: NaN and infinity born in FP64", "[quick]") {
  using enum zyfa::isa::Form;
  const auto word = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  const double huge = 1e308, endless = std::numeric_limits<double>::infinity();
  const auto add = [&](double a, double b) {
    return finding_of({.op = Op::v_add_f64, .args = {vgpr(20, 2), vgpr(10, 2), vgpr(12, 2)}}, {word(a), word(b)});
  };
  CHECK(add(1, huge).empty());
  CHECK(contains(add(huge, huge), {"infinity born", "v_add_f64", "from 1e+308, 1e+308"}));
  CHECK(contains(add(endless, -endless), {"NaN born"}));
  CHECK(add(endless, 1).empty());
  const Inst narrow{.op = Op::v_cvt_f32_f64, .form = e32, .args = {vgpr(20), vgpr(10, 2)}};
  CHECK(finding_of(narrow, {word(1e30)}).empty());
  CHECK(contains(finding_of(narrow, {word(huge)}), {"infinity born"}));
  CHECK(finding_of(narrow, {word(endless)}).empty());
  // In place: what was there before counts.
  CHECK(finding_of({.op = Op::v_mul_f64, .args = {vgpr(10, 2), vgpr(10, 2), vgpr(12, 2)}}, {word(endless), word(2)})
            .empty());
}

TEST_CASE("Strict: NaN and infinity born in dot products and mixed precision", "[quick]") {
  const std::uint64_t large = f16_largest | f16_largest << 16, ones = f16_one | f16_one << 16;
  const auto dot = [](Op op, std::uint64_t a, std::uint64_t b, float c) {
    return finding_of({.op = op, .args = {vgpr(20), vgpr(10), vgpr(12), vgpr(14)}}, {a, b, bits(c)});
  };
  CHECK(dot(Op::v_dot2_f32_f16, large, large, 1).empty());
  CHECK(contains(dot(Op::v_dot2_f32_bf16, 0x7f7f7f7f, 0x7f7f7f7f, 1), {"infinity born", "v_dot2_f32_bf16"}));
  CHECK(
      contains(dot(Op::v_dot2_f32_bf16, 0x7f7f7f7f, 0x3f803f80, std::numeric_limits<float>::max()), {"infinity born"}));
  CHECK(dot(Op::v_dot2_f32_f16, ones, ones, infinity).empty());
  CHECK(dot(Op::v_dot2_f32_f16, ones | f16_nan << 16, ones, 1).empty());
  CHECK(contains(dot(Op::v_dot2_f32_f16, f16_infinity, f16_infinity << 16 | f16_infinity, -infinity), {"NaN born"}));
  Inst mix{.op = Op::v_fma_mix_f32, .args = {vgpr(20), vgpr(10), vgpr(12), vgpr(14)}};
  mix.mods.op_sel_hi = 1;  // source 0 is a half
  CHECK(contains(finding_of(mix, {f16_largest, bits(1e38F), bits(1)}), {"infinity born", "from 65504, 1e+38, 1"}));
  CHECK(finding_of(mix, {f16_infinity, bits(1e38F), bits(1)}).empty());
  Inst low{.op = Op::v_fma_mixlo_f16, .args = {vgpr(20), vgpr(10), vgpr(12), vgpr(14)}};
  CHECK(contains(finding_of(low, {bits(300), bits(300), bits(1)}), {"infinity born", "v_fma_mixlo_f16"}));
  CHECK(finding_of(low, {bits(200), bits(300), bits(1)}).empty());
}
