// The LDS: latency, rates, banks, queue.
#include "schedules/probes/groups.h"
#include "schedules/probes/stopwatch.h"

#include <cmath>

namespace zyfa::schedules {
namespace {

constexpr int lanes = 64, dword_bytes = 4;
constexpr int lds_bytes = 16384;                 // 64 lanes in steps of 64 dwords
constexpr int narrow_step = 16, wide_step = 64;  // dwords
const std::vector<int> few{16, 48};

void lane_times(Bench& b, int bytes) { b.k.v_mul_u32_u24(b.address, bytes, b.lane); }

// `ways` lanes want different words of one bank, all others its first word.
void collide(Bench& b, int ways) {
  lane_times(b, wide_step * dword_bytes);
  b.k.v_cmp_gt_u32(b.mask, ways, b.lane);
  b.k.settle();
  b.k.v_cndmask_b32(b.address, 0, b.address, b.mask);
}

// A stream of one instruction with lanes `step` bytes apart.
Block stream(int step, void (*emit)(Bench&, int)) {
  return [=](Bench& b, int repetitions) {
    lane_times(b, step);
    for (int i = 0; i < repetitions; ++i) emit(b, i);
    wait_lgkm(b.k);
  };
}

void read_b32(Bench& b, int i) { b.k.ds_read_b32(b.result(i), b.address); }
void read_b64(Bench& b, int i) { b.k.ds_read_b64(b.result2(i), b.address); }
void read_b96(Bench& b, int i) { b.k.ds_read_b96(b.accumulators.at<3>(4 * (i % 8)), b.address); }
void read_b128(Bench& b, int i) { b.k.ds_read_b128(b.result4(i), b.address); }
void read_tr_b8(Bench& b, int i) { b.k.ds_read_b64_tr_b8(b.result2(i), b.address); }
void write_b32(Bench& b, int) { b.k.ds_write_b32(b.address, b.sources[0]); }
void write_b64(Bench& b, int) { b.k.ds_write_b64(b.address, b.sources.at<2>(0)); }
void write_b128(Bench& b, int) { b.k.ds_write_b128(b.address, b.sources.at<4>(0)); }

struct Access {
  std::string_view name;
  int bytes;  // of a lane
  int step;   // from lane to lane, aligned
  void (*emit)(Bench&, int);
};
constexpr Access reads[] = {{"ds_read_b32", 4, 4, read_b32},
                            {"ds_read_b64", 8, 8, read_b64},
                            {"ds_read_b96", 12, 16, read_b96},
                            {"ds_read_b128", 16, 16, read_b128},
                            {"ds_read_b64_tr_b8", 8, 8, read_tr_b8}};
constexpr Access writes[] = {
    {"ds_write_b32", 4, 4, write_b32}, {"ds_write_b64", 8, 8, write_b64}, {"ds_write_b128", 16, 16, write_b128}};

// A chain of reads that each give the address of the next. Waves issue every 4 clk, so one chain tells the latency to 4
// clk; four with one more collision each tell it to one: rounded up to turns they are 1.5 clk more on average.
Probe latency() {
  constexpr int first_ways = 8, chains = 4;
  constexpr double mean_of_rounding_up = 1.5;
  TimedProbe probe{.name = "lds-latency",
                   .question = "from the LDS's work to the data",
                   .parameters = {"lds_latency_clk"},
                   .lds_bytes = lds_bytes,
                   .measurements = {turns(one_wave)},
                   .evaluate = {}};
  const auto chain = [](int ways) { return fmt::format("chain of reads, {} ways", ways); };
  const auto flood = [](int ways) { return fmt::format("reads, {} ways", ways); };
  for (int ways = first_ways; ways < first_ways + chains; ++ways) {
    probe.measurements.push_back({chain(ways), {8, 24}, one_wave, [ways](Bench& b, int repetitions) {
                                    collide(b, ways);
                                    for (int i = 0; i < repetitions; ++i) {
                                      b.k.ds_read_b32(b.address, b.address);
                                      wait_lgkm(b.k);
                                    }
                                  }});
    probe.measurements.push_back({flood(ways), few, one_wave, [ways](Bench& b, int repetitions) {
                                    collide(b, ways);
                                    for (int i = 0; i < repetitions; ++i) read_b32(b, i);
                                    wait_lgkm(b.k);
                                  }});
  }
  probe.evaluate = [=](const Readings& r) {
    double step = 0, work = 0;
    for (int ways = first_ways; ways < first_ways + chains; ++ways) {
      step += r.slope(chain(ways)) / chains;
      work += r.slope(flood(ways)) / chains;
    }
    // A turn until the LDS takes it up, and one until the wave issues again.
    const double turns = 2 * r.turn_clk();
    return Findings{{{"lds_latency_clk", step - work - turns - mean_of_rounding_up}},
                    {{"from read to dependent read, clk", fmt::format("{:g}", step), ""}}};
  };
  return make_probe(probe);
}

Probe bandwidth() {
  struct Group {
    std::string_view name;
    Waves waves;
    int count;
  };
  static constexpr Group groups[] = {
      {"one SIMD", one_wave, 1}, {"a pair of SIMDs", one_on_each_of_a_pair, 2}, {"four SIMDs", one_on_each_simd, 4}};
  const auto named = [](const Access& access, const Group& group) {
    return fmt::format("{} of {}", access.name, group.name);
  };
  TimedProbe probe{.name = "lds-bandwidth",
                   .question = "bytes that the LDS reads in a clock",
                   .parameters = {"lds_pair_bytes_per_clk"},
                   .lds_bytes = lds_bytes,
                   .measurements = {},
                   .evaluate = {}};
  for (const Access& access : reads)
    for (const Group& group : groups)
      probe.measurements.push_back({named(access, group), few, group.waves, stream(access.step, access.emit)});
  probe.evaluate = [=](const Readings& r) {
    Findings found;
    const auto rate = [&](const Access& access, const Group& group) {
      return group.count * lanes * access.bytes / r.slope(named(access, group));
    };
    for (const Access& access : reads) {
      std::string text;
      for (const Group& group : groups)
        text += fmt::format("{}{} {:.4g}", text.empty() ? "" : ", ", group.name, rate(access, group));
      found.facts.push_back({fmt::format("{}, bytes per clk", access.name), text, ""});
    }
    constexpr const Access& widest = reads[3];
    found.answers.push_back({"lds_pair_bytes_per_clk", rate(widest, groups[0])});
    return found;
  };
  return make_probe(probe);
}

// Lanes 16 dwords apart meet in a sixteenth of the banks: each phase takes 16 clk, and there are as many phases as 64
// lanes are more than the banks.
Probe banks() {
  static constexpr int steps[] = {narrow_step, 32, wide_step};
  const auto named = [](const Access& access, int step) {
    return fmt::format("{}, lanes {} dwords apart", access.name, step);
  };
  TimedProbe probe{.name = "lds-banks",
                   .question = "what lanes pay whose addresses collide",
                   .parameters = {"lds_banks", "lds_write_banks"},
                   .lds_bytes = lds_bytes,
                   .measurements = {},
                   .evaluate = {}};
  std::vector<Access> all(std::begin(reads), std::end(reads));
  all.insert(all.end(), std::begin(writes), std::end(writes));
  for (const Access& access : all)
    for (const int step : steps)
      probe.measurements.push_back({named(access, step), few, one_wave, stream(step * dword_bytes, access.emit)});
  probe.evaluate = [=](const Readings& r) {
    Findings found;
    for (const Access& access : all) {
      std::string text;
      for (const int step : steps)
        text += fmt::format("{}{:g} at {}", text.empty() ? "" : ", ", r.slope(named(access, step)), step);
      found.facts.push_back({fmt::format("{}, clk by the dwords from lane to lane", access.name), text, ""});
    }
    const auto count = [&](const Access& access) { return lanes * narrow_step / r.slope(named(access, narrow_step)); };
    found.answers.push_back({"lds_banks", count(reads[0])});
    found.answers.push_back({"lds_write_banks", count(writes[0])});
    return found;
  };
  return make_probe(probe);
}

// Of slow reads one is at work and the queue is full behind it; the next issues when the one at work ends.
Probe queue() {
  constexpr int many = 14;  // no more than lgkmcnt counts
  const auto slow_reads = [](Bench& b, int repetitions) {
    lane_times(b, wide_step * dword_bytes);
    for (int i = 0; i < repetitions; ++i) read_b32(b, i);
  };
  return make_probe(
      {.name = "lds-queue",
       .question = "LDS instructions that issue before the first is done",
       .parameters = {"lds_fifo"},
       .lds_bytes = lds_bytes,
       .measurements = {turns(one_wave),
                        {"reads", few, one_wave, stream(wide_step * dword_bytes, read_b32)},
                        {"issue of reads", {1, many}, one_wave, slow_reads}},
       .evaluate = [=](const Readings& r) {
         const double last = r.span("issue of reads", many) - r.span("issue of reads", 1);
         const double turn = r.turn_clk();
         Findings found;
         if (last > (many - 1) * turn)
           found.answers.push_back({"lds_fifo", many - 1 - std::floor((last - turn) / r.slope("reads") + 0.5)});
         else
           found.facts.push_back({"LDS instructions that issue without a pause", "14 or more", ""});
         return found;
       }});
}

}  // namespace

std::vector<Probe> lds_probes() { return {latency(), bandwidth(), banks(), queue()}; }

}  // namespace zyfa::schedules
