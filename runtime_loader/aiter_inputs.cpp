#include "runtime_loader/aiter_inputs.h"

#include "isa/error.h"
#include "isa/numeric.h"
#include "runtime_loader/random.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

namespace zyfa::runtime {
namespace {

enum Stream : std::uint64_t { q_stream, k_stream, v_stream, filler_stream };

constexpr int block_elements = 32;

// An operand as (rows of all sequences, heads, dim).
struct Extent {
  std::size_t rows, heads, dim;
  std::size_t elements() const { return rows * heads * dim; }
};

std::vector<float> gaussian(const Extent& extent, double deviation, std::uint64_t seed, Stream stream) {
  const RandomStream random(seed, stream);
  std::vector<float> values(extent.elements());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(deviation * random.gaussian(i));
  return values;
}

float largest_magnitude(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

void append_float(std::vector<std::byte>& to, float value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// The encode_ functions fill an operand's bytes and scales, and replace values by what the codes stand for.
void encode_bf16(std::vector<float>& values, AiterOperand& operand) {
  operand.bytes.resize(values.size() * 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t code = isa::float_to_bf16(values[i]);
    std::memcpy(&operand.bytes[2 * i], &code, 2);
    values[i] = isa::bf16_to_float(code);
  }
}

void encode_fp8(std::vector<float>& values, AiterOperand& operand) {
  const float amax = largest_magnitude(values), descale = amax > 0 ? amax / 448 : 1;
  append_float(operand.scales, descale);
  for (float& value : values) {
    const std::uint8_t code = isa::float_to_e4m3(value / descale, isa::Overflow::saturate);
    operand.bytes.push_back(std::byte{code});
    value = isa::e4m3_to_float(code) * descale;
  }
}

void encode_int8(std::vector<float>& values, AiterOperand& operand) {
  const float amax = largest_magnitude(values), descale = amax > 0 ? amax / 127 : 1;
  append_float(operand.scales, descale);
  for (float& value : values) {
    const float code = std::clamp(std::nearbyint(value / descale), -127.0f, 127.0f);
    operand.bytes.push_back(static_cast<std::byte>(static_cast<std::int8_t>(code)));
    value = code * descale;
  }
}

// OCP MX: the block's scale brings its largest magnitude to e4m3's largest exponent, 8.
void encode_mxfp8(std::vector<float>& values, AiterOperand& operand) {
  for (std::size_t first = 0; first < values.size(); first += block_elements) {
    const auto block = std::span(values).subspan(first, std::min<std::size_t>(block_elements, values.size() - first));
    const float amax = largest_magnitude(block);
    const int exponent = amax > 0 ? std::clamp(std::ilogb(amax) - 8, -126, 126) : 0;
    operand.scales.push_back(static_cast<std::byte>(exponent + 127));
    for (float& value : block) {
      const std::uint8_t code = isa::float_to_e4m3(std::ldexp(value, -exponent), isa::Overflow::saturate);
      operand.bytes.push_back(std::byte{code});
      value = std::ldexp(isa::e4m3_to_float(code), exponent);
    }
  }
}

// AITER's objects load the block scales of whole tiles, 256 rows at most, without a check.
void pad_scales(const Extent& extent, AiterOperand& operand) {
  operand.scales.resize(operand.scales.size() + 256 * extent.heads * extent.dim / block_elements, std::byte{127});
}

// Strides of rows in order, heads within a row.
void set_plain_strides(AiterOperand& operand, const Extent& extent, int bits, std::size_t rows_of_batch,
                       AiterScale scale) {
  const auto head = static_cast<std::int64_t>(extent.dim) * bits / 8;
  operand.head_stride = head;
  operand.row_stride = head * static_cast<std::int64_t>(extent.heads);
  operand.batch_stride = operand.row_stride * static_cast<std::int64_t>(rows_of_batch);
  if (scale != AiterScale::block) return;
  operand.scale_head_stride = static_cast<std::int64_t>(extent.dim) / block_elements;
  operand.scale_batch_stride =
      operand.scale_head_stride * static_cast<std::int64_t>(extent.heads) * static_cast<std::int64_t>(rows_of_batch);
}

// Any bytes and scales of about 1, as many as the packed layouts of mha_v4.py have for whole tiles of 128 keys and one
// more: enough for the kernel to run through.
void fill_packed(AiterOperand& operand, const Extent& extent, int bits, std::size_t batch, AiterScale scale,
                 const RandomStream& random) {
  const std::size_t rows = (extent.rows / batch + 127) / 128 * 128 + 128;
  operand.row_stride = static_cast<std::int64_t>(extent.dim) * bits / 8;
  operand.head_stride = operand.row_stride * static_cast<std::int64_t>(rows);
  operand.batch_stride = operand.head_stride * static_cast<std::int64_t>(extent.heads);
  operand.bytes.resize(static_cast<std::size_t>(operand.batch_stride) * (batch + 1));
  // No byte is a NaN, whatever the format: the highest exponent bit of e4m3 stays clear.
  for (std::size_t i = 0; i < operand.bytes.size(); ++i)
    operand.bytes[i] = static_cast<std::byte>(random.bits(i) & 0xbf);
  if (scale == AiterScale::tensor) append_float(operand.scales, 1);
  if (scale == AiterScale::channel)
    for (std::size_t i = 0; i < (batch + 1) * extent.heads * extent.dim; ++i) append_float(operand.scales, 1);
  if (scale == AiterScale::block) operand.scales.assign(4 * rows * extent.heads * (batch + 1), std::byte{127});
  const bool channel = scale == AiterScale::channel;
  operand.scale_head_stride = static_cast<std::int64_t>(channel ? 4 * extent.dim : 4 * rows);
  operand.scale_batch_stride = operand.scale_head_stride * static_cast<std::int64_t>(extent.heads);
}

// All rows of all sequences, as one AttentionShape takes them.
int rows_of_all(const AiterProblem& problem, int AiterSequence::*length) {
  std::int64_t rows = 0;
  for (const AiterSequence& s : problem.sequences) {
    if (s.*length < 0) throw Error("a sequence of {} rows; lengths must be at least 0", s.*length);
    rows += s.*length;
  }
  if (rows > std::numeric_limits<int>::max()) throw Error("{} rows of all sequences are more than 2^31 - 1", rows);
  return static_cast<int>(rows);
}

void check(const AiterKernel& kernel, const AiterProblem& problem) {
  if (problem.sequences.empty()) throw Error("a problem needs a sequence at least");
  const int per_kv_head = problem.kv_heads > 0 ? problem.heads / problem.kv_heads : 0;
  const bool power_of_two = (per_kv_head & (per_kv_head - 1)) == 0;
  if (problem.heads < 1 || problem.kv_heads < 1 || problem.heads % problem.kv_heads != 0 || per_kv_head > 16 ||
      !power_of_two)
    throw Error("{} query heads for {} key/value heads; AITER's objects take 1, 2, 4, 8 or 16 for each", problem.heads,
                problem.kv_heads);
  if (kernel.abi == AiterAbi::v4 && per_kv_head != 1) throw Error("aiter-v4 takes as many key/value heads as heads");
  check(AttentionShape{.batch = 1,
                       .heads = problem.heads,
                       .kv_heads = problem.kv_heads,
                       .seqlen_q = rows_of_all(problem, &AiterSequence::seqlen_q),
                       .seqlen_k = rows_of_all(problem, &AiterSequence::seqlen_k),
                       .head_dim = kernel.head_dim,
                       .v_head_dim = kernel.v_head_dim});
  if (kernel.format.qk_scale == AiterScale::block && kernel.head_dim % block_elements != 0)
    throw Error("format {} has a scale for {} elements; a head dim of {} is no multiple of it", kernel.format.name,
                block_elements, kernel.head_dim);
  check_distribution(problem.sigma.value_or(1), problem.softmax_scale.value_or(1));
  if (kernel.abi == AiterAbi::v3_group) return;
  for (const AiterSequence& s : problem.sequences)
    if (s.seqlen_q != problem.sequences[0].seqlen_q || s.seqlen_k != problem.sequences[0].seqlen_k)
      throw Error("sequences of several lengths need an object and the ABI aiter-v3-group");
}

// Arbitrary bytes have no deviation.
void check_packed(const AiterFormat& format, const AiterProblem& problem) {
  const auto refuse = [&](const char* what) {
    throw Error("{}: the packed layout of format {} is not rebuilt, it runs on arbitrary bytes", what, format.name);
  };
  if (problem.sigma) refuse("sigma");
  if (problem.v_ones) refuse("V of ones");
  if (problem.softmax_scale && format.qk_scale == AiterScale::block) refuse("softmax_scale");
}

}  // namespace

AttentionShape shape_of(const AiterKernel& kernel, const AiterProblem& problem, std::size_t sequence) {
  const AiterSequence& s = problem.sequences[sequence];
  return {.batch = 1,
          .heads = problem.heads,
          .kv_heads = problem.kv_heads,
          .seqlen_q = s.seqlen_q,
          .seqlen_k = s.seqlen_k,
          .head_dim = kernel.head_dim,
          .v_head_dim = kernel.v_head_dim,
          .causal = kernel.causal};
}

namespace {

std::vector<float> part(const std::vector<float>& values, std::size_t first_row, int rows, std::size_t row_elements) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first_row * row_elements);
  return {begin, begin + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rows) * row_elements)};
}

void encode_qk(std::string_view format, std::vector<float>& values, AiterOperand& operand) {
  if (format == "bf16") return encode_bf16(values, operand);
  if (format == "i8fp8") return encode_int8(values, operand);
  if (format == "mxfp8") return encode_mxfp8(values, operand);
  encode_fp8(values, operand);
}

struct Extents {
  Extent q, k, v;
};
struct Values {
  std::vector<float>&q, &k, &v;
};

// Everything but Q's strides; values become what the codes stand for.
void encode_plain(const AiterFormat& format, std::size_t batch, const Extents& extents, const Values& values,
                  float softmax_scale, AiterInputs& inputs) {
  set_plain_strides(inputs.k, extents.k, format.qk_bits, extents.k.rows / batch, format.qk_scale);
  set_plain_strides(inputs.v, extents.v, format.v_bits, extents.v.rows / batch, format.v_scale);
  inputs.softmax_scale = format.qk_scale == AiterScale::block ? 1 : softmax_scale;
  encode_qk(format.name, values.q, inputs.q);
  encode_qk(format.name, values.k, inputs.k);
  if (format.qk_scale == AiterScale::block) {
    pad_scales(extents.q, inputs.q);
    pad_scales(extents.k, inputs.k);
  }
  format.v_bits == 16 ? encode_bf16(values.v, inputs.v) : encode_fp8(values.v, inputs.v);
}

// (rows of all entries, heads, dim) codes with a descale for each entry and key/value head, of which there may be fewer
// than heads.
std::vector<float> values_of(const std::vector<std::uint8_t>& codes, const Extent& extent,
                             const std::vector<float>& descales, std::size_t batch, float by) {
  std::vector<float> values(codes.size());
  const std::size_t kv_heads = descales.size() / batch, group = extent.heads / kv_heads;
  const std::size_t entry = codes.size() / batch;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::size_t head = i / extent.dim % extent.heads;
    values[i] = isa::e4m3_to_float(codes[i]) * descales[i / entry * kv_heads + head / group] * by;
  }
  return values;
}

// One entry of `reals` for each sequence; the values are of all.
void add_reals(const AiterKernel& kernel, const AiterProblem& problem, const Extents& extents, const Values& values,
               float scale, AiterInputs& inputs) {
  std::size_t q_row = 0, k_row = 0;
  for (std::size_t i = 0; i < problem.sequences.size(); ++i) {
    const AttentionShape shape = shape_of(kernel, problem, i);
    inputs.reals.push_back({shape, part(values.q, q_row, shape.seqlen_q, extents.q.heads * extents.q.dim),
                            part(values.k, k_row, shape.seqlen_k, extents.k.heads * extents.k.dim),
                            part(values.v, k_row, shape.seqlen_k, extents.v.heads * extents.v.dim), scale});
    q_row += static_cast<std::size_t>(shape.seqlen_q);
    k_row += static_cast<std::size_t>(shape.seqlen_k);
  }
}

}  // namespace

AiterInputs make_aiter_inputs(const AiterKernel& kernel, const AiterProblem& problem) {
  check(kernel, problem);
  const AiterFormat& format = kernel.format;
  const std::size_t batch = problem.sequences.size();
  Extent q_extent{0, static_cast<std::size_t>(problem.heads), static_cast<std::size_t>(kernel.head_dim)};
  Extent k_extent{0, static_cast<std::size_t>(problem.kv_heads), static_cast<std::size_t>(kernel.head_dim)};
  for (const AiterSequence& s : problem.sequences) {
    q_extent.rows += static_cast<std::size_t>(s.seqlen_q);
    k_extent.rows += static_cast<std::size_t>(s.seqlen_k);
  }
  const Extent v_extent{k_extent.rows, k_extent.heads, static_cast<std::size_t>(kernel.v_head_dim)};
  AiterInputs inputs;
  const float scale = problem.softmax_scale.value_or(1 / std::sqrt(static_cast<float>(kernel.head_dim)));
  set_plain_strides(inputs.q, q_extent, format.qk_bits, q_extent.rows / batch, format.qk_scale);
  if (!format.plain) {
    check_packed(format, problem);
    const RandomStream random(problem.seed, filler_stream);
    inputs.softmax_scale = format.qk_scale == AiterScale::block ? 1 : scale;
    const AiterOperand q = inputs.q;
    fill_packed(inputs.q, q_extent, format.qk_bits, batch, format.qk_scale, random);
    inputs.q.row_stride = q.row_stride, inputs.q.head_stride = q.head_stride, inputs.q.batch_stride = q.batch_stride;
    fill_packed(inputs.k, k_extent, format.qk_bits, batch, format.qk_scale, random);
    fill_packed(inputs.v, v_extent, format.v_bits, batch, format.v_scale, random);
    return inputs;
  }
  // With block scales Q carries the softmax scale in octaves (mha_v4.py, mha_v4_q_multiplier).
  const bool scaled_q = format.qk_scale == AiterScale::block;
  const double sigma = problem.sigma.value_or(1), root = std::sqrt(static_cast<double>(kernel.head_dim));
  const double deviation = scaled_q ? sigma * std::numbers::log2e / root : sigma / (scale * root);
  // Descales and codes times descales stay normal floats.
  if (deviation != 0 && !(deviation >= 1e-30 && deviation <= 1e30))
    throw Error("sigma {} with softmax_scale {} takes queries of about {:.3g}, outside 1e-30 .. 1e30", sigma, scale,
                deviation);
  std::vector<float> q = gaussian(q_extent, deviation, problem.seed, q_stream);
  std::vector<float> k = gaussian(k_extent, 1, problem.seed, k_stream);
  std::vector<float> v =
      problem.v_ones ? std::vector<float>(v_extent.elements(), 1.0f) : gaussian(v_extent, 1, problem.seed, v_stream);
  const Extents extents{q_extent, k_extent, v_extent};
  encode_plain(format, batch, extents, {q, k, v}, scale, inputs);
  add_reals(kernel, problem, extents, {q, k, v}, scaled_q ? std::numbers::ln2_v<float> : scale, inputs);
  return inputs;
}

AiterInputs encode_aiter_inputs(const AiterKernel& kernel, const AttentionInputs& given) {
  const AttentionShape& s = given.shape;
  if (!kernel.format.plain)
    throw Error("format {}: its packed layout is not rebuilt, it takes no given inputs", kernel.format.name);
  const auto batch = static_cast<std::size_t>(s.batch);
  const AiterProblem problem{.sequences = std::vector<AiterSequence>(batch, {s.seqlen_q, s.seqlen_k}),
                             .heads = s.heads,
                             .kv_heads = s.kv_heads};
  check(kernel, problem);
  const auto extent = [batch](int rows, int heads, int dim) {
    return Extent{batch * static_cast<std::size_t>(rows), static_cast<std::size_t>(heads),
                  static_cast<std::size_t>(dim)};
  };
  const Extents extents{extent(s.seqlen_q, s.heads, s.head_dim), extent(s.seqlen_k, s.kv_heads, s.head_dim),
                        extent(s.seqlen_k, s.kv_heads, s.v_head_dim)};
  const bool scaled_q = kernel.format.qk_scale == AiterScale::block;
  const float octaves = scaled_q ? given.softmax_scale * std::numbers::log2e_v<float> : 1;
  std::vector<float> q = values_of(given.q, extents.q, given.q_descale, batch, octaves);
  std::vector<float> k = values_of(given.k, extents.k, given.k_descale, batch, 1);
  std::vector<float> v = values_of(given.v, extents.v, given.v_descale, batch, 1);
  AiterInputs inputs;
  set_plain_strides(inputs.q, extents.q, kernel.format.qk_bits, extents.q.rows / batch, kernel.format.qk_scale);
  encode_plain(kernel.format, batch, extents, {q, k, v}, given.softmax_scale, inputs);
  add_reals(kernel, problem, extents, {q, k, v}, scaled_q ? std::numbers::ln2_v<float> : given.softmax_scale, inputs);
  return inputs;
}

}  // namespace zyfa::runtime
