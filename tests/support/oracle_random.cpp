// Random instructions and register contents for the semantics tests, seeded and the same on every host.
#include "isa/modifiers.h"
#include "tests/support/oracle.h"

namespace zyfa::tests {
namespace {

using isa::Form;
using isa::Inst;
using isa::Kind;
using isa::Operand;
using isa::OperandKind;
using isa::Type;
using u32 = std::uint32_t;

u32 below(u32 n, Rng& rng) { return static_cast<u32>(rng() % n); }
bool one_in(u32 n, Rng& rng) { return below(n, rng) == 0; }

// Values at which instructions change their mind: zeros, denormals, limits, ties, infinities, NaNs.
constexpr u32 special_words[] = {
    0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x00800000, 0x80800001, 0x3f800000, 0xbf800000, 0x3f000000,
    0xbf000000, 0x3fc00000, 0x40200000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345,
    0x7f800001, 0x4b000001, 0xcf000000, 0x4f000000, 0x4f800000, 0x43e80000, 0x43e80001, 0x43e7ffff, 0x437f8000,
    0x437e8000, 0x47600000, 0x476fffff, 0x3c800000, 0x7fffffff, 0xffffffff, 0x0000001f, 0x00000020, 0x3ff00000,
    0xbff80000, 0x7ff00000, 0xfff00000, 0x7ff80000, 0x7ff00001, 0x00100000, 0x000fffff, 0x7fefffff, 0x41dfffff,
    0xc1e00000, 0x41efffff, 0x43400000, 0x00360000, 0x7fd00000};

u32 random_word(Rng& rng) {
  switch (below(6, rng)) {
    case 0:
      return special_words[below(std::size(special_words), rng)];
    case 1:
      return below(130, rng) - 65;
    case 2:
      return static_cast<u32>(rng());
    default: {  // floats of moderate size
      const u32 sign_and_mantissa = static_cast<u32>(rng()) & 0x807fffff;
      return sign_and_mantissa | (117 + below(20, rng)) << 23;
    }
  }
}

Operand random_register(OperandKind kind, int count, Rng& rng) {
  if (kind == OperandKind::sgpr && count == 2 && one_in(8, rng)) return isa::exec;
  const u32 step = kind == OperandKind::sgpr ? (count > 2 ? 4 : static_cast<u32>(count)) : count > 1 ? 2 : 1;
  // Few vector registers, so that sources and destinations often coincide.
  const u32 last = (kind == OperandKind::sgpr ? 102U : count > 2 ? 256U : 64U) - static_cast<u32>(count);
  return {kind, below(last / step + 1, rng) * step, count};
}

Operand random_operand(const Inst& inst, const isa::Arg& a, Rng& rng) {
  if (a.type == Type::mask && one_in(2, rng)) return isa::vcc;
  const Kind kind = isa::desc(inst.op).kind;
  if (kind == Kind::SET_REG_LITERAL && inst.args[0].kind == OperandKind::integer)
    return Operand::constant(static_cast<u32>(rng()));
  // The emulator has MODE of the hardware registers.
  if (isa::names_hardware_register(kind) && a.dwords == 0)
    return {OperandKind::integer, (below(0x10000, rng) & ~63u) | isa::mode_register};
  if (kind >= Kind::INDEX_ON && kind <= Kind::INDEX && a.dwords == 0) return {OperandKind::integer, below(16, rng)};
  if (a.dwords == 0) return {OperandKind::literal, below(0x10000, rng)};
  switch (below(a.role == isa::Role::read ? 6 : 3, rng)) {
    case 0:
      return random_register(OperandKind::sgpr, a.dwords, rng);
    case 1:
      return random_register(OperandKind::agpr, a.dwords, rng);
    case 2:
      return random_register(OperandKind::vgpr, a.dwords, rng);
    case 3:
      return Operand::constant(static_cast<int>(below(81, rng)) - 16);
    case 4:
      return Operand::constant(isa::inline_floats[below(isa::inline_floats.size(), rng)]);
    default:
      break;
  }
  if (inst.form == Form::dpp) return random_register(OperandKind::vgpr, a.dwords, rng);
  return Operand::constant(static_cast<u32>(rng()));
}

void choose_dpp(isa::Modifiers& mods, Rng& rng) {
  constexpr std::uint16_t controls[] = {0x101, 0x10f, 0x111, 0x11f, 0x121, 0x12f, 0x130, 0x134, 0x138, 0x13c,
                                        0x140, 0x141, 0x142, 0x143, 0x150, 0x15f, 0x104, 0x118, 0x126};
  mods.dpp_ctrl =
      one_in(3, rng) ? static_cast<std::uint16_t>(below(256, rng)) : controls[below(std::size(controls), rng)];
  mods.dpp_row_mask = one_in(2, rng) ? 15 : static_cast<std::uint8_t>(below(16, rng));
  mods.dpp_bank_mask = one_in(2, rng) ? 15 : static_cast<std::uint8_t>(below(16, rng));
  mods.dpp_bound_ctrl = one_in(2, rng);
}

void choose_sdwa(isa::Modifiers& mods, const isa::Desc& d, int tolerance, Rng& rng) {
  const auto selection = [&] { return static_cast<std::uint8_t>(below(7, rng)); };
  mods.src0_sel = selection();
  if (d.kind != Kind::VOP1) mods.src1_sel = selection();
  mods.sext = static_cast<std::uint8_t>(below(4, rng));
  const int first = isa::first_source(d.kind);
  for (int i = 0; i < 2; ++i)
    if (!isa::takes_sext(d, first + i)) mods.sext &= static_cast<std::uint8_t>(~(1 << i));
  if (!isa::has_sdwa_result(d)) return;
  mods.dst_sel = selection();
  // A part of a result that is allowed to be off by one may be off by anything.
  if (tolerance > 0) mods.dst_sel = isa::Modifiers::whole_dword;
  mods.dst_unused = static_cast<isa::DstUnused>(below(3, rng));
}

void choose_modifiers(Inst& inst, const isa::Desc& d, Rng& rng) {
  isa::Modifiers& mods = inst.mods;
  const auto three_bits = [&] { return static_cast<std::uint8_t>(below(8, rng)); };
  const bool packed = d.kind >= Kind::PK_F32_2 && d.kind <= Kind::PK_MOVE;
  const bool halves = d.kind == Kind::PK16_2 || d.kind == Kind::PK16_3;
  mods.op_sel = static_cast<std::uint8_t>(below(16, rng)) & isa::op_sel_mask(d);
  if (packed || halves || d.kind == Kind::MIX || d.kind == Kind::F8F6F4_SCALED) {
    const std::uint8_t sources = isa::op_sel_mask(d);
    if (one_in(2, rng)) mods.op_sel_hi = three_bits() & sources;
    if ((packed && d.kind != Kind::PK_MOVE) || (halves && d.args[0].type == Type::f16x2))
      mods.neg_lo = three_bits() & sources, mods.neg_hi = three_bits() & sources;
  }
  if (d.kind == Kind::DOT && d.args[0].type == Type::f32)
    mods.neg_lo = three_bits() & 3, mods.neg_hi = three_bits() & 3;
  if (d.kind == Kind::F8F6F4 || d.kind == Kind::F8F6F4_SCALED) {
    mods.cbsz = static_cast<std::uint8_t>(below(5, rng));
    mods.blgp = static_cast<std::uint8_t>(below(5, rng));
  }
  if (d.kind == Kind::MFMA || d.kind == Kind::SMFMAC) {
    const bool sparse = d.kind == Kind::SMFMAC;
    if (sparse || d.blocks > 1) mods.cbsz = static_cast<std::uint8_t>(below(5, rng));
    mods.abid = static_cast<std::uint8_t>(below(sparse ? 16 : 1U << mods.cbsz, rng));
    const bool takes_blgp = d.blocks > 1 || d.args[1].type == Type::f32 || d.args[1].type == Type::f64;
    if (!sparse && takes_blgp) mods.blgp = three_bits();
  }
  if (d.kind == Kind::BITOP3) mods.bitop3 = static_cast<std::uint8_t>(rng());
  if (inst.form == Form::dpp) choose_dpp(mods, rng);
  if (inst.form == Form::sdwa) choose_sdwa(mods, d, tolerance_ulps(inst.op), rng);
  const bool vop3 =
      d.kind >= Kind::VOP1 && d.kind <= Kind::PK_F32_3 && inst.form != Form::e32 && inst.form != Form::dpp;
  if (!vop3) return;
  mods.clamp = one_in(3, rng);
  const bool has_omod = d.args[0].type == Type::f32 || d.args[0].type == Type::f64 || d.args[0].type == Type::f16;
  if (has_omod && !packed && d.kind != Kind::MIX && d.kind != Kind::DOT)
    mods.omod = static_cast<std::uint8_t>(below(4, rng));
}

Inst guess(isa::Op op, Rng& rng) {
  const isa::Desc& d = isa::desc(op);
  Inst inst;
  inst.op = op;
  constexpr Form forms[] = {Form::e32, Form::e64, Form::dpp, Form::sdwa};
  if (has_short_form(d.kind)) inst.form = forms[below(4, rng)];
  choose_modifiers(inst, d, rng);
  const bool packed = d.kind >= Kind::PK_F32_2 && d.kind <= Kind::PK_MOVE;
  for (int i = 0; i < isa::max_args; ++i) {
    const isa::Arg a = isa::arg(inst, i);
    if (a.role == isa::Role::none) continue;
    Operand& operand = inst.args[static_cast<std::size_t>(i)];
    operand = random_operand(inst, a, rng);
    const bool is_source = a.role == isa::Role::read;
    if (is_source && isa::takes_source_modifiers(d, i) && !packed && inst.form != Form::e32) {
      operand.neg = one_in(4, rng);
      operand.abs = one_in(4, rng);
    }
  }
  return inst;
}

// Under DPP every source but a lane mask is a vector register.
bool dpp_sources_are_vectors(const Inst& inst) {
  const isa::Desc& d = isa::desc(inst.op);
  for (std::size_t i = 0; i < isa::max_args; ++i)
    if (d.args[i].role == isa::Role::read && d.args[i].type != Type::mask && inst.args[i].kind != OperandKind::vgpr)
      return false;
  return true;
}

// A, B, C and the scales each get contents of their own kind, so none may overlap another.
bool matrix_sources_are_disjoint(const Inst& inst) {
  if (inst.args[3].kind == OperandKind::literal) return false;
  const bool updates_d = isa::accumulator_argument(inst) == 0;
  for (std::size_t i = updates_d ? 0 : 1; i < isa::max_args; ++i)
    for (std::size_t j = i + 1; j < isa::max_args; ++j) {
      const Operand& a = inst.args[i];
      const Operand& b = inst.args[j];
      if (a.is_register() && a.kind == b.kind && a.value < b.value + b.count && b.value < a.value + a.count)
        return false;
    }
  return true;
}

}  // namespace

Inst random_instruction(isa::Op op, Rng& rng) {
  for (int i = 0; i < 100000; ++i) {
    const Inst inst = guess(op, rng);
    if (inst.form == Form::dpp && !dpp_sources_are_vectors(inst)) continue;
    if (isa::is_mfma(inst) && !matrix_sources_are_disjoint(inst)) continue;
    if (isa::validate(inst).empty()) return inst;
  }
  throw Error("no valid random instruction found for {}", isa::desc(op).name);
}

void randomise(emulator::Wave& wave, Rng& rng) {
  for (auto& reg : wave.vector)
    for (u32& word : reg) word = random_word(rng);
  for (u32& word : wave.scalar) word = random_word(rng);
  randomise_state(wave, rng);
}

void randomise_state(emulator::Wave& wave, Rng& rng) {
  wave.scc = one_in(2, rng);
  // Denormals, IEEE, DX10_CLAMP and FP16_OVFL in all combinations; rounding stays nearest even.
  wave.mode.bits = static_cast<u32>(rng()) & 0x008003f0;
  constexpr std::uint64_t masks[] = {~0ULL, ~0ULL, 0, 1, 0x8000000000000000};
  const u32 choice = below(8, rng);
  wave.set_scalar64(isa::exec.first, choice < 5 ? masks[choice] : rng());
}

}  // namespace zyfa::tests
