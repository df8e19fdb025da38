// One attention problem: its shape and its inputs, as e4m3 codes with one descale per (batch, kv head).
// Tensors are contiguous (batch, seq, heads, dim); a value is code * descale, and the logit of a query and a
// key
//   softmax_scale * q_descale * k_descale * (q . k),   natural logarithm.
// Query head h reads kv head h / (heads / kv_heads). Causal is bottom-right: query i sees key j where
// j <= i + seqlen_k - seqlen_q (users.md 2.1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime_loader/tensor.h"

namespace zyfa::runtime {

struct AttentionShape {
  int batch = 1;
  int heads = 1;
  int kv_heads = 1;
  int seqlen_q = 0;
  int seqlen_k = 0;
  int head_dim = 128;    // of queries and keys
  int v_head_dim = 128;  // of values and output
  bool causal = false;

  bool operator==(const AttentionShape&) const = default;
};

// Throws Error unless sequence lengths are >= 0, everything else is positive, heads is a multiple of kv_heads
// and no tensor passes 2^32 elements.
void check(const AttentionShape& shape);

// The number of keys, from key 0 on, that query `row` sees.
int visible_keys(const AttentionShape& shape, int row);

struct AttentionInputs {
  AttentionShape shape;
  std::vector<std::uint8_t> q;  // (batch, seqlen_q, heads, head_dim)
  // In its place, where queries are BF16: real values, q and q_descale then play no part.
  std::optional<std::vector<std::uint16_t>> q_bf16 = {};
  std::vector<std::uint8_t> k;                         // (batch, seqlen_k, kv_heads, head_dim)
  std::vector<std::uint8_t> v;                         // (batch, seqlen_k, kv_heads, v_head_dim)
  std::vector<float> q_descale, k_descale, v_descale;  // (batch, kv_heads); q's is per kv head too, as in FA3
  float softmax_scale = 1;

  // What turns a dot product of q and codes of k into a logit. Head: (batch, kv_head).
  double logit_scale(std::size_t head) const {
    const double q = q_bf16 ? 1.0 : static_cast<double>(q_descale[head]);
    return static_cast<double>(softmax_scale) * q * static_cast<double>(k_descale[head]);
  }
};

// Throws Error unless sizes are the shape's, scale and descales are positive and finite, and no code is NaN.
void check(const AttentionInputs& inputs);

// What turns dot products of codes into octaves, of a (batch, kv head): softmax_scale * q_descale * k_descale *
// log2(e). Kernels whose score scale is folded take powers of two alone. Throws Error that names the first that is
// none, to within fp32's rounding of its three products.
void check_power_of_two_factors(const AttentionInputs& inputs);

// The least q_descale, at least as large as the given one, that makes the factor a power of two; the given one where
// the factor is 0.
float power_of_two_descale(float q_descale, float k_descale, float softmax_scale);

// The same problem as values, for formats other than FP8 with descales: floats hold bf16, int8 and block-scaled
// elements exactly. The logit is softmax_scale * (q . k).
struct RealInputs {
  AttentionShape shape;
  std::vector<float> q, k, v;  // as in AttentionInputs
  float softmax_scale = 1;
};

// Throws Error unless sizes are the shape's, the scale is positive and finite, and all values are finite.
void check(const RealInputs& inputs);

// What make_inputs fills q and k with.
//   gaussian  q, k and v independent and normal; the logits have the deviation `sigma`.
//   sink      the same, and the hot key's logit lies 4 octaves (4 ln 2), but for quantisation, above the
//             maximum of the row's other visible keys, through a direction that all queries share and no other key
//             has. Making it takes one product of q and k.
//   ones      gaussian q and k, v exactly 1.
//   peaked    the hot key's logit is 0 and all others are -7 in every row, v exactly 1 (users.md A1).
enum class InputKind { gaussian, sink, ones, peaked };

const char* to_string(InputKind kind);
InputKind parse_input_kind(std::string_view name);  // throws Error naming the four

struct InputOptions {
  std::optional<float> softmax_scale = std::nullopt;  // 1 / sqrt(head_dim) if not given
  bool v_ones = false;  // v exactly 1 for every kind: code * descale == 1 without rounding
  double v_mean = 0;    // of v where it is normal, with a deviation of 1
  // Gives each (batch, kv head) its own magnitude of q, k and v, a power of two from 1/8 to 8 of the plain
  // one, so that a kernel which mixes descales up is off by at least 2. Logits keep their deviation.
  bool distinct_descales = false;
  // Rounds q_descale up so that check_power_of_two_factors holds; peaked's logits of -7 become as much lower.
  bool power_of_two_factor = false;
  bool q_bf16 = false;  // queries are BF16
  int hot_key = 0;      // of sink and peaked; a causal row that does not see it has only the other keys
  int threads = 1;      // the result does not depend on it
};

// Throws Error unless sigma lies in 0 .. 1e6 and the scale is positive and finite.
void check_distribution(double sigma, float softmax_scale);

// Random inputs, quantised per (batch, kv head). `sigma` is the deviation of the logits, >= 0; peaked ignores
// it. The same arguments give the same bytes on every host.
AttentionInputs make_inputs(const AttentionShape& shape, InputKind kind, double sigma, std::uint64_t seed,
                            const InputOptions& options = {});

// The shape of given tensors, each (batch, seq, heads, dim); throws Error where they do not belong together.
AttentionShape shape_of(const Tensor& q, const Tensor& k, const Tensor& v, bool causal);

// Inputs from given tensors of that shape. f32, bf16, f16 and e5m2 are quantised with amax / 448 per (batch,
// kv head); e4m3fn codes are taken as they are, with descale 1. Infinities and NaN are refused.
// `power_of_two_factor`, where q is quantised, and `q_bf16` as in InputOptions.
AttentionInputs quantise(const AttentionShape& shape, const Tensor& q, const Tensor& k, const Tensor& v,
                         float softmax_scale, int threads = 1, bool power_of_two_factor = false, bool q_bf16 = false);

}  // namespace zyfa::runtime
