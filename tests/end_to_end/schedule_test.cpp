// Schedules are free to place instructions, not to compute anything else: every value of every parameter gives the same
// bits, and nothing that strict mode would report.
#include "generator/schedule.h"

#include "isa/error.h"
#include "runtime_loader/tune.h"
#include "tests/support/catch.h"
#include "tests/support/kernels.h"
#include "tests/support/process.h"

#include <algorithm>
#include <atomic>
#include <bit>

using namespace zyfa;
using namespace zyfa::generator;
using namespace zyfa::runtime;

namespace {

AttentionPlan with(AttentionPlan plan, std::size_t parameter, int to) {
  value(plan.schedule, parameter) = to;
  return plan;
}

Kernel kernel_of(const AttentionPlan& plan) {
  const GeneratedKernel kernel = generate_plan(plan, isa::Machine{});
  return make_kernel(kernel.code_object, manifest_from_json(kernel.manifest, "generated manifest"), plan.symbol);
}

// Whole tiles, edge tiles, tiles that only other waves need, references that rise, in strict mode.
EmulatedRun run(const AttentionPlan& plan) {
  const AttentionConfig& c = plan.config;
  const AttentionInputs inputs = make_inputs({.batch = 1,
                                              .heads = 1,
                                              .kv_heads = 1,
                                              .seqlen_q = 300,
                                              .seqlen_k = 740,
                                              .head_dim = c.head_dim,
                                              .v_head_dim = c.v_head_dim,
                                              .causal = c.causal},
                                             InputKind::gaussian, 1.5, 3);
  EmulationOptions options;
  options.emulator.strict = true;
  EmulatedRun run = run_on_emulator(kernel_of(plan), inputs, options);
  if (run.result.trap) throw Error("trap: {}", run.result.trap->message);
  if (!run.result.findings.empty()) throw Error("finding: {}", run.result.findings.front().message);
  return run;
}

bool same_bits(const EmulatedRun& a, const EmulatedRun& b) {
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  return a.o == b.o && std::ranges::equal(a.lse, b.lse, {}, bits, bits);
}

// What a plan with this schedule does not have room for.
bool is_too_large(const Error& error) {
  return std::string_view(error.what()).find("registers left") != std::string_view::npos;
}

}  // namespace

TEST_CASE("Schedule: no parameter changes a bit of the result", "[schedule]") {
  for (const auto& [schedule, softmax, head_dim, causal, least] :
       {std::tuple{"ping-pong", Softmax::lean, 128, true, 30},
        {"ping-pong", Softmax::exact, 128, false, 30},
        {"ping-pong", Softmax::exact, 192, true, 30},
        {"interleaved", Softmax::lean, 128, true, 9},
        {"interleaved", Softmax::lean, 192, false, 9}}) {
    const AttentionConfig config{
        .head_dim = head_dim, .causal = causal, .softmax = softmax, .schedule = schedule, .lse = true};
    const AttentionPlan plan = make_plan(config);
    const EmulatedRun expected = run(plan);
    const std::vector<ScheduleParameter> list = parameters(plan.schedule);
    int ran = 0;
    for (std::size_t i = 0; i < list.size(); ++i)
      for (const int to : list[i].values) {
        AttentionPlan changed = with(plan, i, to);
        if (changed.schedule == plan.schedule) continue;
        CAPTURE(plan.symbol, list[i].name, to);
        try {
          CHECK(same_bits(run(changed), expected));
          ++ran;
        } catch (const Error& error) {
          INFO(error.what());
          CHECK(is_too_large(error));
        }
      }
    CHECK(ran >= least);
  }
}

TEST_CASE("Schedule: what is recorded is what the model says, and computes what the default does", "[schedule]") {
  for (const ScheduleRecord& record : recorded_schedules()) {
    CAPTURE(record_name(record.config, family(record.schedule)));
    INFO("If a kernel or the model has changed: zyfa-gen --tune, docs/tuning.md");
    const Schedule first = default_schedule(families().front(), record.config);
    const Schedule defaults = default_schedule(family(record.schedule), record.config);
    CHECK(judge(record.config, record.schedule) == record.clk);
    CHECK(judge(record.config, first) == record.default_clk);
    CHECK(record.problem == tuning_problem(record.config));
    const EmulatedRun found = run(make_plan(record.config, record.schedule));
    CHECK(same_bits(run(make_plan(record.config, defaults)), found));
  }
}

TEST_CASE("Schedule: what is judged is the kernel that is asked for by name", "[schedule]") {
  for (const ScoreScaling scaling : {ScoreScaling::multiply_add, ScoreScaling::folded}) {
    AttentionConfig config{.causal = false, .score_scale = scaling};
    const auto of = [&](const char* family) { return judge(config, default_schedule(family, config)); };
    const MachineClk interleaved = of("interleaved"), ping_pong = of("ping-pong");
    config.schedule = "interleaved";
    CHECK(make_plan(config).workgroup_size() == 256);
    CHECK(of("interleaved") == interleaved);
    // Both keep the matrix pipe busy, and neither twice as long.
    for (std::size_t m = 0; m < interleaved.size(); ++m) {
      CHECK(interleaved[m] != ping_pong[m]);
      CHECK(interleaved[m] < ping_pong[m] * 3 / 2);
    }
  }
}

TEST_CASE("Schedule: a search goes on from its state, and a cut one is the beginning of a longer one", "[schedule]") {
  const TemporaryDirectory directory;
  const AttentionConfig config{.causal = false};
  std::atomic<std::int64_t> done = 0;
  int left = 3;
  const TuneOptions options{"ping-pong", directory.file("s.tuning"), 1e9, [&left] { return left-- <= 0; }};
  const Tuned first = tune(config, options, done);
  CHECK_FALSE(first.complete);
  left = 3;
  const Tuned again = tune(config, options, done);  // all of it from the state
  CHECK(again.candidates == first.candidates);
  CHECK(to_json(again.record) == to_json(first.record));
  left = 6;
  const Tuned longer = tune(config, options, done);
  CHECK(longer.candidates > first.candidates);
  CHECK(longer.record.score() <= first.record.score());
  // Of another search it is not taken.
  AttentionConfig other = config;
  other.lse = true;
  CHECK_THROWS_AS(tune(other, options, done), Error);
}
