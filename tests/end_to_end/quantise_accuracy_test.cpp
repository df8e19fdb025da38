// What the rotation is for: queries and keys with outlier channels. The errors that their rounding makes, in logits and
// output, with and without it, in double precision and through the attention kernel; docs/quantise.md has the figures.
#include "isa/numeric.h"
#include "runtime_loader/random.h"
#include "tests/support/catch.h"
#include "tests/support/kernels.h"
#include "tests/support/quantise_problem.h"

#include <cmath>
#include <span>

using namespace zyfa;
using namespace zyfa::runtime;
using generator::Rotation;

namespace {

// How channels of queries and keys stand out from the others, which are normal with a deviation of 1.
enum class Outliers { none, same_channels, other_channels, constant_keys };

const char* name(Outliers outliers) {
  constexpr const char* names[] = {"no", "the same", "other", "constant"};
  return names[static_cast<std::size_t>(outliers)];
}

struct Study {
  Outliers outliers;
  float largest;  // deviations of the outlier channels go up to here, from a fifth of it
  int channels = 4;
};

constexpr int queries = 256, keys = 1024, dim = 128;

// BF16 rows; outlier channels `apart` channels from those of the queries.
QuantiseInputs rows(const Study& study, int count, int apart, bool constant, std::uint64_t stream) {
  QuantiseInputs inputs{1, count, 1, 1, dim, {}};
  const RandomStream random(7, stream);
  std::uint64_t index = 0;
  for (int r = 0; r < count; ++r)
    for (int d = 0; d < dim; ++d) {
      const int which = (d - 5 - apart) / 29;
      const bool stands_out =
          study.outliers != Outliers::none && (d - 5 - apart) % 29 == 0 && which >= 0 && which < study.channels;
      const double scale = stands_out ? static_cast<double>(study.largest) * (1 + which) / study.channels : 1.0;
      const double value = random.gaussian(index++);
      const double real = stands_out && constant ? scale * (1 + 0.1 * value) : scale * value;
      inputs.x.push_back(isa::float_to_bf16(static_cast<float>(real)));
    }
  return inputs;
}

std::vector<float> floats(const std::vector<std::uint16_t>& bits) {
  std::vector<float> values;
  for (const std::uint16_t b : bits) values.push_back(isa::bf16_to_float(b));
  return values;
}

// q . k of all pairs.
std::vector<double> products(std::span<const float> q, std::span<const float> k) {
  std::vector<double> all;
  for (std::size_t i = 0; i < q.size(); i += dim)
    for (std::size_t j = 0; j < k.size(); j += dim) {
      double sum = 0;
      for (std::size_t d = 0; d < dim; ++d) sum += static_cast<double>(q[i + d]) * static_cast<double>(k[j + d]);
      all.push_back(sum);
    }
  return all;
}

// What a softmax does not see is a row's mean.
double deviation(std::vector<double> logits) {
  double sum = 0;
  for (std::size_t row = 0; row < logits.size(); row += keys) {
    double mean = 0;
    for (std::size_t j = 0; j < keys; ++j) mean += logits[row + j] / keys;
    for (std::size_t j = 0; j < keys; ++j) sum += (logits[row + j] - mean) * (logits[row + j] - mean);
  }
  return std::sqrt(sum / static_cast<double>(logits.size()));
}

std::vector<float> dequantised(const Quantised& quantised) {
  std::vector<float> values;
  for (const std::uint8_t code : quantised.codes)
    values.push_back(isa::e4m3_to_float(code) * quantised.descales.front());
  return values;
}

struct Errors {
  double logits = 0;  // deviation of the error over that of the logits
  double output = 0;  // relative, in double precision
  double kernel = 0;  // relative, of the attention kernel
};

class Subject {
 public:
  explicit Subject(const Study& study)
      : q_(rows(study, queries, 0, false, 0)),
        k_(rows(study, keys, study.outliers == Outliers::other_channels ? 11 : 0,
                study.outliers == Outliers::constant_keys, 1)) {
    const std::vector<float> q = floats(q_.x), k = floats(k_.x);
    real_ = {{.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = queries, .seqlen_k = keys}, q, k, {}, 1};
    products_ = products(q, k);
    // Logits of deviation 2, whatever the outliers add.
    real_.softmax_scale = static_cast<float>(2 / deviation(products_));
    const RandomStream random(7, 2);
    for (int i = 0; i < keys * dim; ++i)
      v_.push_back(isa::float_to_e4m3(static_cast<float>(random.gaussian(static_cast<std::uint64_t>(i)))));
    for (const std::uint8_t code : v_) real_.v.push_back(isa::e4m3_to_float(code));
    expected_ = reference_attention(real_, {.threads = 2}).o;
  }

  Errors errors(Rotation rotation, const Kernel& attention) const {
    const QuantiseKernel kernel = generate_quantise_kernel({.rotation = rotation});
    const Quantised q = run_quantise(kernel, q_), k = run_quantise(kernel, k_);
    const AttentionInputs inputs{real_.shape,        q.codes, {}, k.codes, v_, q.descales, k.descales, {1.0F},
                                 real_.softmax_scale};
    std::vector<double> difference = products(dequantised(q), dequantised(k));
    for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= products_[i];
    const EmulatedRun run = run_on_emulator(attention, inputs);
    std::vector<double> o;
    for (const std::uint16_t bits : run.o) o.push_back(static_cast<double>(isa::bf16_to_float(bits)));
    return {deviation(difference) / deviation(products_),
            relative_error(reference_attention(inputs, {.threads = 2}).o, expected_), relative_error(o, expected_)};
  }

 private:
  QuantiseInputs q_, k_;
  std::vector<std::uint8_t> v_;  // e4m3, so that V has no error
  RealInputs real_;
  std::vector<double> products_, expected_;
};

}  // namespace

TEST_CASE("Quantise: what the rotation does to the errors of outlier channels", "[quantise]") {
  struct Expected {
    Outliers outliers;
    double least, most;  // what the rotation may make of an error, as a factor
  };
  const Kernel attention = generate_kernel({.causal = false, .softmax = generator::Softmax::exact});
  for (const auto& [outliers, least, most] :
       {Expected{Outliers::same_channels, 0, 0.5}, Expected{Outliers::constant_keys, 0, 0.5},
        // Not what it is for: large and small channels meet, and the rotation mixes the large ones' errors in.
        Expected{Outliers::other_channels, 0.9, 5}, Expected{Outliers::none, 0.9, 1.1}})
    for (const float largest : {10.0F, 30.0F, 50.0F}) {
      const Subject subject({outliers, largest});
      const Errors plain = subject.errors(Rotation::none, attention),
                   rotated = subject.errors(Rotation::hadamard, attention);
      INFO(fmt::format("{} channels to {}: logits {:.4f} {:.4f}, output {:.4f} {:.4f}, kernel {:.4f} {:.4f}",
                       name(outliers), largest, plain.logits, rotated.logits, plain.output, rotated.output,
                       plain.kernel, rotated.kernel));
      for (const auto error : {&Errors::logits, &Errors::output, &Errors::kernel}) {
        CHECK(rotated.*error <= most * plain.*error);
        CHECK(rotated.*error >= least * plain.*error);
      }
    }
}
