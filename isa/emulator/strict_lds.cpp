#include "isa/emulator/strict_lds.h"

#include <algorithm>

namespace zyfa::emulator {

void StrictLds::start(std::size_t bytes, std::size_t waves) {
  bytes_ = bytes;
  const std::size_t pieces = (bytes >> program_.lds_granule_log2()) + 1;
  written_.assign(pieces, {});
  read_.resize(waves);
  for (auto& marks : read_) marks.assign(pieces, {});
  visible_.assign(waves, {});
}

void StrictLds::pass_barrier(std::uint32_t wave, const StrictRegisters& registers) {
  visible_[wave] = {registers.completed_vm(), registers.completed_lds()};
}

void StrictLds::access(const Wave& wave, std::uint32_t index, const StrictRegisters& own) {
  const isa::Inst& inst = program_.inst(index);
  const isa::Desc& d = isa::desc(inst.op);
  const std::uint64_t exec = wave.exec();
  const auto offset = static_cast<std::uint32_t>(inst.mods.offset);
  if (program_.facts(index).is_lds_dma) {
    const Access access{wave, own, index, {own.issued_vm(), index}, vm};
    const std::uint64_t base = (wave.scalar[isa::m0.first] & 0x3ffff) + offset;
    for (std::uint64_t lane = 0; lane < lanes; ++lane)
      if (exec >> lane & 1) each_piece(access, base + lane * d.memory_bytes, d.memory_bytes, false, true);
    return;
  }
  const bool reads = d.kind == isa::Kind::DS_READ || d.kind == isa::Kind::DS_READ_TR;
  const bool writes = d.kind == isa::Kind::DS_WRITE;
  if (!reads && !writes) return;
  const Access access{wave, own, index, {own.issued_lds(), index}, lds};
  const Lanes& address = wave.lanes_of(inst.args[reads ? 1 : 0]);
  for (std::size_t lane = 0; lane < lanes; ++lane)
    if (exec >> lane & 1) each_piece(access, address[lane] + offset, d.memory_bytes, reads, writes);
}

// Accesses out of bounds end in a trap, so they are of no interest here.
void StrictLds::each_piece(const Access& access, std::uint64_t address, std::uint32_t bytes, bool reads, bool writes) {
  if (address + bytes > bytes_) return;
  const int granule = program_.lds_granule_log2();
  for (std::size_t piece = address >> granule; piece <= (address + bytes - 1) >> granule; ++piece) {
    if (reads) read(access, piece);
    if (writes) write(access, piece);
  }
}

// LDS instructions of one wave take place in order, and so do LDS-DMA transfers; one of either kind is behind one of
// the other only after the wait for it.
bool StrictLds::is_ordered(const Access& access, const Mark& earlier, std::uint32_t wave, Queue queue) const {
  if (wave != access.wave.id) return earlier.number <= visible_[wave][queue];
  if (queue == access.queue) return true;
  return earlier.number <= (queue == vm ? access.own.completed_vm() : access.own.completed_lds());
}

void StrictLds::read(const Access& access, std::size_t piece) {
  const Write& write = written_[piece];
  if (write.mark.number == 0) {
    const Party at{access.index, access.wave.id, {}};
    if (log_.is_new(StrictRule::undefined_lds, at, {}))
      log_.add(StrictRule::undefined_lds, at, {},
               fmt::format("LDS address {:#x} is read and was never written", address_of(piece)));
  } else if (!is_ordered(access, write.mark, write.wave, write.queue)) {
    race(access, piece, write.mark, write.wave, "read while a write may still be on its way");
  }
  read_[access.wave.id][piece] = access.mark;
}

void StrictLds::write(const Access& access, std::size_t piece) {
  Write& last = written_[piece];
  if (last.mark.number != 0 && !is_ordered(access, last.mark, last.wave, last.queue))
    race(access, piece, last.mark, last.wave, "written while another write may still be on its way");
  for (std::uint32_t wave = 0; wave < read_.size(); ++wave) {
    const Mark& reader = read_[wave][piece];
    if (reader.number != 0 && !is_ordered(access, reader, wave, lds))
      race(access, piece, reader, wave, "written while a read may still be on its way");
  }
  last = {access.mark, static_cast<std::uint8_t>(access.wave.id), access.queue};
}

void StrictLds::race(const Access& access, std::size_t piece, const Mark& earlier, std::uint32_t wave,
                     const char* what) {
  const Party at{access.index, access.wave.id, {}}, other{earlier.instruction, wave, {}};
  if (log_.is_new(StrictRule::lds_race, at, other))
    log_.add(StrictRule::lds_race, at, other, fmt::format("LDS address {:#x} is {}", address_of(piece), what));
}

}  // namespace zyfa::emulator
