// Random accesses for the memory oracle: an instruction of the row, and registers that make it hit the memory there is.
#include "tests/support/oracle_memory.h"

#include "isa/isa.h"

#include <algorithm>

namespace zyfa::tests {
namespace {

using emulator::Wave;
using isa::Inst;
using isa::Kind;
using isa::Operand;
using isa::OperandKind;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 largest_access = 64;

u32 below(u64 n, Rng& rng) { return static_cast<u32>(rng() % n); }
bool one_in(u32 n, Rng& rng) { return below(n, rng) == 0; }

// No NaN or infinity in any floating-point format, wherever a number begins.
u32 tame(u32 word) { return word & 0xbfffbfff; }

struct Setup {
  Wave& wave;
  OracleMemory& memory;
  const Inst& inst;
  const isa::Desc& d;
  u32 alignment;
  Rng& rng;

  const Operand& argument(int i) const { return inst.args[static_cast<std::size_t>(i)]; }
  u32& vector(int i, u32 part, u32 lane) { return wave.vector[argument(i).value + part][lane]; }
  void set_scalar(const Operand& operand, u32 part, u32 value) { wave.scalar[operand.value + part] = value; }
  u32 place(u64 size) { return below((size - largest_access) / alignment, rng) * alignment; }
  // Half of the instructions crowd into few places, so that lanes meet.
  u64 span(u64 size) { return crowded ? std::min<u64>(size, largest_access + 8 * alignment) : size; }
  bool crowded = one_in(2, rng);

  void lds();
  void global();
  void flat();
  void scratch();
  bool buffer();
  bool scalar();
};

void Setup::lds() {
  const u32 reach = d.pair_stride ? 255u * d.pair_stride : 0;
  const bool exchanges = d.kind == Kind::DS_PERMUTE || d.kind == Kind::DS_SWIZZLE;
  if (exchanges) return;
  const u32 offset = d.pair_stride ? 0 : static_cast<u32>(inst.mods.offset);
  for (u32 lane = 0; lane < 64; ++lane) vector(d.address, 0, lane) = place(span(memory.lds.size() - reach)) - offset;
}

void Setup::global() {
  const Operand& base = argument(d.base);
  const u64 start = OracleMemory::global_address - 0x8000 + place(0x4000);
  if (base.kind == OperandKind::sgpr) {
    set_scalar(base, 0, static_cast<u32>(start));
    set_scalar(base, 1, static_cast<u32>(start >> 32));
  }
  for (u32 lane = 0; lane < 64; ++lane) {
    u64 address = OracleMemory::global_address + place(span(memory.global.size())) -
                  static_cast<u64>(std::int64_t{inst.mods.offset});
    if (base.kind == OperandKind::sgpr) address -= start;
    vector(d.address, 0, lane) = static_cast<u32>(address);
    if (base.kind != OperandKind::sgpr) vector(d.address, 1, lane) = static_cast<u32>(address >> 32);
  }
}

void Setup::flat() {
  for (u32 lane = 0; lane < 64; ++lane) {
    const u32 kind = below(3, rng);
    u64 address = kind == 0   ? OracleMemory::global_address + place(span(memory.global.size()))
                  : kind == 1 ? OracleMemory::lds_aperture + place(span(memory.lds.size()))
                              : OracleMemory::private_aperture + place(span(wave.scratch.size() / 64));
    address -= static_cast<u64>(std::int64_t{inst.mods.offset});
    vector(d.address, 0, lane) = static_cast<u32>(address);
    vector(d.address, 1, lane) = static_cast<u32>(address >> 32);
  }
}

void Setup::scratch() {
  const Operand& base = argument(d.base);
  const bool has_vector = argument(d.address).kind == OperandKind::vgpr;
  const auto offset = static_cast<u32>(inst.mods.offset);
  const u32 size = static_cast<u32>(wave.scratch.size() / 64);
  const u32 start = has_vector ? place(0x1000) : place(size) - offset;
  if (base.kind == OperandKind::sgpr) set_scalar(base, 0, start);
  if (!has_vector) return;
  for (u32 lane = 0; lane < 64; ++lane)
    vector(d.address, 0, lane) = place(span(size)) - offset - (base.kind == OperandKind::sgpr ? start : 0);
}

// Raw with a range that ends in the middle of what the lanes ask for, or structured.
bool Setup::buffer() {
  const Operand& resource = argument(2);
  const Operand& soffset = argument(3);
  const bool is_register = soffset.kind == OperandKind::sgpr;
  if (is_register && soffset.value + 4 > resource.value && soffset.value < resource.value + 4) return false;
  if (is_register) set_scalar(soffset, 0, place(0x400));
  const u32 shift = is_register ? wave.scalar[soffset.value] : soffset.value;
  const u32 stride = inst.mods.idxen && one_in(2, rng) ? 4 * below(16, rng) : 0;
  if (stride != 0 && shift > 0x4000) return false;  // no range check would hold it back
  const u32 records = stride ? below(600, rng) : 0x2000 + below(0x2000, rng);
  const u64 base = OracleMemory::global_address;
  set_scalar(resource, 0, static_cast<u32>(base));
  set_scalar(resource, 1, static_cast<u32>(base >> 32) | stride << 16);
  set_scalar(resource, 2, records);
  set_scalar(resource, 3, 0x27000);
  for (u32 lane = 0; lane < 64; ++lane) {
    if (inst.mods.idxen) vector(1, 0, lane) = below(700, rng);
    if (inst.mods.offen) vector(1, inst.mods.idxen ? 1 : 0, lane) = place(span(stride ? 64 + largest_access : 0x4000));
  }
  const bool aligned =
      alignment == 1 ||
      (shift % alignment == 0 && static_cast<u32>(inst.mods.offset) % alignment == 0 && stride % alignment == 0);
  return aligned;
}

bool Setup::scalar() {
  if (d.args[1].role == isa::Role::none) return true;
  const Operand& base = argument(1);
  const Operand& offset = argument(2);
  const auto in_base = [&](const Operand& o) { return o.value >= base.value && o.value < base.value + base.count; };
  if (offset.kind == OperandKind::sgpr && in_base(offset)) return false;
  std::int64_t shift = inst.mods.offset;
  if (offset.kind == OperandKind::sgpr) set_scalar(offset, 0, place(0x1000));
  shift += offset.kind == OperandKind::sgpr ? std::int64_t{wave.scalar[offset.value]}
                                            : std::int64_t{static_cast<std::int32_t>(offset.value)};
  if (shift % 4 != 0) return false;
  const bool is_buffer = d.kind == Kind::SMEM_BUFFER_LOAD;
  if (is_buffer && (shift < 0 || shift > 0x4000)) return false;
  const u64 start = is_buffer ? OracleMemory::global_address
                              : OracleMemory::global_address + place(memory.global.size()) - static_cast<u64>(shift);
  set_scalar(base, 0, static_cast<u32>(start));
  set_scalar(base, 1, static_cast<u32>(start >> 32));
  if (is_buffer) set_scalar(base, 2, below(0x4000, rng));
  return true;
}

// Comparisons are of interest where they succeed too: two numbers only, in memory and in registers.
void make_alike(Wave& wave, OracleMemory& memory, Rng& rng) {
  const auto number = [&rng] { return one_in(2, rng) ? 0x01010101u : 0x02020202u; };
  for (auto& lanes : wave.vector) {
    const u32 word = number();
    for (u32& w : lanes) w = word;
  }
  for (auto* bytes : {&memory.global, &memory.lds})
    for (std::size_t i = 0; i + 8 <= bytes->size(); i += 8)
      std::fill_n(bytes->begin() + static_cast<std::ptrdiff_t>(i), 8, static_cast<std::uint8_t>(number()));
}

bool names_special_register(const Inst& inst) {
  return std::any_of(inst.args.begin(), inst.args.end(), [](const Operand& operand) {
    return operand.kind == OperandKind::sgpr && operand.value + operand.count > 102u;
  });
}

}  // namespace

Inst random_access(isa::Op op, Wave& wave, OracleMemory& memory, bool aligned, Rng& rng) {
  const isa::Desc& d = isa::desc(op);
  for (auto& lanes : wave.vector)
    for (u32& word : lanes) word = tame(static_cast<u32>(rng()));
  for (std::size_t i = 0; i < 102; ++i) wave.scalar[i] = static_cast<u32>(rng());
  if (d.name.find("cmp") != std::string_view::npos) make_alike(wave, memory, rng);
  const bool is_atomic = isa::is_atomic(d.kind), is_scalar = d.cls == isa::Class::Smem;
  const u32 whole = d.memory_bytes ? d.memory_bytes : 4;
  const bool is_lds = d.kind >= Kind::DS_READ && d.kind <= Kind::DS_SWIZZLE;
  const bool may_be_lds = is_lds || (d.kind >= Kind::FLAT_LOAD && d.kind <= Kind::FLAT_ATOMIC);
  const u32 element = may_be_lds ? (whole > 8 ? 16 : whole) : std::min(whole, 4u);
  const u32 alignment = is_atomic ? whole : is_scalar ? 4 : aligned ? element : 1;
  constexpr u64 masks[] = {~u64{0}, 1, u64{1} << 63, 0};
  const u32 choice = below(8, rng);
  wave.set_scalar64(isa::exec.first, d.kind == Kind::DS_READ_TR ? ~u64{0} : choice < 4 ? masks[choice] : rng());
  wave.scalar[isa::m0.first] = 16 * below(1000, rng);
  wave.clock = rng();
  for (;;) {
    const Inst inst = random_inst(op, rng);
    if (names_special_register(inst)) continue;
    // Single-dword offsets of LDS-DMA go to the LDS address too, which needs a multiple of 4.
    if (isa::is_lds_dma(inst) && inst.mods.offset % 4 != 0) continue;
    if (isa::is_lds_dma(inst) && inst.mods.offset < 0) continue;
    Setup setup{wave, memory, inst, d, alignment, rng};
    if (d.kind == Kind::CACHE_WRITE_BACK || d.kind == Kind::CACHE_INVALIDATE) return inst;
    if (is_scalar) {
      if (setup.scalar()) return inst;
    } else if (d.kind == Kind::DS_COUNT) {
      wave.scalar[isa::m0.first] += 4 - static_cast<u32>(inst.mods.offset) % 4;
      return inst;
    } else if (is_lds) {
      setup.lds();
      return inst;
    } else if (d.kind <= Kind::BUFFER_ATOMIC) {
      if (setup.buffer()) return inst;
    } else if (d.kind <= Kind::GLOBAL_ATOMIC) {
      setup.global();
      return inst;
    } else if (d.kind <= Kind::FLAT_ATOMIC) {
      setup.flat();
      return inst;
    } else {
      const bool has_register = inst.args[static_cast<std::size_t>(d.address)].kind != OperandKind::none ||
                                inst.args[static_cast<std::size_t>(d.base)].kind != OperandKind::none;
      if (!has_register && (inst.mods.offset < 0 || static_cast<u32>(inst.mods.offset) % alignment != 0)) continue;
      setup.scratch();
      return inst;
    }
  }
}

}  // namespace zyfa::tests
