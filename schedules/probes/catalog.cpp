#include "schedules/probes/groups.h"

namespace zyfa::schedules {
namespace {

struct Reason {
  std::string_view parameter_or_unit, reason;
};

// clang-format off
constexpr Reason reasons[] = {
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
    if (reason.parameter_or_unit == parameter || reason.parameter_or_unit == unit) return reason.reason;
  return {};
}

}  // namespace zyfa::schedules
