#include "isa/emulator/strict_registers.h"

#include "isa/emulator/execute.h"
#include "isa/emulator/indexing.h"

#include <algorithm>
#include <bit>

namespace zyfa::emulator {
namespace {

std::string register_name(const Use& use, std::size_t reg) {
  if (!use.is_vector) return reg == isa::vcc.first || reg == isa::vcc.first + 1u ? "vcc" : fmt::format("s{}", reg);
  return reg < 256 ? fmt::format("v{}", reg) : fmt::format("a{}", reg - 256);
}

std::uint64_t lanes_used(const Wave& wave, const isa::Inst& inst, UsedLanes lanes) {
  const std::uint64_t exec = wave.exec();
  switch (lanes) {
    case UsedLanes::all:
      return ~std::uint64_t{0};
    case UsedLanes::first_active:
      return exec == 0 ? 1 : exec & (~exec + 1);
    case UsedLanes::selected:
      return std::uint64_t{1} << (scalar_source(wave, inst.args[2]) & 63);
    default:
      return exec;
  }
}

// The register meant under s_set_gpr_idx_on; one past the last ends in a trap.
Use indexed(const Wave& wave, Use use) {
  if (!wave.mode.indexes_registers() || !use.is_vector || use.arg < 0) return use;
  const std::uint32_t meant = use.first + register_index(wave, use.arg);
  if (meant < isa::vector_registers) use.first = static_cast<std::uint16_t>(meant);
  return use;
}

}  // namespace

void StrictRegisters::clear() {
  low_.fill(0);
  high_.fill(0);
  scalar_defined_.fill(false);
  scc_defined_ = false;
  vm_on_way_.fill(0);
  lds_on_way_.fill(0);
  flat_on_way_.fill(0);
  scalar_on_way_.fill(0);
  vm_.clear();
  lds_.clear();
  scalar_.clear();
  flat_.clear();
  flat_waited_vm_ = flat_waited_lgkm_ = 0;
  issued_vm_ = issued_lds_ = issued_flat_ = 0;
  define_scalar(isa::shared_base.first, 4);
  define_scalar(isa::exec.first, 2);
}

void StrictRegisters::issue(const Wave& wave, std::uint32_t index) {
  const Facts& facts = program_.facts(index);
  const isa::Inst& inst = program_.inst(index);
  struct {
    std::uint64_t low = ~std::uint64_t{0}, high = ~std::uint64_t{0};
  } copied;
  for (const Use& named : program_.reads(facts)) {
    const Use use = indexed(wave, named);
    check_arrived(wave, index, use, false);
    if (!use.may_be_undefined) check_defined(wave, index, use);
    if (!facts.copies || !use.is_vector) continue;
    const std::uint64_t neither = ~(low_[use.first] | high_[use.first]);  // has been reported
    copied.low &= low_[use.first] | neither;
    copied.high &= high_[use.first] | neither;
  }
  if (facts.reads_scc && !scc_defined_) {
    const Party at{index, wave.id, {}};
    if (log_.is_new(StrictRule::undefined_register, at, {}))
      log_.add(StrictRule::undefined_register, at, {}, "scc is read and was never written");
  }
  for (const Use& named : program_.writes(facts)) {
    const Use use = indexed(wave, named);
    check_arrived(wave, index, use, true);
    define(wave, inst, use);
    if (!facts.copies) continue;
    low_[use.first] &= copied.low | ~wave.exec();
    high_[use.first] &= copied.high | ~wave.exec();
  }
  scc_defined_ |= facts.writes_scc;
  if (facts.counter != isa::Counter::none) count(wave, index);
}

void StrictRegisters::check_defined(const Wave& wave, std::uint32_t index, const Use& use) {
  std::uint64_t missing = 0;
  std::size_t which = 0;
  if (use.is_vector) {
    const std::uint64_t lanes = lanes_used(wave, program_.inst(index), use.lanes);
    for (std::size_t r = use.first + std::size_t{use.count}; r-- > use.first;) {
      const std::uint64_t low = use.halves & 1 ? low_[r] : ~std::uint64_t{0};
      const std::uint64_t high = use.halves & 2 ? high_[r] : ~std::uint64_t{0};
      // A 16-bit result leaves the other half of its register alone, and so do copies of it.
      const std::uint64_t undefined = lanes & ~(program_.facts(index).copies ? low | high : low & high);
      if (undefined == 0) continue;
      missing = undefined;
      which = r;
    }
  } else {
    for (std::size_t r = use.first + std::size_t{use.count}; r-- > use.first;)
      if (!scalar_defined_[r]) {
        missing = 1;
        which = r;
      }
  }
  if (missing == 0) return;
  const Party at{index, wave.id, {}};
  if (!log_.is_new(StrictRule::undefined_register, at, {})) return;
  const std::string lane = use.is_vector ? fmt::format(" in lane {}", std::countr_zero(missing)) : std::string();
  log_.add(StrictRule::undefined_register, at, {},
           fmt::format("{}{} is read and was never written", register_name(use, which), lane));
}

// Two loads of one in-order queue into the same register arrive in order and are accepted (docs/hazards.md).
void StrictRegisters::check_arrived(const Wave& wave, std::uint32_t index, const Use& use, bool write) {
  const Facts& facts = program_.facts(index);
  std::size_t which = 0;
  bool found = false;
  for (std::size_t r = use.first; r < use.first + std::size_t{use.count} && !found; which = r++) {
    if (!use.is_vector) {
      found = scalar_on_way_[r] != 0;
    } else {
      const bool behind_vm = write && facts.in_order && facts.counter == isa::Counter::vm;
      const bool behind_lds = write && facts.in_order && facts.counter == isa::Counter::lgkm;
      found = (vm_on_way_[r] != 0 && !behind_vm) || (lds_on_way_[r] != 0 && !behind_lds) || flat_on_way_[r] != 0;
    }
  }
  if (!found) return;
  const Pending* load = pending_on(use, which);
  const Party at{index, wave.id, {}}, other{load ? load->instruction : index, wave.id, {}};
  if (!log_.is_new(StrictRule::register_in_flight, at, other)) return;
  log_.add(StrictRule::register_in_flight, at, other,
           fmt::format("{} is {} while a load that no s_waitcnt has covered will still write it",
                       register_name(use, which), write ? "written" : "read"));
}

const StrictRegisters::Pending* StrictRegisters::pending_on(const Use& use, std::size_t reg) const {
  const auto writes = [&](const Pending& p) {
    return p.result.is_vector == use.is_vector && reg >= p.result.first &&
           reg < p.result.first + std::size_t{p.result.count};
  };
  if (const auto found = std::ranges::find_if(vm_, writes); found != vm_.end()) return &*found;
  if (const auto found = std::ranges::find_if(lds_, writes); found != lds_.end()) return &*found;
  if (const auto found = std::ranges::find_if(flat_, writes); found != flat_.end()) return &*found;
  const auto found = std::ranges::find_if(scalar_, writes);
  return found == scalar_.end() ? nullptr : &*found;
}

void StrictRegisters::define(const Wave& wave, const isa::Inst& inst, const Use& use) {
  if (!use.is_vector) return define_scalar(use.first, use.count);
  const std::uint64_t lanes = lanes_used(wave, inst, use.lanes);
  for (std::size_t r = use.first; r < use.first + std::size_t{use.count}; ++r) {
    if (use.halves & 1) low_[r] |= lanes;
    if (use.halves & 2) high_[r] |= lanes;
  }
}

void StrictRegisters::count(const Wave& wave, std::uint32_t index) {
  const Facts& facts = program_.facts(index);
  Pending pending{index, {}};
  if (facts.writes > 0) pending.result = program_.writes(facts).front();
  mark(pending, 1);
  if (facts.counter == isa::Counter::both) {
    flat_.push_back(pending);
    ++issued_flat_;
  } else if (!facts.in_order) {
    scalar_.push_back(pending);
  } else if (facts.counter == isa::Counter::lgkm) {
    lds_.push_back(pending);
    ++issued_lds_;
  } else {
    const Party at{index, wave.id, {}};
    if (vm_.size() >= vm_limit) {
      const Party oldest{vm_.front().instruction, wave.id, {}};
      if (log_.is_new(StrictRule::vmcnt_overflow, at, oldest))
        log_.add(StrictRule::vmcnt_overflow, at, oldest,
                 fmt::format("{} vector memory instructions are outstanding already, vmcnt counts to {}", vm_.size(),
                             vm_limit));
    }
    vm_.push_back(pending);
    ++issued_vm_;
  }
}

void StrictRegisters::mark(const Pending& pending, int change) {
  const Use& result = pending.result;
  const Facts& facts = program_.facts(pending.instruction);
  auto* registers = !result.is_vector                     ? scalar_on_way_.data()
                    : facts.counter == isa::Counter::both ? flat_on_way_.data()
                    : facts.counter == isa::Counter::vm   ? vm_on_way_.data()
                                                          : lds_on_way_.data();
  for (std::size_t r = result.first; r < result.first + std::size_t{result.count}; ++r)
    registers[r] = static_cast<std::uint16_t>(registers[r] + change);
}

// Scalar loads come in any order and so only lgkmcnt(0) is sure of them; a count above 0 is sure of the LDS accesses
// that would be done if all scalar loads were (Arrivals::wait_lgkm).
void StrictRegisters::wait(const isa::Inst& inst) {
  const auto drain = [this](std::deque<Pending>& queue, std::size_t left) {
    for (; queue.size() > left; queue.pop_front()) mark(queue.front(), -1);
  };
  if (inst.mods.vmcnt == 0) flat_waited_vm_ = flat_.size();
  if (inst.mods.lgkmcnt == 0) flat_waited_lgkm_ = flat_.size();
  const std::size_t arrived = std::min(flat_waited_vm_, flat_waited_lgkm_);
  drain(flat_, flat_.size() - arrived);
  flat_waited_vm_ -= arrived;
  flat_waited_lgkm_ -= arrived;
  if (inst.mods.vmcnt != isa::Modifiers::not_waited) drain(vm_, inst.mods.vmcnt);
  if (inst.mods.lgkmcnt == isa::Modifiers::not_waited) return;
  drain(lds_, inst.mods.lgkmcnt);
  if (inst.mods.lgkmcnt != 0) return;
  for (const Pending& load : scalar_) mark(load, -1);
  scalar_.clear();
}

std::optional<std::uint32_t> StrictRegisters::pending_dma() const {
  for (const Pending& load : vm_)
    if (program_.facts(load.instruction).is_lds_dma) return load.instruction;
  return std::nullopt;
}

}  // namespace zyfa::emulator
