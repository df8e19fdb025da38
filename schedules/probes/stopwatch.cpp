#include "schedules/probes/stopwatch.h"

#include "isa/error.h"
#include "schedules/arguments.h"

#include <algorithm>
#include <limits>

namespace zyfa::schedules {
namespace {

using generator::KernelBody;
using generator::Label;
using isa::exec;

constexpr int most_waves = 8;
constexpr int record_bytes = 16;                       // two readings of 64 bits
constexpr int slot_bytes = most_waves * record_bytes;  // of a measurement with one number of repetitions
constexpr std::uint32_t small_number = 0x38383838;     // 4.4e-5; 1 in every byte as e4m3
constexpr std::uint32_t page_bytes = 4096;

Bench registers(Builder& k) {
  Bench b{.k = k,
          .sources = k.vgpr<16>("sources"),
          .results = k.vgpr<16>("results"),
          .a = k.vgpr<8>("A"),
          .b = k.vgpr<8>("B"),
          .accumulators = k.vgpr<64>("accumulators"),
          .lane = k.vgpr("lane"),
          .address = k.vgpr("address"),
          .pages = k.vgpr<16>("addresses of 16 bytes"),
          .half_pages = k.vgpr<16>("addresses of 8 bytes"),
          .in = k.sgpr<2>("input"),
          .mask = k.sgpr<2>("mask"),
          .in_resource = k.sgpr<4>("descriptor of the input"),
          .wave = k.sgpr("wave"),
          .scratch = k.sgpr("scratch")};
  const auto fill = [&k](auto range) {
    for (int i = 0; i < range.count; ++i) k.v_mov_b32(range[i], small_number);
  };
  fill(b.sources);
  fill(b.results);
  fill(b.a);
  fill(b.b);
  for (int i = 0; i < b.accumulators.count; ++i) k.v_mov_b32(b.accumulators[i], 0);
  return b;
}

// Every dword of LDS holds its own address, so that a read can give the address of the next.
void fill_lds(Bench& b, int bytes) {
  Builder& k = b.k;
  const Label filled = k.label("lds_filled");
  k.s_cmp_lg_u32(b.wave, 0);
  k.s_cbranch_scc1(filled);
  k.v_lshlrev_b32(b.address, 2, b.lane);
  constexpr int wave_bytes = 256;
  for (int at = 0; at < bytes; at += wave_bytes) {
    k.ds_write_b32(b.address, b.address);
    k.v_add_u32(b.address, wave_bytes, b.address);
  }
  k.bind(filled);
}

struct Output {
  S<2> base;    // of this wave's records
  V<1> offset;  // of the measurement
  V<4> record;
  S<2> first, last;  // readings
};

void measure(Bench& b, const Output& out, const Measurement& m, int repetitions, int slot) {
  Builder& k = b.k;
  const S<1> pass = b.k.sgpr("pass");
  k.s_mov_b32(pass, 0);
  const Label again = k.here("again");
  wait_vector_memory(k);
  wait_lgkm(k);
  k.s_barrier();
  const Label skip = k.label("skip");
  if (m.waves != every_wave) {
    k.s_and_b32(b.scratch, b.wave, static_cast<std::uint32_t>(m.waves));
    k.s_cbranch_scc1(skip);
  }
  k.s_memtime(out.first);
  wait_lgkm(k);
  m.block(b, repetitions);
  k.s_memtime(out.last);
  wait_vector_memory(k);
  wait_lgkm(k);
  // Nobody stores while another is measuring; who did not take part stores what nobody reads.
  k.bind(skip);
  k.s_barrier();
  for (int i = 0; i < 2; ++i) {
    k.v_mov_b32(out.record[i], out.first[i]);
    k.v_mov_b32(out.record[2 + i], out.last[i]);
  }
  k.v_mov_b32(out.offset, slot * slot_bytes);
  k.s_mov_b64(exec, 1);
  k.global_store_dwordx4(out.offset, out.record, out.base);
  k.s_mov_b64(exec, -1);
  k.s_add_u32(pass, pass, 1);
  k.s_cmp_lt_u32(pass, 2);
  k.s_cbranch_scc1(again);
}

KernelBody build(const TimedProbe& probe) {
  Builder k(probe_machine);
  const S<2> kernarg = k.claim(S<2>{0}, "kernel arguments");
  const V<1> work_item = k.claim(V<1>{0}, "work item");
  Bench b = registers(k);
  const S<4> addresses = k.sgpr<4>("output, input");
  k.wait(k.s_load_dwordx4(addresses, kernarg, probe_out_offset));
  k.v_and_b32(b.lane, 63, work_item);
  k.v_lshrrev_b32(b.address, 6, work_item);
  k.settle();
  k.v_readfirstlane_b32(b.wave, b.address);
  Output out{.base = k.sgpr<2>("this wave's records"),
             .offset = k.vgpr("offset of the record"),
             .record = k.vgpr<4>("record"),
             .first = k.sgpr<2>("first reading"),
             .last = k.sgpr<2>("last reading")};
  k.settle();
  k.s_lshl_b32(b.scratch, b.wave, 4);
  k.s_add_u32(out.base[0], addresses[0], b.scratch);
  k.s_addc_u32(out.base[1], addresses[1], 0);
  k.s_mov_b64(b.in, addresses.at<2>(2));
  k.s_mov_b64(b.in_resource.at<2>(0), b.in);
  k.s_mov_b32(b.in_resource[2], probe.in_bytes);
  k.s_mov_b32(b.in_resource[3], raw_buffer_word3);
  k.v_lshlrev_b32(b.pages[0], 4, b.lane);
  for (int i = 1; i < b.pages.count; ++i) k.v_add_u32(b.pages[i], page_bytes, b.pages[i - 1]);
  for (int i = 0; i < b.pages.count; ++i) k.v_lshrrev_b32(b.half_pages[i], 1, b.pages[i]);
  k.s_mov_b32(isa::m0, 0);
  k.s_mov_b64(out.first, 0);
  k.s_mov_b64(out.last, 0);
  if (probe.lds_bytes > 0) fill_lds(b, probe.lds_bytes);
  int slot = 0;
  for (const Measurement& m : probe.measurements)
    for (const int repetitions : m.repetitions) {
      const auto scope = k.scope();
      measure(b, out, m, repetitions, slot++);
    }
  wait_vector_memory(k);
  k.s_endpgm();
  return k.finish();
}

std::uint64_t clock_at(Words words, std::size_t at) { return words[at] | std::uint64_t{words[at + 1]} << 32; }

}  // namespace

void wait_vector_memory(Builder& k) { k.s_waitcnt({.vmcnt = 0}); }
void wait_lgkm(Builder& k) { k.s_waitcnt({.lgkmcnt = 0}); }

constexpr std::string_view moves = "s_mov_b32";

Measurement turns(Waves waves) {
  return {std::string(moves), {16, 48}, waves, repeat([](Bench& b, int i) { b.k.s_mov_b32(b.scratch, i); })};
}

double Readings::turn_clk() const { return slope(moves); }

Readings::Readings(const std::vector<Measurement>& measurements, int waves, Words words) {
  std::size_t slot = 0;
  for (const Measurement& m : measurements)
    for (const int repetitions : m.repetitions) {
      std::uint64_t first = std::numeric_limits<std::uint64_t>::max(), last = 0;
      for (std::size_t wave = 0; wave < static_cast<std::size_t>(waves); ++wave) {
        if (wave & m.waves) continue;
        const std::size_t at = (slot * slot_bytes + wave * record_bytes) / sizeof(std::uint32_t);
        first = std::min(first, clock_at(words, at));
        last = std::max(last, clock_at(words, at + 2));
      }
      spans_.push_back({m.name, repetitions, static_cast<double>(last) - static_cast<double>(first)});
      ++slot;
    }
}

double Readings::span(std::string_view measurement, int repetitions) const {
  for (const Span& span : spans_)
    if (span.measurement == measurement && span.repetitions == repetitions) return span.clk;
  throw Error("nobody measured {} of {}", repetitions, measurement);
}

double Readings::slope(std::string_view measurement) const {
  const auto few = std::ranges::find(spans_, measurement, &Span::measurement);
  if (few == spans_.end() || few + 1 == spans_.end() || (few + 1)->measurement != measurement)
    throw Error("nobody measured two numbers of {}", measurement);
  return ((few + 1)->clk - few->clk) / ((few + 1)->repetitions - few->repetitions);
}

Probe make_probe(TimedProbe timed) {
  std::size_t slots = 0;
  for (const Measurement& m : timed.measurements) slots += m.repetitions.size();
  Probe probe{.name = timed.name,
              .question = timed.question,
              .parameters = timed.parameters,
              .waves = timed.waves,
              .lds_bytes = timed.lds_bytes,
              .out_bytes = static_cast<std::uint32_t>(slots * slot_bytes),
              .in_bytes = timed.in_bytes,
              .build = {},
              .evaluate = {}};
  const auto shared = std::make_shared<const TimedProbe>(std::move(timed));
  probe.build = [shared] { return build(*shared); };
  probe.evaluate = [shared](Words words) {
    return shared->evaluate(Readings(shared->measurements, shared->waves, words));
  };
  return probe;
}

}  // namespace zyfa::schedules
