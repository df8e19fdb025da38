#include "isa/emulator/arrivals.h"

#include <algorithm>
#include <cstring>

namespace zyfa::emulator {
namespace {

constexpr std::uint64_t all_lanes = ~std::uint64_t{0};

void write_registers(const Arrival& arrival, Wave& wave) {
  for (std::size_t d = 0; d < arrival.dwords; ++d) {
    Lanes& target = wave.vector[arrival.first + d];
    const std::uint32_t* source = &arrival.data[d * lanes];
    if (arrival.exec == all_lanes) {
      std::memcpy(target.data(), source, sizeof target);
    } else {
      for (std::size_t lane = 0; lane < lanes; ++lane)
        if (arrival.exec >> lane & 1) target[lane] = source[lane];
    }
  }
}

void write_lds(const Arrival& arrival, std::uint32_t wave, Lds& lds) {
  const std::size_t bytes = std::size_t{4} * arrival.dwords;
  const auto* source = reinterpret_cast<const std::byte*>(arrival.data.data());
  if (arrival.exec == all_lanes) {
    std::memcpy(lds.data() + arrival.lds_address, source, lanes * bytes);
  } else {
    for (std::size_t lane = 0; lane < lanes; ++lane)
      if (arrival.exec >> lane & 1)
        std::memcpy(lds.data() + arrival.lds_address + lane * bytes, source + lane * bytes, bytes);
  }
  lds.finish_oldest(wave);
}

template <std::size_t Capacity>
void deliver_until(std::size_t count, Ring<Arrival, Capacity>& queue, Wave& wave, Lds& lds) {
  for (; queue.size() > count; queue.pop()) {
    const Arrival& arrival = queue.front();
    if (arrival.to == Arrives::registers) write_registers(arrival, wave);
    if (arrival.to == Arrives::lds) write_lds(arrival, wave.id, lds);
  }
}

void deliver_until(std::size_t count, Ring<ScalarArrival, 16>& queue, Wave& wave) {
  for (; queue.size() > count; queue.pop()) {
    const ScalarArrival& arrival = queue.front();
    std::memcpy(&wave.scalar[arrival.first], arrival.data.data(), std::size_t{4} * arrival.dwords);
  }
}

}  // namespace

Arrival& Arrivals::issue_vector_memory(Wave& wave, Lds& lds) {
  deliver_until(vm_limit - 1, vector_memory_, wave, lds);
  return vector_memory_.push();
}

Arrival& Arrivals::issue_lds(Wave& wave, Lds& lds) {
  deliver_until(lgkm_limit - 1, lds_, wave, lds);
  return lds_.push();
}

void Arrivals::deliver_flat(std::size_t count, Wave& wave, Lds& lds) {
  deliver_until(flat_.size() - count, flat_, wave, lds);
  flat_waited_vm_ -= std::min(count, flat_waited_vm_);
  flat_waited_lgkm_ -= std::min(count, flat_waited_lgkm_);
}

Arrival& Arrivals::issue_flat(Wave& wave, Lds& lds) {
  if (flat_.size() == lgkm_limit) deliver_flat(1, wave, lds);
  return flat_.push();
}

ScalarArrival& Arrivals::issue_scalar(Wave& wave) {
  deliver_until(lgkm_limit - 1, scalar_, wave);
  return scalar_.push();
}

void Arrivals::wait_vector_memory(std::size_t count, Wave& wave, Lds& lds) {
  deliver_until(count, vector_memory_, wave, lds);
  if (count == 0) flat_waited_vm_ = flat_.size();
  deliver_flat(std::min(flat_waited_vm_, flat_waited_lgkm_), wave, lds);
}

// LDS returns in order, scalar memory in any order (gfx950.md 4). With L and S of them outstanding, a wait
// for n > 0 guarantees that L + S - n have returned, S of which may be scalar loads: so it is sure of the
// oldest L - n LDS accesses, and of no scalar load.
bool Arrivals::waits_for_lds_dma(std::size_t count) const {
  for (std::size_t i = 0; i + count < vector_memory_.size(); ++i)
    if (vector_memory_[i].to == Arrives::lds) return true;
  return false;
}

void Arrivals::wait_lgkm(std::size_t count, Wave& wave, Lds& lds) {
  deliver_until(count, lds_, wave, lds);
  if (count != 0) return;
  deliver_until(0, scalar_, wave);
  flat_waited_lgkm_ = flat_.size();
  deliver_flat(std::min(flat_waited_vm_, flat_waited_lgkm_), wave, lds);
}

void Arrivals::wait_lds(Wave& wave, Lds& lds) { deliver_until(0, lds_, wave, lds); }

void Arrivals::clear() {
  vector_memory_.clear();
  lds_.clear();
  scalar_.clear();
  flat_.clear();
  flat_waited_vm_ = flat_waited_lgkm_ = 0;
}

}  // namespace zyfa::emulator
