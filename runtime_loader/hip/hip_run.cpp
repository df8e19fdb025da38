#include "runtime_loader/hip/hip_run.h"

#include <utility>

namespace zyfa::runtime {
namespace {

std::size_t rows_of(const AttentionShape& s) {
  return static_cast<std::size_t>(s.batch) * static_cast<std::size_t>(s.heads) * static_cast<std::size_t>(s.seqlen_q);
}

const AttentionInputs& checked(const generator::Manifest& manifest, const AttentionInputs& inputs) {
  check(inputs);
  check_suits(manifest, inputs);
  return inputs;
}

}  // namespace

HipProblem::HipProblem(std::shared_ptr<const HipDevice> device, const generator::Manifest& manifest,
                       const AttentionInputs& inputs, Layout layout)
    : device_(std::move(device)),
      problem_(checked(manifest, inputs), layout,
               [this](const char*, std::span<const std::byte> bytes) {
                 return inputs_.emplace_back(device_, bytes).address();
               }),
      o_elements_(rows_of(inputs.shape) * static_cast<std::size_t>(inputs.shape.v_head_dim)),
      lse_elements_(manifest.config.lse ? rows_of(inputs.shape) : 0),
      o_(device_, o_elements_ * sizeof(std::uint16_t)),
      lse_(device_, lse_elements_ * sizeof(float)),
      grid_(attention_grid(manifest, problem_.arguments.seqlen_q, problem_.arguments.heads,
                           static_cast<std::uint32_t>(inputs.shape.batch))) {
  clear();
  problem_.arguments.o = o_.address();
  problem_.arguments.lse = lse_.address();
  check_limits(manifest, problem_.arguments, inputs.shape.heads, inputs.shape.batch);
}

void HipProblem::clear() const {
  for (const HipMemory* memory : {&o_, &lse_}) memory->fill(std::byte{0xff});  // NaN in every format
}

void HipProblem::launch(const HipKernel& kernel, void* stream) const {
  kernel.launch(grid_, std::as_bytes(std::span(&problem_.arguments, 1)), stream);
}

std::vector<std::uint16_t> HipProblem::o() const {
  std::vector<std::uint16_t> o(o_elements_);
  o_.download(std::as_writable_bytes(std::span(o)));
  return o;
}

std::vector<float> HipProblem::lse() const {
  std::vector<float> lse(lse_elements_);
  lse_.download(std::as_writable_bytes(std::span(lse)));
  return lse;
}

}  // namespace zyfa::runtime
