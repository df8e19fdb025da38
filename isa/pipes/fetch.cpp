#include "isa/pipes/fetch.h"

#include "isa/isa.h"

#include <algorithm>

namespace zyfa::pipes {
namespace {

std::uint32_t bytes(int value) { return static_cast<std::uint32_t>(value); }

std::vector<std::uint32_t> offsets(const isa::Program& program) {
  std::vector<std::uint32_t> begin{0};
  begin.reserve(program.code.size() + 1);
  for (const isa::Inst& inst : program.code) begin.push_back(begin.back() + bytes(isa::encoded_bytes(inst)));
  return begin;
}

}  // namespace

InstructionCache::InstructionCache(std::uint32_t code_bytes, const isa::Machine& machine)
    : line_bytes_(bytes(machine.icache_line_bytes)),
      code_lines_((code_bytes + line_bytes_ - 1) / line_bytes_),
      lines_(std::max<std::size_t>(bytes(machine.icache_bytes) / line_bytes_, 2)) {
  if (code_lines_ <= lines_) return;
  for (std::size_t line = 0; line < lines_; ++line) touch(static_cast<std::uint32_t>(line));
}

bool InstructionCache::has(std::uint32_t byte) {
  if (code_lines_ <= lines_) return true;
  const std::uint32_t line = byte / line_bytes_;
  const bool hit = where_.contains(line);
  if (!hit) touch(line + 1);
  touch(line);
  return hit;
}

void InstructionCache::touch(std::uint32_t line) {
  if (const auto found = where_.find(line); found != where_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
    return;
  }
  if (recent_.size() == lines_) {
    where_.erase(recent_.back());
    recent_.pop_back();
  }
  recent_.push_front(line);
  where_[line] = recent_.begin();
}

Fetch::Fetch(const isa::Program& program, const isa::Machine& machine)
    : machine_(machine), begin_(offsets(program)), cache_(begin_.back(), machine) {}

void Fetch::start(std::size_t waves, std::uint32_t entry) {
  buffers_.assign(waves, {});
  for (std::size_t wave = 0; wave < waves; ++wave) restart({wave, entry}, 0, 0);
}

void Fetch::request(Buffer& buffer, Clk now, Clk latency) {
  const std::uint32_t piece = bytes(machine_.fetch_bytes);
  if (!cache_.has(buffer.requested)) {
    latency += static_cast<Clk>(machine_.icache_miss_clk);
    ++misses_;
  }
  buffer.requested = (buffer.requested / piece + 1) * piece;
  const Clk last = buffer.pieces.empty() ? 0 : buffer.pieces.back().comes;
  buffer.pieces.push_back({std::max(now + latency, last), buffer.requested});
}

void Fetch::restart(Standing at, Clk now, Clk latency) {
  Buffer& buffer = buffers_[at.wave];
  buffer.pieces.clear();
  buffer.end = buffer.requested = begin_[at.instruction];
  request(buffer, now, latency);
}

bool Fetch::has(Standing at, Clk now) {
  Buffer& buffer = buffers_[at.wave];
  while (!buffer.pieces.empty() && buffer.pieces.front().comes <= now) {
    buffer.end = buffer.pieces.front().end;
    buffer.pieces.pop_front();
  }
  return buffer.end >= begin_[at.instruction + 1];
}

void Fetch::turn(std::span<const Standing> waves, Clk now) {
  constexpr std::uint32_t longest_instruction = 16;
  const std::uint32_t room = std::max(bytes(machine_.fetch_buffer_bytes), longest_instruction);
  Buffer* neediest = nullptr;
  std::uint32_t least = room;
  for (const Standing& at : waves) {
    Buffer& buffer = buffers_[at.wave];
    const std::uint32_t ahead = buffer.requested - begin_[at.instruction];
    if (ahead >= least || buffer.requested >= begin_.back()) continue;
    if (ahead >= longest_instruction && ahead + bytes(machine_.fetch_bytes) > room) continue;
    least = ahead;
    neediest = &buffer;
  }
  if (neediest) request(*neediest, now, static_cast<Clk>(machine_.fetch_latency_clk));
}

}  // namespace zyfa::pipes
