// The error that FP8 probabilities cost, at 4,096 keys: no more than the study of kernel.md 4 says, and what a model of
// nothing but that rounding gives.
#include "isa/numeric.h"
#include "tests/support/catch.h"
#include "tests/support/kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace zyfa;
using namespace zyfa::runtime;

namespace {

constexpr int lift_log2 = 8;
constexpr std::size_t keys_per_tile = 128;

double code_value(std::uint8_t code) { return static_cast<double>(isa::e4m3_to_float(code)); }

// One row in double, but for P, which is rounded to e4m3 relative to the largest logit of this and earlier tiles, and
// O, rounded to bf16. `logits` are in units of the natural exponent, `v` holds codes `v_stride` apart from key to key.
void model_row(std::span<const double> logits, const std::uint8_t* v, std::size_t v_stride, double v_descale,
               std::span<double> o) {
  double total = 0, maximum = -std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < logits.size(); ++j) {
    if (j % keys_per_tile == 0) {
      const auto tile = logits.subspan(j, std::min(keys_per_tile, logits.size() - j));
      const double raised = std::max(maximum, *std::ranges::max_element(tile));
      const double shrink = std::exp(maximum - raised);
      for (double& x : o) x *= shrink;
      total *= shrink;
      maximum = raised;
    }
    const double exact = std::exp(logits[j] - maximum) * std::exp2(lift_log2);
    const double p = code_value(isa::float_to_e4m3(static_cast<float>(exact)));
    total += p;
    for (std::size_t d = 0; d < o.size(); ++d) o[d] += p * code_value(v[j * v_stride + d]);
  }
  for (double& x : o)
    x = static_cast<double>(isa::bf16_to_float(isa::float_to_bf16(static_cast<float>(x / total * v_descale))));
}

// The model of the rows that the reference holds, in its order. One batch entry, no mask.
std::vector<double> model_of_rounded_p(const AttentionInputs& inputs, const AttentionResult& reference) {
  const AttentionShape& s = inputs.shape;
  const auto rows = static_cast<std::size_t>(selected_rows(reference.rows, s.seqlen_q));
  const auto heads = static_cast<std::size_t>(s.heads), kv_heads = static_cast<std::size_t>(s.kv_heads);
  const auto dim = static_cast<std::size_t>(s.head_dim), v_dim = static_cast<std::size_t>(s.v_head_dim);
  std::vector<double> o(reference.o.size()), logits(static_cast<std::size_t>(s.seqlen_k));
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t h = 0; h < heads; ++h) {
      const std::size_t kv = h / (heads / kv_heads);
      const double factor = static_cast<double>(inputs.softmax_scale) * static_cast<double>(inputs.q_descale[kv]) *
                            static_cast<double>(inputs.k_descale[kv]);
      const std::uint8_t* q = &inputs.q[(r * static_cast<std::size_t>(reference.rows.stride) * heads + h) * dim];
      for (std::size_t j = 0; j < logits.size(); ++j) {
        const std::uint8_t* k = &inputs.k[(j * kv_heads + kv) * dim];
        double dot = 0;
        for (std::size_t d = 0; d < dim; ++d) dot += code_value(q[d]) * code_value(k[d]);
        logits[j] = factor * dot;
      }
      model_row(logits, &inputs.v[kv * v_dim], kv_heads * v_dim, static_cast<double>(inputs.v_descale[kv]),
                std::span(o).subspan((r * heads + h) * v_dim, v_dim));
    }
  return o;
}

double relative_error(const std::vector<double>& o, const std::vector<double>& reference) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < o.size(); ++i) {
    error += (o[i] - reference[i]) * (o[i] - reference[i]);
    norm += reference[i] * reference[i];
  }
  return std::sqrt(error / norm);
}

}  // namespace

TEST_CASE("Accuracy: the study's error at 4,096 keys, and the model's", "[quick][accuracy]") {
  // kernel.md 4, row "exact, lifted by 2^8, rounded sum". 0.001 for O's own rounding to bf16.
  struct Studied {
    InputKind kind;
    double sigma, error;
  };
  constexpr Studied study[] = {{InputKind::gaussian, 1, 0.0249},
                               {InputKind::gaussian, 2, 0.0189},
                               {InputKind::sink, 1, 0.0062},
                               {InputKind::sink, 2, 0.0025}};
  const Kernel kernel = generate_kernel(false, true);
  const AttentionShape shape{.batch = 1, .heads = 2, .kv_heads = 2, .seqlen_q = 256, .seqlen_k = 4096};
  for (const Studied& studied : study) {
    double mean = 0;
    for (const std::uint64_t seed : {1, 2, 3}) {
      const AttentionInputs inputs = make_inputs(shape, studied.kind, studied.sigma, seed, {.threads = 2});
      const EmulatedRun run = run_on_emulator(kernel, inputs);
      REQUIRE_FALSE(run.result.trap);
      const AttentionResult reference = reference_attention(inputs, {.rows = {.stride = 8}, .threads = 2});
      const Comparison comparison = compare(reference, run.output());
      mean += comparison.relative_error / 3;
      const double model = relative_error(model_of_rounded_p(inputs, reference), reference.o);
      CAPTURE(to_string(studied.kind), studied.sigma, seed);
      CHECK(comparison.passed);
      CHECK(comparison.relative_error == Approx(model).epsilon(0.002));
      CHECK(comparison.lse_max_error < 1e-5);
    }
    CAPTURE(to_string(studied.kind), studied.sigma);
    CHECK(mean < 1.2 * studied.error + 0.001);
  }
}
