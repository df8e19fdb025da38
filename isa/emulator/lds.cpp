#include "isa/emulator/lds.h"

#include <algorithm>
#include <bit>

namespace zyfa::emulator {
namespace {

std::uint64_t end_of(const LdsDma& dma) { return dma.address + std::uint64_t{lanes} * dma.bytes_per_lane; }

// Whether a lane of the transfer that is in exec writes any of [first, last).
bool writes(const LdsDma& dma, std::uint64_t first, std::uint64_t last) {
  if (last <= dma.address || first >= end_of(dma)) return false;
  const std::uint64_t low = first > dma.address ? (first - dma.address) / dma.bytes_per_lane : 0;
  const std::uint64_t high = (std::min(last, end_of(dma)) - 1 - dma.address) / dma.bytes_per_lane;
  return (dma.exec >> low << low) & (~0ull >> (lanes - 1 - high));
}

// The operand size asks for its own alignment. With unaligned access mode, which the HSA sets up, hardware is
// more lenient, but then splits the access; kernels of this kind never mean to.
std::uint32_t alignment(std::uint32_t bytes) { return bytes > 8 ? 16 : bytes; }

}  // namespace

void Lds::reset(std::size_t bytes) {
  bytes_.assign(bytes, std::byte{0xff});
  in_flight_.clear();
}

const LdsDma* Lds::pending(std::uint32_t address, std::uint32_t bytes) const {
  if (follows_hardware_) return nullptr;
  for (const LdsDma& dma : in_flight_)
    if (writes(dma, address, std::uint64_t{address} + bytes)) return &dma;
  return nullptr;
}

std::optional<Fault> Lds::check(const Lanes& address, std::uint32_t bytes, std::uint64_t exec,
                                bool takes_unaligned) const {
  std::uint32_t all = 0, low = ~0u, high = 0;
  for (const std::uint32_t a : address) {
    all |= a;
    low = std::min(low, a);
    high = std::max(high, a);
  }
  const std::uint32_t multiple = takes_unaligned ? 1 : alignment(bytes);
  const bool aligned = all % multiple == 0;
  const bool inside = std::uint64_t{high} + bytes <= size();
  const bool quiet = follows_hardware_ || std::none_of(in_flight_.begin(), in_flight_.end(), [&](const LdsDma& dma) {
                       return low < end_of(dma) && std::uint64_t{high} + bytes > dma.address;
                     });
  if (aligned && inside && quiet) return std::nullopt;
  for (int lane = 0; lane < lanes; ++lane) {
    if (!(exec >> lane & 1)) continue;
    const std::uint32_t a = address[static_cast<std::size_t>(lane)];
    if (a % multiple != 0)
      return Fault{TrapKind::misaligned, lane, fmt::format("LDS address {:#x} is not a multiple of {}", a, multiple)};
    // Hardware returns 0 and drops writes; a kernel that gets here has a wrong address all the same.
    if (std::uint64_t{a} + bytes > size())
      return Fault{TrapKind::lds_out_of_bounds, lane,
                   fmt::format("{} bytes at LDS address {:#x}, the workgroup has {} bytes", bytes, a, size())};
    if (const LdsDma* dma = pending(a, bytes))
      return Fault{TrapKind::lds_in_flight, lane, fmt::format("{} bytes at LDS address {:#x}", bytes, a), *dma};
  }
  return std::nullopt;
}

std::optional<Fault> Lds::begin(const LdsDma& dma) {
  if (dma.exec == 0) {
    in_flight_.push_back(dma);
    return std::nullopt;
  }
  if (dma.address % 4 != 0)
    return Fault{TrapKind::misaligned, -1, fmt::format("LDS address {:#x} is not a multiple of 4", dma.address)};
  const int last = lanes - 1 - std::countl_zero(dma.exec);
  if (dma.address + (static_cast<std::uint64_t>(last) + 1) * dma.bytes_per_lane > size())
    return Fault{TrapKind::lds_out_of_bounds, last,
                 fmt::format("{} bytes at LDS address {:#x}, the workgroup has {} bytes", dma.bytes_per_lane,
                             dma.address + static_cast<std::uint32_t>(last) * dma.bytes_per_lane, size())};
  for (const LdsDma& other : in_flight_) {
    if (follows_hardware_ || other.wave == dma.wave || dma.address >= end_of(other) || end_of(dma) <= other.address)
      continue;
    for (int lane = 0; lane < lanes; ++lane) {
      const std::uint64_t first = dma.address + std::uint64_t{dma.bytes_per_lane} * static_cast<std::uint64_t>(lane);
      if ((dma.exec >> lane & 1) && writes(other, first, first + dma.bytes_per_lane))
        return Fault{TrapKind::lds_in_flight, lane,
                     fmt::format("{} bytes at LDS address {:#x}", dma.bytes_per_lane, first), other};
    }
  }
  in_flight_.push_back(dma);
  return std::nullopt;
}

void Lds::finish_oldest(std::uint32_t wave) {
  const auto oldest =
      std::find_if(in_flight_.begin(), in_flight_.end(), [wave](const LdsDma& dma) { return dma.wave == wave; });
  if (oldest != in_flight_.end()) in_flight_.erase(oldest);
}

void Lds::drop(std::uint32_t wave) {
  std::erase_if(in_flight_, [wave](const LdsDma& dma) { return dma.wave == wave; });
}

namespace {

// One step of transposing by halves: exchanges the high parts of a's fields with the low parts of b's.
inline void exchange(std::uint64_t& a, std::uint64_t& b, int shift, std::uint64_t low_fields) {
  const std::uint64_t difference = ((a >> shift) ^ b) & low_fields;
  a ^= difference << shift;
  b ^= difference;
}

constexpr std::uint64_t low_nibbles = 0x0f0f0f0f0f0f0f0f;
constexpr std::uint64_t low_bytes = 0x00ff00ff00ff00ff;
constexpr std::uint64_t low_halves = 0x0000ffff0000ffff;
constexpr std::uint64_t low_words = 0x00000000ffffffff;

}  // namespace

// gfx950.md 4: in groups of 16 lanes, nibble j of lane t is nibble t of the nibbles that lane j addressed.
void transpose_b4(std::array<std::uint64_t, lanes>& rows) {
  for (std::size_t group = 0; group < lanes; group += 16) {
    std::uint64_t* r = rows.data() + group;
    for (std::size_t i = 0; i < 8; ++i) exchange(r[i], r[i + 8], 32, low_words);
    for (std::size_t i = 0; i < 16; ++i)
      if ((i & 4) == 0) exchange(r[i], r[i + 4], 16, low_halves);
    for (std::size_t i = 0; i < 16; ++i)
      if ((i & 2) == 0) exchange(r[i], r[i + 2], 8, low_bytes);
    for (std::size_t i = 0; i < 16; i += 2) exchange(r[i], r[i + 1], 4, low_nibbles);
  }
}

// gfx950.md 4: in groups of 16 lanes, byte j of lane t is byte t%8 of the bytes that lane 2j+t/8 addressed.
// So the even lanes' rows, transposed as an 8x8 matrix, go to lanes 0-7, the odd ones' to lanes 8-15.
void transpose_b8(std::array<std::uint64_t, lanes>& rows) {
  for (std::size_t group = 0; group < lanes; group += 16) {
    std::uint64_t m[16];
    for (std::size_t i = 0; i < 16; ++i) m[i % 2 * 8 + i / 2] = rows[group + i];
    for (std::size_t half = 0; half < 16; half += 8) {
      std::uint64_t* r = m + half;
      for (std::size_t i = 0; i < 4; ++i) exchange(r[i], r[i + 4], 32, low_words);
      for (const std::size_t i : {0, 1, 4, 5}) exchange(r[i], r[i + 2], 16, low_halves);
      for (const std::size_t i : {0, 2, 4, 6}) exchange(r[i], r[i + 1], 8, low_bytes);
    }
    std::copy(m, m + 16, rows.begin() + static_cast<std::ptrdiff_t>(group));
  }
}

// The same for halfwords: halfword j of lane t is halfword t%4 of lane 4j+t/4.
void transpose_b16(std::array<std::uint64_t, lanes>& rows) {
  for (std::size_t group = 0; group < lanes; group += 16) {
    std::uint64_t m[16];
    for (std::size_t i = 0; i < 16; ++i) m[i % 4 * 4 + i / 4] = rows[group + i];
    for (std::size_t quarter = 0; quarter < 16; quarter += 4) {
      std::uint64_t* r = m + quarter;
      for (std::size_t i = 0; i < 2; ++i) exchange(r[i], r[i + 2], 32, low_words);
      for (const std::size_t i : {0, 2}) exchange(r[i], r[i + 1], 16, low_halves);
    }
    std::copy(m, m + 16, rows.begin() + static_cast<std::ptrdiff_t>(group));
  }
}

}  // namespace zyfa::emulator
