#include "isa/pipes/compute_unit.h"

#include <algorithm>

namespace zyfa::pipes {
namespace {

using isa::Inst;
using isa::Op;

Clk clk(int value) { return static_cast<Clk>(value); }

std::size_t outstanding(const std::deque<Clk>& done, Clk now) {
  return static_cast<std::size_t>(std::ranges::count_if(done, [now](Clk t) { return t > now; }));
}

// Instructions of one counter complete in the order in which they issued. Returns when this one does.
Clk append_in_order(std::deque<Clk>& queue, Clk done, Clk now) {
  if (!queue.empty()) done = std::max(done, queue.back());
  queue.push_back(done);
  while (queue.front() <= now) queue.pop_front();
  return done;
}

emulator::Options plain(const isa::Machine& machine) {
  emulator::Options options;
  options.machine = machine;
  return options;
}

bool moves(const Inst& inst) {
  return inst.op == Op::v_mov_b32 || inst.op == Op::v_mov_b64 || inst.op == Op::v_accvgpr_read_b32 ||
         inst.op == Op::v_accvgpr_write_b32;
}

}  // namespace

Result simulate(const isa::Program& program, const emulator::Launch& launch, const emulator::GlobalMemory& memory,
                std::uint64_t workgroup, const Options& options) {
  return ComputeUnit(program, launch, memory, options).run(workgroup);
}

ComputeUnit::ComputeUnit(const isa::Program& program, const emulator::Launch& launch,
                         const emulator::GlobalMemory& memory, const Options& options)
    : program_(program),
      options_(options),
      machine_(options_.machine),
      steps_(emulator::decode(program)),
      emulator_options_(plain(machine_)),
      workgroup_(program, steps_, launch, memory, emulator_options_, nullptr),
      timings_(timings(program, machine_)),
      lds_(machine_),
      vmem_(machine_),
      fetch_(program, machine_) {
  if (program.code.empty()) throw Error("an empty program takes no time");
  registers_.reserve(program.code.size());
  for (const Inst& inst : program.code) registers_.push_back(registers_of(inst));
}

ComputeUnit::Registers ComputeUnit::registers_of(const Inst& inst) {
  constexpr std::uint16_t accumulation_registers = 256;
  Registers regs;
  regs.copies = moves(inst);
  for (const isa::Access& a : isa::accesses(inst)) {
    if (a.file == isa::OperandKind::sgpr) continue;
    const Range range{
        static_cast<std::uint16_t>(a.first + (a.file == isa::OperandKind::agpr ? accumulation_registers : 0)), a.count};
    regs.dwords = static_cast<std::uint16_t>(regs.dwords + a.count);
    if (a.write)
      regs.writes.push_back(range);
    else if (isa::is_mfma(inst) && a.arg == isa::accumulator_argument(inst))
      regs.accumulates = range;
    else
      regs.reads.push_back(range);
  }
  return regs;
}

Result ComputeUnit::run(std::uint64_t workgroup) {
  workgroup_.start(workgroup);
  waves_.assign(workgroup_.waves(), {});
  fetch_.start(waves_.size(), workgroup_.wave(0).pc);
  result_.instructions.resize(program_.code.size());
  result_.waves.resize(waves_.size());
  result_.wave_ends.resize(waves_.size());
  const auto all_ended = [this] {
    for (std::size_t i = 0; i < waves_.size(); ++i)
      if (!workgroup_.has_ended(i)) return false;
    return true;
  };
  for (now_ = 0; !result_.trap; ++now_) {
    if (now_ % simds == 0 && all_ended()) break;
    if (now_ > options_.max_clk) throw Error("the workgroup has not ended after {} clk", options_.max_clk);
    turn(static_cast<int>(now_ % simds));
  }
  result_.cycles = *std::ranges::max_element(result_.wave_ends);
  result_.counts = counts();
  return std::move(result_);
}

// Waves of higher priority first, then the older ones.
void ComputeUnit::turn(int simd) {
  std::array<Standing, 16> order;
  std::size_t count = 0;
  const auto last = static_cast<std::uint32_t>(program_.code.size() - 1);
  for (std::size_t i = static_cast<std::size_t>(simd); i < waves_.size() && count < order.size(); i += simds)
    if (!workgroup_.has_ended(i)) order[count++] = {i, std::min(workgroup_.wave(i).pc, last)};
  fetch_.turn(std::span(order).first(count), now_);
  std::stable_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count),
      [this](const Standing& a, const Standing& b) { return waves_[a.wave].priority > waves_[b.wave].priority; });
  std::array<bool, static_cast<std::size_t>(Category::count)> used{};
  for (std::size_t o = 0; o < count; ++o) {
    const auto [i, index] = order[o];
    const Timing& timing = timings_[index];
    bool& category = used[static_cast<std::size_t>(timing.category)];
    std::optional<Stall> stall = obstacle(order[o], timing);
    if (!stall && category) stall = Stall::arbitration;
    if (!stall) {
      category = true;
      issue(i, index);
      if (result_.trap) return;
      continue;
    }
    const bool past = *stall == Stall::barrier || *stall == Stall::own_pace;
    const std::size_t at = past ? waves_[i].last : index;
    result_.instructions[at].stalls[static_cast<std::size_t>(*stall)] += clk(machine_.turn_clk);
    result_.waves[i][static_cast<std::size_t>(*stall)] += clk(machine_.turn_clk);
    if (options_.on_stall)
      options_.on_stall({now_, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(at), *stall});
  }
}

std::optional<Stall> ComputeUnit::obstacle(Standing at, const Timing& timing) {
  const auto [i, index] = at;
  const Inst& inst = program_.code[index];
  const Registers& regs = registers_[index];
  const WaveState& wave = waves_[i];
  const int on = static_cast<int>(i % simds);
  const Simd& simd = simd_[static_cast<std::size_t>(on)];
  if (workgroup_.is_at_barrier(i)) return Stall::barrier;
  if (now_ < wave.next) return wave.behind_barrier ? Stall::barrier : Stall::own_pace;
  if (!fetch_.has(at, now_)) return Stall::fetch;
  switch (timing.category) {
    case Category::vector:
      return vector_obstacle(wave, simd, timing, regs);
    case Category::lds:
    case Category::vector_memory:
      if (now_ < simd.reads_until) return Stall::matrix_reads;
      if (auto stall = result_obstacle(wave, regs)) return stall;
      if (timing.category == Category::lds)
        return lds_.accepts(on, now_) ? std::nullopt : std::optional(Stall::lds_queue);
      return vmem_.accepts(now_) ? std::nullopt : std::optional(Stall::vmem_queue);
    case Category::internal:
      return wait_obstacle(wave, inst);
    default:
      return std::nullopt;
  }
}

// Whether a register that the instruction reads or writes is still to come from the VALU or the matrix pipe. Software
// owes wait states for the latter; where it lacks them the model holds the reader back.
std::optional<Stall> ComputeUnit::result_obstacle(const WaveState& wave, const Registers& regs) const {
  for (const Range& range : regs.reads)
    for (const std::size_t r : range.registers()) {
      if (wave.valu_ready[r] > now_) return Stall::dependency;
      if (wave.matrix_ready[r] > now_) return Stall::accumulator;
    }
  return std::nullopt;
}

std::optional<Stall> ComputeUnit::vector_obstacle(const WaveState& wave, const Simd& simd, const Timing& timing,
                                                  const Registers& regs) const {
  if (now_ < simd.reads_until) return Stall::matrix_reads;
  if (now_ < simd.port_free) return Stall::vector_port;
  if (auto stall = result_obstacle(wave, regs)) return stall;
  if (timing.matrix_clk == 0) {
    const bool drains =
        timing.after_matrix && simd.matrix_free > 0 && now_ < simd.matrix_free + clk(machine_.packed_after_matrix_clk);
    if (drains) return Stall::after_matrix;
    for (const Range& range : regs.writes)
      for (const std::size_t r : range.registers())
        if (wave.matrix_ready[r] > now_) return Stall::accumulator;
    return std::nullopt;
  }
  const Clk start = now_ + timing.scale_clk;
  const Range& c = regs.accumulates;
  for (const std::size_t r : c.registers()) {
    if (wave.valu_ready[r] > now_) return Stall::dependency;
    if (wave.matrix_ready[r] != 0 && wave.matrix_ready[r] + clk(machine_.matrix_chain_clk) > start)
      return simd.matrix_free > start ? Stall::matrix_pipe : Stall::accumulator;
  }
  return simd.matrix_free > start ? std::optional(Stall::matrix_pipe) : std::nullopt;
}

std::optional<Stall> ComputeUnit::wait_obstacle(const WaveState& wave, const Inst& inst) const {
  if (inst.op != Op::s_waitcnt) return std::nullopt;
  const isa::Modifiers& m = inst.mods;
  if (m.vmcnt != isa::Modifiers::not_waited && outstanding(wave.vm, now_) > m.vmcnt) return Stall::wait_vm;
  if (m.lgkmcnt != isa::Modifiers::not_waited &&
      outstanding(wave.lds, now_) + outstanding(wave.scalar, now_) > m.lgkmcnt)
    return Stall::wait_lgkm;
  return std::nullopt;
}

void ComputeUnit::issue(std::size_t i, std::uint32_t index) {
  WaveState& wave = waves_[i];
  const Inst& inst = program_.code[index];
  const Timing& timing = timings_[index];
  wave.last = index;
  wave.behind_barrier = false;
  wave.next = now_ + clk(machine_.turn_clk) + timing.idle_clk;
  if (inst.op == Op::s_setprio) wave.priority = inst.args[0].value & 3;
  const Service service = occupy(i, inst, timing, registers_[index]);
  ++result_.instructions[index].issues;
  Busy& busy = result_.counts.simd[i % simds];
  count_work(busy, inst, timing, registers_[index].dwords, workgroup_.wave(i).exec());
  MatrixPorts& ports = ports_[i % simds];
  const bool is_matrix = timing.matrix_clk > 0;
  if (is_matrix) ports.read(workgroup_.wave(i), inst, busy);
  result_.trap = workgroup_.step(i, now_);
  if (is_matrix) ports.write(workgroup_.wave(i), inst, busy);
  if (options_.on_issue) options_.on_issue({now_, static_cast<std::uint32_t>(i), index, service});
  const std::uint32_t pc = workgroup_.wave(i).pc;
  if (timing.category == Category::branch && pc != index + 1 && pc < program_.code.size()) {
    wave.next = now_ + clk(machine_.branch_clk);
    fetch_.restart({i, pc}, now_, clk(machine_.branch_clk));
    if (pc <= index) result_.laps.push_back({now_, static_cast<std::uint32_t>(i), pc, counts()});
  }
  if (workgroup_.has_ended(i)) result_.wave_ends[i] = now_ + clk(machine_.turn_clk);
  if (workgroup_.has_ended(i) || workgroup_.is_at_barrier(i)) release_barrier();
}

Service ComputeUnit::occupy(std::size_t i, const Inst& inst, const Timing& timing, const Registers& regs) {
  WaveState& wave = waves_[i];
  const int simd = static_cast<int>(i % simds);
  const Clk turn_end = now_ + clk(machine_.turn_clk);
  const auto load = [&] {
    for (const Range& range : regs.writes)
      for (const std::size_t r : range.registers()) wave.loaded[r] = true;
  };
  switch (timing.category) {
    case Category::vector:
      return occupy_vector(wave, simd, timing, regs);
    case Category::lds: {
      Service service = occupy_lds(i, inst, timing);
      load();
      service.done = append_in_order(wave.lds, service.done, now_);
      return service;
    }
    case Category::vector_memory: {
      Service service = vmem_.issue(now_, timing.bytes);
      if (isa::is_lds_dma(inst)) service.done = lds_.land(service.done, timing.bytes);
      load();
      service.done = append_in_order(wave.vm, service.done, now_);
      if (isa::counter(inst) == isa::Counter::both) append_in_order(wave.lds, service.done, now_);
      return service;
    }
    case Category::scalar_memory:
      return {now_, turn_end, append_in_order(wave.scalar, now_ + clk(machine_.smem_latency_clk), now_)};
    default:
      return {now_, turn_end, wave.next};
  }
}

Service ComputeUnit::occupy_vector(WaveState& wave, int simd_number, const Timing& timing, const Registers& regs) {
  Simd& simd = simd_[static_cast<std::size_t>(simd_number)];
  Busy& busy = result_.counts.simd[static_cast<std::size_t>(simd_number)];
  const auto is_loaded = [&wave](const Range& range) { return wave.loaded[range.first]; };
  const bool from_memory = std::ranges::any_of(regs.reads, is_loaded);
  simd.port_free = now_ + timing.port_clk;
  const bool is_matrix = timing.matrix_clk > 0;
  const Clk start = now_ + timing.scale_clk;
  if (is_matrix) {
    simd.reads_until = simd.port_free;
    simd.matrix_free = start + timing.matrix_clk;
    busy.matrix_reads += timing.port_clk;
    busy.matrix += timing.matrix_clk;
    if (from_memory) {
      busy.useful_matrix += timing.matrix_clk;
      busy.useful_flop += timing.flop;
    }
  } else {
    (timing.cls == isa::Class::Trans ? busy.trans : busy.valu) += timing.port_clk;
  }
  for (const Range& range : regs.writes)
    for (const std::size_t r : range.registers()) {
      wave.loaded[r] = regs.copies && from_memory;
      wave.valu_ready[r] = is_matrix ? 0 : now_ + timing.result_clk;
      wave.matrix_ready[r] = is_matrix ? simd.matrix_free : 0;
    }
  return is_matrix ? Service{start, simd.matrix_free, simd.matrix_free} : Service{now_, simd.port_free, simd.port_free};
}

Service ComputeUnit::occupy_lds(std::size_t i, const Inst& inst, const Timing& timing) {
  const emulator::Wave& wave = workgroup_.wave(i);
  const isa::Desc& desc = isa::desc(inst.op);
  const bool reads = timing.cls == isa::Class::LdsRead;
  emulator::Lanes address{};
  const auto banks = [&](std::uint32_t offset) {
    emulator::Lanes shifted = address;
    for (std::uint32_t& a : shifted) a += offset;
    return bank_clk(inst, shifted, wave.exec(), machine_);
  };
  // Exchanges between lanes use the banks' paths and no address, counters one for all lanes: as a broadcast.
  if (desc.address >= 0 && desc.kind != isa::Kind::DS_PERMUTE && desc.kind != isa::Kind::DS_SWIZZLE)
    address = wave.lanes_of(inst.args[static_cast<std::size_t>(desc.address)]);
  const auto offset = static_cast<std::uint32_t>(inst.mods.offset);
  const int clocks = desc.pair_stride == 0 ? banks(offset)
                                           : banks(offset * desc.pair_stride) +
                                                 banks(inst.mods.offset1 * std::uint32_t{desc.pair_stride});
  return lds_.issue(static_cast<int>(i % simds), now_, reads, timing.bytes, clocks);
}

// The last wave's arrival sets all of them free.
void ComputeUnit::release_barrier() {
  std::vector<std::size_t> standing;
  for (std::size_t i = 0; i < waves_.size(); ++i)
    if (workgroup_.is_at_barrier(i)) standing.push_back(i);
  workgroup_.release_barrier();
  for (const std::size_t i : standing) {
    if (workgroup_.is_at_barrier(i)) return;
    waves_[i].next = now_ + clk(std::max(machine_.turn_clk, machine_.barrier_release_clk));
    waves_[i].behind_barrier = true;
  }
}

Counts ComputeUnit::counts() const {
  Counts counts = result_.counts;
  counts.lds_bytes_read = lds_.bytes_read();
  counts.lds_bytes_written = lds_.bytes_written();
  counts.lds_bank_clk = lds_.bank_busy_clk();
  counts.vmem_bytes = vmem_.bytes();
  return counts;
}

}  // namespace zyfa::pipes
