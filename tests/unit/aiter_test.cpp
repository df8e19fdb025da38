// AITER's calling convention without its objects: symbols, grids, formats, arguments that are refused.
#include "runtime_loader/aiter_command.h"
#include "runtime_loader/aiter_run.h"

#include "generator/assemble.h"
#include "generator/link.h"
#include "isa/error.h"
#include "isa/numeric.h"
#include "tests/support/catch.h"
#include "tests/support/process.h"

#include <cmath>
#include <fstream>

using namespace zyfa;
using namespace zyfa::runtime;

namespace {

std::string stub_object(const TemporaryDirectory& directory, const std::string& symbol) {
  const std::string text = fmt::format(
      ".amdgcn_target \"amdgcn-amd-amdhsa--gfx950\"\n.amdhsa_code_object_version 5\n.text\n.globl {0}\n.p2align 8\n"
      ".type {0},@function\n{0}:\ns_endpgm\n.L{0}_end:\n.size {0}, .L{0}_end-{0}\n"
      ".section .rodata,\"a\",@progbits\n.p2align 6\n.amdhsa_kernel {0}\n.amdhsa_next_free_vgpr 8\n"
      ".amdhsa_next_free_sgpr 8\n.amdhsa_accum_offset 8\n.end_amdhsa_kernel\n"
      ".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.target: amdgcn-amd-amdhsa--gfx950\namdhsa.kernels:\n"
      "  - .name: {0}\n    .symbol: {0}.kd\n    .kernarg_segment_size: 656\n    .kernarg_segment_align: 8\n"
      "    .group_segment_fixed_size: 0\n    .private_segment_fixed_size: 0\n    .wavefront_size: 64\n"
      "    .sgpr_count: 8\n    .vgpr_count: 8\n    .max_flat_workgroup_size: 512\n...\n.end_amdgpu_metadata\n",
      symbol);
  const std::vector<std::byte> bytes = generator::link(generator::assemble(text, "stub.s"));
  const std::string file = directory.file("stub.co");
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return file;
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
  const TemporaryDirectory directory;
  const std::string group = stub_object(directory, "_ZN5aiter38fmha_fwd_hd192_hd128_bf16_causal_groupE");
  const AiterKernel kernel = load_aiter_kernel(group, AiterAbi::v3_group);
  CHECK(kernel.head_dim == 192);
  CHECK(kernel.v_head_dim == 128);
  CHECK(kernel.format.name == "bf16");
  CHECK(kernel.causal);
  CHECK(kernel.workgroup_size == 512);
  CHECK(kernel.queries_per_workgroup() == 128);
  CHECK(load_aiter_kernel(group, AiterAbi::v3_group, {.causal = false}).causal == false);
  CHECK(refusal([&] { load_aiter_kernel(group, AiterAbi::v3); }).find("for groups of sequences") != std::string::npos);

  const std::string plain = stub_object(directory, "_ZN5aiter28fmha_fwd_hd128_mxfp8_gfx950E");
  CHECK(load_aiter_kernel(plain, AiterAbi::v4).format.qk_scale == block);
  CHECK(load_aiter_kernel(plain, AiterAbi::v4).v_head_dim == 128);
  for (const char* symbol : {"attention", "fmha_fwd_hd128", "fmha_fwd_hd128_fp32E", "fmha_fwd_bf16E"}) {
    const std::string other = stub_object(directory, symbol);
    CHECK(refusal([&] { load_aiter_kernel(other, AiterAbi::v3); }).find("no forward attention of AITER's") !=
          std::string::npos);
  }
  CHECK(refusal([] { parse_aiter_abi("aiter-v5"); }) ==
        "abi 'aiter-v5' is not known; accepted: aiter-v3, aiter-v3-group, aiter-v4");
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
