#include "runtime_loader/simulate.h"

#include "isa/error.h"

#include <algorithm>

namespace zyfa::runtime {
namespace {

// Formats whose packed layouts are not rebuilt (docs/aiter.md): zeros of scale 1 give logits of 0, which take the
// kernels' ordinary path; arbitrary bytes overflow.
void make_calm(AiterInputs& inputs) {
  constexpr std::byte scale_of_one{0x7f};
  for (AiterOperand* operand : {&inputs.q, &inputs.k}) {
    std::ranges::fill(operand->bytes, std::byte{0});
    std::ranges::fill(operand->scales, scale_of_one);
  }
}

double interpolate(const std::vector<std::pair<std::uint32_t, pipes::Clk>>& known, std::uint32_t x) {
  auto right = std::ranges::lower_bound(known, x, {}, &std::pair<std::uint32_t, pipes::Clk>::first);
  if (right == known.end()) right = std::prev(right);
  if (right->first == x || right == known.begin()) return static_cast<double>(right->second);
  const auto left = std::prev(right);
  const double t = static_cast<double>(x - left->first) / static_cast<double>(right->first - left->first);
  return static_cast<double>(left->second) * (1 - t) + static_cast<double>(right->second) * t;
}

}  // namespace

Simulation::Simulation(const std::filesystem::path& code_object, const SimulatedProblem& problem) : problem_(problem) {
  if (problem.abi.empty()) {
    own_ = load_kernel(code_object);
    const generator::AttentionConfig& config = own_->manifest.config;
    AttentionShape shape = this->shape();
    shape.batch = shape.heads = shape.kv_heads = 1;
    shape.head_dim = config.head_dim;
    own_inputs_ = make_inputs(shape, InputKind::gaussian, problem.sigma, problem.seed);
    return;
  }
  aiter_ = load_aiter_kernel(code_object, parse_aiter_abi(problem.abi));
  aiter_problem_ = {.sequences = {{problem.seqlen_q, problem.seqlen_k}}, .sigma = problem.sigma, .seed = problem.seed};
  aiter_inputs_ = make_aiter_inputs(*aiter_, aiter_problem_);
  if (!aiter_->format.plain) make_calm(aiter_inputs_);
}

AttentionShape Simulation::shape() const {
  AttentionShape shape{.batch = problem_.batch,
                       .heads = problem_.heads,
                       .kv_heads = problem_.kv_heads,
                       .seqlen_q = problem_.seqlen_q,
                       .seqlen_k = problem_.seqlen_k};
  shape.head_dim = aiter_ ? aiter_->head_dim : own_->manifest.config.head_dim;
  shape.v_head_dim = aiter_ ? aiter_->v_head_dim : own_->manifest.config.v_head_dim;
  shape.causal = aiter_ ? aiter_->causal : own_->manifest.config.causal;
  return shape;
}

std::uint32_t Simulation::workgroups_per_head() const {
  if (aiter_) return aiter_grid(*aiter_, problem_.seqlen_q, 1, 1)[0];
  const auto tile = static_cast<std::uint32_t>(own_->manifest.queries_per_workgroup);
  return (static_cast<std::uint32_t>(problem_.seqlen_q) + tile - 1) / tile;
}

pipes::Result Simulation::run(std::uint32_t workgroup, const pipes::Options& options) const {
  std::optional<pipes::Result> result;
  const Runner runner = [&](const isa::Program& program, const emulator::Launch& launch,
                            const emulator::GlobalMemory& memory) {
    result = pipes::simulate(program, launch, memory, workgroup, options);
    return emulator::Result{};
  };
  if (aiter_) {
    run_aiter(*aiter_, aiter_problem_, aiter_inputs_, {}, emulator::MemoryModel::hardware, runner);
  } else {
    EmulationOptions emulation;
    emulation.runner = runner;
    run_on_emulator(*own_, *own_inputs_, emulation);
  }
  if (!result) throw Error("a problem without queries has no workgroup to simulate");
  if (result->trap) throw Error("{}", result->trap->message);
  return std::move(*result);
}

GridEstimate estimate_grid(const Simulation& simulation, const std::vector<std::pair<std::uint32_t, pipes::Clk>>& known,
                           const isa::Machine& machine, double clock_ghz) {
  const AttentionShape shape = simulation.shape();
  const std::uint32_t per_head = simulation.workgroups_per_head();
  const std::uint64_t all =
      std::uint64_t{per_head} * static_cast<std::uint64_t>(shape.heads) * static_cast<std::uint64_t>(shape.batch);
  const auto dies = static_cast<std::size_t>(machine.dies);
  std::vector<std::vector<double>> free(dies,
                                        std::vector<double>(static_cast<std::size_t>(machine.compute_units) / dies));
  double work = 0, end = 0;
  for (std::uint64_t i = 0; i < all; ++i) {
    const double clk = interpolate(known, static_cast<std::uint32_t>(i % per_head));
    std::vector<double>& units = free[i % dies];
    std::ranges::pop_heap(units, std::greater{});
    units.back() += clk;
    end = std::max(end, units.back());
    std::ranges::push_heap(units, std::greater{});
    work += clk;
  }
  GridEstimate estimate{.clk = end, .busy = work / (end * machine.compute_units), .clock_ghz = clock_ghz};
  estimate.tflops = attention_flops(shape) / end * clock_ghz * 1e-3;
  const int rate = simulation.qk_bits() == 16 ? machine.bf16_flop_per_clk : machine.fp8_flop_per_clk;
  estimate.peak_percent = 100 * attention_flops(shape) / (end * machine.compute_units * rate);
  return estimate;
}

}  // namespace zyfa::runtime
