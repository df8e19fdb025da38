#include "isa/pipes/energy.h"

#include <bit>
#include <numeric>

namespace zyfa::pipes {
namespace {

using emulator::Lanes;

// The sum of the lanes' Hamming distances. Written so that compilers make vector instructions of it.
std::uint32_t distance(const Lanes& left, const Lanes& right) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::uint32_t bits = left[i] ^ right[i];
    bits -= bits >> 1 & 0x55555555;
    bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
    bits = (bits + (bits >> 4)) & 0x0f0f0f0f;
    bits += bits >> 8;
    bits += bits >> 16;
    sum += bits & 0x3f;
  }
  return sum;
}

// The bits that toggle while the operand passes the port. A constant stands there once.
std::uint64_t stream(const emulator::Wave& wave, const isa::Inst& inst, int argument, Lanes& port) {
  const isa::Operand& operand = inst.args[static_cast<std::size_t>(argument)];
  if (operand.kind != isa::OperandKind::vgpr && operand.kind != isa::OperandKind::agpr) {
    Lanes constant;
    constant.fill(operand.value);
    const std::uint64_t bits = distance(port, constant);
    port = constant;
    return bits;
  }
  std::uint64_t bits = 0;
  const Lanes* before = &port;
  for (int r = 0; r < isa::arg(inst, argument).dwords; ++r) {
    const Lanes& next = wave.lanes_of(operand, r);
    bits += distance(*before, next);
    before = &next;
  }
  if (before != &port) port = *before;
  return bits;
}

}  // namespace

void MatrixPorts::read(const emulator::Wave& wave, const isa::Inst& inst, Busy& busy) {
  busy.a_toggles += stream(wave, inst, 1, a_);
  busy.b_toggles += stream(wave, inst, 2, b_);
  busy.c_toggles += stream(wave, inst, isa::accumulator_argument(inst), c_);
}

void MatrixPorts::write(const emulator::Wave& wave, const isa::Inst& inst, Busy& busy) {
  busy.d_toggles += stream(wave, inst, 0, d_);
}

void count_work(Busy& busy, const isa::Inst& inst, const Timing& timing, std::uint32_t register_dwords,
                std::uint64_t exec) {
  constexpr std::uint64_t dword_bytes = 4;
  const bool is_matrix = timing.matrix_clk > 0;
  const auto lanes = is_matrix ? std::uint64_t{emulator::lanes} : static_cast<std::uint64_t>(std::popcount(exec));
  busy.register_bytes += dword_bytes * lanes * register_dwords;
  ++busy.issued[static_cast<std::size_t>(timing.cls)];
  busy.matrix_flop += timing.flop;
  if (timing.cls == isa::Class::Trans)
    busy.trans_lanes += lanes;
  else if (isa::is_valu(inst))
    busy.valu_lanes += lanes * (timing.cls == isa::Class::Valu ? 1 : 2);  // packed or wide: as two
}

Energy energy(const Counts& counts, double clk, double missed_bytes, double hbm_bytes, const isa::Machine& machine) {
  const Busy busy = counts.all();
  const std::uint64_t instructions = std::accumulate(busy.issued.begin(), busy.issued.end(), std::uint64_t{0});
  Energy energy;
  energy.useful_flop = static_cast<double>(busy.useful_flop);
  const auto add = [&energy](std::string_view name, std::string_view unit, auto amount, double weight) {
    const auto count = static_cast<double>(amount);
    energy.items.push_back({name, unit, count, count * weight});
    energy.pj += count * weight;
  };
  add("cu_clk", "clk", clk, machine.energy_cu_clk);
  add("matrix_clk", "clk", busy.matrix, machine.energy_matrix_clk);
  add("a_toggles", "bits", busy.a_toggles, machine.energy_source_toggle);
  add("b_toggles", "bits", busy.b_toggles, machine.energy_source_toggle);
  add("c_toggles", "bits", busy.c_toggles, machine.energy_sum_toggle);
  add("d_toggles", "bits", busy.d_toggles, machine.energy_sum_toggle);
  add("register_bytes", "bytes", busy.register_bytes, machine.energy_register_byte);
  add("valu_lanes", "lanes", busy.valu_lanes, machine.energy_valu_lane);
  add("trans_lanes", "lanes", busy.trans_lanes, machine.energy_trans_lane);
  add("instructions", "instructions", instructions, machine.energy_instruction);
  add("lds_bytes", "bytes", counts.lds_bytes_read + counts.lds_bytes_written, machine.energy_lds_byte);
  add("l2_bytes", "bytes", counts.vmem_bytes, machine.energy_l2_byte);
  add("l2_missed_bytes", "bytes", missed_bytes, machine.energy_fabric_byte);
  add("hbm_bytes", "bytes", hbm_bytes, machine.energy_hbm_byte);
  return energy;
}

}  // namespace zyfa::pipes
