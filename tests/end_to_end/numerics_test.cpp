// Arithmetic that is not known for gfx950 is a parameter of the machine (docs/numerics.md). Whatever its value,
// attention stays as accurate; and each value does change bits somewhere.
#include "isa/emulator/execute.h"
#include "isa/numeric.h"
#include "tests/support/catch.h"
#include "tests/support/kernels.h"
#include "tests/support/make_inst.h"
#include "tests/support/process.h"

#include <nlohmann/json.hpp>

#include <bit>
#include <cmath>
#include <fstream>
#include <memory>

using namespace zyfa;
using namespace zyfa::runtime;
using generator::Softmax;
using isa::MfmaAccumulation;
using isa::MfmaDenormals;

namespace {

constexpr MfmaAccumulation accumulations[] = {MfmaAccumulation::fma_chain, MfmaAccumulation::exact,
                                              MfmaAccumulation::pairwise, MfmaAccumulation::aligned_24};

AttentionInputs small_problem(int head_dim = 128) {
  const AttentionShape shape{
      .batch = 1, .heads = 2, .kv_heads = 1, .seqlen_q = 200, .seqlen_k = 300, .head_dim = head_dim};
  return make_inputs(shape, InputKind::gaussian, 2, 5);
}

EmulationOptions on(const isa::Machine& machine) {
  EmulationOptions options;
  options.emulator.machine = machine;
  return options;
}

std::unique_ptr<emulator::Wave> new_wave(const isa::Machine& machine) {
  auto wave = std::make_unique<emulator::Wave>();
  wave->vector = {};
  wave->mode.bits = 0x3f0;
  wave->set_scalar64(isa::exec.first, ~0ull);
  wave->numerics = isa::numerics(machine);
  return wave;
}

// D[0][0] of one 16x16x32 fp16 product in which only row 0 of A and column 0 of B are not zero.
float product_of(const isa::Machine& machine, const std::array<float, 8>& a, const std::array<float, 8>& b, float c) {
  const auto wave = new_wave(machine);
  for (std::size_t k = 0; k < 8; ++k) {  // lane 0 holds k = 0..7
    wave->vector[8 + k / 2][0] |= std::uint32_t{isa::float_to_f16(a[k])} << 16 * (k % 2);
    wave->vector[16 + k / 2][0] |= std::uint32_t{isa::float_to_f16(b[k])} << 16 * (k % 2);
  }
  wave->vector[24][0] = std::bit_cast<std::uint32_t>(c);
  const isa::Inst inst = make(isa::Op::v_mfma_f32_16x16x32_f16, {v(0, 4), v(8, 4), v(16, 4), v(24, 4)});
  emulator::find_execute(inst.op)(*wave, inst);
  return std::bit_cast<float>(wave->vector[0][0]);
}

isa::Machine with(MfmaAccumulation accumulation) {
  isa::Machine machine;
  machine.mfma_accumulation = accumulation;
  return machine;
}

}  // namespace

TEST_CASE("attention is as accurate however matrix instructions sum", "") {
  const AttentionInputs inputs = small_problem();
  for (const Softmax softmax : {Softmax::lean, Softmax::exact}) {
    const Kernel kernel = generate_kernel({.causal = false, .softmax = softmax, .lse = true});
    std::vector<std::vector<float>> lse;
    for (const MfmaAccumulation accumulation : accumulations) {
      CAPTURE(name(softmax), isa::value_names(accumulation)[static_cast<std::size_t>(accumulation)]);
      const CheckedRun checked = run_and_compare(kernel, inputs, on(with(accumulation)));
      CHECK(checked.comparison.passed);
      lse.push_back(checked.run.lse);
    }
    // Not the same bits, or the parameter would not be heard. Lean's scaled products add up 32 k at a time, which is
    // exact on this input.
    if (softmax == Softmax::exact)
      for (std::size_t i = 1; i < lse.size(); ++i) CHECK(lse[i] != lse[0]);
  }
}

// The bars against AITER v3 (accuracy_test.cpp) hold then on every one of these machines: they have more room than 1 %.
TEST_CASE("the error at 4,096 keys does not hang on how matrix instructions sum", "[accuracy]") {
  const AttentionShape shape{.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 32, .seqlen_k = 4096};
  for (const Softmax softmax : {Softmax::lean, Softmax::exact}) {
    const Kernel kernel = generate_kernel({.causal = false, .softmax = softmax});
    for (const auto& [kind, sigma] :
         {std::pair{InputKind::sink, 1.0}, {InputKind::sink, 2.0}, {InputKind::gaussian, 2.0}}) {
      const AttentionInputs inputs = make_inputs(shape, kind, sigma, 1, {.threads = 2});
      const double usual = run_and_compare(kernel, inputs).comparison.relative_error;
      for (const MfmaAccumulation accumulation : accumulations) {
        isa::Machine machine = with(accumulation);
        machine.mfma_denormals = MfmaDenormals::flushed;
        machine.cvt_pk_u8_rounding = isa::CvtRounding::truncate;
        CAPTURE(name(softmax), to_string(kind), sigma, static_cast<int>(accumulation));
        CHECK(run_and_compare(kernel, inputs, on(machine)).comparison.relative_error == Approx(usual).epsilon(0.01));
      }
    }
  }
}

TEST_CASE("attention is as accurate with denormals flushed and bytes truncated", "[quick]") {
  isa::Machine machine;
  machine.mfma_denormals = isa::MfmaDenormals::flushed;
  machine.cvt_pk_u8_rounding = isa::CvtRounding::truncate;
  for (const generator::AttentionConfig& config : every_shape(false, true)) {
    CAPTURE(config.head_dim, name(config.softmax));
    AttentionInputs inputs = small_problem(config.head_dim);
    CHECK(run_and_compare(generate_kernel(config), inputs, on(machine)).comparison.passed);
  }
}

TEST_CASE("each way of summing has the rounding that it is defined by", "[quick]") {
  using enum isa::MfmaAccumulation;
  const auto sum = [](MfmaAccumulation how, std::array<float, 8> a, float c) {
    return product_of(with(how), a, {1, 1, 1, 1, 1, 1, 1, 1}, c);
  };
  // Each 1 is half of the last place of 2^24 and lost where it is added alone.
  const std::array<float, 8> ones = {1, 1, 1, 1, 1, 1, 1, 1};
  CHECK(sum(fma_chain, ones, 0x1p24f) == 0x1p24f);
  CHECK(sum(exact, ones, 0x1p24f) == 0x1p24f + 8);
  CHECK(sum(pairwise, ones, 0x1p24f) == 0x1p24f + 8);
  CHECK(sum(aligned_24, ones, 0x1p24f) == 0x1p24f + 8);
  // What falls below 24 bits of the group's largest product is cut, where an exact sum rounds up.
  const std::array<float, 8> small = {0x1p15f, 0x1p-10f, 0x1p-10f, 0x1p-10f, 0, 0, 0, 0};
  CHECK(sum(exact, small, 0) == 0x1p15f + 0x1p-8f);
  CHECK(sum(aligned_24, small, 0) == 0x1p15f);
  // Rounded down, not toward zero, below 24 bits of C.
  CHECK(sum(aligned_24, {1, 0, 0, 0, 0, 0, 0, 0}, -0x1.000002p-4f) == 1 - 0x1.00001p-4f);
}

TEST_CASE("a machine that flushes denormals loses them in A, B, C and D", "[quick]") {
  isa::Machine flushing;
  flushing.mfma_denormals = isa::MfmaDenormals::flushed;
  const std::array<float, 8> denormal = {0x1p-20f}, one = {1}, tiny = {0x1p-14f};
  CHECK(product_of({}, denormal, one, 0) == 0x1p-20f);
  CHECK(product_of(flushing, denormal, one, 0) == 0);
  CHECK(product_of(flushing, one, denormal, 0) == 0);
  CHECK(product_of({}, {}, one, 0x1p-130f) == 0x1p-130f);
  CHECK(product_of(flushing, {}, one, 0x1p-130f) == 0);
  CHECK(product_of(flushing, tiny, one, 0) == 0x1p-14f);
}

TEST_CASE("a machine that flushes denormals loses them in products of several blocks, too", "[quick]") {
  // D[0][0] of the first of 16 blocks, its first product.
  const auto block = [](MfmaDenormals denormals, isa::Op op, std::uint32_t a, std::uint32_t b, float c) {
    isa::Machine machine;
    machine.mfma_denormals = denormals;
    const auto wave = new_wave(machine);
    wave->vector[8][0] = a;
    wave->vector[16][0] = b;
    wave->vector[24][0] = std::bit_cast<std::uint32_t>(c);
    const int count = isa::desc(op).args[1].dwords;
    const isa::Inst inst = make(op, {v(0, 4), v(8, count), v(16, count), v(24, 4)});
    emulator::find_execute(inst.op)(*wave, inst);
    return std::bit_cast<float>(wave->vector[0][0]);
  };
  const auto halves = [&](MfmaDenormals denormals, float a, float b, float c) {
    return block(denormals, isa::Op::v_mfma_f32_4x4x4_16b_f16, isa::float_to_f16(a), isa::float_to_f16(b), c);
  };
  const auto singles = [&](MfmaDenormals denormals, float a, float b, float c) {
    return block(denormals, isa::Op::v_mfma_f32_4x4x1_16b_f32, std::bit_cast<std::uint32_t>(a),
                 std::bit_cast<std::uint32_t>(b), c);
  };
  using enum isa::MfmaDenormals;
  CHECK(halves(kept, 0x1p-20f, 2, 0) == 0x1p-19f);
  CHECK(halves(flushed, 0x1p-20f, 2, 0) == 0);
  CHECK(halves(flushed, 2, 0x1p-20f, 0) == 0);
  CHECK(halves(flushed, 0x1p-14f, 2, 0) == 0x1p-13f);
  CHECK(halves(kept, 0, 1, 0x1p-130f) == 0x1p-130f);
  CHECK(halves(flushed, 0, 1, 0x1p-130f) == 0);
  CHECK(singles(kept, 0x1p-100f, -0x1p-30f, 0) == -0x1p-130f);
  CHECK(singles(flushed, 0x1p-100f, -0x1p-30f, 0) == 0);
  CHECK(singles(flushed, 0x1p-130f, 0x1p100f, 0) == 0);
}

TEST_CASE("v_cvt_pk_u8_f32 rounds as the machine says", "[quick]") {
  const auto byte_of = [](float x, isa::CvtRounding rounding) {
    isa::Machine machine;
    machine.cvt_pk_u8_rounding = rounding;
    const auto wave = new_wave(machine);
    wave->vector[1].fill(std::bit_cast<std::uint32_t>(x));
    const isa::Inst inst = make(isa::Op::v_cvt_pk_u8_f32, {v(0), v(1), number(0), number(0)});
    emulator::find_execute(inst.op)(*wave, inst);
    return wave->vector[0][63];
  };
  for (const float x : {0.5f, 1.5f, 2.5f, 254.5f, 99.75f, 100.0f, 255.75f, 300.0f, -1.0f, NAN}) {
    CAPTURE(x);
    const double held = std::isnan(x) ? 0 : std::fmin(std::fmax(x, 0), 255);
    CHECK(byte_of(x, isa::CvtRounding::nearest_even) == std::nearbyint(held));
    CHECK(byte_of(x, isa::CvtRounding::truncate) == std::trunc(held));
  }
}

TEST_CASE("zyfa-run takes a machine's arithmetic from a file", "") {
  const TemporaryDirectory directory;
  const std::string binaries = ZYFA_BINARY_DIR, machine = directory.file("machine.json");
  const auto program = [&](std::vector<std::string> command) { return run_process(command, directory.path()); };
  REQUIRE(program({binaries + "/zyfa-gen", "--head-dim", "128", "--softmax", "exact", "--no-causal", "--lse", "--out",
                   directory.path().string()})
              .exit_code == 0);
  const std::string kernel = directory.file("zyfa_fwd_hd128_fp8_e4m3fn_exact_full_lse_gfx950.co");
  // Few of O's bits hang on it: P and O are rounded to far fewer than the sums have.
  const auto error_with = [&](const std::string& text) {
    std::ofstream(machine) << text;
    const ProcessResult result =
        program({binaries + "/zyfa-run", kernel, "--seqlen", "512", "--sigma", "3", "--machine", machine, "--json"});
    INFO(result.out << result.err);
    REQUIRE(result.exit_code == 0);
    return nlohmann::json::parse(result.out).at("relative_error").get<double>();
  };
  const double usual = error_with("{}");
  CHECK(error_with(R"({"mfma_accumulation": "fma_chain"})") == usual);
  CHECK(error_with(R"({"mfma_accumulation": "aligned_24"})") != usual);
  std::ofstream(machine) << R"({"mfma_accumulation": "sideways"})";
  const ProcessResult wrong = program({binaries + "/zyfa-run", kernel, "--machine", machine});
  CHECK(wrong.exit_code != 0);
  CHECK(wrong.err.find("\"mfma_accumulation\" takes one of fma_chain, exact, pairwise, aligned_24") !=
        std::string::npos);
}
