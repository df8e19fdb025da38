#include "isa/emulator/strict_trace.h"

#include <algorithm>

namespace zyfa::emulator {

void StrictTrace::step(History& history, std::uint32_t index, std::uint32_t wave) {
  const Facts& facts = program_.facts(index);
  const bool follows = history.count_ > 0 && history.last_[(history.count_ - 1) % History::capacity].index + 1 == index;
  history.straight_ = follows ? history.straight_ + 1 : 0;
  if (facts.reach > 0 && !decided_[index]) {
    look_back(history, index, wave);
    if (history.straight_ >= facts.behind && facts.behind != never_covered) decided_[index] = true;
  } else if (facts.reach > 0 && history.straight_ < facts.behind) {
    look_back(history, index, wave);
  }
  history.now_ += facts.wait_states;
  history.last_[history.count_++ % History::capacity] = {index, history.now_};
}

void StrictTrace::look_back(const History& history, std::uint32_t index, std::uint32_t wave) {
  const std::uint64_t known = std::min<std::uint64_t>(history.count_, History::capacity);
  for (std::uint64_t i = 1; i <= known; ++i) {
    const auto& earlier = history.last_[(history.count_ - i) % History::capacity];
    const std::uint64_t distance = history.now_ - earlier.end;
    if (distance >= program_.facts(index).reach) return;
    const isa::PairRequirement& required = requirement(earlier.index, index);
    if (static_cast<std::uint64_t>(required.wait_states) <= distance) continue;
    const Party at{index, wave, {}}, other{earlier.index, wave, {}};
    if (log_.is_new(StrictRule::wait_states, at, other))
      log_.add(StrictRule::wait_states, at, other,
               fmt::format("{} wait states are required in between, {} were there", required.wait_states, distance),
               required.rule);
  }
}

const isa::PairRequirement& StrictTrace::requirement(std::uint32_t producer, std::uint32_t consumer) {
  const auto [place, is_new] = requirements_.try_emplace(std::uint64_t{producer} << 32 | consumer);
  if (is_new)
    place->second = isa::required_wait_states(program_.inst(producer), program_.inst(consumer), program_.machine());
  return place->second;
}

}  // namespace zyfa::emulator
