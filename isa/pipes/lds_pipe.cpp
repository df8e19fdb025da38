#include "isa/pipes/lds_pipe.h"

#include <algorithm>

namespace zyfa::pipes {
namespace {

using emulator::lanes;

// Which phase serves each lane of the lower half; the upper half follows with as many phases of its own.
// [M] HipKittens for b128, b96, b64 and write_b64; [I] for the rest: as many lanes as the banks' width feeds.
constexpr std::array<std::uint8_t, 32> b128_phase = {0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0,
                                                     1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1};
constexpr std::array<std::uint8_t, 32> b96_phase = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3,
                                                    1, 1, 1, 1, 0, 0, 0, 0, 3, 3, 3, 3, 2, 2, 2, 2};

// Distinct words of the busiest bank.
int collisions(std::vector<std::uint32_t>& words, int banks) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::vector<int> load(static_cast<std::size_t>(banks));
  int most = 0;
  for (const std::uint32_t word : words) most = std::max(most, ++load[word % static_cast<std::uint32_t>(banks)]);
  return most;
}

}  // namespace

int bank_clk(const isa::Inst& inst, const emulator::Lanes& address, std::uint64_t exec, const isa::Machine& machine) {
  const isa::Desc& desc = isa::desc(inst.op);
  const bool reads = desc.cls == isa::Class::LdsRead;
  const std::uint32_t dwords = std::max(1u, desc.memory_bytes / 4u);
  const bool is_narrow = !reads || dwords == 3;
  const int banks = is_narrow ? machine.lds_write_banks : machine.lds_banks;
  const std::size_t lanes_per_phase =
      std::clamp<std::size_t>(static_cast<std::size_t>(banks) / (dwords == 3 ? 4 : dwords), 1, lanes);
  std::vector<std::vector<std::uint32_t>> words(lanes);  // of as many phases as there can be
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    if (!(exec >> lane & 1)) continue;
    std::size_t phase = lane / lanes_per_phase;
    if (reads && dwords == 4) phase = b128_phase[lane % 32] + lane / 32 * 2;
    if (reads && dwords == 3) phase = b96_phase[lane % 32] + lane / 32 * 4;
    for (std::uint32_t d = 0; d < dwords; ++d) words[phase].push_back(address[lane] / 4 + d);
  }
  int clocks = 0;
  for (auto& phase : words)
    if (!phase.empty()) clocks += collisions(phase, banks);
  return clocks;
}

bool LdsPipe::accepts(int simd, Clk now) {
  Pair& pair = pairs_[static_cast<std::size_t>(simd % 2)];
  while (!pair.waiting.empty() && pair.waiting.front() <= now) pair.waiting.pop_front();
  const std::size_t room = static_cast<std::size_t>(machine_.lds_fifo) - pair.waiting.size();
  const auto other = static_cast<std::size_t>((simd + 2) % 4);
  if (room > 1 || (room == 1 && (pair.last_simd != simd || !pair.was_refused[other]))) return true;
  pair.was_refused[static_cast<std::size_t>(simd)] = true;
  return false;
}

// The next clocks from `from` on at which the banks are free; returns the one behind the last.
Clk LdsPipe::reserve(Clk from, int clocks) {
  Clk t = from;
  for (int left = clocks; left > 0; ++t) {
    if (taken_[t % horizon] == t + 1) continue;
    taken_[t % horizon] = t + 1;
    --left;
  }
  bank_busy_ += static_cast<std::uint64_t>(clocks);
  return t;
}

Service LdsPipe::issue(int simd, Clk now, bool reads, std::uint32_t bytes, int banks_clk) {
  Pair& pair = pairs_[static_cast<std::size_t>(simd % 2)];
  const Clk start = std::max(now + static_cast<Clk>(machine_.turn_clk), pair.free);
  const Clk bus = bytes / static_cast<std::uint32_t>(machine_.lds_pair_bytes_per_clk);
  const Clk end = std::max(reserve(start, banks_clk), start + bus);
  pair.free = end;
  pair.waiting.push_back(start);
  pair.last_simd = simd;
  pair.was_refused[static_cast<std::size_t>(simd)] = false;
  (reads ? bytes_read_ : bytes_written_) += bytes;
  return {start, end, reads ? end + static_cast<Clk>(machine_.lds_latency_clk) : end};
}

Clk LdsPipe::land(Clk now, std::uint32_t bytes) {
  bytes_written_ += bytes;
  const std::uint32_t per_clk = 4 * static_cast<std::uint32_t>(machine_.lds_write_banks);
  return reserve(now, static_cast<int>((bytes + per_clk - 1) / per_clk));
}

}  // namespace zyfa::pipes
