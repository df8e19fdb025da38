#include "runtime_loader/reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "isa/error.h"
#include "isa/numeric.h"
#include "runtime_loader/parallel.h"

namespace zyfa::runtime {
namespace {

// A product's micro tile: 4 x 4 doubles fill half the vector registers of baseline x86-64.
constexpr int tile_rows = 4;
constexpr int panel_width = 4;
constexpr int block_rows = 16;
static_assert(block_rows % tile_rows == 0);

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

int panels(int columns) { return (columns + panel_width - 1) / panel_width; }

// A matrix of `depth` x `columns`, kept as panels of 4 columns: element (d, c) is panel[c / 4][d][c % 4].
// Columns beyond the last are 0.
class PackedMatrix {
 public:
  template <typename Value>
  void pack(int depth, int columns, const Value& value) {
    depth_ = depth;
    data_.assign(size(panels(columns)) * size(depth) * panel_width, 0.0);
    for (int c = 0; c < columns; ++c) {
      double* column = data_.data() + (size(c / panel_width) * size(depth) * panel_width) + size(c % panel_width);
      for (int d = 0; d < depth; ++d) column[size(d) * panel_width] = value(d, c);
    }
  }
  const double* panel(int index) const { return data_.data() + size(index) * size(depth_) * panel_width; }

 private:
  int depth_ = 0;
  std::vector<double> data_;
};

// out[r][c] = sum over d < depth of a[r][d] * panel[d][c] for 4 rows; strides in elements.
void multiply_tile(const double* a, std::size_t a_stride, const double* panel, int depth, double* out,
                   std::size_t out_stride) {
  double sums[tile_rows][panel_width] = {};
  for (int d = 0; d < depth; ++d) {
    for (int r = 0; r < tile_rows; ++r) {
      const double left = a[size(r) * a_stride + size(d)];
      for (int c = 0; c < panel_width; ++c) sums[r][c] += left * panel[d * panel_width + c];
    }
  }
  for (int r = 0; r < tile_rows; ++r) {
    for (int c = 0; c < panel_width; ++c) out[size(r) * out_stride + size(c)] = sums[r][c];
  }
}

// out = a * matrix for block_rows rows and the first `columns` columns, over the first `depth` of the matrix'
// depth.
void multiply(const std::vector<double>& a, std::size_t a_stride, const PackedMatrix& matrix, int depth, int columns,
              std::vector<double>& out, std::size_t out_stride) {
  for (int panel = 0; panel < panels(columns); ++panel) {
    for (int r = 0; r < block_rows; r += tile_rows) {
      multiply_tile(a.data() + size(r) * a_stride, a_stride, matrix.panel(panel), depth,
                    out.data() + size(r) * out_stride + size(panel * panel_width), out_stride);
    }
  }
}

// Turns a row's logits into weights exp(logit - maximum); returns their sum and the maximum. Logits past
// `visible` become weight 0.
struct Softmax {
  double sum = 0;
  double maximum = -std::numeric_limits<double>::infinity();
};

Softmax softmax_row(double* logits, int visible, int columns, double scale) {
  Softmax result;
  for (int j = 0; j < visible; ++j) {
    logits[j] *= scale;
    result.maximum = std::max(result.maximum, logits[j]);
  }
  for (int j = 0; j < visible; ++j) {
    logits[j] = std::exp(logits[j] - result.maximum);
    result.sum += logits[j];
  }
  std::fill(logits + visible, logits + columns, 0.0);
  return result;
}

struct Workspace {
  std::vector<double> q, weights, o;
};

// How the two kinds of input become doubles: e4m3 codes by a table, with descales per (batch, kv head), or floats.
class Codes {
 public:
  explicit Codes(const AttentionInputs& inputs) : inputs_(inputs) {
    for (int code = 0; code < 256; ++code) values_[size(code)] = isa::e4m3_to_float(static_cast<std::uint8_t>(code));
  }
  double value(std::uint8_t code) const { return values_[code]; }
  double query(std::size_t i) const {
    return inputs_.q_bf16 ? static_cast<double>(isa::bf16_to_float((*inputs_.q_bf16)[i])) : value(inputs_.q[i]);
  }
  double logit_scale(std::size_t head) const { return inputs_.logit_scale(head); }
  double v_scale(std::size_t head) const { return inputs_.v_descale[head]; }

 private:
  const AttentionInputs& inputs_;
  std::array<double, 256> values_;
};

class Reals {
 public:
  explicit Reals(const RealInputs& inputs) : inputs_(inputs) {}
  double value(float x) const { return x; }
  double query(std::size_t i) const { return inputs_.q[i]; }
  double logit_scale(std::size_t) const { return inputs_.softmax_scale; }
  double v_scale(std::size_t) const { return 1; }

 private:
  const RealInputs& inputs_;
};

template <class Inputs, class Values>
class ReferenceAttention {
 public:
  ReferenceAttention(const Inputs& inputs, const ReferenceOptions& options)
      : inputs_(inputs),
        shape_(inputs.shape),
        values_(inputs),
        options_(options),
        row_count_(selected_rows(options.rows, shape_.seqlen_q)),
        weights_stride_(size(panels(shape_.seqlen_k)) * panel_width),
        o_stride_(size(panels(shape_.v_head_dim)) * panel_width),
        workspaces_(size(std::max(options.threads, 1))) {
    const std::int64_t rows = std::int64_t{shape_.batch} * row_count_ * shape_.heads;
    result_ = {shape_, options.rows, std::vector<double>(size(rows * shape_.v_head_dim)),
               std::vector<double>(size(rows))};
  }

  AttentionResult run() {
    for (int batch = 0; batch < shape_.batch; ++batch) {
      for (int kv_head = 0; kv_head < shape_.kv_heads; ++kv_head) run_kv_head(batch, kv_head);
    }
    return std::move(result_);
  }

 private:
  void run_kv_head(int batch, int kv_head) {
    const auto key_row = [&](int key) {
      return (std::int64_t{batch} * shape_.seqlen_k + key) * shape_.kv_heads + kv_head;
    };
    keys_.pack(shape_.head_dim, shape_.seqlen_k,
               [&](int d, int key) { return values_.value(inputs_.k[size(key_row(key) * shape_.head_dim + d)]); });
    values_matrix_.pack(shape_.seqlen_k, shape_.v_head_dim, [&](int key, int d) {
      return values_.value(inputs_.v[size(key_row(key) * shape_.v_head_dim + d)]);
    });
    const int group = shape_.heads / shape_.kv_heads;
    const std::int64_t blocks = (std::int64_t{row_count_} + block_rows - 1) / block_rows;
    // The last blocks of a causal problem are the longest, so they come first.
    parallel_for(blocks * group, options_.threads, [&](std::int64_t task, int worker) {
      const int first = static_cast<int>((blocks - 1 - task / group) * block_rows);
      const int head = kv_head * group + static_cast<int>(task % group);
      run_block(batch, head, kv_head, first, std::min(block_rows, row_count_ - first), workspaces_[size(worker)]);
    });
  }

  int query_of(int selected) const { return options_.rows.offset + selected * options_.rows.stride; }

  void run_block(int batch, int head, int kv_head, int first, int count, Workspace& work) {
    const std::size_t scales = size(std::int64_t{batch} * shape_.kv_heads + kv_head);
    const double logit_scale = values_.logit_scale(scales);
    const double v_descale = values_.v_scale(scales);
    const int columns = visible_keys(shape_, query_of(first + count - 1));

    load_queries(batch, head, first, count, work);
    work.weights.resize(block_rows * weights_stride_);
    work.o.resize(block_rows * o_stride_);
    multiply(work.q, size(shape_.head_dim), keys_, shape_.head_dim, columns, work.weights, weights_stride_);
    std::array<Softmax, block_rows> softmax;
    for (int r = 0; r < block_rows; ++r) {
      const int visible = r < count ? visible_keys(shape_, query_of(first + r)) : 0;
      softmax[size(r)] = softmax_row(work.weights.data() + size(r) * weights_stride_, visible, columns, logit_scale);
    }
    multiply(work.weights, weights_stride_, values_matrix_, columns, shape_.v_head_dim, work.o, o_stride_);
    for (int r = 0; r < count; ++r) store_row(batch, head, first + r, r, softmax[size(r)], v_descale, work);
    if (options_.rows_done != nullptr) *options_.rows_done += count;
  }

  // Rows of a block beyond the last are 0.
  void load_queries(int batch, int head, int first, int count, Workspace& work) const {
    work.q.assign(size(block_rows) * size(shape_.head_dim), 0.0);
    for (int r = 0; r < count; ++r) {
      const std::int64_t row = (std::int64_t{batch} * shape_.seqlen_q + query_of(first + r)) * shape_.heads + head;
      for (int d = 0; d < shape_.head_dim; ++d) {
        work.q[size(r) * size(shape_.head_dim) + size(d)] = values_.query(size(row * shape_.head_dim + d));
      }
    }
  }

  void store_row(int batch, int head, int selected, int r, const Softmax& softmax, double v_descale,
                 const Workspace& work) {
    const std::int64_t lse_index = (std::int64_t{batch} * shape_.heads + head) * row_count_ + selected;
    // An empty row keeps its zeros; log(0) + -infinity is the -infinity its LSE should be.
    result_.lse[size(lse_index)] = softmax.maximum + std::log(softmax.sum);
    if (softmax.sum == 0) return;
    const std::int64_t row = (std::int64_t{batch} * row_count_ + selected) * shape_.heads + head;
    double* o = result_.o.data() + size(row * shape_.v_head_dim);
    for (int d = 0; d < shape_.v_head_dim; ++d) {
      o[d] = work.o[size(r) * o_stride_ + size(d)] * (v_descale / softmax.sum);
    }
  }

  const Inputs& inputs_;
  const AttentionShape& shape_;
  const Values values_;
  const ReferenceOptions& options_;
  int row_count_;
  std::size_t weights_stride_, o_stride_;
  PackedMatrix keys_;           // head_dim x seqlen_k
  PackedMatrix values_matrix_;  // seqlen_k x v_head_dim
  std::vector<Workspace> workspaces_;
  AttentionResult result_;
};

}  // namespace

int selected_rows(const RowSelection& rows, int seqlen_q) {
  if (rows.stride < 1 || rows.offset < 0) {
    throw Error("row selection with stride {} and offset {}; stride >= 1 and offset >= 0 are needed", rows.stride,
                rows.offset);
  }
  const std::int64_t span = std::int64_t{seqlen_q} - rows.offset;
  return span <= 0 ? 0 : static_cast<int>((span + rows.stride - 1) / rows.stride);
}

AttentionResult reference_attention(const AttentionInputs& inputs, const ReferenceOptions& options) {
  check(inputs);
  return ReferenceAttention<AttentionInputs, Codes>(inputs, options).run();
}

AttentionResult reference_attention(const RealInputs& inputs, const ReferenceOptions& options) {
  check(inputs);
  return ReferenceAttention<RealInputs, Reals>(inputs, options).run();
}

}  // namespace zyfa::runtime
