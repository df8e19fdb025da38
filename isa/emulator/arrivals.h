// Loads of one wave that have been issued but not waited for. Their data is already known (memory was read at
// issue) and is held back until the s_waitcnt that covers them, the latest moment the architecture allows; a
// kernel that lacks a wait computes with what was in its registers before.
#pragma once

#include "isa/emulator/lds.h"
#include "isa/emulator/wave.h"

#include <array>
#include <cstddef>

namespace zyfa::emulator {

enum class Arrives : std::uint8_t {
  nothing,    // stores and LDS writes: done at issue, they only count
  registers,  // data[d * 64 + lane] goes to lane of vector register first + d
  lds,        // data is what goes to LDS, 64 times bytes_per_lane
};

struct Arrival {
  Arrives to = Arrives::nothing;
  std::uint8_t dwords = 0;  // per lane
  std::uint16_t first = 0;  // index into Wave::vector
  std::uint32_t lds_address = 0;
  std::uint64_t exec = 0;
  alignas(64) std::array<std::uint32_t, 4 * lanes> data;  // left uninitialised where not used
};

struct ScalarArrival {
  std::uint16_t first = 0;
  std::uint8_t dwords = 0;
  std::array<std::uint32_t, 16> data;
};

// First in, first out, in place. Starts over at its first slot whenever it runs empty, so that a kernel that
// waits for everything once per iteration stays within a few cache lines.
template <typename T, std::size_t Capacity>
class Ring {
 public:
  std::size_t size() const { return size_; }
  T& front() { return slots_[head_]; }
  const T& operator[](std::size_t i) const { return slots_[(head_ + i) % Capacity]; }  // 0 is the oldest
  T& push() { return slots_[(head_ + size_++) % Capacity]; }
  void pop() { head_ = --size_ == 0 ? 0 : (head_ + 1) % Capacity; }
  void clear() { head_ = size_ = 0; }

 private:
  std::size_t head_ = 0, size_ = 0;
  std::array<T, Capacity> slots_;
};

class Arrivals {
 public:
  // A slot for an instruction that is being issued. When the counter is at its limit, hardware stalls the
  // issue until the oldest has returned (vmcnt has 6 bits, lgkmcnt 4: gfx950.md 4).
  Arrival& issue_vector_memory(Wave& wave, Lds& lds);
  Arrival& issue_lds(Wave& wave, Lds& lds);
  Arrival& issue_flat(Wave& wave, Lds& lds);
  ScalarArrival& issue_scalar(Wave& wave);

  // s_waitcnt: at most `count` may remain outstanding.
  void wait_vector_memory(std::size_t count, Wave& wave, Lds& lds);
  void wait_lgkm(std::size_t count, Wave& wave, Lds& lds);
  bool waits_for_lds_dma(std::size_t count) const;  // whether wait_vector_memory would write to LDS
  void wait_lds(Wave& wave, Lds& lds);              // for all LDS instructions, not for scalar memory

  void clear();

 private:
  void deliver_flat(std::size_t count, Wave& wave, Lds& lds);

  Ring<Arrival, vm_limit + 1> vector_memory_;
  Ring<Arrival, lgkm_limit + 1> lds_;
  Ring<ScalarArrival, lgkm_limit + 1> scalar_;
  // Flat instructions hang on both counters and return in any order, so only a wait for 0 of each is sure of them. So
  // many of the oldest have been waited for by vmcnt and by lgkmcnt.
  Ring<Arrival, lgkm_limit + 1> flat_;
  std::size_t flat_waited_vm_ = 0, flat_waited_lgkm_ = 0;
};

}  // namespace zyfa::emulator
