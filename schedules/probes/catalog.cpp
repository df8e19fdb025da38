#include "schedules/probes/groups.h"

namespace zyfa::schedules {
namespace {

// Of a parameter, of all whose names begin so ("energy_*"), or of all of a unit; the first that fits.
struct Reason {
  std::string_view of, reason;

  bool fits(std::string_view parameter, std::string_view unit) const {
    if (of.ends_with('*')) return parameter.starts_with(of.substr(0, of.size() - 1));
    return of == parameter || of == unit;
  }
};

// clang-format off
constexpr Reason reasons[] = {
    {"icache_line_bytes", "no clock depends on it alone: a miss brings the next line too"},
    {"icache_miss_clk", "the instruction cache holds a block's second run; only code longer than the cache would miss"},
    {"fetch_buffer_bytes", "a stream slows down where a fetch takes longer than the buffer lasts: not told apart from fetch_latency_clk"},
    {"fetch_latency_clk", "not told apart from fetch_buffer_bytes; after a taken branch it is in branch_clk"},
    {"bytes per turn of a SIMD", "two waves, the most that a probe has on a SIMD, issue fewer in a turn"},
    {"bytes per 2 CUs", "documented; a probe's code is shorter"},
    {"bytes per XCD", "documented; a probe is one workgroup and its data fits"},
    {"bytes per clk and XCD", "of all compute units of a die; a probe is one workgroup"},
    {"infinity_cache_bytes", "documented; a probe is one workgroup and its data fits"},
    {"GB per s", "of all compute units; a probe is one workgroup"},
    {"W", "documented; a matter of power, which no clock tells"},
    {"energy_*", "a matter of power, which no clock tells: wants the board's power meter over long runs (docs/energy.md)"},
    {"wait states", "the hardware does not hold them: too few give wrong results now and then, not a number. LLVM is the oracle (docs/hazards.md)"},
    {"wait states per s_nop", "an encoding"},
    {"instructions", "the bits of a counter; lds_fifo, also counted in instructions, has a probe"},
    {"CU", "hipDeviceProp_t.multiProcessorCount says it"},
    {"XCD", "documented; a workgroup of one probe sees one"},
    {"SIMD", "documented, and the model is built for 4"},
    {"waves", "documented; the runtime's occupancy calculation says it"},
    {"lanes", "documented"},
    {"registers", "documented; the assembler's limits"},
    {"bytes per CU", "hipDeviceProp_t.sharedMemPerMultiprocessor says it; vmem_in_flight_bytes has a probe"},
    {"bytes", "an allocation granule"},
    {"GHz", "s_memtime against s_memrealtime on the device; the model has one clock only"},
    {"FLOP per clk and CU", "follows from the passes of gfx950.def, which port-hold measures as streams"},
};
// clang-format on

}  // namespace

std::vector<Probe> all_probes() {
  std::vector<Probe> all;
  for (auto group :
       {control_probes, rate_probes, matrix_probes, lds_probes, memory_probes, value_probes, layout_probes})
    for (Probe& probe : group()) all.push_back(std::move(probe));
  return all;
}

std::string_view why_not_probed(std::string_view parameter, std::string_view unit) {
  for (const Probe& probe : all_probes())
    for (const std::string_view asked : probe.parameters)
      if (asked == parameter) return {};
  for (const Reason& reason : reasons)
    if (reason.fits(parameter, unit)) return reason.reason;
  return {};
}

}  // namespace zyfa::schedules
