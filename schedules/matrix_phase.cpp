#include "schedules/matrix_phase.h"

#include <algorithm>
#include <limits>

namespace zyfa::schedules {
namespace {

using generator::PingPong;

// Where the steps of two lists stand in one.
struct Order {
  std::vector<std::size_t> scores, outputs;
};

Order merge(std::size_t scores, std::size_t outputs, const PingPong& schedule) {
  Order order;
  const std::size_t all = scores + outputs;
  const auto lead = std::min(scores, static_cast<std::size_t>(schedule.scores_lead));
  while (order.scores.size() < lead) order.scores.push_back(order.scores.size());
  for (bool output = true; order.scores.size() + order.outputs.size() < all; output = !output)
    for (int i = 0; i < schedule.run_length; ++i) {
      std::vector<std::size_t>& list = output ? order.outputs : order.scores;
      if (list.size() < (output ? outputs : scores)) list.push_back(order.scores.size() + order.outputs.size());
    }
  return order;
}

}  // namespace

MatrixPhase arrange(Builder& k, const Walk& w, PhaseWork work) {
  const PingPong& schedule = free_choices(w.plan);
  const std::size_t scores = work.scores.size(), outputs = work.outputs.size();
  const Order order = merge(scores, outputs, schedule);
  MatrixPhase phase;
  phase.steps.resize(scores + outputs);
  for (std::size_t i = 0; i < scores; ++i) phase.steps[order.scores[i]] = std::move(work.scores[i]);
  for (std::size_t i = 0; i < outputs; ++i) phase.steps[order.outputs[i]] = std::move(work.outputs[i]);

  // What is late belongs to the second half of the keys.
  std::size_t deadline = phase.steps.size();
  if (outputs > 0) deadline = order.outputs[outputs / 2];
  if (scores > 0) deadline = std::min(deadline, order.scores[scores / 2]);
  const auto late_per_gap = static_cast<std::size_t>(schedule.late_per_gap);
  for (std::size_t i = 0; i < work.late.size(); ++i)
    phase.errands.push_back({std::min(1 + i / late_per_gap, deadline), std::move(work.late[i])});

  const std::size_t fetch =
      1 + (work.late.size() + late_per_gap - 1) / late_per_gap + static_cast<std::size_t>(schedule.fetch_from);
  for (std::size_t i = 0; i < work.fetch.size(); ++i)
    phase.errands.push_back({fetch + i * static_cast<std::size_t>(schedule.fetch_every), std::move(work.fetch[i])});

  if (work.maxima)
    for (std::size_t half = 0; half < static_cast<std::size_t>(schedule.early_maxima); ++half) {
      const std::size_t first =
          order.scores[(half + 1) * scores / 2 - 1] + static_cast<std::size_t>(schedule.maxima_after);
      Errands pieces = maximum_of_lane(k, w.tiles[0].halves[half]);
      for (std::size_t i = 0; i < pieces.size(); ++i)
        phase.errands.push_back({first + i / static_cast<std::size_t>(schedule.maxima_per_gap), std::move(pieces[i])});
    }
  std::ranges::stable_sort(phase.errands, {}, &Errand::before);
  return phase;
}

void run(Builder& k, const Walk& w, const MatrixPhase& phase, bool hands_over) {
  const PingPong& schedule = free_choices(w.plan);
  std::vector<Errand> errands = phase.errands;
  if (hands_over && schedule.early_step)
    errands.push_back({std::numeric_limits<std::size_t>::max(), [&] { step_on(k, w); }});
  multiply(k, w, phase.steps, errands,
           {schedule.matrix_priority, hands_over, static_cast<std::size_t>(schedule.hand_over)});
}

}  // namespace zyfa::schedules
