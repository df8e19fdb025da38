#include "isa/emulator/shuffle.h"

#include "isa/emulator/address.h"
#include "isa/isa.h"

#include <algorithm>

namespace zyfa::emulator {
namespace {

constexpr std::uint32_t instructions_per_rate = 256;

// Exchanges kept operands with what the wave has in their place now.
void exchange(Wave& wave, std::uint32_t* words, bool is_vector, std::size_t first, std::size_t count) {
  std::uint32_t* registers = is_vector ? wave.vector[first].data() : &wave.scalar[first];
  std::swap_ranges(words, words + (is_vector ? lanes * count : count), registers);
}

}  // namespace

// Whether lanes of a flat instruction go to LDS, and whether others don't.
struct Targets {
  bool lds = false, memory = false;
};
Targets targets_of(const isa::Inst& inst, const Wave& wave) {
  Targets targets;
  for (std::size_t lane = 0; lane < lanes; ++lane)
    if (wave.exec() >> lane & 1)
      (is_in_shared_aperture(flat_address(inst, wave, lane)) ? targets.lds : targets.memory) = true;
  return targets;
}

// splitmix64 (Steele, Lea, Flood 2014).
std::uint64_t Shuffle::random() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

std::uint64_t Shuffle::below(std::uint64_t limit) { return random() % limit; }

void Shuffle::start(std::uint64_t workgroup, std::size_t waves) {
  state_ = seed_;
  state_ = random() ^ workgroup;
  waves_.assign(waves, {});
  for (Queues& queues : waves_) choose_rates(queues);
}

// From "only when waited for" to "at once".
void Shuffle::choose_rates(Queues& queues) {
  constexpr std::array<std::uint32_t, 4> rates{0, 2, 16, 64};
  for (std::uint32_t& rate : queues.rate) rate = rates[below(rates.size())];
  queues.instructions_at_rate = 0;
}

std::optional<LateFault> Shuffle::issue(Wave& wave, std::uint32_t index) {
  const isa::Inst& inst = program_.code[index];
  Queues& queues = waves_[wave.id];
  const bool is_scalar = isa::desc(inst.op).cls == isa::Class::Smem;
  // Flat accesses take place in the order of the memory that they go to, whatever their results wait for.
  const bool is_flat = isa::counter(inst) == isa::Counter::both;
  const Targets targets = is_flat ? targets_of(inst, wave) : Targets{};
  const bool is_vm = isa::counter(inst) == isa::Counter::vm || (is_flat && !targets.lds);
  std::optional<LateFault> fault;
  if (targets.lds && targets.memory) fault = all_in_order(wave);
  if (fault) return fault;
  if (is_scalar && queues.scalar.size() >= lgkm_limit) fault = any(queues.scalar, wave);
  if (!is_scalar && is_vm && queues.vm.size() >= vm_limit) fault = oldest(queues.vm, wave);
  if (!is_scalar && !is_vm && queues.lds.size() >= lgkm_limit) fault = oldest(queues.lds, wave);
  if (fault) return fault;

  Issued issued{index, {}};
  for (const isa::Access& a : isa::accesses(inst)) {
    if (a.write) continue;
    Kept kept{a.file != isa::OperandKind::sgpr, a.first, a.count, {}};
    if (a.file == isa::OperandKind::agpr) kept.first += 256;
    const std::uint32_t* registers = kept.is_vector ? wave.vector[kept.first].data() : &wave.scalar[kept.first];
    kept.words.assign(registers, registers + (kept.is_vector ? lanes * kept.count : kept.count));
    issued.operands.push_back(std::move(kept));
  }
  if (targets.lds && targets.memory) return take_effect(issued, wave);
  if (is_scalar)
    queues.scalar.push_back(std::move(issued));
  else
    (is_vm ? queues.vm : queues.lds).push_back(std::move(issued));
  return std::nullopt;
}

// The instruction runs as if the wave were where it was at issue; then the wave gets its registers back, and the
// result.
std::optional<LateFault> Shuffle::take_effect(Issued& issued, Wave& wave) {
  for (Kept& kept : issued.operands) exchange(wave, kept.words.data(), kept.is_vector, kept.first, kept.count);
  scratch_->clear();
  std::optional<Fault> fault = execute_memory(program_.code[issued.instruction], issued.instruction, wave,
                                              Surroundings{memory_, lds_, *scratch_});
  for (auto kept = issued.operands.rbegin(); kept != issued.operands.rend(); ++kept)
    exchange(wave, kept->words.data(), kept->is_vector, kept->first, kept->count);
  if (fault) return LateFault{std::move(*fault), issued.instruction};
  scratch_->wait_vector_memory(0, wave, lds_);
  scratch_->wait_lgkm(0, wave, lds_);
  return std::nullopt;
}

std::optional<LateFault> Shuffle::oldest(std::deque<Issued>& queue, Wave& wave) {
  Issued issued = std::move(queue.front());
  queue.pop_front();
  return take_effect(issued, wave);
}

std::optional<LateFault> Shuffle::any(std::vector<Issued>& queue, Wave& wave) {
  std::swap(queue[below(queue.size())], queue.back());
  Issued issued = std::move(queue.back());
  queue.pop_back();
  return take_effect(issued, wave);
}

std::optional<LateFault> Shuffle::drift(Wave& wave) {
  Queues& queues = waves_[wave.id];
  if (++queues.instructions_at_rate >= instructions_per_rate) choose_rates(queues);
  std::uint64_t dice = random();
  const auto happens = [&dice](std::uint32_t rate) {
    const bool yes = (dice & 63) < rate;
    dice >>= 6;
    return yes;
  };
  std::optional<LateFault> fault;
  if (happens(queues.rate[0]) && !queues.vm.empty()) fault = oldest(queues.vm, wave);
  if (!fault && happens(queues.rate[1]) && !queues.lds.empty()) fault = oldest(queues.lds, wave);
  if (!fault && happens(queues.rate[2]) && !queues.scalar.empty()) fault = any(queues.scalar, wave);
  return fault;
}

// LDS and scalar memory share lgkmcnt: which of them make up the number that may remain is chance.
std::optional<LateFault> Shuffle::wait(Wave& wave, const isa::Inst& inst) {
  Queues& queues = waves_[wave.id];
  std::optional<LateFault> fault;
  if (inst.mods.vmcnt != isa::Modifiers::not_waited)
    while (!fault && queues.vm.size() > inst.mods.vmcnt) fault = oldest(queues.vm, wave);
  if (inst.mods.lgkmcnt != isa::Modifiers::not_waited)
    while (!fault && queues.lds.size() + queues.scalar.size() > inst.mods.lgkmcnt)
      fault = below(queues.lds.size() + queues.scalar.size()) < queues.lds.size() ? oldest(queues.lds, wave)
                                                                                  : any(queues.scalar, wave);
  return fault;
}

std::optional<LateFault> Shuffle::all_in_order(Wave& wave) {
  Queues& queues = waves_[wave.id];
  std::optional<LateFault> fault;
  while (!fault && !queues.vm.empty()) fault = oldest(queues.vm, wave);
  while (!fault && !queues.lds.empty()) fault = oldest(queues.lds, wave);
  return fault;
}

std::optional<LateFault> Shuffle::finish(Wave& wave) {
  waves_[wave.id].scalar.clear();
  return all_in_order(wave);
}

}  // namespace zyfa::emulator
