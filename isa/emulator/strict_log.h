// The findings of one host thread: each rule once per pair of instructions, the first time it is broken. Cheap to ask
// again, so that a fault in a loop does not slow a run down.
#pragma once

#include "isa/emulator/finding.h"
#include "isa/inst.h"

#include <unordered_set>
#include <vector>

namespace zyfa::emulator {

class StrictLog {
 public:
  // The program must outlive the log.
  explicit StrictLog(const isa::Program& program) : program_(program) {}

  void start(std::array<std::uint32_t, 3> workgroup) { workgroup_ = workgroup; }

  // Whether nothing has been said yet about this rule and pair; only then is add() worth its text.
  bool is_new(StrictRule rule, Party at, std::optional<Party> other) const;
  void add(StrictRule rule, Party at, std::optional<Party> other, const std::string& detail, std::string_view row = {});

  // What was added since the last call.
  std::vector<Finding> take();

 private:
  std::string named(const Party& party) const;

  const isa::Program& program_;
  std::array<std::uint32_t, 3> workgroup_{};
  std::unordered_set<std::uint64_t> known_;
  std::vector<Finding> findings_;
};

// Identifies a rule and its pair of instructions.
std::uint64_t key(StrictRule rule, const Party& at, const std::optional<Party>& other);

}  // namespace zyfa::emulator
