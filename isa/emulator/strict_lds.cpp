#include "isa/emulator/strict_lds.h"

#include "isa/emulator/address.h"

#include <algorithm>

namespace zyfa::emulator {

void StrictLds::start(std::size_t bytes, std::size_t waves) {
  bytes_ = bytes;
  const std::size_t pieces = (bytes >> program_.lds_granule_log2()) + 1;
  written_.assign(pieces, {});
  read_.resize(waves);
  for (auto& marks : read_) marks.assign(pieces, {});
  if (program_.has_lds_atomics()) {
    updated_.resize(waves);
    for (auto& marks : updated_) marks.assign(pieces, {});
  }
  visible_.assign(waves, {});
}

void StrictLds::pass_barrier(std::uint32_t wave, const StrictRegisters& registers) {
  visible_[wave] = {registers.completed_vm(), registers.completed_lds(), registers.completed_flat()};
}

void StrictLds::access(const Wave& wave, std::uint32_t index, const StrictRegisters& own) {
  const isa::Inst& inst = program_.inst(index);
  const isa::Desc& d = isa::desc(inst.op);
  const std::uint64_t exec = wave.exec();
  const auto offset = static_cast<std::uint32_t>(inst.mods.offset);
  if (program_.facts(index).counter == isa::Counter::both) return access_flat(wave, index, own);
  if (program_.facts(index).is_lds_dma) {
    const Access access{wave, own, index, {own.issued_vm(), index, vm}};
    const std::uint64_t base = (wave.scalar[isa::m0.first] & 0x3ffff) + offset;
    for (std::uint64_t lane = 0; lane < lanes; ++lane)
      if (exec >> lane & 1) each_piece(access, base + lane * isa::lds_dma_bytes(d), isa::lds_dma_bytes(d), Way::write);
    return;
  }
  // Exchange between lanes touches no memory.
  if (d.kind < isa::Kind::DS_READ || d.kind > isa::Kind::DS_COUNT) return;
  const bool reads = d.kind <= isa::Kind::DS_READ2;
  const Way way = isa::is_atomic(d.kind) ? Way::atomic : reads ? Way::read : Way::write;
  const Access access{wave, own, index, {own.issued_lds(), index, lds}};
  if (d.kind == isa::Kind::DS_COUNT) {
    if (exec != 0) each_piece(access, std::uint64_t{wave.scalar[isa::m0.first]} + offset, d.memory_bytes, way);
    return;
  }
  const Lanes& address = wave.lanes_of(inst.args[static_cast<std::size_t>(d.address)]);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    if (!(exec >> lane & 1)) continue;
    if (d.pair_stride == 0) {
      each_piece(access, address[lane] + offset, d.memory_bytes, way);
    } else {
      each_piece(access, address[lane] + offset * d.pair_stride, d.memory_bytes, way);
      each_piece(access, address[lane] + std::uint32_t{inst.mods.offset1} * d.pair_stride, d.memory_bytes, way);
    }
  }
}

void StrictLds::access_flat(const Wave& wave, std::uint32_t index, const StrictRegisters& own) {
  const isa::Inst& inst = program_.inst(index);
  const isa::Desc& d = isa::desc(inst.op);
  const Way way = isa::is_atomic(d.kind) ? Way::atomic : d.kind == isa::Kind::FLAT_LOAD ? Way::read : Way::write;
  const Access access{wave, own, index, {own.issued_flat(), index, flat}};
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    if (!(wave.exec() >> lane & 1)) continue;
    const std::uint64_t address = flat_address(inst, wave, lane);
    if (is_in_shared_aperture(address)) each_piece(access, address & 0xffffffff, d.memory_bytes, way);
  }
}

// Accesses out of bounds end in a trap, so they are of no interest here.
void StrictLds::each_piece(const Access& access, std::uint64_t address, std::uint32_t bytes, Way way) {
  if (address + bytes > bytes_) return;
  const int granule = program_.lds_granule_log2();
  for (std::size_t piece = address >> granule; piece <= (address + bytes - 1) >> granule; ++piece) {
    if (way == Way::read) read(access, piece);
    if (way == Way::write) write(access, piece);
    if (way == Way::atomic) update(access, piece);
  }
}

// LDS instructions of one wave, flat ones among them, take place in order, and so do LDS-DMA transfers; one of either
// kind is behind one of the other only after the wait for it.
bool StrictLds::is_ordered(const Access& access, const Mark& earlier, std::uint32_t wave) const {
  if (wave != access.wave.id) return earlier.number <= visible_[wave][earlier.queue];
  if ((earlier.queue == vm) == (access.mark.queue == vm)) return true;
  return earlier.number <= (earlier.queue == vm    ? access.own.completed_vm()
                            : earlier.queue == lds ? access.own.completed_lds()
                                                   : access.own.completed_flat());
}

void StrictLds::check_defined(const Access& access, std::size_t piece) {
  if (written_[piece].mark.number != 0) return;
  const Party at{access.index, access.wave.id, {}};
  if (log_.is_new(StrictRule::undefined_lds, at, {}))
    log_.add(StrictRule::undefined_lds, at, {},
             fmt::format("LDS address {:#x} is read and was never written", address_of(piece)));
}

// Reads next to atomics are as good as atomic: the language's relaxed loads are plain reads here, and either value will
// do.
void StrictLds::read(const Access& access, std::size_t piece) {
  const Write& write = written_[piece];
  check_defined(access, piece);
  if (write.mark.number != 0 && !is_ordered(access, write.mark, write.wave))
    race(access, piece, write.mark, write.wave, "read while a write may still be on its way");
  read_[access.wave.id][piece] = access.mark;
}

void StrictLds::write(const Access& access, std::size_t piece) {
  Write& last = written_[piece];
  if (last.mark.number != 0 && !is_ordered(access, last.mark, last.wave))
    race(access, piece, last.mark, last.wave, "written while another write may still be on its way");
  for (std::uint32_t wave = 0; wave < read_.size(); ++wave) {
    const Mark& reader = read_[wave][piece];
    if (reader.number != 0 && !is_ordered(access, reader, wave))
      race(access, piece, reader, wave, "written while a read may still be on its way");
  }
  for (std::uint32_t wave = 0; wave < updated_.size(); ++wave) {
    const Mark& update = updated_[wave][piece];
    if (update.number != 0 && !is_ordered(access, update, wave))
      race(access, piece, update, wave, "written while an atomic may still be on its way");
  }
  last = {access.mark, static_cast<std::uint8_t>(access.wave.id)};
}

// Atomics of different waves may come in any order. They need a value to begin with, which somebody wrote before.
void StrictLds::update(const Access& access, std::size_t piece) {
  Write& last = written_[piece];
  check_defined(access, piece);
  if (last.mark.number == 0)
    last = {access.mark, static_cast<std::uint8_t>(access.wave.id)};
  else if (!is_ordered(access, last.mark, last.wave))
    race(access, piece, last.mark, last.wave, "changed by an atomic while a write may still be on its way");
  updated_[access.wave.id][piece] = access.mark;
}

void StrictLds::race(const Access& access, std::size_t piece, const Mark& earlier, std::uint32_t wave,
                     const char* what) {
  const Party at{access.index, access.wave.id, {}}, other{earlier.instruction, wave, {}};
  if (log_.is_new(StrictRule::lds_race, at, other))
    log_.add(StrictRule::lds_race, at, other, fmt::format("LDS address {:#x} is {}", address_of(piece), what));
}

}  // namespace zyfa::emulator
