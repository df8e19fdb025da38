#include "isa/emulator/strict_log.h"

#include "isa/text.h"

#include <utility>

namespace zyfa::emulator {

std::string_view name(StrictRule rule) {
  switch (rule) {
    case StrictRule::register_in_flight:
      return "register in flight";
    case StrictRule::wait_states:
      return "missing wait states";
    case StrictRule::undefined_register:
      return "undefined register";
    case StrictRule::undefined_lds:
      return "undefined LDS";
    case StrictRule::lds_race:
      return "LDS race";
    case StrictRule::barrier_divergence:
      return "barrier divergence";
    case StrictRule::vmcnt_overflow:
      return "vmcnt overflow";
    case StrictRule::nan_born:
      return "NaN born";
    case StrictRule::infinity_born:
      return "infinity born";
    case StrictRule::dma_at_end:
      return "LDS-DMA at the end";
  }
  return "finding";
}

std::string Finding::kind() const {
  return row.empty() ? std::string(name(rule)) : fmt::format("{}: {}", name(rule), row);
}

// Programs have less than 2^28 instructions: the text of one would not fit in the address space of a branch.
std::uint64_t key(StrictRule rule, const Party& at, const std::optional<Party>& other) {
  constexpr std::uint64_t field = (std::uint64_t{1} << 28) - 1;
  const std::uint64_t second = other ? other->instruction : field;
  return static_cast<std::uint64_t>(rule) << 56 | (at.instruction & field) << 28 | (second & field);
}

bool StrictLog::is_new(StrictRule rule, Party at, std::optional<Party> other) const {
  return !known_.contains(key(rule, at, other));
}

std::string StrictLog::named(const Party& party) const {
  const isa::Inst& inst = program_.code[party.instruction];
  return fmt::format("instruction {} `{}` ({}) of wave {}", party.instruction, isa::print(inst, program_),
                     to_string(inst.where), party.wave);
}

void StrictLog::add(StrictRule rule, Party at, std::optional<Party> other, const std::string& detail,
                    std::string_view row) {
  if (!known_.insert(key(rule, at, other)).second) return;
  at.where = program_.code[at.instruction].where;
  if (other) other->where = program_.code[other->instruction].where;
  std::string message = fmt::format("{} at {}, workgroup ({}, {}, {}): {}{}{}", name(rule), named(at), workgroup_[0],
                                    workgroup_[1], workgroup_[2], row, row.empty() ? "" : ": ", detail);
  if (other) message += fmt::format("; the other is {}", named(*other));
  findings_.push_back({rule, row, std::move(message), at, other, workgroup_});
}

std::vector<Finding> StrictLog::take() { return std::exchange(findings_, {}); }

}  // namespace zyfa::emulator
