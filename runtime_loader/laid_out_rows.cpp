#include "runtime_loader/laid_out_rows.h"

#include "isa/error.h"

#include <cstring>

namespace zyfa::runtime {
namespace {

void check(const generator::QuantiseManifest& manifest, const QuantiseInputs& inputs, Layout layout) {
  if (inputs.head_dim != manifest.config.head_dim)
    throw Error("kernel {} is for a head dim of {}, the inputs have {}", manifest.symbol, manifest.config.head_dim,
                inputs.head_dim);
  if (layout == Layout::fused_qkv) throw Error("layout fused_qkv is of three tensors; accepted: bshd, bhsd");
  if (inputs.heads_per_scale < 1 || inputs.heads % inputs.heads_per_scale != 0)
    throw Error("{} heads are no multiple of the {} that share a descale", inputs.heads, inputs.heads_per_scale);
}

}  // namespace

LaidOutRows::LaidOutRows(const generator::QuantiseManifest& manifest, const QuantiseInputs& inputs, Layout layout)
    : head_dim_(inputs.head_dim) {
  check(manifest, inputs, layout);
  const std::int64_t dim = inputs.head_dim;
  code_bytes = static_cast<std::size_t>(inputs.batch) * static_cast<std::size_t>(inputs.rows) *
               static_cast<std::size_t>(inputs.heads) * static_cast<std::size_t>(dim);
  descales = static_cast<std::size_t>(inputs.batch) * static_cast<std::size_t>(inputs.scale_heads());
  if (inputs.x.size() != code_bytes) throw Error("x has {} elements, its shape needs {}", inputs.x.size(), code_bytes);
  if (inputs.k_descale && inputs.k_descale->size() != descales)
    throw Error("k_descale has {} values, the codes have {} descales", inputs.k_descale->size(), descales);
  workspace_bytes = quantise_workspace_bytes(manifest, inputs.batch, inputs.rows, inputs.heads);
  problem = {.batch = inputs.batch,
             .rows = inputs.rows,
             .heads = inputs.heads,
             .heads_per_scale = inputs.heads_per_scale,
             .softmax_scale = inputs.softmax_scale};
  problem.x_stride = strides_of(layout, inputs.rows, inputs.heads, 2 * dim);
  problem.codes_stride = strides_of(layout, inputs.rows, inputs.heads, dim);
  problem.descale_stride = problem.k_descale_stride = {4, 4 * std::int64_t{inputs.scale_heads()}};
  x.resize(2 * code_bytes);
  scatter({reinterpret_cast<const std::uint8_t*>(inputs.x.data()), x.size()}, x.data(), problem.x_stride, inputs.batch,
          inputs.rows, inputs.heads, 2 * dim);
}

std::vector<std::uint8_t> LaidOutRows::gather(std::span<const std::byte> codes) const {
  std::vector<std::uint8_t> gathered(code_bytes);
  std::uint8_t* to = gathered.data();
  const generator::TensorStrides& stride = problem.codes_stride;
  for (std::int64_t b = 0; b < problem.batch; ++b)
    for (std::int64_t r = 0; r < problem.rows; ++r)
      for (std::int64_t h = 0; h < problem.heads; ++h, to += head_dim_)
        std::memcpy(to, codes.data() + b * stride.batch + r * stride.row + h * stride.head,
                    static_cast<std::size_t>(head_dim_));
  return gathered;
}

}  // namespace zyfa::runtime
