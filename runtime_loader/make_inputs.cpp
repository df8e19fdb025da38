// The input kinds of attention_problem.h. Real values are made per row and quantised; what must be exact (v
// of ones, peaked) is written as codes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "isa/error.h"
#include "isa/numeric.h"
#include "runtime_loader/attention_problem.h"
#include "runtime_loader/parallel.h"
#include "runtime_loader/quantise_rows.h"
#include "runtime_loader/random.h"

namespace zyfa::runtime {
namespace {

enum Stream : std::uint64_t { q_stream, k_stream, v_stream, direction_stream, qk_factor_stream, v_factor_stream };

constexpr double sink_octaves = 4;
constexpr std::size_t key_block = 256;
constexpr double peaked_logit = -7;

// About the expected maximum of n independent normal values, by the limit distribution of extremes (Gumbel).
double expected_maximum(int n) {
  if (n < 2) return 0;
  const double log_n = portable_log(n);
  const double root = std::sqrt(2 * log_n);
  const double location = root - (portable_log(log_n) + portable_log(4 * std::numbers::pi)) / (2 * root);
  return location + std::numbers::egamma / root;
}

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

class InputMaker {
 public:
  InputMaker(const AttentionShape& shape, InputKind kind, double sigma, std::uint64_t seed, const InputOptions& options)
      : shape_(shape), kind_(kind), sigma_(sigma), seed_(seed), options_(options) {
    scale_ = options.softmax_scale.value_or(static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_dim))));
    if (kind == InputKind::sink) make_direction();
    // The logit of two rows of independent normal values has the deviation scale * spread^2 *
    // sqrt(dimensions).
    const int dimensions = shape.head_dim - (kind == InputKind::sink ? 1 : 0);
    spread_ = std::sqrt(sigma / (scale_ * std::sqrt(static_cast<double>(dimensions))));
  }

  AttentionInputs make() const {
    AttentionInputs inputs;
    inputs.shape = shape_;
    inputs.softmax_scale = scale_;
    if (kind_ == InputKind::peaked) {
      fill_peaked(inputs);
    } else {
      fill_gaussian_k(inputs);
      fill_gaussian_q(inputs);
    }
    if (kind_ == InputKind::ones || kind_ == InputKind::peaked || options_.v_ones) {
      fill_ones(inputs);
    } else {
      fill_gaussian_v(inputs);
    }
    return inputs;
  }

 private:
  std::size_t head_index(int batch, int kv_head) const {
    return static_cast<std::size_t>(batch) * static_cast<std::size_t>(shape_.kv_heads) +
           static_cast<std::size_t>(kv_head);
  }
  std::size_t head_count() const { return head_index(shape_.batch, 0); }

  // A power of two, 1/8 to 8, where heads are to differ: e4m3 holds it and its reciprocal exactly.
  // Neighbouring heads and, unless kv_heads is a multiple of 7, neighbouring batches differ by at least 2.
  double factor(Stream stream, std::size_t head) const {
    if (!options_.distinct_descales) return 1;
    const std::uint64_t first = RandomStream(seed_, stream).bits(0) % 7;
    return std::ldexp(1.0, static_cast<int>((first + head) % 7) - 3);
  }

  void make_direction() {
    const RandomStream stream(seed_, direction_stream);
    for (int d = 0; d < shape_.head_dim; ++d) direction_.push_back(stream.gaussian(static_cast<std::uint64_t>(d)));
    const double norm = std::sqrt(dot(direction_, direction_));
    for (double& component : direction_) component /= norm;
  }

  // One row of normal values, `spread_` wide, without a component along the sink's direction.
  std::vector<double> normal_row(const RandomStream& stream, int batch, int rows, int row, int heads, int head) const {
    const auto dim = static_cast<std::size_t>(shape_.head_dim);
    const std::int64_t index = ((std::int64_t{batch} * rows + row) * heads + head) * shape_.head_dim;
    std::vector<double> values(dim);
    for (std::size_t d = 0; d < dim; ++d) {
      values[d] = spread_ * stream.gaussian(static_cast<std::uint64_t>(index) + d);
    }
    if (kind_ == InputKind::sink) add_along(values, -dot(values, direction_));
    return values;
  }

  void add_along(std::vector<double>& values, double length) const {
    for (std::size_t d = 0; d < values.size(); ++d) values[d] += length * direction_[d];
  }

  // Length of the hot key; the queries' components along the direction are then about as long, so that
  // neither takes range from the other's scale.
  double hot_length() const {
    const double typical = sigma_ * expected_maximum(shape_.seqlen_k - 1) + sink_octaves * std::numbers::ln2;
    return std::sqrt(typical / scale_);
  }

  // For every query (batch, row, head), the length along the direction that puts its logit with the hot key
  // the sink's octaves above the largest of its other visible keys. Needs k, quantised; costs one product of
  // q and k.
  std::vector<double> query_lengths(const AttentionInputs& inputs) const {
    const std::int64_t queries = std::int64_t{shape_.batch} * shape_.seqlen_q * shape_.heads;
    std::vector<double> lengths(static_cast<std::size_t>(queries));
    const RandomStream values(seed_, q_stream);
    const int group = shape_.heads / shape_.kv_heads;
    for (int batch = 0; batch < shape_.batch; ++batch) {
      for (int kv_head = 0; kv_head < shape_.kv_heads; ++kv_head) {
        const std::vector<float> keys = key_blocks(inputs, batch, kv_head);
        parallel_for(std::int64_t{shape_.seqlen_q} * group, options_.threads, [&](std::int64_t task, int) {
          const int row = static_cast<int>(task / group);
          const int head = kv_head * group + static_cast<int>(task % group);
          const std::vector<double> query = normal_row(values, batch, shape_.seqlen_q, row, shape_.heads, head);
          const double logit = largest_other(keys, query, row) + sink_octaves * std::numbers::ln2;
          lengths[query_index(batch, row, head)] = logit / (scale_ * hot_length());
        });
      }
    }
    return lengths;
  }

  // One head's dequantised keys without its factor, as blocks of (head_dim, key_block), so that sums over
  // dimensions run along keys. Keys beyond the last are 0.
  std::vector<float> key_blocks(const AttentionInputs& inputs, int batch, int kv_head) const {
    const auto dim = static_cast<std::size_t>(shape_.head_dim);
    const auto key_count = static_cast<std::size_t>(shape_.seqlen_k);
    const std::size_t head = head_index(batch, kv_head);
    const auto unit = static_cast<float>(inputs.k_descale[head] * factor(qk_factor_stream, head));
    std::vector<float> blocks((key_count + key_block - 1) / key_block * key_block * dim);
    for (std::size_t key = 0; key < key_count; ++key) {
      const std::size_t row =
          (static_cast<std::size_t>(batch) * key_count + key) * static_cast<std::size_t>(shape_.kv_heads) +
          static_cast<std::size_t>(kv_head);
      float* column = blocks.data() + key / key_block * key_block * dim + key % key_block;
      for (std::size_t d = 0; d < dim; ++d) {
        column[d * key_block] = isa::e4m3_to_float(inputs.k[row * dim + d]) * unit;
      }
    }
    return blocks;
  }

  // The largest logit of a row's visible keys other than the hot one; 0 if there is none.
  double largest_other(const std::vector<float>& keys, const std::vector<double>& query, int row) const {
    const auto visible = static_cast<std::size_t>(visible_keys(shape_, row));
    float largest = -std::numeric_limits<float>::infinity();
    for (std::size_t first = 0; first < visible; first += key_block) {
      float sums[key_block] = {};
      for (std::size_t d = 0; d < query.size(); ++d) {
        const auto left = static_cast<float>(query[d]);
        const float* column = keys.data() + first * query.size() + d * key_block;
        for (std::size_t j = 0; j < key_block; ++j) sums[j] += left * column[j];
      }
      for (std::size_t j = 0; j < std::min(key_block, visible - first); ++j) {
        if (first + j != static_cast<std::size_t>(options_.hot_key)) largest = std::max(largest, sums[j]);
      }
    }
    return std::isinf(largest) ? 0 : static_cast<double>(largest) * scale_;
  }

  std::size_t query_index(int batch, int row, int head) const {
    return static_cast<std::size_t>((std::int64_t{batch} * shape_.seqlen_q + row) * shape_.heads + head);
  }

  static void store(const std::vector<double>& values, double by, std::span<float> out) {
    for (std::size_t d = 0; d < out.size(); ++d) out[d] = static_cast<float>(values[d] * by);
  }

  void fill_gaussian_k(AttentionInputs& inputs) const {
    const RandomStream stream(seed_, k_stream);
    const RowsShape rows{shape_.batch, shape_.seqlen_k, shape_.kv_heads, shape_.kv_heads, shape_.head_dim};
    QuantisedRows k = quantise_rows(rows, options_.threads, [&](int b, int row, int head, std::span<float> out) {
      std::vector<double> values = normal_row(stream, b, shape_.seqlen_k, row, shape_.kv_heads, head);
      if (kind_ == InputKind::sink && row == options_.hot_key) {
        std::fill(values.begin(), values.end(), 0.0);
        add_along(values, hot_length());
      }
      store(values, 1 / factor(qk_factor_stream, head_index(b, head)), out);
    });
    inputs.k = std::move(k.codes);
    inputs.k_descale = std::move(k.descales);
  }

  // After k, whose codes the sink's queries are fitted to.
  void fill_gaussian_q(AttentionInputs& inputs) const {
    const RandomStream stream(seed_, q_stream);
    const int group = shape_.heads / shape_.kv_heads;
    const RowsShape rows{shape_.batch, shape_.seqlen_q, shape_.heads, shape_.kv_heads, shape_.head_dim};
    std::vector<double> lengths;
    if (kind_ == InputKind::sink) lengths = query_lengths(inputs);
    const RowValues values = [&](int b, int row, int head, std::span<float> out) {
      std::vector<double> normal = normal_row(stream, b, shape_.seqlen_q, row, shape_.heads, head);
      if (kind_ == InputKind::sink) add_along(normal, lengths[query_index(b, row, head)]);
      store(normal, factor(qk_factor_stream, head_index(b, head / group)), out);
    };
    if (options_.q_bf16) {
      inputs.q_bf16 = bf16_rows(rows, options_.threads, values);
      inputs.q_descale.assign(head_count(), 1.0F);
      return;
    }
    QuantisedRows q = quantise_rows(rows, options_.threads, values, q_descale_choice(inputs));
    inputs.q = std::move(q.codes);
    inputs.q_descale = std::move(q.descales);
  }

  DescaleChoice q_descale_choice(const AttentionInputs& inputs) const {
    if (!options_.power_of_two_factor) return {};
    return [this, &inputs](float descale, std::size_t head) {
      return power_of_two_descale(descale, inputs.k_descale[head], scale_);
    };
  }

  void fill_gaussian_v(AttentionInputs& inputs) const {
    const RandomStream stream(seed_, v_stream);
    const RowsShape rows{shape_.batch, shape_.seqlen_k, shape_.kv_heads, shape_.kv_heads, shape_.v_head_dim};
    QuantisedRows v = quantise_rows(rows, options_.threads, [&](int b, int row, int head, std::span<float> out) {
      const double by = factor(v_factor_stream, head_index(b, head));
      const std::int64_t first =
          ((std::int64_t{b} * shape_.seqlen_k + row) * shape_.kv_heads + head) * shape_.v_head_dim;
      for (std::size_t d = 0; d < out.size(); ++d) {
        out[d] = static_cast<float>(by * (options_.v_mean + stream.gaussian(static_cast<std::uint64_t>(first) + d)));
      }
    });
    inputs.v = std::move(v.codes);
    inputs.v_descale = std::move(v.descales);
  }

  void fill_ones(AttentionInputs& inputs) const {
    const auto dim = static_cast<std::size_t>(shape_.v_head_dim);
    for (std::size_t head = 0; head < head_count(); ++head) {
      inputs.v_descale.push_back(static_cast<float>(1 / factor(v_factor_stream, head)));
    }
    inputs.v.reserve(static_cast<std::size_t>(shape_.seqlen_k) * head_count() * dim);
    for (int batch = 0; batch < shape_.batch; ++batch) {
      for (int row = 0; row < shape_.seqlen_k; ++row) {
        for (int head = 0; head < shape_.kv_heads; ++head) {
          const double one = factor(v_factor_stream, head_index(batch, head));
          inputs.v.insert(inputs.v.end(), dim, isa::float_to_e4m3(static_cast<float>(one), isa::Overflow::saturate));
        }
      }
    }
  }

  // Every query is the same pattern of codes +-1, every key but the hot one -1.75 times that pattern (exact
  // in e4m3): the dot product is -1.75 * head_dim in exact arithmetic, and the key's descale makes it the
  // logit.
  void fill_peaked(AttentionInputs& inputs) const {
    const RandomStream signs(seed_, direction_stream);
    const auto dim = static_cast<std::size_t>(shape_.head_dim);
    std::vector<std::uint8_t> query(dim), key(dim);
    for (std::size_t d = 0; d < dim; ++d) {
      const float sign = (signs.bits(d) & 1) != 0 ? 1.0F : -1.0F;
      query[d] = isa::float_to_e4m3(sign, isa::Overflow::saturate);
      key[d] = isa::float_to_e4m3(-1.75F * sign, isa::Overflow::saturate);
    }
    const std::size_t queries = static_cast<std::size_t>(shape_.batch) * static_cast<std::size_t>(shape_.seqlen_q) *
                                static_cast<std::size_t>(shape_.heads);
    inputs.q.reserve(queries * dim);
    for (std::size_t i = 0; i < queries; ++i) inputs.q.insert(inputs.q.end(), query.begin(), query.end());
    inputs.k.reserve(static_cast<std::size_t>(shape_.seqlen_k) * head_count() * dim);
    for (int batch = 0; batch < shape_.batch; ++batch) {
      for (int row = 0; row < shape_.seqlen_k; ++row) {
        for (int head = 0; head < shape_.kv_heads; ++head) {
          if (row == options_.hot_key) {
            inputs.k.insert(inputs.k.end(), dim, 0);
          } else {
            inputs.k.insert(inputs.k.end(), key.begin(), key.end());
          }
        }
      }
    }
    if (options_.q_bf16) {
      inputs.q_bf16.emplace();
      for (const std::uint8_t code : inputs.q) inputs.q_bf16->push_back(isa::float_to_bf16(isa::e4m3_to_float(code)));
      inputs.q.clear();
    }
    const double descale = peaked_logit / (-1.75 * shape_.head_dim * scale_);
    for (std::size_t head = 0; head < head_count(); ++head) {
      const double by = options_.q_bf16 ? 1 : factor(qk_factor_stream, head);
      inputs.q_descale.push_back(static_cast<float>(by));
      inputs.k_descale.push_back(static_cast<float>(descale / by));
      if (options_.power_of_two_factor)
        inputs.q_descale.back() = power_of_two_descale(inputs.q_descale.back(), inputs.k_descale.back(), scale_);
    }
  }

  const AttentionShape& shape_;
  InputKind kind_;
  double sigma_;
  std::uint64_t seed_;
  const InputOptions& options_;
  float scale_ = 1;
  double spread_ = 0;
  std::vector<double> direction_;  // unit length; empty unless sink
};

}  // namespace

void check_distribution(double sigma, float softmax_scale) {
  if (!(sigma >= 0) || sigma > 1e6) throw Error("sigma is {}; it must lie in 0 .. 1e6", sigma);
  if (!(softmax_scale > 0) || !std::isfinite(softmax_scale))
    throw Error("softmax_scale is {}; it must be positive and finite", softmax_scale);
}

AttentionInputs make_inputs(const AttentionShape& shape, InputKind kind, double sigma, std::uint64_t seed,
                            const InputOptions& options) {
  check(shape);
  check_distribution(sigma, options.softmax_scale.value_or(1));
  if (!(std::abs(options.v_mean) <= 1e6)) throw Error("v_mean is {}; it must lie in -1e6 .. 1e6", options.v_mean);
  if (options.v_mean != 0 && (options.v_ones || kind == InputKind::ones || kind == InputKind::peaked))
    throw Error("v_mean is {}, but v is exactly 1", options.v_mean);
  if (options.hot_key < 0 || options.hot_key >= std::max(shape.seqlen_k, 1)) {
    throw Error("hot key {} is not one of the {} keys", options.hot_key, shape.seqlen_k);
  }
  if (kind == InputKind::sink && shape.head_dim < 2) throw Error("input kind sink needs a head_dim of at least 2");
  AttentionInputs inputs = InputMaker(shape, kind, sigma, seed, options).make();
  check(inputs);
  return inputs;
}

}  // namespace zyfa::runtime
