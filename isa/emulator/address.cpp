#include "isa/emulator/address.h"

#include "isa/emulator/execute.h"
#include "isa/isa.h"

#include <algorithm>
#include <bit>

namespace zyfa::emulator {
namespace {

using Offsets = std::array<std::uint64_t, lanes>;

// The V# of gfx9 (CDNA4 ISA 9.1.8; gfx950.md 4): base [47:0], stride [61:48], swizzle [63], num_records,
// word 3.
struct Descriptor {
  std::uint64_t base;
  std::uint32_t stride, num_records, word3;
  bool swizzles;

  Descriptor(const Wave& wave, std::uint32_t first) {
    const std::uint32_t* word = &wave.scalar[first];
    base = word[0] | std::uint64_t{word[1] & 0xffff} << 32;
    stride = word[1] >> 16 & 0x3fff;
    swizzles = word[1] >> 31 & 1;
    num_records = word[2];
    word3 = word[3];
  }
  // "ignored by untyped loads, must be nonzero" (MLIR's lowering of raw buffers, AMDGPUToROCDL).
  std::uint32_t data_format() const { return word3 >> 15 & 15; }
  bool adds_thread_id() const { return word3 >> 23 & 1; }
  std::uint32_t type() const { return word3 >> 30; }

  std::string problem() const {
    if (type() != 0) return fmt::format("type is {}, a buffer's is 0", type());
    if (data_format() == 0) return "data format is 0 (invalid), which makes every access out of range";
    if (swizzles) return "swizzle bit is set; only linear buffers are emulated";
    if (adds_thread_id()) return "add-thread-id bit is set; only plain addressing is emulated";
    return {};
  }
};

// Bytes from the offset on that lie below the limit: each element counts by its first byte.
std::uint32_t bytes_below(std::uint64_t limit, std::uint64_t offset, const Request& r) {
  if (offset >= limit) return 0;
  const std::uint64_t elements = (limit - offset + r.element - 1) / r.element;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(elements * r.element, r.bytes));
}

// Atomics are whole, so their whole size must be aligned.
std::optional<Fault> check_alignment(const Request& r, const isa::Inst& inst) {
  const std::uint32_t alignment = isa::is_atomic(isa::desc(inst.op).kind) ? r.bytes : r.element;
  std::uint64_t all = 0;
  for (const std::uint64_t a : r.address) all |= a;
  if (all % alignment == 0) return std::nullopt;
  for (std::size_t lane = 0; lane < lanes; ++lane)
    if (r.range(lane) > 0 && r.address[lane] % alignment != 0)
      return Fault{TrapKind::misaligned, static_cast<int>(lane),
                   fmt::format("address {:#x} is not a multiple of {}", r.address[lane], alignment)};
  return std::nullopt;
}

Request& begin(Request& r, const Wave& wave, std::uint32_t bytes) {
  r.bytes = bytes;
  r.element = std::min(bytes, 4u);
  r.exec = wave.exec();
  r.whole = true;
  return r;
}

}  // namespace

void active_lanes(const Lanes& lanes_in, std::uint64_t exec, Lanes& lanes_out) {
  lanes_out = lanes_in;
  if (exec == ~std::uint64_t{0}) return;
  const std::uint32_t first = lanes_in[static_cast<std::size_t>(std::countr_zero(exec))];
  for (std::size_t lane = 0; lane < lanes; ++lane)
    if (!(exec >> lane & 1)) lanes_out[lane] = first;
}

// gfx950.md 4, "Raw buffer OOB": soffset moves the address and shortens the range, but is not itself checked:
// out of range is voffset + inst_offset >= num_records - soffset, with stride and index: index >= num_records
// or offset >= stride. Loads of several dwords are checked dword by dword. Offsets are added without wrapping
// at 2^32 [I].
std::optional<Fault> address_buffer(const isa::Inst& inst, const Wave& wave, std::uint32_t bytes, Request& request) {
  const Descriptor descriptor(wave, inst.args[2].value);
  if (std::string problem = descriptor.problem(); !problem.empty())
    return Fault{
        TrapKind::memory_out_of_bounds, -1,
        fmt::format("the buffer descriptor's {} (s[{}:{}] = {:#x} {:#x} {:#x} {:#x})", problem, inst.args[2].value,
                    inst.args[2].value + 3, wave.scalar[inst.args[2].value], wave.scalar[inst.args[2].value + 1],
                    wave.scalar[inst.args[2].value + 2], wave.scalar[inst.args[2].value + 3])};
  Request& r = begin(request, wave, bytes);
  const std::uint64_t soffset = scalar_source(wave, inst.args[3]);
  const auto inst_offset = static_cast<std::uint64_t>(inst.mods.offset);

  Offsets offset;
  Lanes registers;
  offset.fill(inst_offset);
  if (inst.mods.offen) {
    active_lanes(wave.lanes_of(inst.args[1], inst.mods.idxen ? 1 : 0), r.exec, registers);
    for (std::size_t lane = 0; lane < lanes; ++lane) offset[lane] = inst_offset + registers[lane];
  }
  for (std::size_t lane = 0; lane < lanes; ++lane) r.address[lane] = descriptor.base + soffset + offset[lane];

  const bool structured = descriptor.stride != 0 && inst.mods.idxen;
  if (inst.mods.idxen) {
    active_lanes(wave.lanes_of(inst.args[1]), r.exec, registers);
    for (std::size_t lane = 0; lane < lanes; ++lane)
      r.address[lane] += std::uint64_t{registers[lane]} * descriptor.stride;
  }
  const std::uint64_t limit = structured
                                  ? descriptor.stride
                                  : descriptor.num_records - std::min<std::uint64_t>(soffset, descriptor.num_records);
  if (structured) {
    for (std::size_t lane = 0; lane < lanes; ++lane)
      r.in_range[lane] = registers[lane] >= descriptor.num_records ? 0 : bytes_below(limit, offset[lane], r);
    r.whole = std::all_of(r.in_range.begin(), r.in_range.end(), [bytes](std::uint32_t n) { return n == bytes; });
  } else if (*std::max_element(offset.begin(), offset.end()) + bytes - r.element >= limit) {
    for (std::size_t lane = 0; lane < lanes; ++lane) r.in_range[lane] = bytes_below(limit, offset[lane], r);
    r.whole = false;
  }
  return check_alignment(r, inst);
}

// CDNA4 ISA 9.2: a 64-bit address per lane, or a scalar base plus 32 unsigned bits per lane; the offset is
// signed.
std::optional<Fault> address_global(const isa::Inst& inst, const Wave& wave, std::uint32_t bytes, Request& request) {
  Request& r = begin(request, wave, bytes);
  const isa::Desc& d = isa::desc(inst.op);
  const isa::Operand& vaddr = inst.args[static_cast<std::size_t>(d.address)];
  const isa::Operand& saddr = inst.args[static_cast<std::size_t>(d.base)];
  const auto inst_offset = static_cast<std::uint64_t>(std::int64_t{inst.mods.offset});
  Lanes low, high;
  active_lanes(wave.lanes_of(vaddr), r.exec, low);
  if (saddr.kind == isa::OperandKind::sgpr) {
    const std::uint64_t base = wave.scalar64(static_cast<int>(saddr.value)) + inst_offset;
    for (std::size_t lane = 0; lane < lanes; ++lane) r.address[lane] = base + low[lane];
  } else {
    active_lanes(wave.lanes_of(vaddr, 1), r.exec, high);
    for (std::size_t lane = 0; lane < lanes; ++lane)
      r.address[lane] = (low[lane] | std::uint64_t{high[lane]} << 32) + inst_offset;
  }
  return check_alignment(r, inst);
}

}  // namespace zyfa::emulator
