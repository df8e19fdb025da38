// Runs workgroups of a kernel on the pipe model (isa/pipes), with a problem's tensors where the kernel looks for them.
#pragma once

#include "isa/pipes/compute_unit.h"
#include "runtime_loader/aiter_run.h"
#include "runtime_loader/emulate.h"
#include "runtime_loader/grid_estimate.h"
#include "runtime_loader/launch_file.h"

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>

namespace zyfa::runtime {

// One head of a problem; heads and batch entries behave alike, so only their number counts.
struct SimulatedProblem {
  std::string abi;          // of AITER's objects (parse_aiter_abi); empty for our own kernels
  std::string launch = {};  // a launch description (launch_file.h), which all below do not belong to
  int seqlen_q = 4096, seqlen_k = 4096;
  int heads = 16, kv_heads = 16, batch = 1;
  InputKind input = InputKind::gaussian;
  double sigma = 1;  // of the logits
  std::uint64_t seed = 1;
};

// A kernel and its input, which can be run again and again.
class Simulation {
 public:
  // Throws Error for what load_kernel, load_aiter_kernel, load_launched_kernel or make_inputs refuse, and for an input
  // other than gaussian where the format's packed layouts are not rebuilt.
  Simulation(const std::filesystem::path& code_object, const SimulatedProblem& problem);

  // Workgroup x of the first head, whatever number its order gives it (generator::work_of); of a launch description
  // that number in grid order.
  pipes::Result run(std::uint32_t workgroup, const pipes::Options& options) const;

  const std::string& symbol() const;
  const isa::Program& program() const;
  std::uint32_t workgroups_per_head() const;    // of a launch description: all
  std::optional<AttentionShape> shape() const;  // of all heads and batch entries; none for a launch description
  // "gaussian, sigma 1, seed 1", or what runs in its place.
  std::string input() const;
  // "batch 1, heads 16, 4096 queries, 4096 keys, causal; gaussian, ..." or "gemm.json, 64 workgroups".
  std::string problem() const;
  const generator::KernelDescriptor& descriptor() const;
  const generator::Manifest* manifest() const;  // null but for our own kernels
  GridProblem grid() const;

 private:
  struct Own {
    Kernel kernel;
    AttentionInputs inputs;
  };
  struct Aiter {
    AiterKernel kernel;
    AiterProblem problem;
    AiterInputs inputs;
  };

  static Own load_own(const std::filesystem::path& code_object, const SimulatedProblem& problem);
  static Aiter load_aiter(const std::filesystem::path& code_object, const SimulatedProblem& problem);
  static std::variant<Own, Aiter, LaunchedKernel> load(const std::filesystem::path& code_object,
                                                       const SimulatedProblem& problem);

  std::uint32_t number_in_grid(std::uint32_t workgroup) const;

  SimulatedProblem problem_;
  std::variant<Own, Aiter, LaunchedKernel> kernel_;
};

// Share of the blocks of 64 keys that a run left out of the output, hidden ones of edge tiles among them; 0 for a
// kernel that leaves none out (generator::AttentionConfig::skip_zero_blocks).
double skipped_blocks(const generator::Manifest& manifest, const pipes::Result& result);

// A machine, and a workgroup and the whole grid on it.
struct SimulatedMachine {
  std::string name;  // nominal, optimistic, pessimistic or a file
  isa::Machine machine;
  std::uint32_t workgroup = 0;  // that is reported
  pipes::Result result;         // its
  std::optional<pipes::Loop> loop;
  GridEstimate estimate;

  double loop_clk() const { return loop ? loop->clk_per_iteration() : 0; }
};

struct SimulatedRun {
  std::optional<std::uint32_t> workgroup;  // to report, one of a head; none: slowest_workgroup
  std::optional<double> clock_ghz;         // of the estimate; none: the machine's peak
};

// The one with the most clocks of a head's first, middle and last, the first of equals. Causal masks give workgroups
// unequal work, and kernels number them in orders of their own. Each of the `samples` counts `done` up.
inline constexpr std::uint64_t samples = 3;
std::uint32_t slowest_workgroup(const Simulation& simulation, const isa::Machine& machine,
                                std::atomic<std::int64_t>& done);

// Simulates the first, middle and last workgroup for the estimate, and the reported one: at most `simulations` in all,
// each of which counts `done` up.
inline constexpr std::uint64_t simulations = samples + 1;
SimulatedMachine simulate(const Simulation& simulation, std::string name, const isa::Machine& machine,
                          const SimulatedRun& run, std::atomic<std::int64_t>& done);

}  // namespace zyfa::runtime
