// The kernels under strict mode and adversarial timing: nothing to report, and the same bits whatever the timing. Every
// wait, nop and barrier is needed for that: without any one of them, strict mode reports or the emulator traps. What
// the problems never reach is left to the static checker.
#include "isa/hazards.h"
#include "isa/in_flight.h"
#include "isa/text.h"
#include "tests/support/catch.h"
#include "tests/support/kernels.h"
#include "tests/support/removal.h"

#include <algorithm>
#include <bit>

using namespace zyfa;
using namespace zyfa::runtime;
using isa::Inst;
using isa::Op;
using isa::OperandKind;
using isa::Program;

namespace {

// Whole tiles, edge tiles, tiles that only other waves need, waves without queries.
AttentionInputs inputs(bool causal, int queries = 300, int keys = 700, double sigma = 1.5, int head_dim = 128,
                       bool q_bf16 = false) {
  const AttentionShape shape{.batch = 1,
                             .heads = 1,
                             .kv_heads = 1,
                             .seqlen_q = queries,
                             .seqlen_k = keys,
                             .head_dim = head_dim,
                             .causal = causal};
  return make_inputs(shape, InputKind::gaussian, sigma, 3, {.distinct_descales = true, .q_bf16 = q_bf16});
}

bool same_bits(const EmulatedRun& a, const EmulatedRun& b) {
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  return a.o == b.o && std::ranges::equal(a.lse, b.lse, {}, bits, bits);
}

EmulatedRun run_strict(const Kernel& kernel, const AttentionInputs& in) {
  EmulationOptions options;
  options.emulator.strict = true;
  return run_on_emulator(kernel, in, options);
}

EmulatedRun run_shuffled(const Kernel& kernel, const AttentionInputs& in, std::uint64_t seed, bool strict = false) {
  EmulationOptions options;
  options.emulator.strict = strict;
  options.emulator.shuffle_seed = seed;
  return run_on_emulator(kernel, in, options);
}

// The first seed whose run differs or traps; `seeds` if none does.
std::uint64_t first_difference(const Kernel& kernel, const AttentionInputs& in, const EmulatedRun& expected,
                               std::uint64_t seeds) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const EmulatedRun run = run_shuffled(kernel, in, seed);
    if (run.result.trap || !same_bits(run, expected)) return seed;
  }
  return seeds;
}

// Whether the problem takes any wave to the instruction: a branch to nowhere in its place is a trap.
bool is_executed(Kernel kernel, std::uint32_t position, const AttentionInputs& in) {
  Inst& inst = kernel.code.program.code[position];
  inst = {.op = Op::s_branch, .where = inst.where};
  inst.args[0] = {OperandKind::label, static_cast<std::uint32_t>(kernel.code.program.code.size())};
  return run_on_emulator(kernel, in).result.trap.has_value();
}

std::uint32_t count(const Program& program, Op op) {
  return static_cast<std::uint32_t>(std::ranges::count(program.code, op, &Inst::op));
}

}  // namespace

TEST_CASE("Strict: the kernels leave nothing undefined", "[quick][strict]") {
  for (const bool causal : {false, true})
    for (const bool lse : {false, true}) {
      const Kernel kernel = generate_kernel(causal, lse);
      for (const auto& [queries, keys] : {std::pair{300, 700}, {1, 1}, {257, 5}, {520, 513}, {64, 0}}) {
        CAPTURE(causal, lse, queries, keys);
        const AttentionInputs in = inputs(causal, queries, keys);
        const EmulatedRun run = run_strict(kernel, in);
        CHECK_FALSE(run.result.trap);
        for (const auto& f : run.result.findings) {
          INFO(f.message);
          CHECK(false);
        }
        CHECK(same_bits(run, run_on_emulator(kernel, in)));
      }
    }
}

TEST_CASE("Strict: taking away any wait, nop or barrier is caught", "[strict]") {
  // How many are not executed on the problems below; most of them: blocks of the first tile that are seen in part.
  struct Subject {
    generator::AttentionConfig config;
    int never_executed;
  };
  using enum generator::Softmax;
  for (const auto& [config, expected] :
       {Subject{{.causal = false, .softmax = lean, .lse = true}, 7}, Subject{{.softmax = lean, .lse = true}, 5},
        Subject{{.head_dim = 192, .softmax = exact}, 5},
        Subject{
            {.q_dtype = generator::QueryType::bf16, .causal = false, .score_scale = generator::ScoreScaling::folded},
            7},
        Subject{{.schedule = "interleaved"}, 8}}) {
    const bool causal = config.causal;
    Kernel kernel = generate_kernel(config);
    // The last tile without its second half, and with all of its blocks; scores that outgrow their reference, in tiles
    // of queries that use all waves.
    const int dim = config.head_dim;
    const bool bf16 = config.q_dtype == generator::QueryType::bf16;
    const std::array problems = {inputs(causal, 300, 700, 1.5, dim, bf16), inputs(causal, 300, 767, 1.5, dim, bf16),
                                 inputs(causal, 512, 400, 200, dim, bf16)};
    for (const AttentionInputs& in : problems) REQUIRE(run_strict(kernel, in).result.findings.empty());
    const Kernel kernel_as_is = kernel;
    const Program whole = kernel.code.program;
    int never_executed = 0;
    std::string those;
    for (std::uint32_t i = 0; i < whole.code.size(); ++i) {
      const Op op = whole.code[i].op;
      if (op != Op::s_waitcnt && op != Op::s_nop && op != Op::s_barrier) continue;
      kernel.code.program = without(whole, i);
      CAPTURE(kernel.manifest.symbol, i, isa::print(whole.code[i]), to_string(whole.code[i].where));
      const bool caught = std::ranges::any_of(problems, [&](const AttentionInputs& in) {
        const EmulatedRun run = run_strict(kernel, in);
        return run.result.trap || !run.result.findings.empty();
      });
      if (caught) continue;
      ++never_executed;
      those += fmt::format("{} ({})\n", isa::print(whole.code[i]), to_string(whole.code[i].where));
      for (const AttentionInputs& in : problems) CHECK_FALSE(is_executed(kernel_as_is, i, in));
      const bool seen_by_checkers = !isa::check_hazards(kernel.code.program, isa::Machine{}).empty() ||
                                    !isa::check_in_flight(kernel.code.program).empty();
      CHECK(seen_by_checkers);
    }
    INFO(those);
    CHECK(never_executed <= expected);
    CHECK(count(whole, Op::s_barrier) >= 3);
    CHECK(count(whole, Op::s_nop) > 3);
    CHECK(count(whole, Op::s_waitcnt) > 10);
  }
}

TEST_CASE("Shuffle: the kernels compute the same bits for 50 seeds", "[quick][strict]") {
  for (const bool causal : {false, true}) {
    const Kernel kernel = generate_kernel(causal, true);
    const AttentionInputs in = inputs(causal);
    CHECK(first_difference(kernel, in, run_on_emulator(kernel, in), 50) == 50);
    CHECK(run_shuffled(kernel, in, 1000, true).result.findings.empty());
  }
}

TEST_CASE("Shuffle: the kernels compute the same bits for 1,000 seeds", "[strict]") {
  for (const bool causal : {false, true}) {
    const Kernel kernel = generate_kernel(causal, true);
    const AttentionInputs in = inputs(causal, 70, 300);
    CHECK(first_difference(kernel, in, run_on_emulator(kernel, in), 1000) == 1000);
  }
}

TEST_CASE("Shuffle: without a barrier or a wait for the tiles some seed computes something else", "[strict]") {
  Kernel kernel = generate_kernel(false, true);
  const AttentionInputs in = inputs(false);
  const EmulatedRun expected = run_on_emulator(kernel, in);
  const Program whole = kernel.code.program;
  int barriers = 0, tile_waits = 0;
  for (std::uint32_t i = 0; i + 1 < whole.code.size(); ++i) {
    const bool is_barrier = whole.code[i].op == Op::s_barrier;
    const bool is_tile_wait =
        whole.code[i].op == Op::s_waitcnt && whole.code[i].mods.vmcnt != isa::Modifiers::not_waited;
    if (!is_barrier && !is_tile_wait) continue;
    kernel.code.program = without(whole, i);
    CAPTURE(i, isa::print(whole.code[i]));
    // All waves do the same in each trip of this kernel's loops but the last, in which idle waves only pass by.
    const bool differs = first_difference(kernel, in, expected, 50) < 50;
    (is_barrier ? barriers : tile_waits) += differs;
  }
  CHECK(barriers >= 2);
  CHECK(tile_waits >= 2);
}
