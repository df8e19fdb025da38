// The probes by what they are about, for all_probes().
#pragma once

#include "schedules/probes/probe.h"

namespace zyfa::schedules {

std::vector<Probe> control_probes();
std::vector<Probe> rate_probes();
std::vector<Probe> matrix_probes();
std::vector<Probe> lds_probes();
std::vector<Probe> memory_probes();
std::vector<Probe> value_probes();
std::vector<Probe> layout_probes();

}  // namespace zyfa::schedules
