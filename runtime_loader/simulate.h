// Runs workgroups of a kernel on the pipe model (isa/pipes), with a problem's tensors where the kernel looks for them,
// and extends what was measured to the whole grid.
#pragma once

#include "isa/pipes/compute_unit.h"
#include "runtime_loader/aiter_run.h"
#include "runtime_loader/emulate.h"

#include <filesystem>
#include <optional>
#include <string>

namespace zyfa::runtime {

// One head of a problem; heads and batch entries behave alike, so only their number counts.
struct SimulatedProblem {
  std::string abi;  // of AITER's objects (parse_aiter_abi); empty for our own kernels
  int seqlen_q = 4096, seqlen_k = 4096;
  int heads = 16, kv_heads = 16, batch = 1;
  double sigma = 1;  // of the logits
  std::uint64_t seed = 1;
};

// A kernel and its input, which can be run again and again.
class Simulation {
 public:
  // Throws Error for what load_kernel, load_aiter_kernel or make_inputs refuse.
  Simulation(const std::filesystem::path& code_object, const SimulatedProblem& problem);

  // Workgroup x of the first head.
  pipes::Result run(std::uint32_t workgroup, const pipes::Options& options) const;

  const std::string& symbol() const { return aiter_ ? aiter_->symbol : own_->manifest.symbol; }
  const isa::Program& program() const { return aiter_ ? aiter_->code.program : own_->code.program; }
  std::uint32_t workgroups_per_head() const;
  AttentionShape shape() const;  // of all heads and batch entries
  int qk_bits() const { return aiter_ ? aiter_->format.qk_bits : 8; }

 private:
  SimulatedProblem problem_;
  std::optional<Kernel> own_;
  std::optional<AttentionInputs> own_inputs_;
  std::optional<AiterKernel> aiter_;
  AiterProblem aiter_problem_;
  AiterInputs aiter_inputs_;
};

struct GridEstimate {
  double clk = 0;           // until the last compute unit is done
  double busy = 0;          // share of that time in which the average compute unit has work
  double tflops = 0;        // at the given clock
  double peak_percent = 0;  // of the matrix pipe's rate for the format of Q and K
  double clock_ghz = 0;
};

// Every workgroup of the grid, in the order in which they are dispatched (die i takes those with index i modulo the
// number of dies), each on the first compute unit of its die that is free. The first, middle and last workgroups of a
// head have been simulated; the others' clocks lie on straight lines between theirs.
GridEstimate estimate_grid(const Simulation& simulation, const std::vector<std::pair<std::uint32_t, pipes::Clk>>& known,
                           const isa::Machine& machine, double clock_ghz);

}  // namespace zyfa::runtime
