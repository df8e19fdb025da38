#include "isa/pipes/timing.h"

#include <algorithm>

namespace zyfa::pipes {
namespace {

using isa::Class;
using isa::Inst;
using isa::Machine;
using isa::Op;

constexpr int sleep_clk = 64;  // CDNA4 ISA, S_SLEEP: about 64 clk for each

std::uint16_t clk(int value) { return static_cast<std::uint16_t>(value); }

// To and from 8 bits and less.
bool converts_to_fp8(const Inst& inst) {
  constexpr std::string_view prefixes[] = {"v_cvt_pk_fp8", "v_cvt_pk_bf8", "v_cvt_sr_", "v_cvt_scalef32_"};
  return std::ranges::any_of(prefixes, [&](auto prefix) { return isa::desc(inst.op).name.starts_with(prefix); });
}

bool packs_integers(const Inst& inst) { return inst.op == Op::v_ashr_pk_u8_i32 || inst.op == Op::v_ashr_pk_i8_i32; }

bool converts_to_integer(const Inst& inst) {
  return inst.op == Op::v_cvt_u32_f32 || inst.op == Op::v_cvt_i32_f32 || inst.op == Op::v_cvt_pk_u8_f32;
}

int valu_clk(const Inst& inst, Class cls, const Machine& m) {
  switch (cls) {
    case Class::Trans:
      return m.trans_clk;
    case Class::ValuQuarter:
      return m.valu_quarter_clk;
    case Class::Valu64:
      return m.valu_64_clk;
    case Class::ValuPacked:
    case Class::Dot:
      return m.packed_clk;
    default:
      if (converts_to_fp8(inst)) return m.cvt_fp8_clk;
      if (converts_to_integer(inst)) return m.cvt_int_clk;
      return packs_integers(inst) ? m.pack_int_clk : m.valu_clk;
  }
}

void time_vector(Timing& t, const Inst& inst, const Machine& m) {
  t.category = Category::vector;
  t.port_clk = clk(valu_clk(inst, t.cls, m));
  t.result_clk = clk(std::max<int>(t.port_clk, m.dependent_valu_clk));
  t.after_matrix =
      t.cls == Class::ValuPacked || t.cls == Class::Dot || (converts_to_fp8(inst) && m.cvt_fp8_after_matrix != 0);
}

// The port is held while A and B are read, 16 bytes of a lane in 4 clk (gfx950.md 2.2; matrix_read_clk).
void time_matrix(Timing& t, const Inst& inst, const Machine& m) {
  constexpr int dword_bytes = 4, bytes_per_slot = 16, slot_clk = 4;
  t.category = Category::vector;
  const int bytes = dword_bytes * std::max(isa::arg(inst, 1).dwords, isa::arg(inst, 2).dwords);
  t.scale_clk = clk(isa::desc(inst.op).kind == isa::Kind::F8F6F4_SCALED ? m.ld_scale_clk : 0);
  t.port_clk = clk(t.scale_clk + m.matrix_read_clk + slot_clk * (bytes / bytes_per_slot));
  t.matrix_clk = clk(slot_clk * isa::passes(inst));
  const isa::Desc& d = isa::desc(inst.op);
  t.flop = 2u * d.m * d.n * d.k * d.blocks / (d.kind == isa::Kind::SMFMAC ? 2 : 1);
  // FP32 and FP64 products leave the port to nobody until two slots after their end (gfx950.md 2.2, PR233721).
  const isa::Type type = isa::desc(inst.op).args[1].type;
  if (type == isa::Type::f32 || type == isa::Type::f64) t.port_clk = clk(t.matrix_clk + 2 * slot_clk);
}

}  // namespace

Timing timing(const Inst& inst, const Machine& machine) {
  const isa::Desc& desc = isa::desc(inst.op);
  Timing t{.cls = desc.cls, .bytes = desc.memory_bytes * 64u * (desc.pair_stride > 0 ? 2u : 1u)};
  switch (desc.cls) {
    case Class::Salu:
      t.category = Category::scalar;
      break;
    case Class::Smem:
      t.category = Category::scalar_memory;
      t.bytes = desc.memory_bytes;
      break;
    case Class::Branch:
      t.category = Category::branch;
      break;
    case Class::Internal:
      t.category = Category::internal;
      if (inst.op == Op::s_nop) t.idle_clk = clk(machine.turn_clk * static_cast<int>(inst.args[0].value & 15));
      if (inst.op == Op::s_sleep) t.idle_clk = clk(sleep_clk * static_cast<int>(inst.args[0].value & 127));
      break;
    case Class::Barrier:
      t.category = Category::internal;
      break;
    case Class::LdsRead:
    case Class::LdsWrite:
      t.category = Category::lds;
      break;
    case Class::VmemLoad:
    case Class::VmemStore:
      t.category = Category::vector_memory;
      break;
    case Class::Mfma:
      time_matrix(t, inst, machine);
      break;
    default:
      time_vector(t, inst, machine);
  }
  return t;
}

std::vector<Timing> timings(const isa::Program& program, const Machine& machine) {
  std::vector<Timing> all;
  all.reserve(program.code.size());
  for (const Inst& inst : program.code) all.push_back(timing(inst, machine));
  return all;
}

}  // namespace zyfa::pipes
