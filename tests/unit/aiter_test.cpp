// AITER's calling convention without its objects: symbols, grids, formats, arguments that are refused.
#include "runtime_loader/aiter_command.h"
#include "runtime_loader/aiter_run.h"

#include "isa/error.h"
#include "isa/numeric.h"
#include "tests/support/aiter_objects.h"
#include "tests/support/catch.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace zyfa;
using namespace zyfa::runtime;

namespace {

AiterKernel stub(std::string_view symbol, AiterAbi abi) {
  return read_aiter_kernel(tests::aiter_stub(symbol), "stub.co", abi);
}

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "not refused";
}

AiterKernel kernel_of(AiterFormat format, AiterAbi abi = AiterAbi::v4) {
  AiterKernel kernel;
  kernel.abi = abi;
  kernel.format = format;
  kernel.head_dim = kernel.v_head_dim = 128;
  kernel.workgroup_size = 512;
  return kernel;
}

using enum AiterScale;
constexpr AiterFormat fp8{"fp8", 8, 8, tensor, tensor, true};
constexpr AiterFormat mxfp8{"mxfp8", 8, 8, block, tensor, true};

}  // namespace

TEST_CASE("AITER symbols name head dims, format, mask and mode", "[quick][aiter]") {
  const char* group = "_ZN5aiter38fmha_fwd_hd192_hd128_bf16_causal_groupE";
  const AiterKernel kernel = stub(group, AiterAbi::v3_group);
  CHECK(kernel.head_dim == 192);
  CHECK(kernel.v_head_dim == 128);
  CHECK(kernel.format.name == "bf16");
  CHECK(kernel.causal);
  CHECK(kernel.workgroup_size == 512);
  CHECK(kernel.queries_per_workgroup() == 128);
  CHECK(refusal([&] { stub(group, AiterAbi::v3); }).find("for groups of sequences") != std::string::npos);

  const AiterKernel plain = stub("_ZN5aiter28fmha_fwd_hd128_mxfp8_gfx950E", AiterAbi::v4);
  CHECK(plain.format.qk_scale == block);
  CHECK(plain.v_head_dim == 128);
  CHECK_FALSE(plain.causal);
  for (const char* symbol : {"attention", "fmha_fwd_hd128", "fmha_fwd_hd128_fp32E", "fmha_fwd_bf16E"}) {
    CHECK(refusal([&] { stub(symbol, AiterAbi::v3); }).find("no forward attention of AITER's") != std::string::npos);
  }
  CHECK(refusal([] { parse_aiter_abi("aiter-v5"); }) ==
        "abi 'aiter-v5' is not known; accepted: aiter-v3, aiter-v3-group, aiter-v4");
}

TEST_CASE("AITER's objects have few head dims", "[quick][aiter]") {
  struct Case {
    const char* symbol;
    AiterAbi abi;
    const char* refused;  // nothing if it is read
  };
  for (const Case& c :
       {Case{"fmha_fwd_hd128_fp8_gfx950E", AiterAbi::v3, ""}, Case{"fmha_fwd_hd256_fp8_gfx950E", AiterAbi::v3, ""},
        Case{"fmha_fwd_hd192_hd128_bf16E", AiterAbi::v3, ""},
        Case{"fmha_fwd_hd192_bf16E", AiterAbi::v3, "head dims 192 and 192; AITER's objects have 128"},
        Case{"fmha_fwd_hd129_fp8E", AiterAbi::v3, "head dims 129 and 129"},
        Case{"fmha_fwd_hd0_fp8E", AiterAbi::v3, "head dims 0 and 0"},
        Case{"fmha_fwd_hd99999999999_fp8E", AiterAbi::v3, "no forward attention"},
        Case{"fmha_fwd_hd129_mxfp8_gfx950E", AiterAbi::v4, "objects of aiter-v4 have 128"},
        Case{"fmha_fwd_hd256_mxfp8_gfx950E", AiterAbi::v4, "objects of aiter-v4 have 128"},
        Case{"fmha_fwd_hd128_fp8_causal_gfx950E", AiterAbi::v4, "no causal objects"}}) {
    CAPTURE(c.symbol);
    const std::string said = refusal([&] { stub(c.symbol, c.abi); });
    CHECK(said.find(*c.refused ? c.refused : "not refused") != std::string::npos);
  }
}

TEST_CASE("AITER grids: causal workgroups take two tiles, groups put tiles last", "[quick][aiter]") {
  using Grid = std::array<std::uint32_t, 3>;
  AiterKernel kernel = kernel_of(fp8, AiterAbi::v3);
  CHECK(aiter_grid(kernel, 1025, 3, 2) == Grid{5, 3, 2});
  kernel.causal = true;
  CHECK(aiter_grid(kernel, 1025, 3, 2) == Grid{3, 3, 2});
  kernel.abi = AiterAbi::v3_group;
  CHECK(aiter_grid(kernel, 1025, 3, 2) == Grid{3, 2, 3});
  kernel.head_dim = 192;
  CHECK(aiter_grid(kernel, 1025, 3, 2) == Grid{3, 2, 5});
}

TEST_CASE("AITER inputs: codes times scales are the reference's values", "[quick][aiter]") {
  AiterProblem problem{.sequences = {{3, 5}, {3, 5}}, .heads = 2, .kv_heads = 2};
  SECTION("FP8 has one descale for a tensor") {
    const AiterInputs inputs = make_aiter_inputs(kernel_of(fp8), problem);
    REQUIRE(inputs.k.scales.size() == 4);
    float descale = 0;
    std::memcpy(&descale, inputs.k.scales.data(), 4);
    REQUIRE(inputs.reals.size() == 2);
    CHECK(inputs.reals[1].shape.seqlen_k == 5);
    for (const std::size_t i : {std::size_t{0}, std::size_t{1279}}) {
      const auto code = static_cast<std::uint8_t>(inputs.k.bytes[5 * 2 * 128 + i]);
      CHECK(inputs.reals[1].k[i] == isa::e4m3_to_float(code) * descale);
    }
    CHECK(inputs.q.batch_stride == 3 * 2 * 128);
  }
  SECTION("MXFP8 has a power of two for 32 elements, and the softmax scale in Q") {
    const AiterInputs inputs = make_aiter_inputs(kernel_of(mxfp8), problem);
    CHECK(inputs.softmax_scale == 1);
    CHECK(inputs.reals[0].softmax_scale == Approx(std::log(2.0)));
    for (const std::size_t i : {std::size_t{0}, std::size_t{33}, std::size_t{767}}) {
      const auto code = static_cast<std::uint8_t>(inputs.q.bytes[i]),
                 scale = static_cast<std::uint8_t>(inputs.q.scales[i / 32]);
      CHECK(inputs.reals[0].q[i] == std::ldexp(isa::e4m3_to_float(code), scale - 127));
    }
  }
  // The last block was read past the end of the values.
  SECTION("MXFP8 blocks are whole") {
    AiterKernel kernel = kernel_of(mxfp8);
    kernel.head_dim = kernel.v_head_dim = 100;
    CHECK(refusal([&] { make_aiter_inputs(kernel, problem); }).find("a head dim of 100 is no multiple") !=
          std::string::npos);
  }
  SECTION("numbers out of range are refused") {
    const auto refused = [&](auto change) {
      AiterProblem changed = problem;
      change(changed);
      return refusal([&] { make_aiter_inputs(kernel_of(fp8), changed); });
    };
    CHECK(refused([](AiterProblem& p) { p.sigma = std::nan(""); }).find("sigma is nan") == 0);
    CHECK(refused([](AiterProblem& p) { p.sigma = -1; }).find("sigma is -1") == 0);
    CHECK(refused([](AiterProblem& p) { p.softmax_scale = 0.0f; }).find("softmax_scale is 0") == 0);
    CHECK(refused([](AiterProblem& p) { p.softmax_scale = 1e-38f; }).find("sigma 1 with softmax_scale 1e-38") == 0);
    CHECK(refused([](AiterProblem& p) { p.sigma = 1e-40; }).find("sigma 1e-40 with softmax_scale") == 0);
    CHECK(refused([](AiterProblem& p) { p.sequences[1].seqlen_k = -5; }).find("a sequence of -5 rows") == 0);
    CHECK(refused([](AiterProblem& p) {
            p.sequences.assign(2, {std::numeric_limits<int>::max(), 1});
          }).find("4294967294 rows") == 0);
    CHECK(refused([](AiterProblem& p) { p.sequences.assign(2, {1 << 29, 1}); }).find("2^32") != std::string::npos);
  }
  SECTION("packed formats have no sigma, no V of ones, and with block scales no softmax scale") {
    const auto refused = [&](const AiterProblem& asked) {
      return refusal([&] { make_aiter_inputs(kernel_of({"f4f4", 4, 4, block, block, false}), asked); });
    };
    CHECK(refused(problem) == "not refused");
    CHECK(refused({.sequences = {{3, 5}}, .sigma = 1}).find("sigma: the packed layout of format f4f4") == 0);
    CHECK(refused({.sequences = {{3, 5}}, .v_ones = true}).find("V of ones: the packed layout") == 0);
    CHECK(refused({.sequences = {{3, 5}}, .softmax_scale = 1.0f}).find("softmax_scale: the packed layout") == 0);
  }
  SECTION("what the kernels do not do is refused") {
    problem.kv_heads = 1;
    CHECK(refusal([&] { make_aiter_inputs(kernel_of(fp8), problem); }).find("as many key/value heads") !=
          std::string::npos);
    problem.heads = 5;
    CHECK(refusal([&] { make_aiter_inputs(kernel_of(fp8, AiterAbi::v3), problem); }).find("5 query heads for 1") == 0);
    problem.heads = 1;
    problem.sequences[1].seqlen_q = 4;
    CHECK(refusal([&] { make_aiter_inputs(kernel_of(fp8, AiterAbi::v3), problem); }).find("aiter-v3-group") !=
          std::string::npos);
  }
}

TEST_CASE("Lists of lengths", "[quick][aiter]") {
  CHECK(parse_lengths("--seqlens", "100,0,7") == std::vector<int>{100, 0, 7});
  for (const char* text : {"", "1,", ",1", "1;2", "-1", "x"})
    CHECK(refusal([&] { parse_lengths("--seqlens", text); }).find("--seqlens '") == 0);
}
