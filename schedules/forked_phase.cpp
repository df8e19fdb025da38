#include "schedules/forked_phase.h"

namespace zyfa::schedules {
namespace {

using generator::Label;
using generator::Token;

// Steps from `first` to `end`. `arriving` has an entry for each of all.
void run_steps(Builder& k, const Walk& w, const MatrixSteps& steps, std::size_t first, std::size_t end,
               std::vector<Token>& arriving, const Errands& list) {
  for (std::size_t i = first; i < end; ++i) {
    if (i < w.fragments.size())
      k.wait(w.first_fragments[i]);
    else
      k.wait(arriving[i]);
    for (const auto& multiply_tile : steps[i].multiply) multiply_tile(w.fragment(i));
    if (const std::size_t next = i + w.fragments.size(); next < steps.size())
      arriving[next] = steps[next].read(w.fragment(next));
    if (i < list.size()) list[i]();
  }
  if (end == steps.size())
    for (std::size_t i = end; i < list.size(); ++i) list[i]();
}

// The steps of the blocks that have a probability.
MatrixSteps output_without(int zero_blocks, const MatrixSteps& output) {
  const auto half = output.begin() + static_cast<std::ptrdiff_t>(output.size() / 2);
  return {zero_blocks & 1 ? half : output.begin(), zero_blocks & 2 ? half : output.end()};
}

// `way` for each value of zero_blocks from the first on.
template <class Way>
void fork(Builder& k, const Walk& w, int first, Label done, Way way) {
  for (int zero_blocks = first; zero_blocks < 4; ++zero_blocks) {
    const Label other = k.label("other_blocks");
    if (zero_blocks < 3) {
      k.s_cmp_eq_u32(*w.zero_blocks, zero_blocks);
      k.s_cbranch_scc0(other);
    }
    k.here(generator::way_without(zero_blocks));
    way(zero_blocks);
    k.s_branch(done);
    k.bind(other);
  }
}

}  // namespace

ForkedPhase multiply_forked(Builder& k, const Walk& w, const MatrixSteps& scores, const MatrixSteps& output,
                            const Errands& list) {
  ForkedPhase phase{
      scores, output, list, scores.size() - w.fragments.size(), {}, k.label("blocks_of_zeros"), k.label("multiplied")};
  const MatrixSteps steps = scores + output;
  phase.arriving.resize(steps.size());
  k.s_setprio(1);
  run_steps(k, w, steps, 0, phase.fork, phase.arriving, list);
  std::vector<Token> arriving = phase.arriving;
  k.s_cmp_lg_u32(*w.zero_blocks, 0);
  k.s_cbranch_scc1(phase.some_zero);
  k.here(generator::way_without(0));
  run_steps(k, w, steps, phase.fork, steps.size(), arriving, list);
  k.bind(phase.done);
  k.s_setprio(0);
  return phase;
}

void multiply_some(Builder& k, const Walk& w, const ForkedPhase& phase) {
  k.bind(phase.some_zero);
  fork(k, w, 1, phase.done, [&](int zero_blocks) {
    const MatrixSteps steps = phase.scores + output_without(zero_blocks, phase.output);
    std::vector<Token> arriving = phase.arriving;
    run_steps(k, w, steps, phase.fork, steps.size(), arriving, phase.list);
    // Waits for the scores here, so that the common way need not where this one joins it.
    const Block& last = w.tiles[0].halves[1];
    k.settle();
    k.v_mov_b32(last.p[0], last.s[31]);
  });
}

void multiply_output(Builder& k, const Walk& w, const MatrixSteps& output, const Errands& late, const Errands& list) {
  const Label done = k.label("last_output_done");
  fork(k, w, 0, done, [&](int zero_blocks) {
    const MatrixSteps steps = output_without(zero_blocks, output);
    if (!steps.empty()) read_first_fragments(k, w, steps);
    for (const auto& errand : late) errand();
    k.settle();
    multiply(k, w, steps, after_each(list));
  });
  k.bind(done);
}

}  // namespace zyfa::schedules
