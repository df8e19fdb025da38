// The compute unit's rules as programs with known clocks: gfx950.md 1.1, 2.1, 2.2; docs/timing.md.
#include "isa/pipes/compute_unit.h"
#include "tests/support/catch.h"
#include "tests/unit/emulator_programs.h"

#include <functional>

using namespace zyfa;
using namespace zyfa::emulator;
using pipes::Clk;

namespace {

struct Bench {
  Machine machine;  // memory and launch
  pipes::Options options;
  std::vector<pipes::Issue> issues;

  explicit Bench(std::uint32_t waves) {
    machine.launch.workgroup_size = {64 * waves, 1, 1};
    machine.launch.lds_bytes = 65536;
    options.on_issue = [this](const pipes::Issue& issue) { issues.push_back(issue); };
  }
  pipes::Result run(const Code& code) {
    pipes::Result result = pipes::simulate(code.program, machine.launch, machine.memory, 0, options);
    REQUIRE_FALSE(result.trap);
    return result;
  }
  // Clocks at which a wave issued an opcode.
  std::vector<Clk> when(const Code& code, std::uint32_t wave, Op op) const {
    std::vector<Clk> clocks;
    for (const pipes::Issue& issue : issues)
      if (issue.wave == wave && code.program.code[issue.instruction].op == op) clocks.push_back(issue.clk);
    return clocks;
  }
};

// Mean distance, away from both ends.
double period(const std::vector<Clk>& clocks, std::size_t step = 1) {
  REQUIRE(clocks.size() >= 6 * step);
  const std::size_t first = clocks.size() / 3 / step * step, last = first + clocks.size() / 3 / step * step;
  return static_cast<double>(clocks[last] - clocks[first]) / static_cast<double>((last - first) / step);
}

// Accumulators v[16 + 16 i..], sources from v[0..15]: registers that start as NaN are as good as others.
void fp8_mfma(Code& code, int accumulator) {
  code.add(Op::v_mfma_f32_32x32x64_f8f6f4,
           {vgpr(16 + 16 * accumulator, 16), vgpr(0, 8), vgpr(8, 8), vgpr(16 + 16 * accumulator, 16)});
}
void bf16_mfma(Code& code, int accumulator) {
  code.add(Op::v_mfma_f32_32x32x16_bf16,
           {vgpr(16 + 16 * accumulator, 16), vgpr(0, 4), vgpr(8, 4), vgpr(16 + 16 * accumulator, 16)});
}
void valu(Code& code, int i) { code.e32(Op::v_add_u32, {vgpr(200 + i % 20), vgpr(220), vgpr(221)}); }
void exp(Code& code, int i) { code.e32(Op::v_exp_f32, {vgpr(200 + i % 20), vgpr(220)}); }
void packed(Code& code, int i) {
  code.add(Op::v_pk_fma_f32, {vgpr(200 + 2 * (i % 10), 2), vgpr(220, 2), vgpr(222, 2), vgpr(224, 2)});
}

using Emit = void (*)(Code&, int);

// Clocks from one matrix instruction to the next with `count` others in between, all of one wave.
double under_matrix(Emit matrix, Op op, Emit other, int count, const isa::Machine& machine = {}) {
  Code code;
  for (int i = 0; i < 24; ++i) {
    matrix(code, i % 4);
    for (int j = 0; j < count; ++j) other(code, j);
  }
  code.end();
  Bench bench(1);
  bench.options.machine = machine;
  bench.run(code);
  return period(bench.when(code, 0, op));
}

constexpr Op fp8 = Op::v_mfma_f32_32x32x64_f8f6f4, bf16 = Op::v_mfma_f32_32x32x16_bf16;

isa::Machine slow_exp() {
  isa::Machine machine;
  machine.trans_clk = 8;  // what the published figures were measured with, or assume
  return machine;
}

}  // namespace

TEST_CASE("Pipes: vector instructions hide under a matrix instruction, as many as fit", "[quick][pipes]") {
  CHECK(under_matrix(fp8_mfma, fp8, valu, 0) == 64);
  CHECK(under_matrix(fp8_mfma, fp8, valu, 13) == 64);
  CHECK(under_matrix(fp8_mfma, fp8, valu, 14) == 68);
  CHECK(under_matrix(fp8_mfma, fp8, exp, 6, slow_exp()) == 64);
  CHECK(under_matrix(fp8_mfma, fp8, exp, 7, slow_exp()) == 68);
  CHECK(under_matrix(bf16_mfma, bf16, valu, 6) == 32);
  CHECK(under_matrix(bf16_mfma, bf16, valu, 7) == 36);
  CHECK(under_matrix(bf16_mfma, bf16, exp, 3, slow_exp()) == 32);
  CHECK(under_matrix(bf16_mfma, bf16, exp, 4, slow_exp()) == 40);
}

TEST_CASE("Pipes: packed FP32 never overlaps a matrix instruction", "[quick][pipes]") {
  CHECK(under_matrix(fp8_mfma, fp8, packed, 1) == 64 + 12 + 4);
  CHECK(under_matrix(bf16_mfma, bf16, packed, 2) == 32 + 12 + 8);
  isa::Machine machine;
  machine.packed_after_matrix_clk = 0;
  CHECK(under_matrix(fp8_mfma, fp8, packed, 1, machine) == 64 + 4);
}

TEST_CASE("Pipes: the port is shared by the waves of a SIMD", "[quick][pipes]") {
  // Wave 0 multiplies, wave 4 computes: 13 instructions of it in 64 clk.
  Code code;
  code.add(Op::v_readfirstlane_b32, {sgpr(0), vgpr(0)});
  code.add(Op::s_cmp_lt_u32, {sgpr(0), literal(256)});
  code.add(Op::s_cbranch_scc1, {label(3 + 400 + 1)});
  for (int i = 0; i < 400; ++i) valu(code, i);
  code.end();
  for (int i = 0; i < 30; ++i) fp8_mfma(code, i % 4);
  code.end();
  Bench bench(8);
  bench.run(code);
  CHECK(period(bench.when(code, 0, fp8)) == 64);
  const std::vector<Clk> adds = bench.when(code, 4, Op::v_add_u32);
  CHECK(std::ranges::count_if(adds, [](Clk t) { return t >= 640 && t < 1280; }) == 130);
}

TEST_CASE("Pipes: dependent instructions wait for each other", "[quick][pipes]") {
  Code chain;
  for (int i = 0; i < 24; ++i) fp8_mfma(chain, 0);
  chain.end();
  Code adds;
  for (int i = 0; i < 24; ++i) adds.e32(Op::v_add_u32, {vgpr(1), vgpr(1), vgpr(2)});
  adds.end();
  for (const int extra : {0, 4}) {
    Bench matrix(1);
    matrix.options.machine.matrix_chain_clk = extra;
    matrix.run(chain);
    CHECK(period(matrix.when(chain, 0, fp8)) == 64 + extra);
    Bench vector(1);
    vector.options.machine.dependent_valu_clk = 4 + extra;
    vector.run(adds);
    CHECK(period(vector.when(adds, 0, Op::v_add_u32)) == 4 + extra);
  }
}

TEST_CASE("Pipes: scales load under the matrix instruction before", "[quick][pipes]") {
  const auto scaled = [](Code& code, int accumulator) {
    code.add(Op::v_mfma_scale_f32_32x32x64_f8f6f4, {vgpr(16 + 16 * accumulator, 16), vgpr(0, 8), vgpr(8, 8),
                                                    vgpr(16 + 16 * accumulator, 16), vgpr(230), vgpr(231)});
  };
  constexpr Op op = Op::v_mfma_scale_f32_32x32x64_f8f6f4;
  CHECK(under_matrix(scaled, op, valu, 12) == 64);
  CHECK(under_matrix(scaled, op, valu, 13) == 68);
}

namespace {

// Clocks from one read to the next on each SIMD, with `waves` waves on SIMDs of their own, lanes `stride` bytes apart.
double read_period(Op op, int dwords, std::uint32_t waves, std::uint32_t stride) {
  Code code;
  code.add(Op::v_mul_u32_u24, {vgpr(1), Operand::constant(stride), vgpr(0)}).form = isa::Form::e32;
  code.e32(Op::v_and_b32, {vgpr(1), literal(stride * 64 - 1), vgpr(1)});  // the same addresses for each wave
  for (int i = 0; i < 60; ++i) code.add(op, {vgpr(4 + 4 * (i % 8), dwords), vgpr(1)});
  code.end();
  Bench bench(waves);
  bench.run(code);
  return period(bench.when(code, 0, op));
}

}  // namespace

TEST_CASE("Pipes: LDS reads at their published rates", "[quick][pipes]") {
  CHECK(read_period(Op::ds_read_b128, 4, 4, 16) == 16);
  CHECK(read_period(Op::ds_read_b64, 2, 4, 8) == 8);
  CHECK(read_period(Op::ds_read_b64_tr_b8, 2, 4, 8) == 8);
  CHECK(read_period(Op::ds_read_b128, 4, 1, 16) == 8);   // a lone SIMD has its pair's bus
  CHECK(read_period(Op::ds_read_b128, 4, 4, 32) == 32);  // two ways of conflict
  CHECK(read_period(Op::ds_read_b64, 2, 4, 16) == 16);
}

namespace {

isa::Inst lds_access(Op op) { return {.op = op, .args = {vgpr(4, 4), vgpr(1)}}; }

// Whether two lanes are served in one phase: all lanes read word 0 but these two, which read the same other word of its
// bank. That costs each phase with such a lane a clock.
bool share_a_phase(Op op, int one, int other) {
  Lanes address{};
  address[static_cast<std::size_t>(one)] = address[static_cast<std::size_t>(other)] = 1024;
  Lanes broadcast{};
  const isa::Machine machine;
  const int extra = pipes::bank_clk(lds_access(op), address, ~0ull, machine) -
                    pipes::bank_clk(lds_access(op), broadcast, ~0ull, machine);
  REQUIRE((extra == 1 || extra == 2));
  return extra == 1;
}

using PhaseOf = std::function<int(int)>;

void check_phases(Op op, int count, const PhaseOf& phase) {
  INFO(isa::desc(op).name);
  Lanes broadcast{};
  CHECK(pipes::bank_clk(lds_access(op), broadcast, ~0ull, {}) == count);
  for (int one = 0; one < lanes; ++one)
    for (int other = one + 1; other < lanes; ++other) {
      CAPTURE(one, other);
      REQUIRE(share_a_phase(op, one, other) == (phase(one) == phase(other)));
    }
}

}  // namespace

TEST_CASE("Pipes: lanes are served in HipKittens' phases", "[quick][pipes]") {
  // gfx950.md 1.1, of the lower 32 lanes; the upper ones likewise.
  const auto in = [](int lane, std::initializer_list<std::pair<int, int>> ranges) {
    return std::ranges::any_of(ranges, [lane](auto r) { return lane % 32 >= r.first && lane % 32 <= r.second; });
  };
  check_phases(Op::ds_read_b128, 4, [&](int lane) {
    return lane / 32 * 2 + (in(lane, {{0, 3}, {12, 15}, {20, 27}}) ? 0 : 1);
  });
  check_phases(Op::ds_read_b64, 2, [](int lane) { return lane / 32; });
  check_phases(Op::ds_write_b64, 4, [](int lane) { return lane / 16; });
  check_phases(Op::ds_read_b96, 8, [&](int lane) {
    const int part = in(lane, {{0, 3}, {20, 23}})    ? 0
                     : in(lane, {{4, 7}, {16, 19}})  ? 1
                     : in(lane, {{8, 11}, {28, 31}}) ? 2
                                                     : 3;
    return lane / 32 * 4 + part;
  });
}

TEST_CASE("Pipes: any number of banks that a machine file may name is counted with", "[quick][pipes]") {
  Lanes every_other_bank{};
  for (std::uint32_t lane = 0; lane < lanes; ++lane) every_other_bank[lane] = 8 * lane;
  for (const Op op : {Op::ds_read_b32, Op::ds_read_b64, Op::ds_read_b96, Op::ds_read_b128, Op::ds_write_b128})
    for (const int banks : {1, 3, 32, 64, 100, 1000}) {
      CAPTURE(isa::desc(op).name, banks);
      isa::Machine machine;
      machine.lds_banks = machine.lds_write_banks = banks;
      CHECK(pipes::bank_clk(lds_access(op), every_other_bank, ~0ull, machine) >= (64 + banks - 1) / banks);
    }
}

TEST_CASE("Pipes: 32 KiB of vector memory are in flight, and a queue behind them", "[quick][pipes]") {
  Code code;
  code.descriptor(80, Machine::in_address, 8192);
  code.v_shift(1, 4, 0);
  for (int i = 0; i < 60; ++i)
    code.add(Op::buffer_load_dwordx4, {vgpr(4 + 4 * (i % 8), 4), vgpr(1), sgpr(80, 4), number(0)}, offen());
  code.end();
  Bench bench(1);
  bench.run(code);
  const std::vector<Clk> loads = bench.when(code, 0, Op::buffer_load_dwordx4);
  const Clk latency = static_cast<Clk>(bench.options.machine.vmem_latency_clk);
  for (std::size_t i = 1; i < 44; ++i) CHECK(loads[i] - loads[i - 1] == 4);
  // The 45th finds the queue full until the first load has returned, 16 clk of bus after its latency.
  CHECK(loads[44] >= loads[0] + latency + 16);
  CHECK(loads[44] < loads[0] + latency + 32);
  CHECK(loads[50] - loads[49] == 16);
}

TEST_CASE("Pipes: waits and barriers take the time of what they wait for", "[quick][pipes]") {
  Code code;
  code.v_mov(1, 0);
  code.add(Op::ds_read_b64, {vgpr(4, 2), vgpr(1)});
  code.wait(-1, 0);
  code.barrier();
  code.add(Op::s_nop, {number(7)});
  code.end();
  Bench bench(4);
  const pipes::Result result = bench.run(code);
  const auto at = [&](std::uint32_t wave, Op op) { return bench.when(code, wave, op).front(); };
  // 4 clk to the pair's bus, 4 on it, then the latency: META's 69 of a dependent read. The wave's turns are 4 apart.
  const Clk read = at(0, Op::ds_read_b64), waited = at(0, Op::s_waitcnt);
  CHECK(waited - read == 72);
  const Clk last = std::max({at(0, Op::s_barrier), at(1, Op::s_barrier), at(2, Op::s_barrier), at(3, Op::s_barrier)});
  for (std::uint32_t wave = 0; wave < 4; ++wave) {
    CHECK(at(wave, Op::s_nop) >= last + 8);
    CHECK(at(wave, Op::s_nop) < last + 12);
  }
  CHECK(at(0, Op::s_endpgm) - at(0, Op::s_nop) == 4 * 8);
  CHECK(result.waves[0][static_cast<std::size_t>(pipes::Stall::wait_lgkm)] == 68);
}

TEST_CASE("Pipes: an empty program and an endless one are errors", "[quick][pipes]") {
  Bench bench(1);
  CHECK_THROWS_AS(pipes::simulate({}, bench.machine.launch, bench.machine.memory, 0, {}), Error);
  Code endless;
  endless.add(Op::s_branch, {label(0)});
  bench.options.max_clk = 1000;
  CHECK_THROWS_AS(pipes::simulate(endless.program, bench.machine.launch, bench.machine.memory, 0, bench.options),
                  Error);
}

TEST_CASE("Pipes: the useful matrix instructions are those fed from memory", "[quick][pipes]") {
  Code code;
  for (int i = 0; i < 16; ++i) code.v_mov(i, 0);
  fp8_mfma(code, 0);
  code.add(Op::ds_read_b128, {vgpr(0, 4), vgpr(240)});
  code.program.code.back().args[1] = vgpr(15);
  code.wait(-1, 0);
  fp8_mfma(code, 1);
  code.v_mov(0, 0);
  fp8_mfma(code, 2);
  code.end();
  Bench bench(1);
  const pipes::Busy busy = bench.run(code).counts.all();
  CHECK(busy.matrix == 3 * 64);
  CHECK(busy.useful_matrix == 64);
}

TEST_CASE("Pipes: the steady loop is found, without what lies between two stays in it", "[quick][pipes]") {
  Code code;
  code.s_mov(2, 0);
  const std::uint32_t again = code.here();
  code.s_mov(3, 0);
  const std::uint32_t loop = code.here();
  for (int i = 0; i < 10; ++i) valu(code, i);
  code.add(Op::s_add_u32, {sgpr(3), sgpr(3), number(1)});
  code.add(Op::s_cmp_lt_u32, {sgpr(3), number(20)});
  code.add(Op::s_cbranch_scc1, {label(loop)});
  for (int i = 0; i < 40; ++i) code.add(Op::s_nop, {number(15)});
  code.add(Op::s_add_u32, {sgpr(2), sgpr(2), number(1)});
  code.add(Op::s_cmp_lt_u32, {sgpr(2), number(2)});
  code.add(Op::s_cbranch_scc1, {label(again)});
  code.end();
  Bench bench(1);
  const auto found = pipes::find_loop(bench.run(code));
  REQUIRE(found);
  CHECK(found->target == loop);
  const double branch = bench.options.machine.branch_clk;
  CHECK(found->clk_per_iteration() == 4 * 12 + branch);
  CHECK(found->counts.all().valu == found->iterations * 40u);
}
