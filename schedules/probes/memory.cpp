// Vector memory: latency, rate, and what is in flight. Loads ask for the device's scope, so that L1 does not answer.
#include "schedules/probes/groups.h"
#include "schedules/probes/stopwatch.h"

#include <cmath>
#include <optional>

namespace zyfa::schedules {
namespace {

constexpr int lanes = 64, dword_bytes = 4, page_bytes = 4096;
constexpr std::uint32_t in_bytes = 65536;
constexpr isa::Modifiers device_scope(int offset) { return {.offset = offset, .sc1 = true}; }

// Loads of `dwords` a lane, one behind the other.
void load_x4(Bench& b, int i) {
  constexpr int bytes = 4 * dword_bytes * lanes, on_a_page = page_bytes / bytes;
  b.k.global_load_dwordx4(b.result4(i), b.pages[i / on_a_page], b.in, device_scope(i % on_a_page * bytes));
}
void load_x2(Bench& b, int i) {
  constexpr int bytes = 2 * dword_bytes * lanes, on_a_page = page_bytes / 2 / bytes;
  b.k.global_load_dwordx2(b.result2(i), b.half_pages[i / on_a_page], b.in, device_scope(i % on_a_page * bytes));
}
void load_to_lds(Bench& b, int i) {
  constexpr int bytes = 4 * dword_bytes * lanes, on_a_page = page_bytes / bytes;
  isa::Modifiers m = device_scope(i % on_a_page * bytes);
  m.offen = true;
  b.k.buffer_load_dwordx4(b.pages[i / on_a_page], b.in_resource, 0, m);
}

Block until_there(void (*emit)(Bench&, int)) {
  return [emit](Bench& b, int repetitions) {
    for (int i = 0; i < repetitions; ++i) emit(b, i);
    wait_vector_memory(b.k);
  };
}

constexpr int some = 4, twice = 8;  // loads in flight that no limit concerns

// Clocks that a load of this kind keeps the bus, from two bursts.
double bus_clk(const Readings& r, std::string_view burst) {
  return (r.span(burst, twice) - r.span(burst, some)) / (twice - some);
}

Probe latency() {
  return make_probe(
      {.name = "memory-latency",
       .question = "a load from L2, and the bus on which data returns",
       .parameters = {"vmem_latency_clk", "vmem_bytes_per_clk"},
       .waves = 1,
       .in_bytes = in_bytes,
       .measurements = {turns(every_wave), {"burst", {0, some, twice}, every_wave, until_there(load_x4)}},
       .evaluate = [](const Readings& r) {
         const double bus = bus_clk(r, "burst");
         const double all = r.span("burst", some) - r.span("burst", 0) - r.turn_clk();
         return Findings{
             {{"vmem_latency_clk", all - some * bus}, {"vmem_bytes_per_clk", 4 * dword_bytes * lanes / bus}}, {}};
       }});
}

// The last of many loads issues when the queue has room, which is when the load so many places before it is back. The
// places are those of the queue and of what may be in flight; loads of another size tell the two apart. A wave has no
// more than 63 loads outstanding.
constexpr int lengths[] = {24, 36, 48, 60};
constexpr std::string_view one = "issue of one";

struct Kind {
  std::string_view burst, issue;
  int waves;  // that load as many
};
constexpr Kind wide{"16 bytes", "issue of 16 bytes", 1}, narrow{"8 bytes", "issue of 8 bytes", 2},
    to_lds{"16 bytes", "issue of 16 bytes to LDS", 1};

// Of the shortest length whose last load had to wait; nothing if none had to.
std::optional<double> places(const Readings& r, const Kind& kind) {
  const double back = r.span(kind.burst, some) - r.span(kind.burst, 0);  // the fourth load
  const double turn = r.turn_clk();
  for (const int length : lengths) {
    const double last = r.span(kind.issue, length) - r.span(one, 1);
    const int loads = kind.waves * length;
    if (last > loads * turn) return std::floor(loads - some - (last - back) / bus_clk(r, kind.burst) + 0.5);
  }
  return std::nullopt;
}

Probe depth() {
  const std::vector<int> all(std::begin(lengths), std::end(lengths)), burst{0, some, twice};
  return make_probe({.name = "memory-depth",
                     .question = "loads that issue before the first is back, into registers and by LDS-DMA",
                     .parameters = {"vmem_in_flight_bytes", "vmem_queue"},
                     .lds_bytes = page_bytes,
                     .in_bytes = in_bytes,
                     .measurements = {turns(one_wave),
                                      {std::string(wide.burst), burst, one_wave, until_there(load_x4)},
                                      {std::string(narrow.burst), burst, one_wave, until_there(load_x2)},
                                      {std::string(one), {1}, one_wave, repeat(load_x4)},
                                      {std::string(wide.issue), all, one_wave, repeat(load_x4)},
                                      {std::string(narrow.issue), all, two_on_a_simd, repeat(load_x2)},
                                      {std::string(to_lds.issue), all, one_wave, repeat(load_to_lds)}},
                     .evaluate = [](const Readings& r) {
                       Findings found;
                       // Twice as many of half the size are in flight, the queue is the same.
                       const auto of_16 = places(r, wide), of_8 = places(r, narrow), lds = places(r, to_lds);
                       if (of_16 && of_8) {
                         const double in_flight = *of_8 - *of_16;
                         found.answers.push_back({"vmem_in_flight_bytes", in_flight * 4 * dword_bytes * lanes});
                         found.answers.push_back({"vmem_queue", *of_16 - in_flight});
                       }
                       found.facts.push_back({"LDS-DMA of 16 bytes a lane that issue before the first is back",
                                              lds ? fmt::format("{:g}", *lds) : "60 or more", ""});
                       return found;
                     }});
}

}  // namespace

std::vector<Probe> memory_probes() { return {latency(), depth()}; }

}  // namespace zyfa::schedules
