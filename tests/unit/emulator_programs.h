// Hand-built programs for the emulator's tests: a shorthand for instruction values, and a machine with an
// input and an output region that a program's registers can be dumped to.
#pragma once

#include "isa/emulator/emulator.h"
#include "isa/inst.h"
#include "isa/regs.h"

#include <algorithm>
#include <initializer_list>
#include <span>
#include <vector>

namespace zyfa::emulator {

using isa::A;
using isa::Inst;
using isa::Modifiers;
using isa::Op;
using isa::Operand;
using isa::OperandKind;
using isa::Program;
using isa::S;
using isa::V;

inline Operand number(std::uint32_t n) { return {OperandKind::integer, n}; }
inline Operand literal(std::uint32_t bits) { return {OperandKind::literal, bits}; }
inline Operand label(std::uint32_t target) { return {OperandKind::label, target}; }
inline Operand vgpr(int first, int count = 1) { return {OperandKind::vgpr, static_cast<std::uint32_t>(first), count}; }
inline Operand sgpr(int first, int count = 1) { return {OperandKind::sgpr, static_cast<std::uint32_t>(first), count}; }

// Appends instructions; line numbers of the made-up file "kernel" are instruction numbers, so reports can be
// checked.
struct Code {
  Program program;

  std::uint32_t here() const { return static_cast<std::uint32_t>(program.code.size()); }
  Inst& add(Op op, std::initializer_list<Operand> args, const Modifiers& mods = {}) {
    Inst inst{.op = op, .mods = mods, .where = {"kernel", here()}};
    std::copy(args.begin(), args.end(), inst.args.begin());
    return program.code.emplace_back(inst);
  }
  void e32(Op op, std::initializer_list<Operand> args) { add(op, args).form = isa::Form::e32; }

  void s_mov(int s, std::uint32_t value) { add(Op::s_mov_b32, {sgpr(s), Operand::constant(value)}); }
  void s_mov64(int s, std::uint64_t value) {
    s_mov(s, static_cast<std::uint32_t>(value));
    s_mov(s + 1, static_cast<std::uint32_t>(value >> 32));
  }
  void m0(std::uint32_t value) { s_mov(isa::m0.first, value); }
  void exec(std::uint64_t mask) { s_mov64(isa::exec.first, mask); }
  void v_mov(int v, std::uint32_t value) { e32(Op::v_mov_b32, {vgpr(v), Operand::constant(value)}); }
  void v_shift(int to, std::uint32_t bits, int from) { e32(Op::v_lshlrev_b32, {vgpr(to), number(bits), vgpr(from)}); }
  void v_add(int to, std::uint32_t constant, int from) {
    e32(Op::v_add_u32, {vgpr(to), Operand::constant(constant), vgpr(from)});
  }
  // Negative: not waited for.
  void wait(int vmcnt, int lgkmcnt) {
    Modifiers mods;
    if (vmcnt >= 0) mods.vmcnt = static_cast<std::uint8_t>(vmcnt);
    if (lgkmcnt >= 0) mods.lgkmcnt = static_cast<std::uint8_t>(lgkmcnt);
    add(Op::s_waitcnt, {}, mods);
  }
  // A raw buffer's descriptor in s[at..at+3].
  void descriptor(int at, std::uint64_t base, std::uint32_t num_records, std::uint32_t stride = 0) {
    s_mov64(at, base | std::uint64_t{stride} << 48);
    s_mov(at + 2, num_records);
    s_mov(at + 3, 0x20000);
  }
  void barrier() { add(Op::s_barrier, {}); }
  void end() { add(Op::s_endpgm, {}); }
};

inline Modifiers with_offset(std::int32_t offset) {
  Modifiers mods;
  mods.offset = offset;
  return mods;
}
inline Modifiers offen(std::int32_t offset = 0) {
  Modifiers mods = with_offset(offset);
  mods.offen = true;
  return mods;
}
inline Modifiers to_lds(std::int32_t offset = 0) {
  Modifiers mods = offen(offset);
  mods.lds = true;
  return mods;
}

// Byte i of the input region.
inline std::uint8_t pattern(std::size_t i) { return static_cast<std::uint8_t>(i * 37 + (i >> 8) * 11 + 5); }
inline std::uint32_t pattern_dword(std::size_t i) {
  return pattern(i) | std::uint32_t{pattern(i + 1)} << 8 | std::uint32_t{pattern(i + 2)} << 16 |
         std::uint32_t{pattern(i + 3)} << 24;
}

struct Machine {
  static constexpr std::uint64_t in_address = 0x100000, out_address = 0x200000;
  static constexpr std::uint32_t untouched = 0xdddddddd;

  std::vector<std::byte> in = std::vector<std::byte>(8192);
  std::vector<std::uint32_t> out = std::vector<std::uint32_t>(4096, untouched);
  GlobalMemory memory;
  Launch launch;
  Options options;

  Machine() {
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = std::byte{pattern(i)};
    memory.map_read_only("in", in_address, in);
    memory.map("out", out_address, std::as_writable_bytes(std::span(out)));
    launch.lds_bytes = 4096;
    options.threads = 1;
  }
  Machine(const Machine&) = delete;

  Result run(const Code& code) { return emulator::run(code.program, launch, memory, options); }
  Trap trap(const Code& code) {
    Result result = run(code);
    if (result.trap) return *result.trap;
    Trap none;
    none.message = "did not trap";
    return none;
  }
  // A lane of the index'th register that dump() stored.
  std::uint32_t dumped(int index, int lane) const { return out[static_cast<std::size_t>(index * 64 + lane)]; }
};

// What running the code throws; "ran" if nothing.
inline std::string error_of(Machine& machine, const Code& code) {
  try {
    machine.run(code);
  } catch (const Error& error) {
    return error.what();
  }
  return "ran";
}

// Stores the registers v[first + i] of a workgroup of one wave to out[i * 64 + lane] and ends. Uses v255,
// s100 and s101; registers of lanes that the program switched off are stored too.
inline void dump(Code& code, int first, int count) {
  code.exec(~std::uint64_t{0});
  code.s_mov64(100, Machine::out_address);
  code.v_shift(255, 2, 0);
  for (int i = 0; i < count; ++i)
    code.add(Op::global_store_dword, {vgpr(255), vgpr(first + i), sgpr(100, 2)}, with_offset(i * 256));
  code.end();
}

inline bool contains(const std::string& text, std::initializer_list<const char*> parts) {
  return std::all_of(parts.begin(), parts.end(),
                     [&](const char* part) { return text.find(part) != std::string::npos; });
}

}  // namespace zyfa::emulator
