#include "runtime_loader/simulate.h"

#include "isa/error.h"

#include <algorithm>
#include <set>

namespace zyfa::runtime {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};

// Formats whose packed layouts are not rebuilt (docs/aiter.md): zeros of scale 1 give logits of 0, which take the
// kernels' ordinary path; arbitrary bytes overflow.
void make_calm(AiterInputs& inputs) {
  constexpr std::byte scale_of_one{0x7f};
  for (AiterOperand* operand : {&inputs.q, &inputs.k}) {
    std::ranges::fill(operand->bytes, std::byte{0});
    std::ranges::fill(operand->scales, scale_of_one);
  }
}

AttentionShape shape_of(const SimulatedProblem& problem, int head_dim, int v_head_dim, bool causal) {
  return {.batch = problem.batch,
          .heads = problem.heads,
          .kv_heads = problem.kv_heads,
          .seqlen_q = problem.seqlen_q,
          .seqlen_k = problem.seqlen_k,
          .head_dim = head_dim,
          .v_head_dim = v_head_dim,
          .causal = causal};
}

AttentionShape one_head(AttentionShape shape) {
  shape.batch = shape.heads = shape.kv_heads = 1;
  return shape;
}

std::set<std::uint32_t> sampled_workgroups(const Simulation& simulation) {
  const std::uint32_t all = simulation.workgroups_per_head();
  return {0, all / 2, all - 1};
}

}  // namespace

Simulation::Own Simulation::load_own(const std::filesystem::path& code_object, const SimulatedProblem& problem) {
  Own own{load_kernel(code_object), {}};
  const generator::AttentionConfig& config = own.kernel.manifest.config;
  const AttentionShape shape = one_head(shape_of(problem, config.head_dim, config.v_head_dim, config.causal));
  own.inputs = make_inputs(shape, problem.input, problem.sigma, problem.seed,
                           {.power_of_two_factor = config.needs_power_of_two_factor(),
                            .q_bf16 = config.q_dtype == generator::QueryType::bf16});
  return own;
}

Simulation::Aiter Simulation::load_aiter(const std::filesystem::path& code_object, const SimulatedProblem& problem) {
  Aiter aiter{load_aiter_kernel(code_object, parse_aiter_abi(problem.abi)), {}, {}};
  aiter.problem = {.sequences = {{problem.seqlen_q, problem.seqlen_k}}, .seed = problem.seed};
  const AiterKernel& kernel = aiter.kernel;
  if (!kernel.format.plain) {
    if (problem.input != InputKind::gaussian)
      throw Error("--input {}: the packed layout of format {} is not rebuilt, it runs on zeros",
                  to_string(problem.input), kernel.format.name);
    aiter.inputs = make_aiter_inputs(kernel, aiter.problem);
    make_calm(aiter.inputs);
    return aiter;
  }
  const AttentionShape shape = one_head(shape_of(problem, kernel.head_dim, kernel.v_head_dim, kernel.causal));
  aiter.inputs = encode_aiter_inputs(kernel, make_inputs(shape, problem.input, problem.sigma, problem.seed));
  return aiter;
}

std::variant<Simulation::Own, Simulation::Aiter, LaunchedKernel> Simulation::load(
    const std::filesystem::path& code_object, const SimulatedProblem& problem) {
  if (!problem.launch.empty()) return load_launched_kernel(code_object, problem.launch);
  if (!problem.abi.empty()) return load_aiter(code_object, problem);
  return load_own(code_object, problem);
}

Simulation::Simulation(const std::filesystem::path& code_object, const SimulatedProblem& problem)
    : problem_(problem), kernel_(load(code_object, problem)) {}

const std::string& Simulation::symbol() const {
  return std::visit(Overloaded{[](const Own& k) -> const std::string& { return k.kernel.manifest.symbol; },
                               [](const Aiter& k) -> const std::string& { return k.kernel.symbol; },
                               [](const LaunchedKernel& k) -> const std::string& { return k.image.symbol; }},
                    kernel_);
}

const isa::Program& Simulation::program() const {
  return std::visit(Overloaded{[](const LaunchedKernel& k) -> const isa::Program& { return k.code.program; },
                               [](const auto& k) -> const isa::Program& { return k.kernel.code.program; }},
                    kernel_);
}

std::optional<AttentionShape> Simulation::shape() const {
  if (const Aiter* k = std::get_if<Aiter>(&kernel_))
    return shape_of(problem_, k->kernel.head_dim, k->kernel.v_head_dim, k->kernel.causal);
  const Own* own = std::get_if<Own>(&kernel_);
  if (!own) return std::nullopt;
  const generator::AttentionConfig& config = own->kernel.manifest.config;
  return shape_of(problem_, config.head_dim, config.v_head_dim, config.causal);
}

std::string Simulation::input() const {
  if (std::holds_alternative<LaunchedKernel>(kernel_)) return problem_.launch;
  const Aiter* aiter = std::get_if<Aiter>(&kernel_);
  if (aiter && !aiter->kernel.format.plain) return "zeros";
  return fmt::format("{}, sigma {}, seed {}", to_string(problem_.input), problem_.sigma, problem_.seed);
}

std::string Simulation::problem() const {
  const std::optional<AttentionShape> s = shape();
  if (!s) return fmt::format("{}, {} workgroups", input(), workgroups_per_head());
  return fmt::format("batch {}, heads {}, {} queries, {} keys{}; {}", s->batch, s->heads, s->seqlen_q, s->seqlen_k,
                     s->causal ? ", causal" : "", input());
}

const generator::KernelDescriptor& Simulation::descriptor() const {
  using Descriptor = generator::KernelDescriptor;
  return std::visit(Overloaded{[](const LaunchedKernel& k) -> const Descriptor& { return k.image.descriptor; },
                               [](const auto& k) -> const Descriptor& { return k.kernel.descriptor; }},
                    kernel_);
}

const generator::Manifest* Simulation::manifest() const {
  const Own* own = std::get_if<Own>(&kernel_);
  return own ? &own->kernel.manifest : nullptr;
}

std::uint32_t Simulation::workgroups_per_head() const {
  return std::visit(Overloaded{[this](const Own& k) {
                                 const auto tile = k.kernel.manifest.queries_per_workgroup;
                                 return (static_cast<std::uint32_t>(problem_.seqlen_q) + tile - 1) / tile;
                               },
                               [this](const Aiter& k) { return aiter_grid(k.kernel, problem_.seqlen_q, 1, 1)[0]; },
                               [](const LaunchedKernel& k) { return static_cast<std::uint32_t>(k.workgroups()); }},
                    kernel_);
}

GridProblem Simulation::grid() const {
  constexpr double output_bytes = 2;  // bf16
  const isa::Machine machine;
  GridProblem grid{.per_head = workgroups_per_head(), .flop_per_clk = machine.fp8_flop_per_clk};
  if (const LaunchedKernel* k = std::get_if<LaunchedKernel>(&kernel_)) {
    grid.footprint = static_cast<double>(k->buffer_bytes());
    return grid;
  }
  const AttentionShape s = *shape();
  const Aiter* aiter = std::get_if<Aiter>(&kernel_);
  const int qk_bits = aiter ? aiter->kernel.format.qk_bits : 8, v_bits = aiter ? aiter->kernel.format.v_bits : 8;
  const double q_row = s.head_dim * qk_bits / 8.0 + s.v_head_dim * output_bytes;
  const double k_row = s.head_dim * qk_bits / 8.0 + s.v_head_dim * v_bits / 8.0;
  grid.heads = s.heads;
  grid.kv_heads = s.kv_heads;
  grid.batch = s.batch;
  grid.flop = attention_flops(s);
  grid.kv_head_bytes = k_row * s.seqlen_k;
  grid.own_bytes = q_row * s.seqlen_q / grid.per_head;
  grid.footprint = (q_row * s.seqlen_q * s.heads + grid.kv_head_bytes * s.kv_heads) * s.batch;
  const std::uint64_t all = std::uint64_t{grid.per_head} * static_cast<std::uint64_t>(s.heads);
  // aiter-anatomy.md 1.1: v4's order is the same where it has one.
  grid.by_die = aiter ? aiter->kernel.abi == AiterAbi::v4 && all % 8 == 0 && s.heads <= 32
                      : std::get<Own>(kernel_).kernel.manifest.dies > 1;
  if (qk_bits == 16) grid.flop_per_clk = machine.bf16_flop_per_clk;
  return grid;
}

std::uint32_t Simulation::number_in_grid(std::uint32_t workgroup) const {
  const Own* own = std::get_if<Own>(&kernel_);
  const std::uint32_t all = workgroups_per_head();
  for (std::uint32_t i = 0; own && i < all; ++i)
    if (generator::work_of(i, all, own->kernel.manifest.dies) == workgroup) return i;
  return workgroup;
}

pipes::Result Simulation::run(std::uint32_t workgroup, const pipes::Options& options) const {
  std::optional<pipes::Result> result;
  const std::uint32_t number = number_in_grid(workgroup);
  const Runner runner = [&](const isa::Program& program, const emulator::Launch& launch,
                            const emulator::GlobalMemory& memory) {
    result = pipes::simulate(program, launch, memory, number, options);
    return emulator::Result{};
  };
  std::visit(Overloaded{[&](const Own& k) {
                          EmulationOptions emulation;
                          emulation.runner = runner;
                          run_on_emulator(k.kernel, k.inputs, emulation);
                        },
                        [&](const Aiter& k) {
                          run_aiter(k.kernel, k.problem, k.inputs, {}, emulator::MemoryModel::hardware, runner);
                        },
                        [&](const LaunchedKernel& k) { run_launch(k, runner); }},
             kernel_);
  if (!result) throw Error("a problem without queries has no workgroup to simulate");
  if (result->trap) throw Error("{}", result->trap->message);
  return std::move(*result);
}

double skipped_blocks(const generator::Manifest& manifest, const pipes::Result& result) {
  constexpr double blocks_of_a_phase = 2;
  double skipped = 0, all = 0;
  for (const generator::SkippingWay& way : manifest.skipping_ways) {
    const auto times = static_cast<double>(result.instructions[way.instruction].issues);
    skipped += times * way.skipped;
    all += times * blocks_of_a_phase;
  }
  return all > 0 ? skipped / all : 0;
}

std::uint32_t slowest_workgroup(const Simulation& simulation, const isa::Machine& machine,
                                std::atomic<std::int64_t>& done) {
  std::uint32_t slowest = 0;
  pipes::Clk most = 0;
  for (const std::uint32_t x : sampled_workgroups(simulation)) {
    const pipes::Clk clk = simulation.run(x, {.machine = machine}).cycles;
    if (clk > most) slowest = x;
    most = std::max(most, clk);
    ++done;
  }
  return slowest;
}

SimulatedMachine simulate(const Simulation& simulation, std::string name, const isa::Machine& machine,
                          const SimulatedRun& run, std::atomic<std::int64_t>& done) {
  SimulatedMachine simulated{std::move(name), machine, 0, {}, {}, {}};
  const std::set<std::uint32_t> sampled = sampled_workgroups(simulation);
  std::set<std::uint32_t> workgroups = sampled;
  if (run.workgroup) workgroups.insert(*run.workgroup);
  std::vector<GridSample> grid_samples;
  for (const std::uint32_t x : workgroups) {
    pipes::Result result = simulation.run(x, {.machine = machine});
    if (sampled.contains(x)) grid_samples.push_back({x, static_cast<double>(result.cycles), result.counts});
    if (run.workgroup ? x == *run.workgroup : result.cycles > simulated.result.cycles) {
      simulated.workgroup = x;
      simulated.result = std::move(result);
    }
    ++done;
  }
  simulated.loop = pipes::find_loop(simulated.result);
  simulated.estimate =
      estimate_grid(simulation.grid(), grid_samples, machine, run.clock_ghz.value_or(machine.clock_ghz));
  return simulated;
}

}  // namespace zyfa::runtime
