// The LDS of one workgroup: bytes, and which of them are about to change under everyone's feet because an
// LDS-DMA is in flight. Checks are made once for all lanes of an access; data then moves without further
// checks.
#pragma once

#include "isa/emulator/fault.h"
#include "isa/emulator/wave.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace zyfa::emulator {

class Lds {
 public:
  // Starts over with this many bytes of all-ones bits and nothing in flight.
  void reset(std::size_t bytes);

  // MemoryModel::hardware of emulator.h.
  void follow_hardware(bool value) { follows_hardware_ = value; }
  bool follows_hardware() const { return follows_hardware_; }
  // Launch::unaligned_access of emulator.h.
  void take_unaligned(bool value) { takes_unaligned_ = value; }
  bool takes_unaligned() const { return takes_unaligned_; }

  std::byte* data() { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }

  // Alignment, bounds and transfers in flight, for a read or write of `bytes` per lane at the lanes'
  // addresses. Lanes that are not in exec must carry the address of one that is.
  std::optional<Fault> check(const Lanes& address, std::uint32_t bytes, std::uint64_t exec) const {
    return check(address, bytes, exec, takes_unaligned_);
  }
  // Atomics are aligned in any case.
  std::optional<Fault> check_aligned(const Lanes& address, std::uint32_t bytes, std::uint64_t exec) const {
    return check(address, bytes, exec, false);
  }

  // An LDS-DMA is issued: its bytes are taboo until the wave's wait finishes it. Transfers of one wave finish
  // in the order in which they began (gfx950.md 4: VMEM returns in order).
  std::optional<Fault> begin(const LdsDma& dma);
  void finish_oldest(std::uint32_t wave);
  void drop(std::uint32_t wave);

 private:
  std::optional<Fault> check(const Lanes& address, std::uint32_t bytes, std::uint64_t exec, bool takes_unaligned) const;
  const LdsDma* pending(std::uint32_t address, std::uint32_t bytes) const;

  std::vector<std::byte> bytes_;
  std::vector<LdsDma> in_flight_;  // in order of issue
  bool follows_hardware_ = false, takes_unaligned_ = false;
};

// ds_read_b64_tr_b4, _b8 and _b16: `rows` holds the 8 bytes that each lane addressed, and receives what each lane
// gets.
void transpose_b4(std::array<std::uint64_t, lanes>& rows);
void transpose_b8(std::array<std::uint64_t, lanes>& rows);
void transpose_b16(std::array<std::uint64_t, lanes>& rows);

}  // namespace zyfa::emulator
