#include "tests/support/oracle_memory.h"
#include "tests/support/oracle_memory_parts.h"

#include "isa/isa.h"

#include <bit>
#include <cstring>
#include <map>

namespace zyfa::tests {
namespace {

using emulator::Wave;
using isa::Inst;
using isa::Operand;
using isa::OperandKind;
using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

bool active(const Wave& wave, u32 lane) { return wave.exec() >> lane & 1; }

u32& reg(Wave& wave, const Operand& operand, u32 i, u32 lane) {
  return wave.vector[(operand.kind == OperandKind::agpr ? 256u : 0u) + operand.value + i][lane];
}
u64 reg64(Wave& wave, const Operand& operand, u32 i, u32 lane) {
  return reg(wave, operand, i, lane) | u64{reg(wave, operand, i + 1, lane)} << 32;
}
u64 scalar64(const Wave& wave, u32 first) { return wave.scalar[first] | u64{wave.scalar[first + 1]} << 32; }
u32 scalar(const Wave& wave, const Operand& operand) {
  return operand.kind == OperandKind::sgpr ? wave.scalar[operand.value] : operand.value;
}

// A mnemonic cut up: "global_load_ushort" is {global, load, ushort}.
struct Name {
  std::string space, verb, rest;
  explicit Name(std::string_view text) {
    const std::size_t first = text.find('_'), second = std::min(text.find('_', first + 1), text.size());
    space = text.substr(0, first);
    verb = text.substr(first + 1, second - first - 1);
    rest = second < text.size() ? text.substr(second + 1) : "";
  }
};

// Bytes, extension and half of the size words.
struct Size {
  u32 bytes = 0;
  bool is_signed = false, high = false;
};
Size size_of(const std::string& word) {
  static const std::map<std::string, Size> sizes = {{"ubyte", {1}},
                                                    {"sbyte", {1, true}},
                                                    {"ushort", {2}},
                                                    {"sshort", {2, true}},
                                                    {"byte", {1}},
                                                    {"short", {2}},
                                                    {"dword", {4}},
                                                    {"dwordx2", {8}},
                                                    {"dwordx3", {12}},
                                                    {"dwordx4", {16}},
                                                    {"dwordx8", {32}},
                                                    {"dwordx16", {64}},
                                                    {"u8", {1}},
                                                    {"i8", {1, true}},
                                                    {"u16", {2}},
                                                    {"i16", {2, true}},
                                                    {"b8", {1}},
                                                    {"b16", {2}},
                                                    {"b32", {4}},
                                                    {"b64", {8}},
                                                    {"b96", {12}},
                                                    {"b128", {16}},
                                                    {"byte_d16_hi", {1, false, true}},
                                                    {"short_d16_hi", {2, false, true}},
                                                    {"b8_d16_hi", {1, false, true}},
                                                    {"b16_d16_hi", {2, false, true}}};
  const auto found = sizes.find(word);
  return found == sizes.end() ? Size{} : found->second;
}

// One lane's memory behind an address; null where a buffer lets nothing through.
u8* flat_byte(Wave& wave, OracleMemory& memory, u64 address, u32 lane) {
  if (address >> 32 == OracleMemory::lds_aperture >> 32) return &memory.lds.at(address & 0xffffffff);
  if (address >> 32 == OracleMemory::private_aperture >> 32)
    return reinterpret_cast<u8*>(&wave.scratch.at(lane * (wave.scratch.size() / 64) + (address & 0xffffffff)));
  return &memory.global.at(address - OracleMemory::global_address);
}

// CDNA4 ISA 9.1: base + soffset + index * stride + voffset + offset. A dword counts by its first byte; raw buffers are
// checked by offset against num_records less soffset, structured ones by index and by offset against the stride.
u8* buffer_byte(Wave& wave, OracleMemory& memory, const Inst& inst, u32 lane, u32 byte, u32 element) {
  const u32* v = &wave.scalar[inst.args[2].value];
  const u64 base = v[0] | u64{v[1] & 0xffff} << 32, stride = v[1] >> 16 & 0x3fff, records = v[2];
  const u64 soffset = scalar(wave, inst.args[3]);
  u64 index = 0, offset = static_cast<u64>(inst.mods.offset);
  if (inst.mods.idxen) index = reg(wave, inst.args[1], 0, lane);
  if (inst.mods.offen) offset += reg(wave, inst.args[1], inst.mods.idxen ? 1 : 0, lane);
  const u64 checked = offset + byte / element * element;
  if (stride != 0 && inst.mods.idxen) {
    if (index >= records || checked >= stride) return nullptr;
  } else if (soffset > records || checked >= records - soffset) {
    return nullptr;
  }
  return flat_byte(wave, memory, base + soffset + index * stride + offset + byte, lane);
}

struct Access {
  Wave& wave;
  OracleMemory& memory;
  const Inst& inst;
  std::string space;
  u32 element;

  int address_argument() const {
    const auto& d = isa::desc(inst.op);
    const bool data_first = d.args[0].role != isa::Role::read || space == "buffer";
    return data_first ? 1 : 0;
  }
  const Operand& argument(int i) const { return inst.args[static_cast<std::size_t>(i)]; }

  u8* byte(u32 lane, u32 i) const {
    const auto offset = static_cast<u64>(std::int64_t{inst.mods.offset});
    const int at = address_argument();
    if (space == "buffer") return buffer_byte(wave, memory, inst, lane, i, element);
    if (space == "ds") return &memory.lds.at(static_cast<u32>(reg(wave, argument(at), 0, lane) + offset) + i);
    if (space == "flat") return flat_byte(wave, memory, reg64(wave, argument(at), 0, lane) + offset + i, lane);
    int last = isa::max_args - 1;
    while (isa::desc(inst.op).args[static_cast<std::size_t>(last)].role == isa::Role::none) --last;
    const Operand& base = argument(last);
    if (space == "scratch") {
      u32 address = static_cast<u32>(offset);
      if (argument(at).kind == OperandKind::vgpr) address += reg(wave, argument(at), 0, lane);
      if (base.kind == OperandKind::sgpr) address += wave.scalar[base.value];
      return flat_byte(wave, memory, OracleMemory::private_aperture + address + i, lane);
    }
    const u64 address = base.kind == OperandKind::sgpr ? scalar64(wave, base.value) + reg(wave, argument(at), 0, lane)
                                                       : reg64(wave, argument(at), 0, lane);
    return flat_byte(wave, memory, address + offset + i, lane);
  }

  u64 load(u32 lane, u32 from, u32 bytes) const {
    u64 value = 0;
    for (u32 i = 0; i < bytes; ++i)
      if (const u8* p = byte(lane, from + i)) value |= u64{*p} << 8 * i;
    return value;
  }
  void store(u32 lane, u32 from, u32 bytes, u64 value) const {
    for (u32 i = 0; i < bytes; ++i)
      if (u8* p = byte(lane, from + i)) *p = static_cast<u8>(value >> 8 * i);
  }
};

using Results = std::vector<std::array<u32, 64>>;

void write_back(Wave& wave, const Operand& to, const Results& results) {
  for (u32 i = 0; i < results.size(); ++i)
    for (u32 lane = 0; lane < 64; ++lane)
      if (active(wave, lane)) reg(wave, to, i, lane) = results[i][lane];
}

void load(const Access& a, Size size) {
  Results results((size.bytes + 3) / 4);
  for (u32 lane = 0; lane < 64; ++lane)
    for (u32 i = 0; active(a.wave, lane) && i < results.size(); ++i) {
      u32 value = static_cast<u32>(a.load(lane, 4 * i, std::min(size.bytes, 4u)));
      if (size.is_signed && size.bytes == 1) value = static_cast<u32>(static_cast<std::int8_t>(value));
      if (size.is_signed && size.bytes == 2) value = static_cast<u32>(static_cast<std::int16_t>(value));
      results[i][lane] = value;
    }
  write_back(a.wave, a.inst.args[0], results);
}

void store(const Access& a, Size size) {
  const Operand& data = a.argument(a.space == "buffer" ? 0 : 1);
  for (u32 lane = 0; lane < 64; ++lane)
    for (u32 i = 0; active(a.wave, lane) && i < size.bytes; ++i)
      a.store(lane, i, 1, reg(a.wave, data, i / 4, lane) >> (8 * (i % 4) + (size.high ? 16 : 0)) & 0xff);
}

void atomic(const Access& a, const AtomicOperation& op) {
  const bool in_lds = a.space == "ds";
  const u32 words = op.bytes / 4;
  const Operand& data = a.argument(a.space == "buffer" ? 0 : a.address_argument() + 1);
  Results results(words);
  for (u32 lane = 0; lane < 64; ++lane) {
    if (!active(a.wave, lane)) continue;
    const auto word = [&](const Operand& operand, u32 i) {
      return words == 1 ? reg(a.wave, operand, i, lane) : reg64(a.wave, operand, i, lane);
    };
    u64 source = word(data, 0), compare = 0;
    if (op.what == "cmpswap" && in_lds) {
      compare = source;
      source = word(a.argument(a.address_argument() + 2), 0);
    } else if (op.what == "cmpswap") {
      compare = word(data, words);
    }
    const bool reachable = a.byte(lane, 0) && a.byte(lane, op.bytes - 1);  // else a buffer's range ends before
    const u64 before = reachable ? a.load(lane, 0, op.bytes) : 0;
    if (reachable) a.store(lane, 0, op.bytes, after_atomic(op.what, before, source, compare, op.bytes));
    for (u32 i = 0; i < words; ++i) results[i][lane] = static_cast<u32>(before >> 32 * i);
  }
  if (op.returns) write_back(a.wave, a.inst.args[0], results);
}

// offset0 and offset1 in elements, or in 64 of them.
void pair(const Access& a, bool reads, u32 bytes, u32 scale) {
  const Operand& address = a.argument(reads ? 1 : 0);
  const u32 words = bytes / 4;
  Results results(2 * words);
  for (u32 second = 0; second < 2; ++second)
    for (u32 lane = 0; lane < 64; ++lane) {
      if (!active(a.wave, lane)) continue;
      const u32 offset = (second ? a.inst.mods.offset1 : static_cast<u32>(a.inst.mods.offset)) * bytes * scale;
      u8* at = &a.memory.lds.at(reg(a.wave, address, 0, lane) + offset);
      for (u32 w = 0; w < words; ++w) {
        if (reads) std::memcpy(&results[second * words + w][lane], at + 4 * w, 4);
        if (!reads) std::memcpy(at + 4 * w, &reg(a.wave, a.argument(second ? 2 : 1), w, lane), 4);
      }
    }
  if (reads) write_back(a.wave, a.inst.args[0], results);
}

// gfx950.md 4: element j of lane t is element t of what lane j of the 16 addressed, six bits of 96.
void transposed_sixes(const Access& a) {
  Results results(3);
  for (u32 lane = 0; lane < 64; ++lane)
    for (u32 bit = 0; bit < 96; ++bit) {
      const u32 from = lane / 16 * 16 + bit / 6, at = lane % 16 * 6 + bit % 6;
      results[bit / 32][lane] |= static_cast<u32>(a.load(from, at / 8, 1) >> at % 8 & 1) << bit % 32;
    }
  write_back(a.wave, a.inst.args[0], results);
}

// gfx950.md 4, ds_read_b64_tr_*: in groups of 16 lanes, element j of lane t is element t % n of the n that lane
// j * 16 / n + t / n addressed.
void transposed(const Access& a, u32 bits) {
  Results results(2);
  const u32 n = 64 / bits;
  for (u32 lane = 0; lane < 64; ++lane) {
    u64 value = 0;
    for (u32 j = 0; j < n; ++j) {
      const u32 t = lane % 16, from = lane / 16 * 16 + j * 16 / n + t / n;
      value |= (a.load(from, 0, 8) >> (t % n * bits) & ((u64{1} << bits) - 1)) << (j * bits);
    }
    results[0][lane] = static_cast<u32>(value);
    results[1][lane] = static_cast<u32>(value >> 32);
  }
  write_back(a.wave, a.inst.args[0], results);
}

void exchange(Wave& wave, const Inst& inst, const std::string& verb) {
  Results results(1);
  const auto offset = static_cast<u32>(inst.mods.offset);
  for (u32 i = 0; i < 64; ++i) {
    if (verb == "permute") {
      if (active(wave, i))
        results[0][(reg(wave, inst.args[1], 0, i) + offset) / 4 % 64] = reg(wave, inst.args[2], 0, i);
    } else if (verb == "bpermute") {
      const u32 from = (reg(wave, inst.args[1], 0, i) + offset) / 4 % 64;
      results[0][i] = active(wave, from) ? reg(wave, inst.args[2], 0, from) : 0;
    } else {
      const u32 j = offset >= 0x8000 ? i / 4 * 4 + (offset >> 2 * (i % 4)) % 4
                                     : i / 32 * 32 + (((i % 32 & offset % 32) | offset / 32 % 32) ^ offset / 1024 % 32);
      results[0][i] = active(wave, j) ? reg(wave, inst.args[1], 0, j) : 0;
    }
  }
  write_back(wave, inst.args[0], results);
}

// DS_APPEND, DS_CONSUME: the counter at M0 + offset goes up or down by the number of active lanes.
void count(const Access& a, bool up) {
  u8* at = &a.memory.lds.at(a.wave.scalar[isa::m0.first] + static_cast<u32>(a.inst.mods.offset));
  u32 old = 0;
  std::memcpy(&old, at, 4);
  u32 changed = old;
  Results results(1);
  for (u32 lane = 0; lane < 64; ++lane) {
    if (active(a.wave, lane)) changed = up ? changed + 1 : changed - 1;
    results[0][lane] = old;
  }
  std::memcpy(at, &changed, 4);
  write_back(a.wave, a.inst.args[0], results);
}

bool lds_row(const Access& a, const Name& name) {
  if (name.verb == "append" || name.verb == "consume") {
    count(a, name.verb == "append");
    return true;
  }
  const bool reads = name.verb.starts_with("read");
  if (name.verb == "permute" || name.verb == "bpermute" || name.verb == "swizzle") {
    exchange(a.wave, a.inst, name.verb);
    return true;
  }
  if (name.verb.starts_with("read2") || name.verb.starts_with("write2")) {
    pair(a, reads, size_of(name.rest).bytes, name.verb.ends_with("st64") ? 64 : 1);
    return true;
  }
  if (reads && name.rest == "b96_tr_b6") {
    transposed_sixes(a);
    return true;
  }
  if (reads && name.rest.starts_with("b64_tr_b")) {
    transposed(a, static_cast<u32>(std::stoi(name.rest.substr(8))));
    return true;
  }
  if (reads || name.verb == "write") {
    const Size size = size_of(name.rest);
    reads ? load(a, size) : store(a, size);
    return size.bytes != 0;
  }
  atomic(a, ds_operation(name.verb + "_" + name.rest));
  return true;
}

// LDS-DMA: lane l's bytes go to M0 + offset + l * bytes; of less than a dword, the dword that they extend to.
void load_to_lds(const Access& a, Size size) {
  const u32 bytes = std::max(size.bytes, 4u);
  const u32 to = (a.wave.scalar[isa::m0.first] & 0x3ffff) + static_cast<u32>(a.inst.mods.offset);
  for (u32 lane = 0; lane < 64; ++lane)
    for (u32 i = 0; active(a.wave, lane) && i < bytes; ++i) {
      const bool is_negative = size.is_signed && a.load(lane, size.bytes - 1, 1) >= 128;
      a.memory.lds.at(to + lane * bytes + i) =
          i < size.bytes ? static_cast<u8>(a.load(lane, i, 1)) : u8{is_negative ? u8{255} : u8{0}};
    }
}

bool scalar_row(Wave& wave, OracleMemory& memory, const Inst& inst, const Name& name) {
  if (name.verb == "dcache") return true;
  if (name.verb.starts_with("mem")) {
    wave.scalar[inst.args[0].value] = static_cast<u32>(wave.clock);
    wave.scalar[inst.args[0].value + 1] = static_cast<u32>(wave.clock >> 32);
    return true;
  }
  const bool is_buffer = name.verb == "buffer";
  const std::string word = is_buffer ? name.rest.substr(5) : name.rest;
  const u32 base = inst.args[1].value;
  std::int64_t offset = inst.mods.offset;
  offset += inst.args[2].kind == OperandKind::sgpr ? std::int64_t{wave.scalar[inst.args[2].value]}
                                                   : std::int64_t{static_cast<std::int32_t>(inst.args[2].value)};
  std::vector<u32> loaded(size_of(word).bytes / 4);
  for (u32 i = 0; i < loaded.size(); ++i) {
    const u64 at = static_cast<u64>(offset) + 4 * i;
    if (is_buffer && at >= wave.scalar[base + 2]) continue;
    const u64 address = (is_buffer ? scalar64(wave, base) & 0xffffffffffff : scalar64(wave, base)) + at;
    std::memcpy(&loaded[i], &memory.global.at(address - OracleMemory::global_address), 4);
  }
  std::copy(loaded.begin(), loaded.end(), wave.scalar.begin() + inst.args[0].value);
  return !loaded.empty();
}

}  // namespace

bool run_memory_oracle(Wave& wave, OracleMemory& memory, const Inst& inst) {
  const Name name(isa::desc(inst.op).name);
  if (name.space == "s") return scalar_row(wave, memory, inst, name);
  if (name.verb == "wbl2" || name.verb == "inv") return true;
  Access a{wave, memory, inst, name.space, 4};
  if (name.space == "ds") return lds_row(a, name);
  if (name.verb == "atomic") {
    atomic(a, vmem_operation(name.rest, inst.mods.sc0));
    return true;
  }
  const bool dma = name.rest.starts_with("lds_");
  const Size size = size_of(dma ? name.rest.substr(4) : name.rest);
  a.element = std::min(size.bytes, 4u);
  if (dma || inst.mods.lds)
    load_to_lds(a, size);
  else if (name.verb == "load")
    load(a, size);
  else
    store(a, size);
  return size.bytes != 0;
}

}  // namespace zyfa::tests
