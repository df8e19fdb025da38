// Control flow of a Program at the level of instructions: who may run before and after whom. Branches are
// taken to go both ways; nothing follows s_endpgm or s_setpc_b64, and s_swappc_b64 comes back.
#pragma once

#include "isa/inst.h"

#include <array>
#include <span>

namespace zyfa::isa {

class Flow {
 public:
  // Throws Error naming the source line of a branch that has no label inside the program.
  explicit Flow(const Program& program);

  // Number of instructions. As a position it stands for the end of the text, which a branch may name.
  std::uint32_t size() const { return static_cast<std::uint32_t>(next_.size()); }

  std::span<const std::uint32_t> successors(std::uint32_t position) const;
  std::span<const std::uint32_t> predecessors(std::uint32_t position) const;

  // The program's start, every target of a branch, and what stands after a branch or an end: where analyses
  // keep their state. From one leader to the next the text is executed in its order.
  bool is_leader(std::uint32_t position) const { return leader_[position]; }

 private:
  struct Successors {
    std::array<std::uint32_t, 2> position{};
    std::uint8_t count = 0;
  };
  std::vector<Successors> next_;
  std::vector<std::uint32_t> before_;        // predecessors of all positions, one position after the other
  std::vector<std::uint32_t> before_first_;  // where those of a position start
  std::vector<bool> leader_;
};

// Forward analysis: calls step(position, state) for all instructions that can be reached, until the states at
// the leaders no longer change. `step` turns the state before an instruction into the one after it;
// join(into, from) merges two and says whether `into` changed. Returns the state before each leader; other
// positions and dead code are default states.
template <class State, class Step, class Join>
std::vector<State> flow_forward(const Flow& flow, const Step& step, const Join& join) {
  std::vector<State> at(flow.size() + 1);
  std::vector<bool> reached(flow.size() + 1);
  std::vector<std::uint32_t> work;
  if (flow.size()) work.push_back(0);
  while (!work.empty()) {
    std::uint32_t position = work.back();
    work.pop_back();
    reached[position] = true;
    State state = at[position];
    for (bool inside = position < flow.size(); inside;) {
      step(position, state);
      const auto next = flow.successors(position);
      inside = next.size() == 1 && next[0] < flow.size() && !flow.is_leader(next[0]);
      if (inside) {
        position = next[0];
        continue;
      }
      for (const std::uint32_t successor : next)
        if (join(at[successor], state) || !reached[successor]) work.push_back(successor);
    }
  }
  return at;
}

}  // namespace zyfa::isa
