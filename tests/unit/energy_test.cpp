// What toggles at the matrix pipe's ports, what else the energy proxy counts, and what it makes of it: docs/energy.md.
#include "isa/pipes/compute_unit.h"
#include "tests/support/catch.h"
#include "tests/unit/emulator_programs.h"

using namespace zyfa;
using namespace zyfa::emulator;

namespace {

constexpr std::uint64_t bits_of_register = 64 * 32;

pipes::Result run(const Code& code, std::uint32_t waves = 1) {
  Machine machine;
  machine.launch.workgroup_size = {64 * waves, 1, 1};
  machine.launch.lds_bytes = 65536;
  pipes::Result result = pipes::simulate(code.program, machine.launch, machine.memory, 0);
  REQUIRE_FALSE(result.trap);
  return result;
}

// One BF16 instruction with A in v[0:3], B in v[4:7] and C, D in v[16:31].
void matrix(Code& code, int times = 1) {
  for (int i = 0; i < times; ++i)
    code.add(Op::v_mfma_f32_32x32x16_bf16, {vgpr(16, 16), vgpr(0, 4), vgpr(4, 4), vgpr(16, 16)});
}

// A, B and C from zero; then the given registers.
Code zeroed() {
  Code code;
  for (int r = 0; r < 8; ++r) code.v_mov(r, 0);
  for (int r = 16; r < 32; ++r) code.v_mov(r, 0);
  return code;
}

pipes::Busy counted(Code code, std::uint32_t waves = 1) {
  code.end();
  return run(code, waves).counts.all();
}

double pj_of(const pipes::Energy& energy, std::string_view item) {
  const auto found = std::ranges::find(energy.items, item, &pipes::EnergyItem::name);
  REQUIRE(found != energy.items.end());
  return found->pj;
}

}  // namespace

TEST_CASE("A port's bits toggle where an operand differs from the one before it", "[quick][timing]") {
  Code calm = zeroed();
  matrix(calm, 3);
  const pipes::Busy none = counted(calm);
  for (const std::uint64_t toggles : {none.a_toggles, none.b_toggles, none.c_toggles, none.d_toggles})
    CHECK(toggles == 0);

  // One register of four is all ones: the port goes up and down again, in each of three instructions.
  Code pulse = zeroed();
  pulse.v_mov(1, 0xffffffff);
  matrix(pulse, 3);
  const pipes::Busy up_and_down = counted(pulse);
  CHECK(up_and_down.a_toggles == 3 * 2 * bits_of_register);
  CHECK(up_and_down.b_toggles == 0);

  // All four of them: it goes up once and stays, until another wave's operands come.
  Code level = zeroed();
  for (int r = 4; r < 8; ++r) level.v_mov(r, 0xffffffff);
  matrix(level, 3);
  CHECK(counted(level).b_toggles == bits_of_register);

  // 5 bits of each lane, a single lane's alone where exec says so.
  Code few = zeroed();
  few.v_mov(0, 0x1f);
  matrix(few);
  CHECK(counted(few).a_toggles == 2 * 64 * 5);
  Code lane = zeroed();
  lane.exec(std::uint64_t{1} << 63);
  lane.v_mov(0, 0x1f);
  lane.exec(~std::uint64_t{0});
  matrix(lane);
  CHECK(counted(lane).a_toggles == 2 * 5);
}

TEST_CASE("Sums toggle at their own ports", "[quick][timing]") {
  // 0 * 0 + 1: C and D are 1.0 in every register, with 7 bits set.
  Code ones = zeroed();
  for (int r = 16; r < 32; ++r) ones.v_mov(r, 0x3f800000);
  matrix(ones, 2);
  const pipes::Busy busy = counted(ones);
  CHECK(busy.c_toggles == 64 * 7);
  CHECK(busy.d_toggles == 64 * 7);
  CHECK(busy.a_toggles + busy.b_toggles == 0);
  // A constant stands at the port once.
  Code constant = zeroed();
  constant.add(Op::v_mfma_f32_32x32x16_bf16, {vgpr(16, 16), vgpr(0, 4), vgpr(4, 4), number(1)});
  CHECK(counted(constant).c_toggles == 64);
}

TEST_CASE("Each SIMD has ports of its own", "[quick][timing]") {
  Code level = zeroed();
  for (int r = 0; r < 4; ++r) level.v_mov(r, 0xffffffff);
  matrix(level);
  level.end();
  // Eight waves of the same operands: only a SIMD's first changes anything.
  const pipes::Result result = run(level, 8);
  for (const pipes::Busy& simd : result.counts.simd) CHECK(simd.a_toggles == bits_of_register);
}

TEST_CASE("Work is counted by kind", "[quick][timing]") {
  Code code = zeroed();
  matrix(code);
  code.exec(0xff);
  code.e32(Op::v_add_u32, {vgpr(40), vgpr(41), vgpr(42)});
  code.e32(Op::v_exp_f32, {vgpr(43), vgpr(41)});
  code.exec(~std::uint64_t{0});
  code.add(Op::v_pk_fma_f32, {vgpr(50, 2), vgpr(52, 2), vgpr(54, 2), vgpr(56, 2)});
  const pipes::Busy busy = counted(code);
  const auto issued = [&](isa::Class cls) { return busy.issued[static_cast<std::size_t>(cls)]; };
  CHECK(issued(isa::Class::Mfma) == 1);
  CHECK(issued(isa::Class::Trans) == 1);
  CHECK(issued(isa::Class::ValuPacked) == 1);
  CHECK(issued(isa::Class::Valu) == 24 + 1);
  CHECK(issued(isa::Class::Branch) == 1);
  CHECK(busy.valu_lanes == 24 * 64 + 8 + 2 * 64);
  CHECK(busy.trans_lanes == 8);
  CHECK(busy.matrix_flop == 2 * 32 * 32 * 16);
  CHECK(busy.useful_flop == 0);  // from registers that nothing was loaded into
  CHECK(busy.register_bytes == 4 * (24 * 64 + 64 * (4 + 4 + 16 + 16) + 8 * 3 + 8 * 2 + 64 * 8));
}

TEST_CASE("Energy is the amounts times the machine's weights", "[quick][timing]") {
  pipes::Counts counts;
  counts.simd[0].matrix = 100;
  counts.simd[2].matrix = 28;
  counts.simd[1].a_toggles = 1000;
  counts.simd[1].d_toggles = 500;
  counts.simd[3].issued[0] = 7;
  counts.simd[3].useful_flop = 10000;
  counts.lds_bytes_read = 64;
  counts.lds_bytes_written = 36;
  counts.vmem_bytes = 4096;
  isa::Machine machine;
  const pipes::Energy energy = pipes::energy(counts, 1000, 2048, 1024, machine);
  CHECK(pj_of(energy, "cu_clk") == Approx(1000 * machine.energy_cu_clk));
  CHECK(pj_of(energy, "matrix_clk") == Approx(128 * machine.energy_matrix_clk));
  CHECK(pj_of(energy, "a_toggles") == Approx(1000 * machine.energy_source_toggle));
  CHECK(pj_of(energy, "d_toggles") == Approx(500 * machine.energy_sum_toggle));
  CHECK(pj_of(energy, "instructions") == Approx(7 * machine.energy_instruction));
  CHECK(pj_of(energy, "lds_bytes") == Approx(100 * machine.energy_lds_byte));
  CHECK(pj_of(energy, "l2_bytes") == Approx(4096 * machine.energy_l2_byte));
  CHECK(pj_of(energy, "l2_missed_bytes") == Approx(2048 * machine.energy_fabric_byte));
  CHECK(pj_of(energy, "hbm_bytes") == Approx(1024 * machine.energy_hbm_byte));
  double sum = 0;
  for (const pipes::EnergyItem& item : energy.items) sum += item.pj;
  CHECK(energy.pj == Approx(sum));
  CHECK(energy.pj_per_flop() == Approx(sum / 10000));
  // Every weight counts: without any, nothing is left.
  for (const isa::Parameter& parameter : isa::machine_parameters())
    if (parameter.name.starts_with("energy_")) machine.*std::get<double isa::Machine::*>(parameter.member) = 0;
  CHECK(pipes::energy(counts, 1000, 2048, 1024, machine).pj == 0);
}
